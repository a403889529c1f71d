"""`seasoned play` and `seasoned replay`: a person plays a task in the terminal, or reads how an agent did.

Always holds: what a person types and what an environment says is shown as plain text, never as markup.
"""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.run import SettingOption
from seasoned.cli.shared import STORE, JsonOption, StoreOption, open_store, print_json
from seasoned.errors import ConfigError

if TYPE_CHECKING:
    from seasoned.types import Trajectory


def play(
    benchmark: Annotated[str, typer.Argument(help="A benchmark, such as alfworld or webshop.")],
    task: Annotated[str, typer.Option(help="A task's id or a part of it; without it, the first one.")] = "",
    seed: Annotated[int, typer.Option(help="Draws the order of the tasks.")] = 0,
    setting: SettingOption = None,
) -> None:
    """Play a task yourself. An empty line or Ctrl-D ends it; `?` lists what can be done, where that is known."""
    from seasoned.benchmarks import load_benchmark
    from seasoned.runner.recipe import settings_of

    loaded = load_benchmark(benchmark, settings_of(setting or []).get("benchmark", {}), seed=seed)
    found = next((t for t in (*loaded.test, *loaded.train) if task in t.id), None)
    if found is None:
        raise ConfigError(f"no task of {benchmark} has {task!r} in its id; the first one is {loaded.test[0].id}")
    with closing(loaded.make_env(False)) as env:
        observation, info = env.reset(found)
        typer.echo(f"{found.id}\n\n{loaded.instruction}\n\n{observation}")
        steps = 0
        while steps < loaded.max_turns:
            action = _read()
            if not action:
                typer.echo(f"You stopped after {steps} steps.")
                return
            if action == "?":
                typer.echo("\n".join(info.get("choices", [])) or "It is not said what can be done here.")
                continue
            observation, reward, terminated, truncated, info = env.step(action)
            steps += 1
            typer.echo(observation)
            if terminated or truncated:
                how = "You made it" if info.get("success") else "It is over"
                typer.echo(f"{how} after {steps} steps, reward {info.get('reward', reward):g}.")
                return
        typer.echo(f"The {loaded.max_turns} steps of {benchmark} are used up.")


def replay(
    trajectory: Annotated[str, typer.Argument(metavar="TRAJECTORY", help="A trajectory's id, or the beginning of it.")],
    prompts: Annotated[bool, typer.Option("--prompts", help="Show every message, as the model saw it.")] = False,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show an attempt step by step."""
    with open_store(store, must_exist=True) as opened:
        found = opened.find_trajectories(trajectory, 2)
    if len(found) != 1:
        several = "several trajectories begin" if found else "no trajectory begins"
        raise ConfigError(f"{several} with {trajectory!r} in {store}; `trajectories.jsonl` of a run has their ids")
    if as_json:
        print_json(found[0].model_dump(mode="json"))
        return
    for line in told(found[0], prompts):
        typer.echo(line)


def told(trajectory: Trajectory, prompts: bool) -> list[str]:
    """An attempt as lines of plain text."""
    outcome, where = trajectory.outcome, trajectory.meta
    lines = [f"{trajectory.id}  {trajectory.task_id}  {trajectory.agent}  {where.get('condition', '')}".rstrip()]
    if prompts:
        for message in trajectory.messages:
            lines += ["", f"[{message['role']}]", message["content"]]
    else:
        lines += ["", trajectory.task, *(["", trajectory.guidance] if trajectory.guidance else [])]
        for number, step in enumerate(trajectory.steps, 1):
            lines += ["", *([f"   Thought {number}: {step.thought}"] if step.thought else [])]
            lines += [f"    Action {number}: {step.action}", f"    {step.observation}"]
    solved = {True: "solved", False: "not solved", None: "outcome unknown"}[outcome.success]
    used = trajectory.usage
    spent = f"{used.prompt_tokens:,} tokens in, {used.completion_tokens:,} out"
    lines += [
        "",
        f"{solved} ({outcome.reason}) after {len(trajectory.steps)} steps; {spent}. {outcome.detail}".rstrip(),
    ]
    return lines


def _read() -> str:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return ""

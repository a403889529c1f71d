"""`seasoned play`: a person plays a task in the terminal.

Always holds: text from the person and the environment is shown as plain text, never as markup.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.cli.shared import many, tell
from seasoned.errors import ConfigError
from seasoned.lab.cli.bench import OptionOption, benchmark_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seasoned.types import Task

_THOUGHT = re.compile(r"\s*think\s*[\[:]", re.IGNORECASE)
_NAMED = 5


def play(
    benchmark: Annotated[str, typer.Argument(help="A benchmark, such as alfworld, gaia2, tau2 or webshop.")],
    task: Annotated[str, typer.Option(help="A task's id, or a unique part of it. Default: the first task.")] = "",
    seed: Annotated[int, typer.Option(help="The seed for the order of the tasks.")] = 0,
    user: Annotated[
        str, typer.Option(metavar="MODEL", help="The model that plays the user, if the benchmark has one.")
    ] = "",
    setting: OptionOption = None,
) -> None:
    """Play a task yourself. An empty line or Ctrl-D ends it; `?` lists the possible actions, if known.

    With tools, `?` lists them, `? NAME` explains one, and a call is NAME({"argument": value}).
    """
    from seasoned.lab.benchmarks import load_benchmark
    from seasoned.llm import opening
    from seasoned.llm.opening import ModelSettings

    loaded = load_benchmark(benchmark, benchmark_options(setting or []), seed=seed)
    chosen = _meant([*loaded.test, *loaded.train], task, benchmark) if task else loaded.test[0]
    with ExitStack() as stack:
        models = {"user": stack.enter_context(opening.open_llm(ModelSettings(model=user)))} if user else {}
        made = loaded.with_models(False, models) if loaded.with_models else loaded.make_env(False)
        env = stack.enter_context(closing(made))
        observation, info = env.reset(chosen)
        tell(f"{chosen.id}\n\n{loaded.instruction}\n\n{observation}")
        steps = 0
        tools: Sequence[Mapping[str, Any]] = ()
        while True:
            tools = info.get("tools", tools)
            action = _read()
            if not action:
                typer.echo(f"You stopped after {many(steps, 'step')}.")
                return
            if action.startswith("?"):
                tell(_possible(action[1:].strip(), info, tools))
                continue
            observation, reward, terminated, truncated, info = env.step(action)
            steps += not _THOUGHT.match(action)
            tell(observation)
            if terminated or truncated:
                how = "You made it" if info.get("success") else "It is over"
                typer.echo(f"{how} after {many(steps, 'step')}, reward {info.get('reward', reward):g}.")
                return
            if steps >= loaded.max_turns:
                typer.echo(f"The {loaded.max_turns} steps of {benchmark} are used up.")
                return


def _possible(name: str, info: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> str:
    """The possible actions: the choices, and the tools with their arguments; with a name, the full tool."""
    for tool in tools:
        if tool["name"] == name:
            return (
                f"{tool['name']}: {tool['description']}\n{json.dumps(tool['parameters'], indent=1, ensure_ascii=False)}"
            )
    free = [f"{info['free']}[words]"] if info.get("free") else []
    calls = [f"{tool['name']}({', '.join(tool['parameters'].get('properties', {}))})" for tool in tools]
    return "\n".join([*free, *info.get("choices", []), *calls]) or "The possible actions are not known here."


def _meant(tasks: Sequence[Task], wanted: str, benchmark: str) -> Task:
    """The task with this id, else the only one whose id begins with it, else the only one whose id contains it."""
    candidates = [task for task in tasks if task.id == wanted]
    candidates = candidates or [task for task in tasks if task.id.startswith(wanted)]
    candidates = candidates or [task for task in tasks if wanted in task.id]
    if not candidates:
        raise ConfigError(f"no task of {benchmark} has {wanted!r} in its id; the first one is {tasks[0].id}")
    if len(candidates) > 1:
        some = ", ".join(task.id for task in candidates[:_NAMED]) + (", .." if len(candidates) > _NAMED else "")
        raise ConfigError(
            f"{len(candidates):,} tasks of {benchmark} have {wanted!r} in their ids: {some}; give a full id"
        )
    return candidates[0]


def _read() -> str:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return ""

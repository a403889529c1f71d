"""`seasoned attempts` and `replay`: lists attempts, and shows one step by step.

Always holds: texts of environments and agents are shown as plain text, never as markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import (
    FLAGGED,
    STORE,
    JsonOption,
    NamespaceOption,
    StoreOption,
    chosen_pool,
    find_attempt,
    many,
    open_store,
    print_json,
    show,
)
from seasoned.text import one_line

if TYPE_CHECKING:
    from seasoned.store.pages import AttemptLine
    from seasoned.types import Trajectory

_ENDED = {True: "solved", False: "not solved", None: "unknown"}


def attempts(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Only attempts whose task contains all of these words."),
    ] = None,
    namespace: NamespaceOption = None,
    scope: Annotated[str | None, typer.Option(help="Only attempts of this pool, such as memory/default.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many.")] = 20,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """List attempts, the newest first. `seasoned replay` shows one."""
    from seasoned.store.pages import attempt_page

    with open_store(store, must_exist=True) as opened:
        pool = chosen_pool(opened, namespace, scope)
        # A memory's flagged attempts are in their own pool.
        pools = [pool] if namespace is None else [pool, FLAGGED + namespace]
        query = " ".join(words or [])
        lines = [line for each in pools for line in attempt_page(opened, scope=each, query=query, limit=limit + 1)]
    lines.sort(key=lambda line: -line.seq)
    if as_json:
        print_json([{name: value for name, value in vars(line).items() if name != "seq"} for line in lines[:limit]])
    else:
        _print(lines[:limit])
    if len(lines) > limit:
        typer.echo(f"These are the newest {limit:,}; --limit gives more.", err=True)


def _print(lines: list[AttemptLine]) -> None:
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    several = len({line.scope for line in lines}) > 1
    folded = (Column(name, overflow="fold") for name in ("ended", *(["pool"] if several else []), "task"))
    table = Table(Column("id", no_wrap=True), *folded, box=None, pad_edge=False)
    for line in lines:
        pool = [one_line(line.scope, 60)] if several else []
        cells = [one_line(line.id, 40), _ENDED[line.success], *pool, one_line(line.task, 100)]
        table.add_row(*map(Text, cells))
    Console().print(table if lines else "no attempts")


def replay(
    trajectory: Annotated[str, typer.Argument(metavar="TRAJECTORY", help="A trajectory's id, or a prefix of it.")],
    prompts: Annotated[bool, typer.Option("--prompts", help="Show every message as the model saw it.")] = False,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show an attempt step by step."""
    with open_store(store, must_exist=True) as opened:
        attempt = find_attempt(opened, trajectory)
    show(as_json, attempt.model_dump(mode="json"), attempt_lines(attempt, prompts))


def attempt_lines(trajectory: Trajectory, prompts: bool) -> list[str]:
    """An attempt as lines for `tell`; shows steps unless prompts are wanted and messages were kept."""
    from seasoned.traces.conversation import said

    outcome, meta = trajectory.outcome, trajectory.meta
    lines = [f"{trajectory.id}  {trajectory.task_id}  {trajectory.agent}  {meta.get('condition', '')}".rstrip()]
    if flags := meta.get("flags"):
        lines.append(f"flagged  its text {'; it '.join(map(str, flags))}; lessons from it are quarantined")
    for verdict in meta.get("verdicts", ()):
        ended = {True: "success", False: "failure", None: "unknown"}[verdict["success"]]
        lines.append(f"verdict  {ended}, by {verdict['who']}, {verdict['at']}  {verdict['why']}".rstrip())
    if prompts and trajectory.messages:
        for message in trajectory.messages:
            lines += ["", f"[{message.get('role', '')}]", said(message)]
    else:
        lines += ["", "No messages of this attempt were stored; its steps:"] if prompts else []
        lines += ["", trajectory.task, *(["", trajectory.guidance] if trajectory.guidance else [])]
        for number, step in enumerate(trajectory.steps, 1):
            lines += ["", *([f"   Thought {number}: {step.thought}"] if step.thought else [])]
            lines += [f"    Action {number}: {step.action}", f"    {step.observation}"]
    solved = {True: "solved", False: "not solved", None: "outcome unknown"}[outcome.success]
    usage = trajectory.usage
    spent = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
    ended = f"{solved} ({outcome.reason}) after {many(len(trajectory.steps), 'step')}; {spent}. {outcome.detail}"
    return [*lines, "", ended.rstrip()]

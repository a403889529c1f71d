"""`seasoned effect` and `outcome`: whether guidance helps, and later outcomes of attempts.

Always holds: figures come from one namespace; a verdict is signed by "person", and earlier ones are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import (
    MEMORY,
    STORE,
    JsonOption,
    StoreOption,
    find_attempt,
    many,
    named_store,
    open_store,
    show,
    tell,
)
from seasoned.errors import ConfigError

if TYPE_CHECKING:
    from seasoned.memory.holdout import EffectReport


def effect(
    namespace: Annotated[str, typer.Option("--namespace", help="The memory's name.")] = "default",
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="WHY", help="Switch guidance on again, with the reason.")
    ] = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show whether guidance helps in production.

    Prints the effect with its interval, and the retired lessons. This needs attempts of a memory with a holdout.
    """
    from seasoned.memory.holdout import read_effect, resume_guidance

    with open_store(store, must_exist=True) as opened:
        if resume is not None:
            resume_guidance(opened, namespace, resume)
            tell(f"guidance of the namespace {namespace} is switched on again", err=True)
        report = read_effect(opened, namespace)
    show(as_json, report.model_dump(mode="json"), _lines(report, store))


def _lines(report: EffectReport, store: str) -> list[str]:
    from seasoned.text import one_line

    verdict = {"helps": "It helps", "harms": "It harms", "not known yet": "Not known yet"}[report.verdict]
    effect = f": {report.overall}" if report.overall else ": guidance was never withheld as a whole"
    lines = [f"{verdict}{effect}."]
    if report.off:
        again = f'seasoned effect --namespace {report.namespace} --resume "WHY"{named_store(store)}'
        lines.append(f"Guidance is OFF: {report.off}. `{again}` switches it on again.")
    if report.waiting:
        waiting = many(report.waiting, "attempt has", "attempts have")
        lines.append(f"{waiting} no outcome yet; `seasoned outcome ID` sets it.")
    for heading, parts in (("By category", report.categories), ("By month", report.months)):
        if parts:
            lines += [
                "",
                heading,
                *(f"  {one_line(name, 40)}: {each or 'not known yet'}" for name, each in parts.items()),
            ]
    if report.lessons:
        lines += ["", "Lessons, by evidence of harm (retired at the limit)"]
    for lesson in report.lessons:
        known = f"; {lesson.effect}" if lesson.effect else ""
        harm = f"harm {lesson.harm:,.1f} of {lesson.limit:,.0f} after {lesson.uses:,} uses{known}"
        lines.append(f"  {lesson.lesson_id}  {lesson.status}  {harm}  {one_line(lesson.text, 60)}")
    return lines


def outcome(
    attempt: Annotated[str, typer.Argument(metavar="ID", help="An attempt's id, or a prefix of it.")],
    success: Annotated[bool | None, typer.Option("--success/--failure", help="The outcome.")] = None,
    reward: Annotated[float | None, typer.Option(help="The reward, from 0 to 1.")] = None,
    why: Annotated[str, typer.Option("--why", help="The reason, kept in the record.")] = "",
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Set the outcome of a recorded attempt. The earlier verdict stays in the record.

    Lessons that came from a wrong verdict alone are set to deleted, and the attempt is learned from again.
    """
    from seasoned.memory import Memory
    from seasoned.store.pages import attempt_lines

    if success is None:
        raise ConfigError("give the outcome: --success or --failure")
    with open_store(store, must_exist=True) as opened:
        stored = find_attempt(opened, attempt)
        side, _, namespace = attempt_lines(opened, [stored.id])[stored.id].scope.partition("/")
        if side not in (MEMORY[:-1], "flagged"):
            raise ConfigError(f"{stored.id} is an attempt of a run, whose measured outcome cannot be changed")
        with Memory(opened, namespace=namespace, method="nearest", embedder=None) as memory:
            revised = memory.outcome(stored.id, success, reward, why)
    line = f"{revised.id} is {'a success' if success else 'a failure'} now"
    show(as_json, revised.model_dump(mode="json"), f"{line}; its record has {len(revised.meta['verdicts'])} verdicts")

"""`seasoned lessons contradicted`: which lessons the recorded attempts speak against."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import (
    STORE,
    JsonOption,
    NamespaceOption,
    ScopeOption,
    StoreOption,
    many,
    one_scope,
    open_store,
    show,
)
from seasoned.proof.record import Way, against_record
from seasoned.text import one_line

if TYPE_CHECKING:
    from seasoned.store.sql import Store
    from seasoned.types import Trajectory

MOST = 5000
"""Attempts of the record that are read, at most."""


def contradicted(
    by: Annotated[
        Way,
        typer.Option(help="Compare by words (free), a model's judgement, or the model's odds."),
    ] = "words",
    llm: Annotated[str, typer.Option(help="The model that judges: local, or a server's model.")] = "local",
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most this many.")] = 20,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Compare lessons with recorded attempts.

    Lists first the lessons that successes contradict.

    A score below 0 means that the record contradicts a lesson; 0 means that it says nothing. Scores choose what to read
    first; a gate or a holdout shows whether a lesson helps.
    """
    from seasoned.llm import opening

    with open_store(store, must_exist=True) as opened:
        pool = one_scope(opened, namespace, scope)
        lessons = opened.lessons(pool, status="active")
        attempts = _record(opened, pool, [source for lesson in lessons for source in lesson.sources])
        model = nullcontext(None) if by == "words" else opening.open_llm(opening.ModelSettings(model=llm))
        with model as asked:
            scores = against_record(lessons, attempts, by, asked)
    texts = {lesson.id: lesson.text for lesson in lessons}
    scores.sort(key=lambda one: one.score)
    lines = [f"{one.score:+6.2f}  {one.lesson_id}  {one_line(texts[one.lesson_id], 80)}" for one in scores[:limit]]
    lines += [f"and {len(scores) - limit:,} more"] if len(scores) > limit else []
    against = f"{sum(one.score < 0 for one in scores):,} of {many(len(scores), 'lesson')}"
    lines.append(f"{many(len(attempts), 'attempt')} with a known outcome speak against {against}")
    plain = [{"lesson": one.lesson_id, "score": one.score, "text": texts[one.lesson_id]} for one in scores]
    show(as_json, {"by": by, "attempts": len(attempts), "lessons": plain}, lines)


def _record(store: Store, pool: str, sources: list[str]) -> list[Trajectory]:
    """The attempts with a known outcome in a pool; of a run, those in the pool that its lessons came from."""
    from seasoned.store.pages import attempt_lines

    attempts = store.trajectories(pool, limit=MOST)
    if not attempts and sources:
        lines = attempt_lines(store, list(dict.fromkeys(sources))[:50])
        attempts = [
            each for scope in {line.scope for line in lines.values()} for each in store.trajectories(scope, limit=MOST)
        ]
    return [attempt for attempt in attempts if attempt.outcome.success is not None]

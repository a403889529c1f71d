"""`seasoned lessons contradicted`: which lessons the recorded attempts contradict."""

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
"""The most attempts that are read."""


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
        with model as judge:
            scores = against_record(lessons, attempts, by, judge)
    texts = {lesson.id: lesson.text for lesson in lessons}
    scores.sort(key=lambda one: one.score)
    lines = [f"{one.score:+6.2f}  {one.lesson_id}  {one_line(texts[one.lesson_id], 80)}" for one in scores[:limit]]
    lines += [f"and {len(scores) - limit:,} more"] if len(scores) > limit else []
    contradicted_ = f"{sum(one.score < 0 for one in scores):,} of {many(len(scores), 'lesson')}"
    verb = "contradicts" if len(attempts) == 1 else "contradict"
    lines.append(f"{many(len(attempts), 'attempt')} with a known outcome {verb} {contradicted_}")
    plain = [{"lesson": one.lesson_id, "score": one.score, "text": texts[one.lesson_id]} for one in scores]
    show(as_json, {"by": by, "attempts": len(attempts), "lessons": plain}, lines)


def _record(store: Store, pool: str, sources: list[str]) -> list[Trajectory]:
    """A pool's attempts with a known outcome; for a run's pool of lessons, those of its sources' pools."""
    from seasoned.store.pages import attempt_lines

    attempts = store.trajectories(pool, limit=MOST)
    if not attempts and sources:
        lines = attempt_lines(store, list(dict.fromkeys(sources))[:50])
        attempts = [
            each for scope in {line.scope for line in lines.values()} for each in store.trajectories(scope, limit=MOST)
        ]
    return [attempt for attempt in attempts if attempt.outcome.success is not None]

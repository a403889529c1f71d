"""Trust by lineage for the lessons of a pool.

Always holds: only `quarantine_observed` writes, and a person can undo that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seasoned.trust.lineage import OBSERVED, Alone, Observations, Trust, lesson_trust, observed_alone
from seasoned.types import Lesson, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool
    from seasoned.store.sql import Store

_BATCH = 200  # attempts per query


def trust_in(store: Store, lessons: Sequence[Lesson]) -> dict[str, Trust]:
    """How far each lesson can be trusted, by its id."""
    source_ids = list(dict.fromkeys(name for lesson in lessons for name in lesson.sources))
    attempts = {}
    for start in range(0, len(source_ids), _BATCH):
        for attempt in store.get_trajectories(source_ids[start : start + _BATCH]):
            attempts[attempt.id] = attempt.model_copy(update={"steps": (), "messages": ()})
    return {
        lesson.id: lesson_trust(lesson, [attempts[name] for name in lesson.sources if name in attempts])
        for lesson in lessons
    }


def alone(pool: ExperiencePool, lesson: Lesson, sources: Sequence[Trajectory] | None = None) -> Alone:
    """The part of a lesson that comes only from observations and that no other attempt of the pool confirms.

    Its `sources` are read if they are not given.
    """
    known = pool.store.get_trajectories(lesson.sources) if sources is None else sources
    unconfirmed = observed_alone(lesson, known)
    return unconfirmed.without(pool.collected(Observations)) if unconfirmed else unconfirmed


def quarantine_observed(pool: ExperiencePool) -> list[Lesson]:
    """Quarantine the active lessons of a pool whose content comes only from observations; return them.

    Pinned lessons and those that a person wrote stay active.
    """
    quarantined = []
    for lesson in pool.lessons():
        if not lesson.pinned and lesson.origin != "person" and alone(pool, lesson):
            reasons = [*lesson.data.get("flags", ()), OBSERVED]
            changes = {"status": "quarantined", "data": {**lesson.data, "flags": reasons}}
            quarantined.append(pool.update(lesson.model_copy(update=changes), why=f"it {OBSERVED}", who="rule"))
    return quarantined

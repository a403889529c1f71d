"""Upkeep of a pool: finds and merges lessons that say the same, and caps their number.

Always holds: nothing is deleted permanently, every change has its reason in the history, and a rule never changes or
removes what a person pinned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seasoned.errors import ConfigError
from seasoned.pool import ExperiencePool, Who
from seasoned.text import TOKEN
from seasoned.types import Lesson, LessonKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK = 256  # lessons compared with all others in one product
_SLACK = 1e-5  # more than the rounding error of a float32 product of unit rows
_EXACT = 1e-9  # more than that of a float64 one


@dataclass(frozen=True)
class Group:
    """Lessons that say the same: the one to keep, and the others, each with its cosine to that one."""

    keep: Lesson
    others: tuple[tuple[Lesson, float], ...]


def near_duplicates(pool: ExperiencePool, *, threshold: float = 0.95, kind: LessonKind | None = None) -> list[Group]:
    """Group active lessons of a kind (None: of each) whose cosine is at least the threshold; the largest groups first.

    The search is exact. Each lesson is in at most one group: that of the first lesson near enough, in the order pinned,
    written by a person, importance, age. So all of a group are near the one to keep, and a chain of small steps does
    not group unlike lessons.

    Raises:
        ConfigError: when the threshold is out of range, or the pool has no embedder.
    """
    if not 0.0 < threshold <= 1.0:
        raise ConfigError(f"the threshold of near-duplicates must be above 0 and at most 1, not {threshold}")
    by_kind: dict[str, list[Lesson]] = {}
    for lesson in sorted(pool.lessons(kind), key=_worth, reverse=True):  # a stable sort: of equals, the older first
        by_kind.setdefault(lesson.kind, []).append(lesson)
    groups = [group for lessons in by_kind.values() for group in _groups(lessons, pool.vectors(lessons), threshold)]
    return sorted(groups, key=lambda group: -len(group.others))


def merge(pool: ExperiencePool, groups: Sequence[Group], *, who: Who = "rule", why: str = "") -> list[Lesson]:
    """Keep one lesson of each group, with the sum of the importances and the sources of all; delete the others.

    All or nothing is changed. Pinned lessons are left as they are, unless `who` is a person: they are neither deleted
    nor changed. Deleted ones can be restored from their history or a snapshot. `why` is one line for the history,
    before the list of merged lessons. Returns the kept lessons, as stored.

    Raises:
        ConflictError: when a lesson was changed since the groups were found; find them again.
        StoreError: when the pool is read-only.
    """
    pool.writable()
    kept: list[str] = []
    fresh: dict[str, list[Lesson]] = {}  # by their reason in the history
    prefix = f"{why}: " if why else ""
    for group in groups:
        others = [lesson for lesson, _ in group.others if who == "person" or not lesson.pinned]
        if not others:
            continue
        if who == "person" or not group.keep.pinned:
            sources = dict.fromkeys(source for lesson in (group.keep, *others) for source in lesson.sources)
            importance = group.keep.importance + sum(lesson.importance for lesson in others)
            # The quarantine pool shows quarantined lessons as active; they stay quarantined.
            stored = pool.store.get_lesson(group.keep.id) or group.keep
            changed = {"importance": importance, "sources": tuple(sources), "status": stored.status}
            reason = f"{prefix}merged with {_named(others)}, which said the same"
            fresh.setdefault(reason, []).append(group.keep.model_copy(update=changed))
        reason = f"{prefix}merged into {group.keep.id}, which says the same"
        fresh[reason] = [lesson.model_copy(update={"status": "deleted"}) for lesson in others]
        kept.append(group.keep.id)
    with pool.store.transaction():
        for reason, lessons in fresh.items():
            pool.store.update_lessons(lessons, who=who, why=reason)
        return [lesson for lesson in map(pool.store.get_lesson, kept) if lesson is not None]


def cap(
    pool: ExperiencePool,
    *,
    lessons: int | None = None,
    tokens: int | None = None,
    kind: LessonKind | None = None,
    who: Who = "rule",
) -> list[Lesson]:
    """Disable the least valuable lessons, until the active ones of a kind keep to a number, or to a number of tokens.

    Pinned lessons are the most valuable, then a person's; then importance counts, then the latest change. Pinned ones
    count, but only a person disables them. Returns the disabled lessons, as stored.

    Raises:
        ConfigError: when no cap is given, or one is negative.
        StoreError: when the pool is read-only.
    """
    if (lessons is None and tokens is None) or min(lessons or 0, tokens or 0) < 0:
        raise ConfigError(
            "a cap is a number of lessons or of tokens, 0 or more: cap(pool, lessons=1000), or on the command line "
            "`seasoned lessons cap --lessons 1000`"
        )
    pool.writable()
    count = room = 0  # of the lessons that stay
    excess = []
    for lesson in sorted(pool.lessons(kind), key=lambda x: (*_worth(x), x.updated), reverse=True):
        size = -(-len(lesson.key + lesson.text) // TOKEN)
        beyond = (lessons is not None and count >= lessons) or (tokens is not None and room + size > tokens)
        if beyond and (who == "person" or not lesson.pinned):
            excess.append(lesson.model_copy(update={"status": "disabled"}))
        else:
            count, room = count + 1, room + size
    limits = [f"{limit:,} {what}" for limit, what in ((lessons, "lessons"), (tokens, "tokens")) if limit is not None]
    return pool.store.update_lessons(excess, who=who, why=f"over the cap of {' and '.join(limits)}")


def _worth(lesson: Lesson) -> tuple[bool, bool, float]:
    return lesson.pinned, lesson.origin == "person", lesson.importance


def _groups(lessons: Sequence[Lesson], vectors: NDArray[np.float32], threshold: float) -> list[Group]:
    """Group in one pass: each lesson without a group leads all later ones near enough. Blocks share a product."""
    import numpy as np

    free = np.ones(len(lessons), dtype=bool)
    groups = []
    start = 0
    while start < len(lessons):
        leaders = np.flatnonzero(free[start:])[:_BLOCK] + start
        if not len(leaders):
            break
        rest = np.flatnonzero(free[leaders[0] :]) + leaders[0]
        near = vectors[leaders] @ vectors[rest].T >= threshold - _SLACK
        for row, leader in enumerate(leaders.tolist()):
            if not free[leader]:
                continue
            free[leader] = False
            candidates = rest[near[row] & free[rest]]
            one, others = vectors[leader].astype(np.float64), vectors[candidates].astype(np.float64)
            cosines = others @ one / (np.linalg.norm(others, axis=1) * np.linalg.norm(one))
            enough = cosines >= threshold - _EXACT
            members = candidates[enough]
            free[members] = False
            if len(members):
                scored = zip(members.tolist(), np.minimum(cosines[enough], 1.0).tolist(), strict=True)
                groups.append(Group(lessons[leader], tuple((lessons[place], score) for place, score in scored)))
        start = int(leaders[-1]) + 1
    return groups


def _named(lessons: Sequence[Lesson], most: int = 5) -> str:
    ids = ", ".join(lesson.id for lesson in lessons[:most])
    return ids if len(lessons) <= most else f"{ids} and {len(lessons) - most:,} more"

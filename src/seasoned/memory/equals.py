"""Equal attempts and lessons: equal attempts are learned from once, and equal lessons become one, with a count.

The count of a lesson is its `importance`, and its `sources` are all attempts that taught it. Always holds: no model is
asked; texts that differ in a number, a name, a negation or an outcome are never merged, however near they are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from seasoned.errors import SeasonedError
from seasoned.store.lessons import with_words
from seasoned.text import all_words, prompt_line
from seasoned.types import Lesson, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool, Who
    from seasoned.pool.state import LessonsSeen
    from seasoned.store.sql import Store

NEAR = 0.95
"""The least cosine of lessons that may be merged."""
AT_ONCE = 20
"""If more lessons than this are added at once, only those with equal words are merged."""

_SHARED = 0.8  # the least share of distinctive words in common
_SPACE = re.compile(r"\s+")
# Each part begins where a word or a quotation does, so that the time grows linearly with the length of a text.
_NAMES = re.compile(r"(?<!\S)\S*\d\S*|(?<!\w)\w*_\w+|\b\w+[A-Z]\w*|(?<=[a-z,;:] )[A-Z]\w+|\"[^\"]+\"\S*|`[^`]+`\S*")
_NEGATIONS = re.compile(
    r"\b(?:not|no|never|none|nothing|without|unless|except|cannot|avoid|only)\b|n't\b|n’t\b", re.IGNORECASE
)
_STOP_WORDS = frozenset(
    "a an the and or of in on at to for from by with as is are be it its this that these those you your then so "  # noqa: SIM905
    "if when always any all every each do does will would should must can may up out into please make sure".split()
)


def attempt_key(attempt: Trajectory) -> str:
    """The key of equal attempts: task, actions, observations, answer and outcome; thoughts may differ."""
    steps = [(step.action, step.observation) for step in attempt.steps]
    if not any(action for action, _ in steps):
        steps = [(step.thought, step.observation) for step in attempt.steps]
    end = attempt.outcome
    parts = [attempt.task, attempt.category, end.success, end.reward, end.reason, end.answer, end.detail, steps]
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()


class Said(NamedTuple):
    """The key of lessons with equal words."""

    kind: str
    category: str
    key: str
    text: str
    success: object


def said(lesson: Lesson) -> Said:
    """The key of a lesson: its kind, category and outcome, and its words without case and spaces."""
    return Said(
        lesson.kind, lesson.category, _plain(lesson.key), _plain(lesson.text).rstrip(".!"), lesson.data.get("success")
    )


class Words:
    """An index of a pool's lessons by status and words, to find those with equal words."""

    def __init__(self) -> None:
        self._at = 0, -1
        self._ids: dict[tuple[str, Said], str] = {}
        self._seen: dict[str, Lesson] = {}
        self._count = 0  # of the lessons in `_seen` that are in the index

    def refresh(self, store: Store, scope: str, seen: LessonsSeen) -> None:
        """Add lessons written since the last time; does nothing within a transaction, which may be rolled back."""
        if store.in_transaction or (seen.change, seen.purges) == self._at:
            return
        if seen.purges != self._at[1]:
            self._ids = _places(seen.by_id.values())
        else:
            # The pool's dictionary grows if lessons are added, and is another one if any was changed.
            added = list(seen.by_id.values())[self._count :] if seen.by_id is self._seen else None
            new = store.lessons_since(scope, self._at[0]) if added is None else added
            for place, name in _places(new).items():
                self._ids.setdefault(place, name)
        self._seen, self._count = seen.by_id, len(seen.by_id)
        self._at = seen.change, seen.purges

    def find(self, store: Store, scope: str, lessons: Sequence[Lesson]) -> dict[str, Lesson]:
        """Stored lessons with equal words and in the same state, by the ids of the given ones."""
        recent = _places(store.lessons_since(scope, max(self._at[0], 0))) if store.changes(scope) != self._at else {}
        equal: dict[str, Lesson] = {}
        for lesson in lessons:
            for status in dict.fromkeys((lesson.status, "disabled", "deleted")):
                place = status, said(lesson)
                known = recent.get(place) or self._ids.get(place)
                other = store.get_lesson(known) if known else None
                # A lesson changed since may have other words now.
                if other is not None and other.status == status and said(other) == said(lesson):
                    equal[lesson.id] = other
                    break
        return equal


def with_same_words(store: Store, scope: str, lessons: Sequence[Lesson]) -> dict[str, Lesson]:
    """As `Words.find`, but found by the database: lessons whose keys and texts differ in case only."""
    stored = _first_places(with_words(store, scope, lessons))
    equal: dict[str, Lesson] = {}
    for lesson in lessons:
        states = ((status, said(lesson)) for status in dict.fromkeys((lesson.status, "disabled", "deleted")))
        other = next((stored[place] for place in states if place in stored), None)
        if other is not None:
            equal[lesson.id] = other
    return equal


def _first_places(lessons: Iterable[Lesson]) -> dict[tuple[str, Said], Lesson]:
    places: dict[tuple[str, Said], Lesson] = {}
    for lesson in lessons:
        places.setdefault((lesson.status, said(lesson)), lesson)
    return places


def _places(lessons: Iterable[Lesson]) -> dict[tuple[str, Said], str]:
    return {place: lesson.id for place, lesson in _first_places(lessons).items()}


def near_ones(pool: ExperiencePool, lessons: Sequence[Lesson]) -> dict[str, str]:
    """The ids of stored lessons that mean the same, by the ids of the given ones.

    Empty within a transaction, for many lessons at once, or if the embedder fails.
    """
    near: dict[str, str] = {}
    if not pool.searches or pool.store.in_transaction or len(lessons) > AT_ONCE:
        return near
    for lesson in lessons:
        text = f"{lesson.key}\n{lesson.text}" if lesson.key else lesson.text
        with suppress(SeasonedError):  # an embedder on a server failed: only equal words are merged
            for other, score in pool.nearest_lessons(text, 3, lesson.kind):
                if score >= NEAR and same_meaning(lesson, other):
                    near[lesson.id] = other.id
                    break
    return near


def same_meaning(one: Lesson, other: Lesson) -> bool:
    """Whether two nearby lessons say the same.

    Their names, numbers and negations must be equal, and nearly all distinctive words; for notes and reflections,
    the keys too.
    """
    first, second = said(one), said(other)
    if first[:2] != second[:2] or first.success != second.success:
        return False
    if one.kind in ("note", "reflection") and first.key != second.key:
        return False
    texts = f"{one.key}. {one.text}", f"{other.key}. {other.text}"
    if any(sorted(_terms(pattern, texts[0])) != sorted(_terms(pattern, texts[1])) for pattern in (_NAMES, _NEGATIONS)):
        return False
    words, others = (frozenset(map(_stem, all_words(text))) - _STOP_WORDS for text in texts)
    return len(words & others) >= _SHARED * max(len(words | others), 1)


@dataclass
class Union:
    """How to add lessons: `fresh` ones to add, and stored ones to update because they are repeated, with the reason.

    `ids` has the id of the stored lesson for each given one, in their order.
    """

    fresh: list[Lesson] = field(default_factory=list)
    again: dict[str, tuple[Lesson, str]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)


def unite(
    pool: ExperiencePool, lessons: Sequence[Lesson], equal: Mapping[str, Lesson], near: Mapping[str, str], who: Who
) -> Union:
    """Find equal lessons among those to be added and in a pool; nothing is written.

    A lesson that a person removed is not added again by a model. A pinned lesson stays as it is.

    Args:
        pool: the pool to add them to.
        lessons: the screened lessons.
        equal: stored lessons with equal words, by the ids of the given ones.
        near: the result of `near_ones` for them.
        who: the author. A person's words replace a model's.
    """
    union, new = Union(), dict[tuple[str, Said], int]()
    for lesson in lessons:
        place = lesson.status, said(lesson)
        stored = equal.get(lesson.id)
        if stored is None and lesson.id in near:
            stored = pool.store.get_lesson(near[lesson.id])
        if stored is not None and stored.status != lesson.status:
            if who == "person" or not pool.taken_away(stored):
                stored = None
            else:
                union.ids.append(stored.id)
                continue
        if stored is not None:
            if who == "person" or not stored.pinned:
                union.again[stored.id] = _repeated(union.again.get(stored.id, (stored, ""))[0], lesson, who)
            union.ids.append(stored.id)
        elif place in new:
            first = union.fresh[new[place]]
            union.fresh[new[place]] = with_another(first, lesson.sources, max(lesson.importance, 1.0))
            union.ids.append(first.id)
        else:
            new[place] = len(union.fresh)
            union.fresh.append(lesson)
            union.ids.append(lesson.id)
    return union


def with_another(lesson: Lesson, sources: Iterable[str], times: float = 1.0) -> Lesson:
    """The lesson with more sources, and its count raised by `times`."""
    known = tuple(dict.fromkeys((*lesson.sources, *sources)))
    return lesson.model_copy(update={"sources": known, "importance": lesson.importance + times})


def _repeated(stored: Lesson, lesson: Lesson, who: Who) -> tuple[Lesson, str]:
    united = with_another(stored, lesson.sources, max(lesson.importance, 1.0))
    other = "" if said(stored) == said(lesson) else f" in other words: {prompt_line(lesson.text, 200)}"
    if who == "person" and stored.origin != "person":
        data = {name: value for name, value in united.data.items() if name != "imported"}
        words = {"text": lesson.text, "key": lesson.key, "origin": "person", "data": data}
        return united.model_copy(update=words), "said by a person, too"
    return united, f"said again{other}"


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()


def _terms(pattern: re.Pattern[str], text: str) -> list[str]:
    return [each.strip(".,;:!?()").casefold() for each in pattern.findall(text)]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word

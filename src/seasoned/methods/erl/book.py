"""The heuristics of a pool as a recall needs them, and as text for a prompt.

Always holds: heuristics of equal words are one group; text keeps to the tokens asked for, unless the first heuristic or
pair alone is longer and that is allowed; those that contradict each other stand together and are marked.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from seasoned.methods.erl.contradictions import ALIKE, contradict, forbids, telling
from seasoned.text import TOKEN, prompt_line, same_words
from seasoned.types import Block, Entry, Lesson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seasoned.pool import ExperiencePool

log = logging.getLogger(__name__)

LINE_CHARS = 400
"""Characters of a heuristic in guidance."""

_HEADING = "Advice from earlier attempts at other tasks; heed what fits this one:"
_OPPOSED = "- These contradict each other; go by what you see:"

Side = tuple[Literal["success", "forbids"], bool]
"""What a heuristic is, so that only one that is the opposite can contradict it."""


@dataclass
class Book:
    """All heuristics as a recall needs them: equal ones together, by the words of their triggers, and by meaning."""

    groups: list[list[Lesson]]
    triggers: _Triggers
    firsts: dict[str, Lesson]  # the first of each group, by its id; not to be changed
    rows: NDArray[np.intp] | None = None  # of the tasks that these come from, in the pool whose book this is

    def nearest(
        self,
        pool: ExperiencePool,
        text: str,
        lessons: Mapping[str, Lesson],
        k: int | None = None,
        of: Callable[[Lesson], str] | None = None,
    ) -> list[Lesson]:
        """The k lessons (None: all) nearest to a text, best first, stably (paper appendix C.2).

        What is near it is the task that a lesson comes from, or what `of` gives of the lesson.
        """
        if not lessons:
            return []
        keeps = lessons is self.firsts and of is None
        rows = self.rows if keeps else None
        if rows is None:
            rows = pool.text_rows([(of or origin)(lesson) for lesson in lessons.values()])
            if keeps:
                self.rows = rows
        chosen = list(lessons.values())
        return [chosen[place] for place in pool.nearest_texts(text, rows, k)]

    def nearest_or_newest(
        self, pool: ExperiencePool, near: Mapping[str, Any], lessons: Sequence[Lesson]
    ) -> list[Lesson]:
        """All of them, the nearest first, `near` being `text` and `of`; where the pool has no embedder, the newest."""
        if not pool.searches:
            return list(lessons)[::-1]
        return self.nearest(pool, lessons={lesson.id: lesson for lesson in lessons}, **near)

    def rival(self, lesson: Lesson, candidates: Mapping[str, Lesson]) -> Lesson | None:
        """A candidate that contradicts a lesson, or None."""
        for name, value in _sides(lesson):
            for near in self.triggers.near(telling(lesson.key), (name, not value)):
                other = candidates.get(near.id)
                if other is not None and contradict(lesson, other):
                    return other
        return None


class _Triggers:
    """The firsts of groups by the words of their triggers and by their sides, so that few have to be compared.

    Triggers are alike where `ALIKE` of their words is in common. Then they have a word in common among the rarest ones
    of each: of n words, as many as may be missing and one more.
    """

    def __init__(self, groups: Sequence[Sequence[Lesson]]) -> None:
        self.sides: dict[frozenset[str], dict[Side, list[Lesson]]] = {}
        for group in groups:
            sides = self.sides.setdefault(telling(group[0].key), {})
            for side in dict.fromkeys(side for lesson in group for side in _sides(lesson)):
                sides.setdefault(side, []).append(group[0])
        self.counts = Counter(word for words in self.sides for word in words)
        self.places: dict[str, list[frozenset[str]]] = {}
        for words in self.sides:
            for word in self._rarest(words):
                self.places.setdefault(word, []).append(words)

    def near(self, words: frozenset[str], side: Side) -> Iterator[Lesson]:
        """Those of a side whose triggers are as these words, or may be alike; of the same words first."""
        others = (near for word in self._rarest(words) for near in self.places.get(word, ()))
        for trigger in dict.fromkeys((words, *others)):
            yield from self.sides.get(trigger, {}).get(side, ())

    def _rarest(self, words: frozenset[str]) -> list[str]:
        most = int(len(words) * (1 - ALIKE) + 1e-9) + 1
        return sorted(words, key=lambda word: (self.counts[word], word))[:most]


def _sides(lesson: Lesson) -> list[Side]:
    success = lesson.data.get("success")
    known: list[Side] = [("success", success)] if isinstance(success, bool) else []
    return [*known, ("forbids", forbids(lesson))]


def open_book(lessons: Sequence[Lesson]) -> Book:
    """The book of these heuristics, in their order."""
    groups: dict[tuple[str, str], list[Lesson]] = {}
    for lesson in lessons:
        said = same_words(lesson.key), same_words(str(lesson.data.get("action") or lesson.text))
        groups.setdefault(said, []).append(lesson)
    firsts = [group[0] for group in groups.values()]
    return Book(list(groups.values()), _Triggers(list(groups.values())), {lesson.id: lesson for lesson in firsts})


def origin(lesson: Lesson) -> str:
    """The task that a heuristic comes from; a person's stands for itself."""
    return str(lesson.data.get("task") or lesson.text)


def trigger(lesson: Lesson) -> str:
    """The situation that a heuristic is for."""
    return lesson.key or lesson.text


def came_from(lesson: Lesson) -> str:
    """What kind of attempt a heuristic comes from: "success", "failure", or "" where that is not known."""
    success = lesson.data.get("success")
    return "success" if success is True else "failure" if success is False else ""


def as_item(lesson: Lesson) -> str:
    """A heuristic as a ranking model sees it: its text, and the task that it comes from."""
    task = str(lesson.data.get("task") or "")
    origin = f" (from a {came_from(lesson) or 'task'}: {prompt_line(task, 100)})" if task else ""
    return f"{prompt_line(lesson.text, 220)}{origin}"


def fitting(groups: Sequence[Sequence[Lesson]], limit: int, strict: bool = False) -> list[tuple[Lesson, ...]]:
    """The first groups whose text has at most so many tokens; unless `strict`, the first one or two in any case.

    Of a group that does not fit, its first ones are kept, if two of them do.
    """
    room = TOKEN * limit - len(rendered([]))
    kept: list[tuple[Lesson, ...]] = []
    for group in groups:
        fits = _fits(group, room)
        if fits or not (kept or strict):
            kept.append(tuple(group[: fits or 2]))
        if fits < len(group):
            log.info("guidance has %d tokens: it is full after %d heuristics", limit, sum(map(len, kept)))
            break
        room -= _length(group)
    return kept


def _fits(group: Sequence[Lesson], room: int) -> int:
    """How many of a group have room as its text; at least two of several, or none."""
    sizes = range(min(2, len(group)), len(group) + 1)
    found = bisect_right(sizes, room, key=lambda size: _length(group[:size]))
    return sizes[found - 1] if found else 0


def _length(group: Sequence[Lesson]) -> int:
    return len(rendered([group])) - len(rendered([]))


def rendered(groups: Sequence[Sequence[Lesson]], headed: bool = True) -> str:
    """Heuristics as text, one a line, below a line on what they are; see `as_block`."""
    return as_block(groups, headed).text


def as_block(groups: Sequence[Sequence[Lesson]], headed: bool = True) -> Block:
    """Heuristics as guidance, an entry a group; a group of several contradict each other and stay together."""
    entries = []
    for group in groups:
        lines = [prompt_line(each.text, LINE_CHARS) for each in group]
        if len(group) == 1:
            text = f"- {lines[0]}"
        else:
            origins = (f" (from a {came_from(each)})" if came_from(each) else "" for each in group)
            text = "\n  - ".join((_OPPOSED, *map("".join, zip(lines, origins, strict=True))))
        entries.append(Entry(text=text, lesson_ids=tuple(each.id for each in group)))
    return Block(heading=_HEADING if headed else "", entries=tuple(entries))

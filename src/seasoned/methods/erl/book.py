"""The heuristics of a pool, indexed for recall, and rendered as text for a prompt.

Always holds: heuristics with equal words form one group; text keeps to its token limit, unless the first heuristic or
pair alone is longer and that is allowed; contradicting heuristics stand together and are marked.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from seasoned.methods.erl.contradictions import ALIKE, AlikeIndex, contradict, forbids, telling
from seasoned.text import TOKEN, prompt_line, same_words
from seasoned.types import Block, Entry, Lesson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seasoned.pool import ExperiencePool

log = logging.getLogger(__name__)

LINE_CHARS = 400  # characters of a heuristic in guidance, unless it was written to be longer

_HEADING = "Advice from earlier attempts at other tasks; heed what fits this one:"
_OPPOSED = "- These contradict each other; go by what you see:"

Side = tuple[Literal["success", "forbids"], bool]
"""A property of a heuristic; only one with the opposite property can contradict it."""


class Book:
    """An index of heuristics: equal ones grouped, and found by the words of their triggers or by meaning.

    `groups` have equal words, in the order of their first lessons; `firsts` maps ids to these. Only `add` extends them;
    other threads may read meanwhile.
    """

    def __init__(self, lessons: Sequence[Lesson], nearest_first: bool = False) -> None:
        self.groups: list[list[Lesson]] = []
        self.firsts: dict[str, Lesson] = {}
        self._by_words: dict[tuple[str, str], int] = {}  # places in `groups`
        self._alike = AlikeIndex(ALIKE)
        self._sides: dict[frozenset[str], dict[Side, set[int]]] = {}  # groups by side, by their triggers' words
        self._nearest_first = nearest_first  # the lessons came in the order of their nearness
        self._rows: NDArray[np.intp] | None = None  # rows of the firsts' tasks in the pool of this book
        self.add(lessons)

    def add(self, lessons: Sequence[Lesson]) -> None:
        """Add heuristics that come after all others."""
        for lesson in lessons:
            key = same_words(lesson.key), same_words(str(lesson.data.get("action") or lesson.text))
            place = self._by_words.setdefault(key, len(self.groups))
            if place == len(self.groups):
                self.groups.append([])
                self.firsts[lesson.id] = lesson
            self.groups[place].append(lesson)
            words = telling(self.groups[place][0].key) if lesson.key else frozenset()
            if not words:  # a heuristic without a trigger contradicts nothing
                continue
            sides = self._sides.setdefault(words, {})
            self._alike.add(words)
            for side in _sides(lesson):
                sides.setdefault(side, set()).add(place)

    def nearest(
        self,
        pool: ExperiencePool,
        text: str,
        lessons: Mapping[str, Lesson],
        k: int | None = None,
        of: Callable[[Lesson], str] | None = None,
    ) -> list[Lesson]:
        """The k lessons (None: all) nearest to a text, best first, in a stable order (paper appendix C.2).

        Compares the text with the task that a lesson comes from, or with what `of` returns for it.
        """
        if self._nearest_first or not lessons:
            return list(lessons.values())[:k]
        if lessons is self.firsts and of is None:
            rows_before = self._rows
            new = self.groups[0 if rows_before is None else len(rows_before) :]
            self._rows = rows = pool.text_rows([origin(group[0]) for group in new], rows_before)
            return [self.groups[place][0] for place in pool.nearest_texts(text, rows, k)]
        ordered = list(lessons.values())
        rows = pool.text_rows([(of or origin)(lesson) for lesson in ordered])
        return [ordered[place] for place in pool.nearest_texts(text, rows, k)]

    def rival(self, lesson: Lesson, candidates: Mapping[str, Lesson]) -> Lesson | None:
        """A candidate that contradicts a lesson, or None."""
        words = telling(lesson.key)
        for name, value in _sides(lesson) if words else ():
            for trigger in self._alike.near(words):
                for place in sorted(self._sides[trigger].get((name, not value), ())):
                    other = candidates.get(self.groups[place][0].id)
                    if other is not None and contradict(lesson, other):
                        return other
        return None


def _sides(lesson: Lesson) -> list[Side]:
    success = lesson.data.get("success")
    sides: list[Side] = [("success", success)] if isinstance(success, bool) else []
    return [*sides, ("forbids", forbids(lesson))]


def origin(lesson: Lesson) -> str:
    """The task that a heuristic comes from; for a person's heuristic, its own text."""
    return str(lesson.data.get("task") or lesson.text)


def trigger(lesson: Lesson) -> str:
    """The situation that a heuristic is for."""
    return lesson.key or lesson.text


def came_from(lesson: Lesson) -> str:
    """The outcome that a heuristic comes from: "success", "failure", or "" if unknown."""
    success = lesson.data.get("success")
    return "success" if success is True else "failure" if success is False else ""


def as_line(lesson: Lesson) -> str:
    """A heuristic in one line of guidance."""
    return prompt_line(lesson.text, max(LINE_CHARS, int(lesson.data.get("chars") or 0)))


def as_item(lesson: Lesson, whole: bool = False) -> str:
    """A heuristic as a ranking model sees it: its text and the task that it comes from, both cut unless `whole`."""
    task = str(lesson.data.get("task") or "")
    if whole:
        return f"Task: {task or 'unknown'} Outcome: {came_from(lesson) or 'unknown'}. Heuristic: {as_line(lesson)}"
    origin = f" (from a {came_from(lesson) or 'task'}: {prompt_line(task, 100)})" if task else ""
    return f"{prompt_line(lesson.text, 220)}{origin}"


def fitting(groups: Sequence[Sequence[Lesson]], limit: int, strict: bool = False) -> list[tuple[Lesson, ...]]:
    """The first groups whose text has at most `limit` tokens; unless `strict`, at least the first one or two.

    A group that does not fit keeps its first lessons, if at least two fit.
    """
    room = TOKEN * limit - len(_HEADING)
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
    """How many lessons of a group fit into `room`; of several, at least two or none."""
    sizes = range(min(2, len(group)), len(group) + 1)
    count = bisect_right(sizes, room, key=lambda size: _length(group[:size]))
    return sizes[count - 1] if count else 0


def _length(group: Sequence[Lesson]) -> int:
    return len(as_block([group]).text) - len(_HEADING)


def as_block(groups: Sequence[Sequence[Lesson]], headed: bool = True) -> Block:
    """Heuristics as guidance, one entry per group; the members of a group contradict each other and stay together."""
    entries = []
    for group in groups:
        lines = list(map(as_line, group))
        if len(group) == 1:
            text = f"- {lines[0]}"
        else:
            origins = (f" (from a {came_from(each)})" if came_from(each) else "" for each in group)
            text = "\n  - ".join((_OPPOSED, *map("".join, zip(lines, origins, strict=True))))
        entries.append(Entry(text=text, lesson_ids=tuple(each.id for each in group)))
    return Block(heading=_HEADING if headed else "", entries=tuple(entries))

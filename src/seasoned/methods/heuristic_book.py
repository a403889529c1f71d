"""The heuristics of a pool as a recall needs them, and as text for a prompt.

Always holds: heuristics of equal words are one group; text has at most so many tokens as asked for, but for a first
heuristic that is longer; those that contradict each other stand together and are marked.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seasoned.methods.heuristics import contradict
from seasoned.methods.operations import same_words
from seasoned.pool import ExperiencePool
from seasoned.retrieve.render import clean, render_prompt
from seasoned.retrieve.transcript import TOKEN
from seasoned.retrieve.words import KeyIndex, index_keys
from seasoned.types import Lesson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

LONGEST = 400
"""Characters of a heuristic in guidance."""
_NEAR = 20  # heuristics that are compared with one for contradictions


@dataclass
class Book:
    """All heuristics as a recall needs them: equal ones together, by the words of their triggers, and by meaning."""

    groups: list[list[Lesson]]
    index: KeyIndex
    firsts: dict[str, Lesson]  # the first of each group, by its id; not to be changed
    rows: NDArray[np.intp] | None = None  # of the tasks that these come from, in the pool whose book this is

    def nearest(
        self, pool: ExperiencePool, text: str, lessons: Mapping[str, Lesson], k: int | None = None
    ) -> list[Lesson]:
        """The k lessons (None: all) whose tasks are nearest to a text, best first, stably (paper appendix C.2)."""
        if not lessons:
            return []
        rows = self.rows if lessons is self.firsts else None
        if rows is None:
            rows = pool.text_rows([origin(lesson) for lesson in lessons.values()])
            if lessons is self.firsts:
                self.rows = rows
        chosen = list(lessons.values())
        return [chosen[place] for place in pool.nearest_texts(text, rows, k)]

    def rival(self, lesson: Lesson, candidates: Mapping[str, Lesson]) -> Lesson | None:
        """A candidate that contradicts a lesson, or None."""
        for near in self.index.match(lesson.key, k=_NEAR, share=0.6):
            other = candidates.get(near.id)
            if other is not None and other.id != lesson.id and contradict(lesson, other):
                return other
        return None


def open_book(lessons: Sequence[Lesson]) -> Book:
    """The book of these heuristics, in their order."""
    groups: dict[tuple[str, str], list[Lesson]] = {}
    for lesson in lessons:
        said = same_words(lesson.key), same_words(str(lesson.data.get("action") or lesson.text))
        groups.setdefault(said, []).append(lesson)
    firsts = [group[0] for group in groups.values()]
    return Book(list(groups.values()), index_keys(firsts), {lesson.id: lesson for lesson in firsts})


def origin(lesson: Lesson) -> str:
    """The task that a heuristic comes from; a person's stands for itself."""
    return str(lesson.data.get("task") or lesson.text)


def came_from(lesson: Lesson) -> str:
    """What kind of attempt a heuristic comes from: "success", "failure", or "" where that is not known."""
    success = lesson.data.get("success")
    return "success" if success is True else "failure" if success is False else ""


def fitting(groups: Sequence[tuple[Lesson, ...]], limit: int) -> list[tuple[Lesson, ...]]:
    """The first groups whose text has at most so many tokens; the first one in any case."""
    head = len(told([]))
    used = head
    for place, group in enumerate(groups):
        used += len(told([group])) - head
        if place and used > TOKEN * limit:
            log.info(
                "%d of %d heuristics are left out: guidance has %d tokens", len(groups) - place, len(groups), limit
            )
            return list(groups[:place])
    return list(groups)


def told(groups: Sequence[tuple[Lesson, ...]]) -> str:
    """Heuristics as text, one a line; a group of several is one of heuristics that contradict each other."""
    shown = [
        [
            {"text": clean(each.text, LONGEST), "origin": f"from a {came_from(each)}" if came_from(each) else ""}
            for each in g
        ]
        for g in groups
    ]
    return render_prompt("seasoned.methods", "erl.j2", groups=shown)

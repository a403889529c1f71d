"""The heuristics of a pool as a recall needs them, and as text for a prompt.

Always holds: heuristics of equal words are one group; text has at most so many tokens as asked for, but for a first
heuristic that is longer; those that contradict each other stand together and are marked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seasoned.methods.heuristics import contradict
from seasoned.methods.operations import same_words
from seasoned.pool import ExperiencePool
from seasoned.retrieve.render import clean, render_prompt
from seasoned.retrieve.transcript import TOKEN
from seasoned.retrieve.words import KeyIndex, index_keys
from seasoned.store.vectors import VectorCache, digest, embed
from seasoned.types import Lesson

log = logging.getLogger(__name__)

LONGEST = 400
"""Characters of a heuristic in guidance."""
_NEAR = 20  # heuristics that are compared with one for contradictions


@dataclass
class Book:
    """All heuristics as a recall needs them: equal ones together, by the words of their triggers, and by meaning."""

    groups: list[list[Lesson]]
    index: KeyIndex
    lock: threading.Lock = field(default_factory=threading.Lock)
    vectors: VectorCache | None = None

    def nearest(self, pool: ExperiencePool, text: str, lessons: Sequence[Lesson]) -> list[Lesson]:
        """The lessons by how near the tasks that they come from are to a text (paper appendix C.2), stably."""
        embedder = pool._searchable()
        if not lessons:
            return []
        wanted = embed(embedder, [text])[0]
        origins = [origin(lesson) for lesson in lessons]
        marks = [digest(origin) for origin in origins]
        with self.lock:
            if self.vectors is None:
                self.vectors = VectorCache(pool.store, "text", embedder)
            self.vectors.fill(list(dict(zip(marks, origins, strict=True)).items()))
            distinct = list(dict.fromkeys(marks))
            scores = dict(self.vectors.search(wanted, len(distinct), self.vectors.rows(distinct)))
        order = sorted(range(len(lessons)), key=lambda place: -scores[marks[place]])
        return [lessons[place] for place in order]

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
    return Book(list(groups.values()), index_keys([group[0] for group in groups.values()]))


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

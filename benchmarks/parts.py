"""Figures of the parts: the store, the static embedder, and the word matching of ExpNote.

Always holds: every part is the real one on a real file; each repeat writes new data.
"""

from __future__ import annotations

from itertools import count, cycle, islice
from typing import TYPE_CHECKING

from samples import fresh_store, notes, texts
from timing import Figure, Sizes, seconds

from seasoned.embed import embedder
from seasoned.errors import MissingExtraError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.methods.expnote import ExpNote
from seasoned.pool import ExperiencePool
from seasoned.types import Lesson, Reply, Task, Usage, new_id

if TYPE_CHECKING:
    from collections.abc import Sequence


def store(sizes: Sizes) -> list[Figure]:
    """Durable writes into a store with many lessons."""
    with fresh_store() as opened:
        pool, number = ExperiencePool(opened, "bench"), count()
        pool.add(notes(sizes.lessons))
        reply = Reply(text="glad, relieved", model="m", usage=Usage(prompt_tokens=700, completion_tokens=5, calls=1))
        batches = iter([_renewed(notes(sizes.batch)) for _ in range(sizes.repeats + 1)])
        singles = iter(_renewed(notes(10 * (sizes.repeats + 1))))
        one = seconds(lambda: pool.add(next(singles)), sizes.repeats, inner=10)
        many = seconds(lambda: pool.add(next(batches)), sizes.repeats)
        put = seconds(lambda: opened.journal_put("bench", str(next(number)), reply), sizes.repeats, inner=20)
    return [
        Figure("store: add one lesson", one),
        Figure(f"store: add {sizes.batch:,} lessons at once", many),
        Figure("store: journal one reply", put),
    ]


def static(sizes: Sizes) -> list[Figure]:
    """The default embedder, in texts per second."""
    what = "static embedder, the texts of EMOJI"
    try:
        made = embedder("static")
    except MissingExtraError as error:
        return [Figure(what, unit="texts/s", missing=str(error))]
    emoji = load_benchmark("emoji")
    batch = list(islice(cycle(task.text for task in (*emoji.train, *emoji.test)), sizes.texts))
    taken = seconds(lambda: made.embed(batch), sizes.repeats)
    return [Figure(what, tuple(len(batch) / each for each in taken), unit="texts/s")]


def recall(sizes: Sizes) -> list[Figure]:
    """ExpNote's notes for a case: without a change before, and after a note was added."""
    with fresh_store() as opened:
        pool, turn = ExperiencePool(opened, "bench"), count()
        stored = pool.add(notes(sizes.lessons))
        cases = [
            Task(id=str(i), text=f"{' '.join(n.key for n in stored[i::37][:5])} {t}") for i, t in enumerate(texts(20))
        ]
        method = ExpNote(k=5)
        added = iter(_renewed(notes(sizes.repeats + 1)))
        same = seconds(lambda: method.recall(cases[next(turn) % 20], pool), sizes.repeats, inner=5)

        def again() -> None:
            pool.add(next(added))
            method.recall(cases[next(turn) % 20], pool)

        changed = seconds(again, sizes.repeats)
    return [
        Figure(f"ExpNote.recall among {sizes.lessons:,} notes", same),
        Figure(f"ExpNote.recall among {sizes.lessons:,} notes, one of them just added", changed),
    ]


def _renewed(lessons: Sequence[Lesson]) -> list[Lesson]:
    return [lesson.model_copy(update={"id": new_id("les")}) for lesson in lessons]

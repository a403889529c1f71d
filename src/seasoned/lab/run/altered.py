"""Lessons that cannot help, for an audit: `X+blank`, `X+shuffled`, `X+foreign` and `X+corrupted`.

A lift that survives blank or shuffled lessons does not come from their content. Always holds: an altered lesson keeps
its key, its sources and its place, so retrieval finds it where it found the original; only its text differs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Literal, get_args

from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Lesson, new_id

Alteration = Literal["blank", "shuffled", "foreign", "corrupted"]
ALTERATIONS: tuple[Alteration, ...] = get_args(Alteration)

BLANK = "…"
_WORDS = ("action", "values")  # the data from which the texts of heuristics and of notes are made
FOREIGN = (
    "look for a lamp on the desks first",
    "open a closed cabinet before you search it",
    "put the clean plate on the dining table",
    "cool the apple in the fridge before you place it",
    "take the pan from the stove with care",
    "check both drawers of the side table",
    "heat the mug in the microwave for the coffee table",
    "rinse the knife in the sink",
    "carry one object at a time",
    "turn the lamp on while you hold the book",
    "search the shelves from left to right",
    "leave the fridge open while you take two things",
)
"""Advice about a household: foreign to every benchmark but ALFWorld, whose audit shows the same lines."""


def alter(lessons: Sequence[Lesson], how: Alteration, seed: int = 0) -> list[Lesson]:
    """New lessons in place of these, in order, with other texts.

    The texts are an ellipsis (blank), another lesson's text (shuffled by the seed), advice about something else
    (foreign), or the text after "never" (corrupted).
    """
    rng, words = random.Random(seed), list[tuple[str, Mapping[str, object]]]()
    if how == "blank":
        words = [(BLANK, {"action": BLANK})] * len(lessons)
    elif how == "shuffled":
        words = [(lessons[place].text, lessons[place].data) for place in _cycle(len(lessons), rng)]
    elif how == "foreign":
        advice = rng.sample(FOREIGN, len(FOREIGN))
        words = [(text, {"action": text}) for text, _ in zip(cycle(advice), lessons, strict=False)]
    else:
        words = [(f"never {one.text}", {"action": f"never {one.data.get('action')}"}) for one in lessons]
    return [_with_words(lesson, how, *text) for lesson, text in zip(lessons, words, strict=True)]


def _cycle(count: int, rng: random.Random) -> list[int]:
    """Places in random order; none stays where it was, unless there is only one (Sattolo's algorithm)."""
    places = list(range(count))
    for last in range(count - 1, 0, -1):
        other = rng.randrange(last)
        places[last], places[other] = places[other], places[last]
    return places


def altered_scope(store: Store, pool: ExperiencePool, how: Alteration, seed: int) -> str:
    """The scope of a pool's active lessons with altered texts; it is made again only when the lessons change."""
    return copied_scope(store, pool, how, pool.lessons(), lambda lessons: alter(lessons, how, seed))


def copied_scope(
    store: Store,
    pool: ExperiencePool,
    ending: str,
    lessons: Sequence[Lesson],
    change: Callable[[Sequence[Lesson]], list[Lesson]] | None = None,
) -> str:
    """The scope, with this `ending`, of copies of a pool's lessons; it is made again only when these lessons change.

    `change` makes the copies, with new ids; without it, their texts stay the same.
    """
    scope, mark = f"{pool.scope}+{ending}", [f"{lesson.id} {lesson.version}" for lesson in lessons]
    if store.marked(scope, "altered") != mark:
        copies = change(lessons) if change else [lesson.model_copy(update=_fresh()) for lesson in lessons]
        with store.transaction():
            for old in store.lessons(scope):
                store.remove_lesson(old.id, who="rule", why="the lessons have changed", purge=True)
            store.add_lessons(scope, copies, who="rule", why=f"copied: {ending}")
            store.mark(scope, "altered", mark)
    return scope


def _with_words(lesson: Lesson, how: Alteration, text: str, words: Mapping[str, object]) -> Lesson:
    """A new lesson with this text, and with `words` in place of the `_WORDS` in its data."""
    kept = {name: value for name, value in lesson.data.items() if name not in _WORDS}
    data = {**kept, **{name: words[name] for name in _WORDS if name in lesson.data and name in words}, "altered": how}
    return lesson.model_copy(update={**_fresh(), "text": text, "data": data})


def _fresh() -> dict[str, object]:
    return {"id": new_id("les"), "pinned": False, "version": 1}

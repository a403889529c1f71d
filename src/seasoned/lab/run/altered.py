"""Lessons that cannot help, for an audit: `X+blank`, `X+shuffled`, `X+foreign` and `X+corrupted`.

A lift that survives blank or shuffled lessons does not come from what the lessons say. Always holds: an altered lesson
keeps its key, its sources and its place, so that retrieval finds it where it found the original; only its words differ.
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
_WORDS = ("action", "values")  # of a heuristic and of a note: what their texts were made from
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
"""Advice about a household, which no benchmark but ALFWorld is about; ALFWorld's audit shows the same lines."""


def alter(lessons: Sequence[Lesson], how: Alteration, seed: int = 0) -> list[Lesson]:
    """New lessons in the place of these, with other words.

    Args:
        lessons: what was learned, in order.
        how: blank, an ellipsis in place of the text; shuffled, each carries another one's text; foreign, advice about
            something else; corrupted, the text is said to be wrong.
        seed: of the shuffling.
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
    return [_with_words(lesson, how, *said) for lesson, said in zip(lessons, words, strict=True)]


def _cycle(count: int, rng: random.Random) -> list[int]:
    """Places in another order, of which none keeps its own as long as there are two (Sattolo's algorithm)."""
    places = list(range(count))
    for last in range(count - 1, 0, -1):
        other = rng.randrange(last)
        places[last], places[other] = places[other], places[last]
    return places


def altered_scope(store: Store, pool: ExperiencePool, how: Alteration, seed: int) -> str:
    """The scope that holds a pool's active lessons with other words; made once, and anew when the lessons changed."""
    return copied_scope(store, pool, how, pool.lessons(), lambda lessons: alter(lessons, how, seed))


def copied_scope(
    store: Store,
    pool: ExperiencePool,
    ending: str,
    lessons: Sequence[Lesson],
    change: Callable[[Sequence[Lesson]], list[Lesson]] | None = None,
) -> str:
    """The scope beside a pool's that holds copies of these lessons; made once, and anew when they changed.

    Args:
        store: holds them.
        pool: whose lessons they are.
        ending: of the scope's name.
        lessons: what is copied, in order.
        change: gives the copies, with new ids; without it they have the same words.
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
    """A new lesson with this text; of `_WORDS` in its data, from which texts are made, it has what `words` has."""
    kept = {name: value for name, value in lesson.data.items() if name not in _WORDS}
    data = {**kept, **{name: words[name] for name in _WORDS if name in lesson.data and name in words}, "altered": how}
    return lesson.model_copy(update={**_fresh(), "text": text, "data": data})


def _fresh() -> dict[str, object]:
    return {"id": new_id("les"), "pinned": False, "version": 1}

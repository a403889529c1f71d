"""Greenhouse: how often a plant is watered. The plants have invented names, so only experience can tell.

`load` is a benchmark, `Labels` a method, `read_diary` an importer; the entry points in pyproject.toml name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import seasoned

DAYS = {"murl": "3", "fenop": "7", "task": "2", "ilber": "9", "quan": "5", "sorrop": "4"}


def load(options: dict[str, Any], *, seed: int) -> seasoned.Benchmark:
    """The benchmark; `options` has the recipe's other settings, and `seed` could decide the order."""
    ask, water = "After how many days is {} watered?", "When does {} get water again?"
    return seasoned.Benchmark(
        name="greenhouse",
        instruction="Name the number of days.",
        train=tuple(seasoned.Task(id=f"ask-{p}", text=ask.format(p), data={"answer": d}) for p, d in DAYS.items()),
        test=tuple(seasoned.Task(id=f"new-{p}", text=water.format(p), data={"answer": d}) for p, d in DAYS.items()),
        examples=(),
        retrieval=seasoned.Retrieval(k=3, share=1.0),
        max_turns=10,
        think_hint="what the notes say.",
        note_hint="Note the days under the name of the plant.",
        make_env=partial(seasoned.AnswerEnvironment, score, max_turns=10),
        source="made-up plants",
    )


def score(text: str, data: dict[str, Any]) -> seasoned.Scored:
    """The answer, and whether it is right."""
    return seasoned.Scored(text, text.strip() == data["answer"])


@dataclass
class Labels:
    """Stores every right answer, and recalls all of them."""

    name: ClassVar[str] = "labels"  # the store records under this name which attempts were learned from
    k: int = 10

    def learn(self, trajectories, pool) -> None:
        """Write one insight for each task that was solved."""
        for attempt in trajectories:
            if attempt.outcome.success:
                text = f"{attempt.task} {attempt.outcome.answer}"
                pool.add(seasoned.Lesson(kind="insight", text=text, sources=(attempt.id,), method="labels"))

    def recall(self, task, pool, progress=None) -> seasoned.Guidance:
        """All insights, for any task."""
        lessons = tuple(pool.lessons("insight")[: self.k])
        return seasoned.Guidance(lessons=lessons, text="\n".join(f"- {lesson.text}" for lesson in lessons))


def read_diary(path) -> list[seasoned.Trajectory]:
    """Read lines such as `murl: 3 ok` as attempts."""
    attempts = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        plant, _, rest = line.partition(":")
        days, _, ended = rest.strip().partition(" ")
        outcome = seasoned.Outcome(success=ended == "ok", answer=days, reason="answered")
        attempts.append(seasoned.Trajectory(id=f"line-{number}", task_id=plant, task=f"water {plant}", outcome=outcome))
    return attempts

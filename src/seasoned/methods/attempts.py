"""Parts of an attempt that methods use: its thoughts, what was said of its answer, and the attempt without that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from seasoned.text import fold, prompt_line
from seasoned.types import Lesson, Step, Trajectory

NO_OUTCOME = "no outcome is known"
TOO_LONG = "the model refuses it as too long, whatever is cut from it"
UNUSABLE = "nothing was found in it that can be used"
"""Why an attempt teaches nothing yet; see `ExperiencePool.skip`."""

_PARTS = re.compile(r"\s*[,;]\s*")
_LONGEST_PART = 4


_ACTION = r"\W{0,8}(?:action\W{0,4}\d{0,3}\W{1,4})?"
_ANSWER = re.compile(rf"{_ACTION}(?:answer|finish)\W{{0,4}}[\[(:]", re.IGNORECASE)
_LAST = re.compile(rf"{_ACTION}(?:submit\W{{0,4}}[\[(:]|click\[buy now\])", re.IGNORECASE)
_ENDED = frozenset({"answered", "won", "halted"})


def without_verdict(trajectory: Trajectory) -> Trajectory:
    """The attempt without what was said to its answer, which could name the right one.

    Nothing that follows an ANSWER is kept: notes are written once the right answer was told. What was seen last stays
    where it was no word on an answer: a test that failed is all there is to learn from.
    """
    steps: list[Step] = []
    for step in trajectory.steps:
        steps.append(_unjudged(step) if _ANSWER.match(step.action) else step)
        if step.action.startswith("ANSWER["):
            break
    outcome = trajectory.outcome
    given = outcome.answer if outcome.reason in _ENDED else ""
    if steps and (_LAST.match(steps[-1].action) or (given and given in steps[-1].action)):
        steps[-1] = _unjudged(steps[-1])
    return trajectory.model_copy(update={"steps": tuple(steps)})


def _unjudged(step: Step) -> Step:
    return step.model_copy(update={"observation": ""})


def parts(value: str) -> list[str]:
    """A note that lists short things, taken apart (folded); any other note whole."""
    found = [fold(part).strip(" .") for part in _PARTS.split(value)]
    found = [part for part in found if part]
    if len(found) > 1 and all(len(part.split()) <= _LONGEST_PART for part in found):
        return list(dict.fromkeys(found))
    return [value.strip() if len(value.split()) > _LONGEST_PART else fold(value).strip(" .")]


def thoughts(progress: Trajectory) -> list[str]:
    """What an attempt thought so far, taken apart like the values of notes."""
    said = [
        step.action[len("THINK[") :].removesuffix("]") for step in progress.steps if step.action.startswith("THINK[")
    ]
    return [part for text in said for part in parts(text)]


def last_word(trajectory: Trajectory) -> str:
    """What the environment said of the answer: the observation of the ANSWER step."""
    said = [step.observation for step in trajectory.steps if step.action.startswith("ANSWER")]
    return prompt_line(said[-1]) if said else ""


class Sources:
    """The attempts that lessons came from; `known` has their ids."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.known: set[str] = set()
        self.add(lessons)

    def add(self, lessons: Sequence[Lesson]) -> None:
        """Take in more lessons."""
        self.known.update(source for lesson in lessons for source in lesson.sources)

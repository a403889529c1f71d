"""Parts of an attempt that methods use: its thoughts, the verdict on its answer, and the attempt without it."""

from __future__ import annotations

import re

from seasoned.text import fold, prompt_line
from seasoned.types import Step, Trajectory

NO_OUTCOME = "no outcome is known"
TOO_LONG = "the model refuses it as too long, whatever is cut from it"
UNUSABLE = "nothing was found in it that can be used"
"""Why an attempt teaches nothing yet; see `ExperiencePool.skip`."""

_PARTS = re.compile(r"\s*[,;]\s*")
_MAX_WORDS = 4  # of each part of a list
_ACTION = r"\W{0,8}(?:action\W{0,4}\d{0,3}\W{1,4})?"
_ANSWER = re.compile(rf"{_ACTION}(?:answer|finish)\W{{0,4}}[\[(:]", re.IGNORECASE)
_LAST = re.compile(rf"{_ACTION}(?:submit\W{{0,4}}[\[(:]|click\[buy now\])", re.IGNORECASE)
_ENDED = frozenset({"answered", "won", "halted"})


def without_verdict(trajectory: Trajectory) -> Trajectory:
    """The attempt without the verdict on its answer, which could name the right one.

    Everything after an ANSWER is removed, since notes are written after the right answer is shown. Any other last
    observation stays: a failed test is often all there is to learn from.
    """
    steps: list[Step] = []
    for step in trajectory.steps:
        steps.append(_unjudged(step) if _ANSWER.match(step.action) else step)
        if step.action.startswith("ANSWER["):
            break
    outcome = trajectory.outcome
    answer = outcome.answer if outcome.reason in _ENDED else ""
    if steps and (_LAST.match(steps[-1].action) or (answer and answer in steps[-1].action)):
        steps[-1] = _unjudged(steps[-1])
    return trajectory.model_copy(update={"steps": tuple(steps)})


def _unjudged(step: Step) -> Step:
    return step.model_copy(update={"observation": ""})


def parts(value: str) -> list[str]:
    """The folded parts of a note that lists short things; any other note as one part."""
    items = [fold(part).strip(" .") for part in _PARTS.split(value)]
    items = [part for part in items if part]
    if len(items) > 1 and all(len(part.split()) <= _MAX_WORDS for part in items):
        return list(dict.fromkeys(items))
    return [value.strip() if len(value.split()) > _MAX_WORDS else fold(value).strip(" .")]


def thoughts(progress: Trajectory) -> list[str]:
    """The parts of an attempt's thoughts so far, split as the values of notes are."""
    thinking = [step.action for step in progress.steps if step.action.startswith("THINK[")]
    return [part for action in thinking for part in parts(action.removeprefix("THINK[").removesuffix("]"))]


def last_word(trajectory: Trajectory) -> str:
    """The environment's verdict on the answer: the observation of the ANSWER step."""
    verdicts = [step.observation for step in trajectory.steps if step.action.startswith("ANSWER")]
    return prompt_line(verdicts[-1]) if verdicts else ""

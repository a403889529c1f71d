"""Lessons against the record: does what was recorded speak for a lesson or against it, before any attempt is paid?

There are three ways: by words (free), by a model's judgement, and by how the lesson shifts a model's odds of what was
done in recorded successes and failures. Always holds: an attempt that a lesson came from is no evidence about it; a
score is 0 where the record says nothing; whatever a model replies, nothing here raises on it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from seasoned.errors import ContextLengthError, ParseError
from seasoned.protocols import LLM
from seasoned.text import fold, render_prompt, shorten_trajectory, transcript, words_of
from seasoned.types import Lesson, Message, Trajectory

Way = Literal["words", "judge", "likelihood"]
WAYS: tuple[Way, ...] = get_args(Way)
EVIDENCE = 4
"""Attempts that a model looks at for each lesson, at most: those that have the most of its words."""
OPTIONS = 4
"""Actions to choose from: the one that was taken, and others of the record."""
_ROOM = 2400  # characters of an attempt that a model looks at
_VERDICTS: Mapping[str, float] = {"A": 1.0, "B": -1.0, "C": 0.0}  # as judge.j2 has them


@dataclass(frozen=True)
class Finding:
    """What the record says of one lesson: below 0 it speaks against it. `attempts` are those it was compared with."""

    lesson_id: str
    score: float
    attempts: tuple[str, ...] = ()


def against_record(
    lessons: Sequence[Lesson], attempts: Sequence[Trajectory], by: Way = "words", llm: LLM | None = None
) -> list[Finding]:
    """What recorded attempts say of each lesson, in the order of the lessons.

    Args:
        lessons: what is to be checked.
        attempts: the record; those without a known outcome, and those a lesson came from, do not count for it.
        by: words, a comparison of the words of a lesson with those of actions in successes and failures; judge, a model
            says whether attempts support or contradict it; likelihood, how much more likely the lesson makes what was
            done in successes, and less likely what was done in failures, as the model's odds of choices tell.
        llm: the model; words need none.

    Raises:
        ValueError: a model is needed and none is given.
        LLMError: as the model raises it, but for a reply of the wrong form and a prompt that is too long.
    """
    known = [attempt for attempt in attempts if attempt.outcome.success is not None and attempt.steps]
    if by == "words":
        return _by_words(lessons, known)
    if llm is None:
        raise ValueError(f"a check by {by} asks a model: give one")
    compare = _judged if by == "judge" else _shifts(llm, known)
    found = []
    for lesson in lessons:
        near = nearest_attempts(lesson, known)
        scores = [score for attempt in near for score in compare(llm, lesson, attempt)]
        mean = sum(scores) / len(scores) if scores else 0.0
        found.append(Finding(lesson.id, mean, tuple(attempt.id for attempt in near)))
    return found


def nearest_attempts(lesson: Lesson, attempts: Sequence[Trajectory], count: int = EVIDENCE) -> list[Trajectory]:
    """The attempts that share the most words with a lesson, and none that it came from; half of them successes."""
    words = set(words_of(fold(_said(lesson))))
    others = [attempt for attempt in attempts if attempt.id not in lesson.sources]

    def shared(attempt: Trajectory) -> int:
        return len(words & set(words_of(fold(f"{attempt.task} {_actions(attempt)}"))))

    ordered = sorted((attempt for attempt in others if shared(attempt)), key=shared, reverse=True)
    sides = [[one for one in ordered if one.outcome.success is side][: count // 2] for side in (True, False)]
    return [one for side in sides for one in side]


def _said(lesson: Lesson) -> str:
    return f"{lesson.key}: {lesson.text}" if lesson.key else lesson.text


def _actions(attempt: Trajectory) -> str:
    return "\n".join(step.action for step in attempt.steps)


def _by_words(lessons: Sequence[Lesson], attempts: Sequence[Trajectory]) -> list[Finding]:
    """The mean log odds, successes against failures, of the lesson's words, and pairs of them, within one action."""
    said = {attempt.id: _marks(attempt) for attempt in attempts}
    ends = {attempt.id: bool(attempt.outcome.success) for attempt in attempts}
    total = Counter(ends.values())
    counts: dict[bool, Counter[frozenset[str]]] = {True: Counter(), False: Counter()}
    for name, marks in said.items():
        counts[ends[name]].update(marks)
    found = []
    for lesson in lessons:
        words = set(words_of(fold(_said(lesson))))
        own = [name for name in lesson.sources if name in said]
        scores = []
        for mark in {mark for counter in counts.values() for mark in counter if mark <= words}:
            less = Counter(ends[name] for name in own if mark in said[name])
            gone = Counter(ends[name] for name in own)
            sides = [
                (counts[side][mark] - less[side] + 0.5) / (total[side] - gone[side] + 1.0) for side in (True, False)
            ]
            scores.append(math.log(sides[0] / sides[1]) * len(mark))
        found.append(Finding(lesson.id, sum(scores) / len(scores) if scores else 0.0))
    return found


def _marks(attempt: Trajectory) -> set[frozenset[str]]:
    """The words of an attempt's actions, and the pairs of words that stand within one action."""
    marks: set[frozenset[str]] = set()
    for step in attempt.steps:
        words = sorted(set(words_of(fold(step.action))))[:12]
        marks.update(frozenset((one, other)) for one in words for other in words)
    return marks


def _judged(llm: LLM, lesson: Lesson, attempt: Trajectory) -> Iterator[float]:
    """1 where the model says that the attempt supports the lesson, -1 where it contradicts it."""
    shown = transcript(shorten_trajectory(attempt, _ROOM))
    text = render_prompt(__package__, "judge.j2", attempt=shown, success=attempt.outcome.success, lesson=_said(lesson))
    answer = _chosen(llm, text, tuple(_VERDICTS))
    yield from (_VERDICTS[each] * part for each, part in answer.items())


def _shifts(llm: LLM, attempts: Sequence[Trajectory]) -> Callable[[LLM, Lesson, Trajectory], Iterator[float]]:
    """A comparison of the log odds of the actions of an attempt with the lesson and without it, asked once each."""
    without: dict[str, float] = {}

    def compare(llm: LLM, lesson: Lesson, attempt: Trajectory) -> Iterator[float]:
        place = _decisive(attempt)
        options = _options(attempt, place, attempts)
        if len(options) < 2:
            return
        if attempt.id not in without:
            without[attempt.id] = _odds(llm, attempt, place, options, "")
        shift = math.log(_odds(llm, attempt, place, options, _said(lesson)) / without[attempt.id])
        yield shift if attempt.outcome.success else -shift

    return compare


def _decisive(attempt: Trajectory) -> int:
    """The step that is asked about: the one that gave the answer, or the last action."""
    taken = [place for place, step in enumerate(attempt.steps) if step.action]
    answer = attempt.outcome.answer
    answered = [place for place in taken if answer and _argument(attempt.steps[place].action) == answer]
    return max(answered or taken, default=0)


def _argument(action: str) -> str:
    """What stands in an action's brackets; the action itself where it has none."""
    inside = action.rstrip().removesuffix("]").partition("[")[2]
    return inside or action


def _options(attempt: Trajectory, place: int, attempts: Sequence[Trajectory]) -> list[str]:
    """The action of a step among others of the record, in an order of its own that is the same each time."""
    taken = attempt.steps[place].action
    rng = random.Random(attempt.id)
    others = sorted({step.action for one in attempts for step in one.steps if step.action} - {taken})
    # Choices that stood in the task are what the agent could have said instead.
    form = taken.partition("[")[0]
    others = [action for action in others if action.partition("[")[0] == form] or others
    near = [action for action in others if _argument(action) in attempt.task] or others
    options = [taken, *rng.sample(near, min(OPTIONS - 1, len(near)))] if taken else []
    rng.shuffle(options)
    return options


def _odds(llm: LLM, attempt: Trajectory, place: int, options: Sequence[str], lesson: str) -> float:
    letters = "ABCDEFGH"[: len(options)]
    before = attempt.model_copy(update={"steps": attempt.steps[:place]})
    text = render_prompt(
        __package__,
        "choose.j2",
        attempt=transcript(shorten_trajectory(before, _ROOM)),
        options=list(zip(letters, options, strict=True)),
        lesson=lesson,
    )
    odds = _chosen(llm, text, tuple(letters))
    taken = letters[options.index(attempt.steps[place].action)]
    return min(max(odds.get(taken, 1 / len(options) if not odds else 0.0), 0.01), 0.99)


def _chosen(llm: LLM, text: str, choices: Sequence[str]) -> dict[str, float]:
    """How likely each choice is; {} where the reply is none of them or the prompt is too long."""
    messages: list[Message] = [{"role": "user", "content": text}]
    try:
        reply = llm.chat(messages, schema={"type": "string", "enum": list(choices)}, max_tokens=16)
    except (ParseError, ContextLengthError):
        return {}
    return {str(each): part for each, part in (reply.odds or {str(reply.parsed): 1.0}).items() if each in choices}

"""Checks lessons against the record: do recorded attempts support or contradict them, before any attempt is paid for?

There are three ways: by words (free), by a model's judgement, and by how the lesson shifts a model's odds of the
actions in recorded successes and failures. Always holds: an attempt that a lesson came from is no evidence about it; a
score is 0 if the record says nothing; no reply of a model raises.
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
"""The most attempts that a model sees for each lesson: those that share the most words with it."""
OPTIONS = 4
"""Actions to choose from: the one taken, and others from the record."""
_ROOM = 2400  # characters of an attempt that a model sees
_VERDICTS: Mapping[str, float] = {"A": 1.0, "B": -1.0, "C": 0.0}  # as in judge.j2


@dataclass(frozen=True)
class Finding:
    """The record's score of one lesson: below 0, it contradicts it. `attempts` are those it was compared with."""

    lesson_id: str
    score: float
    attempts: tuple[str, ...] = ()


def against_record(
    lessons: Sequence[Lesson], attempts: Sequence[Trajectory], by: Way = "words", llm: LLM | None = None
) -> list[Finding]:
    """Check each lesson against recorded attempts; findings are in the order of the lessons.

    Args:
        lessons: the lessons to check.
        attempts: the record; attempts of unknown outcome, and those that a lesson came from, do not count.
        by: words compares a lesson's words with those of actions in successes and failures; judge asks a model whether
            attempts support or contradict it; likelihood measures, by the model's odds, how much more likely the lesson
            makes actions of successes, and less likely those of failures.
        llm: the model; words need none.

    Raises:
        ValueError: a model is needed and missing.
        LLMError: whatever the model raises, except for a reply in the wrong form and a prompt that is too long.
    """
    known = [attempt for attempt in attempts if attempt.outcome.success is not None and attempt.steps]
    if by == "words":
        return _by_words(lessons, known)
    if llm is None:
        raise ValueError(f"the check by {by} needs a model")
    compare = _judged if by == "judge" else _shifts(known)
    findings = []
    for lesson in lessons:
        near = nearest_attempts(lesson, known)
        scores = [score for attempt in near for score in compare(llm, lesson, attempt)]
        mean = sum(scores) / len(scores) if scores else 0.0
        findings.append(Finding(lesson.id, mean, tuple(attempt.id for attempt in near)))
    return findings


def nearest_attempts(lesson: Lesson, attempts: Sequence[Trajectory]) -> list[Trajectory]:
    """The attempts that share the most words with a lesson, except its sources; half of them successes."""
    words = set(words_of(fold(_text(lesson))))
    others = [attempt for attempt in attempts if attempt.id not in lesson.sources]

    def shared(attempt: Trajectory) -> int:
        return len(words & set(words_of(fold(f"{attempt.task} {_actions(attempt)}"))))

    ordered = sorted((attempt for attempt in others if shared(attempt)), key=shared, reverse=True)
    won = [attempt for attempt in ordered if attempt.outcome.success]
    lost = [attempt for attempt in ordered if attempt.outcome.success is False]
    return [*won[: EVIDENCE // 2], *lost[: EVIDENCE // 2]]


def _text(lesson: Lesson) -> str:
    return f"{lesson.key}: {lesson.text}" if lesson.key else lesson.text


def _actions(attempt: Trajectory) -> str:
    return "\n".join(step.action for step in attempt.steps)


def _by_words(lessons: Sequence[Lesson], attempts: Sequence[Trajectory]) -> list[Finding]:
    """The mean log odds, successes against failures, of the lesson's words, and pairs of them, within one action."""
    marks_of = {attempt.id: _marks(attempt) for attempt in attempts}
    ends = {attempt.id: bool(attempt.outcome.success) for attempt in attempts}
    total = Counter(ends.values())
    counts: dict[bool, Counter[frozenset[str]]] = {True: Counter(), False: Counter()}
    for name, marks in marks_of.items():
        counts[ends[name]].update(marks)
    findings = []
    for lesson in lessons:
        words = set(words_of(fold(_text(lesson))))
        sources = [name for name in lesson.sources if name in marks_of]
        left_out = Counter(ends[name] for name in sources)
        scores = []
        for mark in {mark for counter in counts.values() for mark in counter if mark <= words}:
            own = Counter(ends[name] for name in sources if mark in marks_of[name])
            won, lost = (
                (counts[side][mark] - own[side] + 0.5) / (total[side] - left_out[side] + 1.0) for side in (True, False)
            )
            scores.append(math.log(won / lost) * len(mark))
        findings.append(Finding(lesson.id, sum(scores) / len(scores) if scores else 0.0))
    return findings


def _marks(attempt: Trajectory) -> set[frozenset[str]]:
    """The words of an attempt's actions, and the pairs of words within one action."""
    marks: set[frozenset[str]] = set()
    for step in attempt.steps:
        words = sorted(set(words_of(fold(step.action))))[:12]
        marks.update(frozenset((one, other)) for one in words for other in words)
    return marks


def _judged(llm: LLM, lesson: Lesson, attempt: Trajectory) -> Iterator[float]:
    """1 if the model says that the attempt supports the lesson, -1 if it contradicts it."""
    shown = transcript(shorten_trajectory(attempt, _ROOM))
    text = render_prompt(__package__, "judge.j2", attempt=shown, success=attempt.outcome.success, lesson=_text(lesson))
    answer = _chosen(llm, text, tuple(_VERDICTS))
    yield from (_VERDICTS[each] * part for each, part in answer.items())


def _shifts(attempts: Sequence[Trajectory]) -> Callable[[LLM, Lesson, Trajectory], Iterator[float]]:
    """Compare the log odds of an attempt's actions with and without the lesson; the latter are asked for once."""
    without: dict[str, float] = {}

    def compare(llm: LLM, lesson: Lesson, attempt: Trajectory) -> Iterator[float]:
        place = _decisive(attempt)
        options = _options(attempt, place, attempts)
        if len(options) < 2:
            return
        if attempt.id not in without:
            without[attempt.id] = _odds(llm, attempt, place, options, "")
        shift = math.log(_odds(llm, attempt, place, options, _text(lesson)) / without[attempt.id])
        yield shift if attempt.outcome.success else -shift

    return compare


def _decisive(attempt: Trajectory) -> int:
    """The step to ask about: the one with the answer, or the last action."""
    taken = [place for place, step in enumerate(attempt.steps) if step.action]
    answer = attempt.outcome.answer
    answered = [place for place in taken if answer and _argument(attempt.steps[place].action) == answer]
    return max(answered or taken, default=0)


def _argument(action: str) -> str:
    """The text in an action's brackets, or else the action itself."""
    inside = action.rstrip().removesuffix("]").partition("[")[2]
    return inside or action


def _options(attempt: Trajectory, place: int, attempts: Sequence[Trajectory]) -> list[str]:
    """The action of a step among others from the record, in a fixed random order."""
    taken = attempt.steps[place].action
    rng = random.Random(attempt.id)
    others = sorted({step.action for one in attempts for step in one.steps if step.action} - {taken})
    # Choices named in the task are what the agent could have answered instead.
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
    """The probability of each choice; {} if the reply is none of them or the prompt is too long."""
    messages: list[Message] = [{"role": "user", "content": text}]
    try:
        reply = llm.chat(messages, schema={"type": "string", "enum": list(choices)}, max_tokens=16)
    except (ParseError, ContextLengthError):
        return {}
    return {str(each): part for each, part in (reply.odds or {str(reply.parsed): 1.0}).items() if each in choices}

"""The attempts that a ReAct or Reflexion log holds, as trajectories.

Always holds: how an attempt ended is what the log says of it, and unknown where it says nothing; a reflection goes with
the attempt that it was written after, and is guidance to the next one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seasoned.traces.source import MAX_REPEATED, Found, Problem, digest, make, verdict
from seasoned.types import Outcome, Step, Trajectory

_VERDICT = re.compile(
    r"\b(?:answer is|answer was) (?P<word>correct|incorrect|wrong)\b|\breward = (?P<reward>[01])\b", re.IGNORECASE
)
_FINISH = re.compile(
    r"[ \t]{0,8}(?:finish|answer|submit)[ \t]{0,2}\[(?P<answer>.*)\][ \t.]{0,8}$", re.IGNORECASE | re.DOTALL
)
_ANSWERS = re.compile(r"[ \t]{0,8}(?:finish|answer|submit)[ \t]{0,2}\[", re.IGNORECASE)
_LOOKED_AT = 8  # lines of an action in which an answer may begin
THOUGHT, ACTION, SEEN = range(3)


@dataclass
class Attempt:
    """One attempt as it is being read; texts are lists of lines until it is closed."""

    line: int
    environment: int = -1
    task: list[str] = field(default_factory=list)
    steps: list[tuple[list[str], list[str], list[str]]] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # reflections it was given
    after: list[str] = field(default_factory=list)  # the reflection on it
    gold: str = ""
    status: bool | None = None
    score: float | None = None
    section: str = ""
    labelled: bool = False
    count: int = -1  # the number of the last thought or action that had one
    again: bool = False  # its task was told for the one before
    ended: bool = False
    judged: bool = False  # its last step is an answer, with the verdict as what was observed
    unanswered: bool = False  # the log says that it gave no answer, whatever its last action is

    @property
    def over(self) -> bool:
        """Whether what it did is told to its end."""
        return self.ended or self.judged

    def begin_step(self) -> None:
        """Another step, on which nothing is said yet."""
        self.steps.append(([], [], []))
        self.judged = False

    def observed(self, first: str) -> None:
        """Takes the first line of what was observed after the last step."""
        self.steps[-1][SEEN].append(first)
        answers = any(_ANSWERS.match(line) for line in self.steps[-1][ACTION][:_LOOKED_AT])
        self.judged = answers and _VERDICT.search(first[:200]) is not None

    def text(self, which: int) -> str:
        """A part of the last step."""
        part = self.steps[-1][which]
        said = "\n".join(part).strip()
        if not said:
            part.clear()  # blank lines say nothing, and would be joined again and again
        return said

    def begins_anew(self, count: int) -> bool:
        """Whether a step of this number is another attempt's first: some logs count from 0, most from 1."""
        return bool(self.text(ACTION)) and (count < self.count or (count == 1 and self.count != 0))


def finished(
    attempts: Iterable[Attempt], problems: Sequence[Problem], source: Mapping[str, Any], *, repeats: bool
) -> Found:
    """The attempts as trajectories, with the trials of each task numbered from 0.

    Args:
        attempts: in the log's order.
        problems: what was wrong, in any order.
        source: what every trajectory's meta says of where it came from.
        repeats: whether the log prints what was solved before once more in each trial, so that such an attempt is
            told of a second time and is not a second one.
    """
    found = Found(problems=sorted(problems, key=lambda problem: int(problem.where.split()[1])))
    seen: Counter[str] = Counter()
    tries: Counter[str] = Counter()
    latest: dict[str, int] = {}
    repeated = 0
    for attempt in attempts:
        steps = [_step(*step) for step in attempt.steps]
        task = "\n".join(attempt.task).strip() or _unnamed(attempt, source)
        repeated += len(task) if attempt.again else 0
        if attempt.again and repeated > MAX_REPEATED:
            why = f"tasks told once are tried again for more than {MAX_REPEATED:,} characters in all: left out"
            found.problems.append(Problem(f"line {attempt.line}", why))
            continue
        outcome = _outcome(attempt, steps)
        same = digest(task, [step.model_dump() for step in steps], outcome.model_dump())
        if repeats and outcome.success and seen[same]:
            found.repeated += 1
            continue
        reflection = "\n".join(attempt.after).strip()
        given = "\n".join(attempt.before).strip()
        earlier = latest.get(task)
        if given and earlier is not None:
            _reflect(found.trajectories, earlier, given)
        meta = {
            **source,
            "place": f"line {attempt.line}",
            "trial": tries[task],
            "environment": attempt.environment if attempt.environment >= 0 else None,
            "gold": attempt.gold,
            "reflection": reflection,
        }
        latest[task] = len(found.trajectories)
        found.trajectories.append(make(task, steps, outcome, meta=meta, guidance=given, occurrence=seen[same]))
        seen[same] += 1
        tries[task] += 1
    return found


def _step(thought: list[str], action: list[str], seen: list[str]) -> Step:
    return Step(
        thought="\n".join(thought).strip(), action="\n".join(action).strip(), observation="\n".join(seen).strip()
    )


def _unnamed(attempt: Attempt, source: Mapping[str, Any]) -> str:
    if attempt.environment >= 0:
        return f"Environment #{attempt.environment}"
    return str(source.get("file", "")) or "unnamed"


def _reflect(trajectories: list[Trajectory], place: int, given: str) -> None:
    """Give an attempt the reflection that its successor was shown, the last of those, unless it has one."""
    attempt = trajectories[place]
    if attempt.outcome.success is not True and "reflection" not in attempt.meta:
        last = given.split("\n- ")[-1].removeprefix("- ").strip()
        trajectories[place] = attempt.model_copy(update={"meta": {**attempt.meta, "reflection": last}})


def _outcome(attempt: Attempt, steps: list[Step]) -> Outcome:
    finish = None if attempt.unanswered else _FINISH.match(steps[-1].action)
    said = _said(steps[-1].observation)
    success = attempt.status
    if success is None and finish:
        success = said  # a page may hold the same words, and then the section knows better
    if success is None and attempt.section:
        success = {"correct": True, "incorrect": False, "halted": False}.get(attempt.section)
    if success is None:
        success = said
    if success is None and attempt.score is not None:
        success = verdict(attempt.score)
    reason = "unfinished"
    if finish:
        reason = "answered"
    elif attempt.section == "halted":
        reason = "step_limit"
    elif success is not None:
        reason = "won" if success else "halted"
    reward = attempt.score if attempt.score is not None else (None if success is None else float(success))
    return Outcome(success=success, reward=reward, reason=reason, answer=finish["answer"].strip() if finish else "")


def _said(observation: str) -> bool | None:
    found = _VERDICT.search(observation)
    if found is None:
        return None
    return found["word"].lower() == "correct" if found["word"] else found["reward"] == "1"

"""Reads text logs of ReAct and Reflexion runs: thoughts, actions and observations of several tasks and trials.

A file may mix two forms: `Thought n: / Action n: / Observation n:` under `Question:` (HotpotQA, FEVER), and `> command`
under `Environment #n:` (ALFWorld, WebShop). Headers, rulers, statistics and the examples of a prompt are skipped;
verdicts, scores and reflections are kept. A line is classified twice: by its text (in `react_lines`), then by the
attempt before it and the lines after it. Always holds: any text gives attempts and problems, nothing raises, and the
time grows linearly with the length; the outcome of an attempt is the one in the log, or unknown; a reflection belongs
to the attempt after which it was written, and is guidance for the next one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seasoned.traces.react_lines import AGAIN, Ahead, Line, ahead, classify, is_reset, is_unanswered, right_answer
from seasoned.traces.source import MAX_REPEATED, Log, Problem, digest, make, number, verdict
from seasoned.types import Outcome, Step, Trajectory

_ANSI = re.compile(r"\x1b\[[0-9;]{0,32}[A-Za-z]")
_THINK = re.compile(r"[ \t]{0,4}think(?::|\[)[ \t]{0,4}", re.IGNORECASE)
_SHOP_SCORE = "Your score (min"

_VERDICT = re.compile(
    r"\b(?:answer is|answer was) (?P<word>correct|incorrect|wrong)\b|\breward = (?P<reward>[01])\b", re.IGNORECASE
)
_ANSWERS = re.compile(r"[ \t]{0,8}(?:finish|answer|submit)[ \t]{0,2}\[", re.IGNORECASE)
_FINISH = re.compile(rf"{_ANSWERS.pattern}(?P<answer>.*)\][ \t.]{{0,8}}$", re.IGNORECASE | re.DOTALL)
_ANSWER_LINES = 8  # lines of an action where an answer may begin
_HEADERS = frozenset(("question", "context", "trial", "section", "environment", "ruler", "statistic", "gold", "status",
                      "info", "heading", "reset", "goal"))  # fmt: skip
_EXAMPLE_ENDS = frozenset(("resume", "task", "environment", "section", "memory"))
_QUOTE_ENDS = frozenset(("question", "context", "gold", "trial", "environment", "section", "ruler"))
_RESET_ENDS = frozenset(("perhaps task", "environment", "section"))
_PROMPT_PARTS = frozenset(("again", "skip", "resume", "task"))
_MEANINGS = {"perhaps tally": "statistic", "perhaps task": "question"}  # of other kinds: what follows `perhaps`
_REMARKS = frozenset(("memory", "prompt", "gold", "info", "status", "score"))
_THOUGHT, _ACTION, _OBSERVATION = range(3)


@dataclass
class Attempt:
    """An attempt while it is read; its texts are lists of lines."""

    line: int
    environment: int = -1
    task: list[str] = field(default_factory=list)
    steps: list[tuple[list[str], list[str], list[str]]] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # reflections shown to it
    after: list[str] = field(default_factory=list)  # the reflection on it
    gold: str = ""
    status: bool | None = None
    score: float | None = None
    section: str = ""
    labelled: bool = False
    count: int = -1  # the number of the last numbered thought or action
    again: bool = False  # its task is that of the attempt before
    ended: bool = False
    judged: bool = False  # its last step is an answer, with the verdict as its observation
    unanswered: bool = False  # the log says that it gave no answer

    @property
    def over(self) -> bool:
        """Whether its steps are complete."""
        return self.ended or self.judged

    def text(self, part: int) -> str:
        """The thought, action or observation of the last step."""
        lines = self.steps[-1][part]
        text = "\n".join(lines).strip()
        if not text:
            lines.clear()  # so that blank lines are not joined again at each call
        return text

    def begin_step(self) -> None:
        """Begin another, empty step."""
        self.steps.append(([], [], []))
        self.judged = False

    def observe(self, first: str) -> None:
        """Take the first line of the last step's observation."""
        self.steps[-1][_OBSERVATION].append(first)
        answers = any(_ANSWERS.match(line) for line in self.steps[-1][_ACTION][:_ANSWER_LINES])
        self.judged = answers and _VERDICT.search(first[:200]) is not None

    def begins_anew(self, count: int) -> bool:
        """Whether a step with this number is the first of another attempt: some logs count from 0, most from 1."""
        return bool(self.text(_ACTION)) and (count < self.count or (count == 1 and self.count != 0))


def read(lines: Iterable[tuple[int, str, str]], source: Mapping[str, Any]) -> Log:
    """The attempts in a log's lines, as `source.lines` gives them; `source` is for the attempts' meta."""
    reader = _Reader()
    reader.run(lines)
    return trajectories_of(reader.done, reader.problems, source, repeats=reader.sections > 0)


class _Reader:
    """One pass over the lines; the meaning of a line depends on the lines before it."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.done: list[Attempt] = []
        self.open: Attempt | None = None
        self.into: list[str] | None = None  # where plain text is added
        self.task: list[str] = []  # the task of the attempt before, for its next trial
        self.section = ""
        self.sections = 0
        self.held: list[str] = []  # rulers that are either part of the text or its end
        self.skipping: frozenset[str] = frozenset()  # the kinds of lines that end the skipped part
        self.blank = True  # whether the line before was blank
        self.place, self.ahead = 0, Ahead()

    def run(self, lines: Iterable[tuple[int, str, str]]) -> None:
        cleaned = [(place, _ANSI.sub("", text), why) for place, text, why in lines]
        self.problems = [Problem(f"line {place}", why) for place, _, why in cleaned if why]
        texts = [(place, text) for place, text, why in cleaned if not why]
        classified = [classify(text) for _, text in texts]
        for (place, text), line, after in zip(texts, classified, ahead(classified), strict=True):
            self.place, self.ahead = place, after
            self._take(text, line)
            self.blank = line.kind in ("blank", "ruler")
        self._close()

    def _take(self, text: str, line: Line) -> None:
        attempt = self.open
        if self.skipping and (line.kind not in self.skipping or (line.kind == "ruler" and self.ahead.step)):
            return
        self.skipping = frozenset()
        kind = self._kind_here(text, line)
        if kind == "ruler" or (kind == "blank" and self.held):
            self.held.append(text)
            return
        if kind not in _HEADERS and self.into is not None and not (attempt and attempt.over):
            self.into.extend(self.held)
        self.held = []
        if attempt is not None and kind in ("thought", "action") and self._is_quoted(attempt, line.number):
            attempt.after.clear()  # blank lines
            self.into, self.skipping = None, _QUOTE_ENDS
        elif kind in _REMARKS:
            if attempt is not None:
                self._on(attempt, kind, text, line.rest)
        elif kind in _HEADERS or kind in _PROMPT_PARTS:
            self._start(kind, text, line)
        else:
            self._inside(kind, text, line)

    def _kind_here(self, text: str, line: Line) -> str:
        """The kind of a line in its context, which turns some kinds into plain text."""
        attempt, after, blank, rest = self.open, self.ahead, self.blank, line.rest
        over, steps = attempt is None or attempt.over, attempt is not None and bool(attempt.steps)
        if is_reset(line, after):
            return "reset"
        if line.kind == "text" and after.follows == "perhaps goal" and over:
            return "goal" if attempt is None or blank or not attempt.after else "text"
        goes_on = attempt is not None and (after.step if attempt.labelled else after.command)
        is_last = " " in rest and (over or after.follows in ("ruler", ""))
        in_observation = (
            attempt is not None and attempt.labelled and steps and self.into is attempt.steps[-1][_OBSERVATION]
        )
        fits = {  # other kinds always do
            # a page may say `Status: OK`; logs write `STATUS`
            "status": verdict(rest.split(" ")[0]) is not None and not (in_observation and "STATUS" not in text),
            "prompt": attempt is not None and not attempt.labelled,
            "again": not steps or over or (blank and after.resumes),
            "skip": after.resumes and (over or not steps),
            "statistic": over or blank,
            "perhaps tally": (over or blank) and (after.follows == "reset" or is_last),
            "perhaps score": attempt is not None
            and (over or (blank and steps and not goes_on))
            and verdict(rest) is not None,
            "perhaps task": over or (blank and steps),
            "perhaps question": over or (blank and not after.step),
            "perhaps heading": over or blank or not steps,
            "perhaps goal": over,
            "perhaps reflection": over and attempt is not None,
        }
        meaning = _MEANINGS.get(line.kind, line.kind.removeprefix("perhaps "))
        return meaning if fits.get(line.kind, True) else "text"

    def _begin(self, environment: int = -1) -> Attempt:
        self._close()
        self.open = Attempt(self.place, environment=environment, section=self.section)
        self.into = self.open.task
        return self.open

    def _end(self) -> None:
        """End the steps of the open attempt; remarks on it may still follow."""
        self.into = None
        if self.open is not None:
            self.open.ended = True

    def _close(self) -> None:
        attempt, self.open, self.into, self.held = self.open, None, None, []
        if attempt is None:
            return
        attempt.steps = [step for step in attempt.steps if any("".join(part).strip() for part in step)]
        self.task = attempt.task
        if attempt.steps:
            self.done.append(attempt)
        else:
            self.problems.append(Problem(f"line {attempt.line}", "a task without a step"))

    def _is_quoted(self, attempt: Attempt, count: int) -> bool:
        """Whether a step belongs to the trial before: some logs repeat that trial instead of a reflection."""
        quoted = attempt.judged and not attempt.gold and self.into is attempt.after and count <= 1
        return quoted and not any(line.strip() for line in attempt.after)

    def _labelled(self, count: int) -> Attempt:
        """The open attempt, or a new attempt at the same task if the numbers of the steps start again."""
        attempt = self.open
        if attempt is None or (attempt.steps and count <= 1 and (attempt.ended or attempt.begins_anew(count))):
            task = "\n".join(attempt.task if attempt is not None else self.task)
            attempt = self._begin(attempt.environment if attempt is not None else -1)
            attempt.task, attempt.again = [task] if task else [], True
        attempt.labelled, attempt.count = True, count
        return attempt

    def _act(self, attempt: Attempt, command: str) -> None:
        """Add a command; a thought written as a command is added to the step of the next command."""
        thinks = _THINK.match(command)
        if not attempt.steps or attempt.text(_ACTION) or attempt.text(_OBSERVATION).casefold() not in ("", "ok."):
            attempt.begin_step()
        thought, action, observation = attempt.steps[-1]
        observation.clear()
        if thinks:
            inner = command[thinks.end() :]
            thought.append(inner.removesuffix("]") if "[" in thinks.group() else inner)
        elif command:
            action.append(command)
        self.into = observation if thinks or not attempt.labelled else action

    def _start(self, kind: str, text: str, line: Line) -> None:
        """Handle a header, or a line of a prompt."""
        attempt = self.open
        if kind == "environment":
            self._close()
            self.task = []
            if not line.rest:
                self._begin(line.number)
        elif kind == "section":
            self._close()
            self.section, self.sections = line.rest, self.sections + 1
        elif kind == "trial":
            if attempt is not None and self.into is attempt.before and not attempt.steps:
                self.into.append("")  # "Trial 0:" in a list of earlier reflections
            elif attempt is None or attempt.steps:
                self._close()
                self.section = ""
        elif kind == "statistic" or (kind == "heading" and (attempt is None or attempt.steps)):
            self._end()
        elif kind in ("question", "context"):
            self._ask(kind, text, line)
        elif kind == "again":
            self._again(text)
        elif kind == "skip":
            self.skipping = _EXAMPLE_ENDS
        elif kind == "reset":
            self._close()
            self.skipping = _RESET_ENDS
        elif kind == "goal":
            self._begin()
            self._text(text)
        elif kind == "resume":  # after examples comes the task; after a quoted trial, more of the prompt
            self.into = (
                attempt.task if "example" in text.casefold() and attempt is not None and not attempt.task else None
            )
        elif kind == "task":
            attempt = attempt or self._begin()
            attempt.task, attempt.steps, attempt.labelled = [], [], False
            self.into = attempt.task

    def _ask(self, kind: str, text: str, line: Line) -> None:
        """Handle a question, or the page that it asks about."""
        attempt = self.open
        task = "".join(attempt.task).strip() if attempt is not None else ""
        if kind == "context":
            if attempt is not None and attempt.steps and not attempt.over:
                self._text(text)
                return
            attempt = self._begin() if attempt is None or attempt.steps or task else attempt
            attempt.task.extend(("Context:", line.rest))
            self.into = attempt.task
            return
        if attempt is None or attempt.steps or (task and attempt.task[0] != "Context:"):
            attempt = self._begin()
        elif task == "Context:":
            attempt.task.clear()  # a page without text
        question, again, more = line.rest.partition(AGAIN)
        attempt.task.append(question)
        self.into = attempt.task
        if again:
            self._again(again + more)

    def _again(self, text: str) -> None:
        if self.open is None or self.open.over or self.open.steps:
            self._begin()  # the question follows the given text
        self.into = None
        if self.ahead.resumes and "below is the last trial" in text[:400].casefold():
            self.skipping = _EXAMPLE_ENDS

    def _inside(self, kind: str, text: str, line: Line) -> None:
        """Handle a line of a step, a reflection, or text."""
        attempt = self.open
        if kind == "thought":
            attempt = self._labelled(line.number)
            if not attempt.steps or attempt.text(_ACTION) or attempt.text(_OBSERVATION):
                attempt.begin_step()
            self.into = attempt.steps[-1][_THOUGHT]
            self.into.append(line.rest)
        elif kind == "action":
            self._act(self._labelled(line.number), line.rest)
        elif kind == "observation":
            if attempt is None or not attempt.steps:
                self.problems.append(Problem(f"line {self.place}", "an observation before any action"))
                return
            attempt.labelled = True
            self.into = attempt.steps[-1][_OBSERVATION]
            attempt.observe(line.rest)
            if line.rest.startswith(_SHOP_SCORE):
                self._on(attempt, "score", "", classify(line.rest).rest)
        elif kind == "reflection" and attempt is not None:
            self.into = attempt.after if attempt.steps else attempt.before
            self.into.append(line.rest)
            attempt.ended = bool(attempt.steps)
        elif kind == "blank":
            if self.into is not None:
                self.into.append("")
        else:
            self._text(text, stray=kind == "reflection")

    def _on(self, attempt: Attempt, kind: str, text: str, rest: str) -> None:
        """Handle a line about the open attempt: a command, a score, a verdict, the right answer."""
        if kind == "prompt":
            if rest or (attempt.steps and not attempt.ended):
                self._act(attempt, rest)
            return
        if kind == "memory":
            self.into = attempt.before
            return
        if kind == "status":
            attempt.status = verdict(rest.split(" ")[0])
        elif kind == "gold":
            if attempt.judged and not attempt.gold and attempt.after:
                # The text between the verdict and the right answer was guidance for this attempt.
                attempt.before.extend(attempt.after)
                attempt.after = []
            attempt.gold = rest
        else:
            grade = number(rest)
            attempt.score = float(verdict(rest) or False) if grade is None else grade
            if kind == "score":
                if self.into is not None and attempt.steps and _SHOP_SCORE in text:
                    self.into.append(text)  # WebShop gives the score as the last observation
                self.into = None
                return
            attempt.gold, attempt.unanswered = attempt.gold or right_answer(text), is_unanswered(text)
        self._end()

    def _text(self, text: str, *, stray: bool = False) -> None:
        if self.into is not None and not stray:
            question, again, more = text.partition(AGAIN)
            self.into.append(question.rstrip())
            if again and self.open is not None and self.into is self.open.task:
                self._again(again + more)
        elif self.open is None or self.open.ended:
            self.problems.append(Problem(f"line {self.place}", "text that belongs to no attempt"))


def trajectories_of(
    attempts: Iterable[Attempt], problems: Sequence[Problem], source: Mapping[str, Any], *, repeats: bool
) -> Log:
    """The attempts as trajectories, with the trials of each task numbered from 0.

    If the log `repeats` solved attempts in each trial, the repetitions are counted and left out.
    """
    result = Log(problems=sorted(problems, key=lambda problem: int(problem.where.split()[1])))
    seen: Counter[str] = Counter()
    trials: Counter[str] = Counter()
    latest: dict[str, int] = {}
    repeated = 0
    for attempt in attempts:
        steps = [Step(**dict(zip(("thought", "action", "observation"), map(_joined, step)))) for step in attempt.steps]
        name = f"Environment #{attempt.environment}" if attempt.environment >= 0 else str(source.get("file", ""))
        task = _joined(attempt.task) or name or "unnamed"
        repeated += len(task) if attempt.again else 0
        if attempt.again and repeated > MAX_REPEATED:
            why = f"left out: repeated tasks have more than {MAX_REPEATED:,} characters in all"
            result.problems.append(Problem(f"line {attempt.line}", why))
            continue
        outcome = _outcome(attempt, steps)
        key = digest(task, [step.model_dump() for step in steps], outcome.model_dump())
        if repeats and outcome.success and seen[key]:
            result.repeated += 1
            continue
        guidance = _joined(attempt.before)
        if guidance and task in latest:
            _reflect(result.trajectories, latest[task], guidance)
        meta = {
            **source,
            "place": f"line {attempt.line}",
            "trial": trials[task],
            "environment": attempt.environment if attempt.environment >= 0 else None,
            "gold": attempt.gold,
            "reflection": _joined(attempt.after),
        }
        latest[task] = len(result.trajectories)
        result.trajectories.append(make(task, steps, outcome, meta=meta, guidance=guidance, occurrence=seen[key]))
        seen[key] += 1
        trials[task] += 1
    return result


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip()


def _reflect(trajectories: list[Trajectory], place: int, guidance: str) -> None:
    """Give a failed attempt without a reflection the last one in the guidance of the next attempt."""
    attempt = trajectories[place]
    if attempt.outcome.success is not True and "reflection" not in attempt.meta:
        last = guidance.split("\n- ")[-1].removeprefix("- ").strip()
        trajectories[place] = attempt.model_copy(update={"meta": {**attempt.meta, "reflection": last}})


def _outcome(attempt: Attempt, steps: list[Step]) -> Outcome:
    finish = None if attempt.unanswered else _FINISH.match(steps[-1].action)
    observed = _verdict_in(steps[-1].observation)
    section = {"correct": True, "incorrect": False, "halted": False}.get(attempt.section)
    graded = verdict(attempt.score) if attempt.score is not None else None
    # A page may contain the words of a verdict: they count before the section only if they follow an answer.
    verdicts = (attempt.status, observed if finish else None, section, observed, graded)
    success = next((each for each in verdicts if each is not None), None)
    reason = "unfinished"
    if finish:
        reason = "answered"
    elif attempt.section == "halted":
        reason = "step_limit"
    elif success is not None:
        reason = "won" if success else "halted"
    reward = attempt.score if attempt.score is not None else (None if success is None else float(success))
    return Outcome(success=success, reward=reward, reason=reason, answer=finish["answer"].strip() if finish else "")


def _verdict_in(observation: str) -> bool | None:
    match = _VERDICT.search(observation)
    return (match["word"] or match["reward"]).lower() in ("correct", "1") if match else None

"""Text logs of ReAct and Reflexion runs: thoughts, actions and observations, several tasks and trials in one file.

Two forms are read, mixed if need be: `Thought n: / Action n: / Observation n:` under `Question:` (HotpotQA, FEVER), and
`> command` under `Environment #n:` (ALFWorld, WebShop). Headers, rulers, statistics and the examples of a prompt are
passed over; verdicts, scores and reflections are kept. Always holds: any text gives attempts and problems, nothing
raises, and the time grows linearly with the length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seasoned.traces.react_attempts import ACTION, SEEN, THOUGHT, Attempt, finished
from seasoned.traces.react_lines import AGAIN, ANSI, THINK, Line, classify
from seasoned.traces.source import Found, Problem, number, verdict

_STARTS = ("question", "context", "trial", "section", "environment", "ruler", "statistic", "gold", "status")


def read(lines: Iterable[tuple[int, str, str]], source: Mapping[str, Any]) -> Found:
    """The attempts in the lines of a log.

    Args:
        lines: (number, text, why it cannot be read), as `source.lines` gives them.
        source: what every trajectory's meta says of where it came from.
    """
    reader = _Reader()
    for place, text, why in lines:
        if why:
            reader.problems.append(Problem(f"line {place}", why))
        else:
            clean = ANSI.sub("", text)
            reader.lines.append((place, clean, classify(clean)))
    reader.run()
    return finished(reader.done, reader.problems, source, repeats=reader.sections > 0)


class _Reader:
    """One pass over the lines; a class because what a line means depends on what came before."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str, Line]] = []
        self.problems: list[Problem] = []
        self.done: list[Attempt] = []
        self.open: Attempt | None = None
        self.into: list[str] | None = None  # what plain text is added to
        self.task: list[str] = []  # of the attempt before, for its next trial
        self.section = ""
        self.sections = 0
        self.held: list[str] = []  # rulers that may belong to the text, or end it
        self.skipping = False
        self.blank = True  # whether the line before was blank

    def run(self) -> None:
        ends = self._examples_end()
        for (place, text, line), can_skip in zip(self.lines, ends, strict=True):
            self._one(place, text, line, can_skip)
            self.blank = line.kind in ("blank", "ruler")
        self._close()

    def _examples_end(self) -> list[bool]:
        """For each line, whether examples that begin there are said to end before the next header."""
        ends: list[bool] = []
        found = False
        for _, _, line in reversed(self.lines):
            if line.kind in ("environment", "section"):
                found = False
            elif line.kind in ("resume", "task"):
                found = True
            ends.append(found)
        return ends[::-1]

    def _one(self, place: int, text: str, line: Line, can_skip: bool) -> None:
        now, kind = self.open, line.kind
        if self.skipping and kind not in ("resume", "task", "environment", "section", "memory"):
            return
        self.skipping = False
        if kind.startswith("perhaps "):
            kind = self._settled(kind.removeprefix("perhaps "), line.rest)
        if kind == "status" and (verdict(line.rest.split(" ")[0]) is None or self._is_seen(text)):
            kind = "text"
        if kind == "ruler" or (kind == "blank" and self.held):
            self.held.append(text)
            return
        if self.held:
            if kind not in _STARTS and self.into is not None and not (now and now.ended):
                self.into.extend(self.held)
            self.held = []
        if kind == "prompt" and (now is None or now.labelled):
            kind = "text"
        if kind in ("again", "skip") and now is not None and now.steps:
            kind = "text"
        if kind == "skip" and not can_skip:
            kind = "text"
        if kind == "statistic" and now is not None and not (now.ended or self.blank):
            kind = "text"
        getattr(self, f"_{kind}")(place, text, line)

    def _settled(self, kind: str, rest: str) -> str:
        """What a label is that also stands in the midst of texts."""
        now = self.open
        if kind == "task":
            return "question" if now is None or now.ended or (self.blank and now.steps) else "text"
        if kind == "reflection":
            return kind if now is not None and now.ended else "text"
        fits = now is not None and (now.ended or (self.blank and now.steps)) and verdict(rest) is not None
        return kind if fits else "text"

    # --- headers ---

    def _environment(self, place: int, text: str, line: Line) -> None:
        self._close()
        self.task = []
        if not line.rest:
            self._begin(place, environment=line.number)

    def _section(self, place: int, text: str, line: Line) -> None:
        self._close()
        self.section, self.sections = line.rest, self.sections + 1

    def _trial(self, place: int, text: str, line: Line) -> None:
        if self.open is not None and self.into is self.open.before and not self.open.steps:
            self.into.append("")  # "Trial 0:" in a list of earlier reflections
        elif self.open is None or self.open.steps:
            self._close()
            self.section = ""

    def _statistic(self, place: int, text: str, line: Line) -> None:
        self._end()

    def _question(self, place: int, text: str, line: Line) -> None:
        now = self.open
        if now is None or now.steps or ("".join(now.task).strip() and now.task[0] != "Context:"):
            self._close()
            self._begin(place)
        assert self.open is not None
        asked, again, more = line.rest.partition(AGAIN)
        self.open.task.append(asked)
        self.into = self.open.task
        if again:
            self._again(place, again + more, line)

    def _context(self, place: int, text: str, line: Line) -> None:
        if self.open is not None and not self.open.ended and self.open.steps:
            self._text(place, text, line)
            return
        self._close()
        self._begin(place)
        assert self.open is not None
        self.open.task.extend(("Context:", line.rest))
        self.into = self.open.task

    def _again(self, place: int, text: str, line: Line) -> None:
        self.into = None
        self.skipping = "below is the last trial" in text[:400].casefold()

    def _skip(self, place: int, text: str, line: Line) -> None:
        self.skipping = True

    def _resume(self, place: int, text: str, line: Line) -> None:
        self.into = self.open.task if self.open is not None and not self.open.task else None

    def _task(self, place: int, text: str, line: Line) -> None:
        if self.open is None:
            self._begin(place)
        assert self.open is not None
        self.open.task, self.open.steps, self.open.labelled = [], [], False
        self.into = self.open.task

    def _memory(self, place: int, text: str, line: Line) -> None:
        if self.open is not None:
            self.into = self.open.before

    # --- steps ---

    def _thought(self, place: int, text: str, line: Line) -> None:
        now = self._labelled(place, line.number)
        if not now.steps or now.text(ACTION) or now.text(SEEN):
            now.steps.append(([], [], []))
        self.into = now.steps[-1][THOUGHT]
        self.into.append(line.rest)

    def _action(self, place: int, text: str, line: Line) -> None:
        self._act(self._labelled(place, line.number), line.rest)

    def _prompt(self, place: int, text: str, line: Line) -> None:
        if self.open is not None and line.rest:
            self._act(self.open, line.rest)

    def _act(self, now: Attempt, said: str) -> None:
        thinks = THINK.match(said)
        if not now.steps or now.text(ACTION) or (now.text(SEEN) and now.text(SEEN) != "OK."):
            now.steps.append(([], [], []))
        thought, action, seen = now.steps[-1]
        seen.clear()
        if thinks:
            inner = said[thinks.end() :]
            thought.append(inner.removesuffix("]") if "[" in thinks.group() else inner)
            self.into = seen
        else:
            action.append(said)
            self.into = seen if not now.labelled else action

    def _observation(self, place: int, text: str, line: Line) -> None:
        if self.open is None or not self.open.steps:
            self.problems.append(Problem(f"line {place}", "an observation before any action"))
            return
        self.open.labelled = True
        self.into = self.open.steps[-1][SEEN]
        self.into.append(line.rest)

    def _labelled(self, place: int, count: int) -> Attempt:
        """The open attempt, or a new one at the same task where the count of steps begins anew."""
        now = self.open
        again = now is not None and bool(now.steps) and count <= 1 and (now.ended or now.begins_anew(count))
        if now is None or again:
            task = "\n".join(now.task if now is not None else self.task)
            environment = now.environment if now is not None else -1
            self._close()
            self._begin(place, environment=environment)
            assert self.open is not None
            self.open.task, self.open.again = [task] if task else [], True
        assert self.open is not None
        self.open.labelled, self.open.count = True, count
        return self.open

    # --- verdicts and reflections ---

    def _gold(self, place: int, text: str, line: Line) -> None:
        if self.open is not None:
            self.open.gold = line.rest
            self._end()

    def _is_seen(self, text: str) -> bool:
        """Whether a line belongs to what was observed: a page may say `Status: OK`, where logs shout `STATUS`."""
        now = self.open
        seen = now is not None and now.labelled and bool(now.steps) and self.into is now.steps[-1][SEEN]
        return seen and "STATUS" not in text

    def _status(self, place: int, text: str, line: Line) -> None:
        if self.open is not None:
            self.open.status = verdict(line.rest.split(" ")[0])
            self._end()

    def _score(self, place: int, text: str, line: Line) -> None:
        if self.open is None:
            return
        grade = number(line.rest)
        self.open.score = float(verdict(line.rest) or False) if grade is None else grade
        if self.into is not None and self.open.steps and "score (min" in text:
            self.into.append(text)  # WebShop tells the score as the last observation
        self.into = None

    def _reflection(self, place: int, text: str, line: Line) -> None:
        if self.open is None:
            self._stray(place)
            return
        self.into = self.open.after if self.open.steps else self.open.before
        self.into.append(line.rest)
        self.open.ended = bool(self.open.steps)

    # --- text ---

    def _text(self, place: int, text: str, line: Line) -> None:
        if self.into is not None:
            asked, again, more = text.partition(AGAIN)
            self.into.append(asked.rstrip())
            if again and self.open is not None and self.into is self.open.task:
                self._again(place, again + more, line)
        elif self.open is None or self.open.ended:
            self._stray(place)

    def _blank(self, place: int, text: str, line: Line) -> None:
        if self.into is not None:
            self.into.append("")

    def _stray(self, place: int) -> None:
        self.problems.append(Problem(f"line {place}", "text that belongs to no attempt"))

    # --- beginning and end ---

    def _begin(self, place: int, environment: int = -1) -> None:
        self.open = Attempt(place, environment=environment, section=self.section)
        self.into = self.open.task

    def _end(self) -> None:
        self.into = None
        if self.open is not None:
            self.open.ended = True

    def _close(self) -> None:
        now, self.open, self.into, self.held = self.open, None, None, []
        if now is None:
            return
        now.steps = [step for step in now.steps if any("".join(part).strip() for part in step)]
        self.task = now.task
        if now.steps:
            self.done.append(now)
        else:
            self.problems.append(Problem(f"line {now.line}", "a task without a step"))

"""Text logs of ReAct and Reflexion runs: thoughts, actions and observations, several tasks and trials in one file.

Two forms are read, mixed if need be: `Thought n: / Action n: / Observation n:` under `Question:` (HotpotQA, FEVER), and
`> command` under `Environment #n:` (ALFWorld, WebShop). Headers, rulers, statistics and the examples of a prompt are
passed over; verdicts, scores and reflections are kept. Always holds: any text gives attempts and problems, nothing
raises, and the time grows linearly with the length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seasoned.traces.react_attempts import ACTION, SEEN, THOUGHT, finished
from seasoned.traces.react_lines import AGAIN, ANSI, Line, classify, is_unanswered, right_answer
from seasoned.traces.react_open import Open
from seasoned.traces.react_place import Ahead, ahead, settled
from seasoned.traces.source import Found, Problem, number, verdict

_STARTS = ("question", "context", "trial", "section", "environment", "ruler", "statistic", "gold", "status", "info",
           "heading", "reset", "goal")  # fmt: skip
_SHOP_SCORE = "Your score (min"
_EXAMPLE_ENDS = frozenset(("resume", "task", "environment", "section", "memory"))
_QUOTE_ENDS = frozenset(("question", "context", "gold", "trial", "environment", "section", "ruler"))
_RESET_ENDS = frozenset(("perhaps task", "environment", "section"))


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


class _Reader(Open):
    """One pass over the lines; a class because what a line means depends on what came before."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str, Line]] = []
        self.sections = 0
        self.skipping: frozenset[str] = frozenset()  # the kinds of lines that end what is passed over
        self.blank = True  # whether the line before was blank
        self.ahead = Ahead()

    def run(self) -> None:
        for (place, text, line), after in zip(self.lines, ahead([line for _, _, line in self.lines]), strict=True):
            self.ahead = after
            self._one(place, text, line)
            self.blank = line.kind in ("blank", "ruler")
        self.close()

    def _one(self, place: int, text: str, line: Line) -> None:
        now = self.open
        if self.skipping and (line.kind not in self.skipping or (line.kind == "ruler" and self.ahead.step)):
            return
        self.skipping = frozenset()
        kind = settled(text, line, now, self.ahead, blank=self.blank, seen=self.is_seen())
        if kind == "ruler" or (kind == "blank" and self.held):
            self.held.append(text)
            return
        if self.held:
            if kind not in _STARTS and self.into is not None and not (now and now.over):
                self.into.extend(self.held)
            self.held = []
        if now is not None and kind in ("thought", "action") and self.is_quoted(line.number):
            now.after.clear()  # blank lines
            self.into, self.skipping = None, _QUOTE_ENDS
            return
        getattr(self, f"_{kind}")(place, text, line)

    # --- headers ---

    def _environment(self, place: int, text: str, line: Line) -> None:
        self.close()
        self.task = []
        if not line.rest:
            self.begin(place, environment=line.number)

    def _section(self, place: int, text: str, line: Line) -> None:
        self.close()
        self.section, self.sections = line.rest, self.sections + 1

    def _trial(self, place: int, text: str, line: Line) -> None:
        if self.open is not None and self.into is self.open.before and not self.open.steps:
            self.into.append("")  # "Trial 0:" in a list of earlier reflections
        elif self.open is None or self.open.steps:
            self.close()
            self.section = ""

    def _statistic(self, place: int, text: str, line: Line) -> None:
        self.end()

    def _question(self, place: int, text: str, line: Line) -> None:
        now = self.open
        told = "".join(now.task).strip() if now is not None else ""
        if now is None or now.steps or (told and now.task[0] != "Context:"):
            self.close()
            self.begin(place)
        elif told == "Context:":
            now.task.clear()  # a log that can show pages, and showed none
        assert self.open is not None
        asked, again, more = line.rest.partition(AGAIN)
        self.open.task.append(asked)
        self.into = self.open.task
        if again:
            self._again(place, again + more, line)

    def _context(self, place: int, text: str, line: Line) -> None:
        now = self.open
        if now is not None and now.steps and not now.over:
            self._text(place, text, line)
            return
        if now is None or now.steps or "".join(now.task).strip():
            self.close()
            self.begin(place)
        assert self.open is not None
        self.open.task.extend(("Context:", line.rest))
        self.into = self.open.task

    def _again(self, place: int, text: str, line: Line) -> None:
        if self.open is None or self.open.over or self.open.steps:
            self.close()
            self.begin(place)  # the question comes after what was given
        self.into = None
        if self.ahead.resumes and "below is the last trial" in text[:400].casefold():
            self.skipping = _EXAMPLE_ENDS

    def _skip(self, place: int, text: str, line: Line) -> None:
        self.skipping = _EXAMPLE_ENDS

    def _reset(self, place: int, text: str, line: Line) -> None:
        self.close()
        self.skipping = _RESET_ENDS

    def _heading(self, place: int, text: str, line: Line) -> None:
        if self.open is None or self.open.steps:
            self.end()

    def _goal(self, place: int, text: str, line: Line) -> None:
        self.close()
        self.begin(place)
        self._text(place, text, line)

    def _resume(self, place: int, text: str, line: Line) -> None:
        # after a trial that was quoted comes more of the prompt, after examples the task
        examples = "example" in text.casefold()
        self.into = self.open.task if examples and self.open is not None and not self.open.task else None

    def _task(self, place: int, text: str, line: Line) -> None:
        if self.open is None:
            self.begin(place)
        assert self.open is not None
        self.open.task, self.open.steps, self.open.labelled = [], [], False
        self.into = self.open.task

    def _memory(self, place: int, text: str, line: Line) -> None:
        if self.open is not None:
            self.into = self.open.before

    # --- steps ---

    def _thought(self, place: int, text: str, line: Line) -> None:
        now = self.labelled(place, line.number)
        if not now.steps or now.text(ACTION) or now.text(SEEN):
            now.begin_step()
        self.into = now.steps[-1][THOUGHT]
        self.into.append(line.rest)

    def _action(self, place: int, text: str, line: Line) -> None:
        self.act(self.labelled(place, line.number), line.rest)

    def _prompt(self, place: int, text: str, line: Line) -> None:
        if self.open is not None and (line.rest or (self.open.steps and not self.open.ended)):
            self.act(self.open, line.rest)

    def _observation(self, place: int, text: str, line: Line) -> None:
        if self.open is None or not self.open.steps:
            self.problems.append(Problem(f"line {place}", "an observation before any action"))
            return
        self.open.labelled = True
        self.into = self.open.steps[-1][SEEN]
        self.open.observed(line.rest)
        if line.rest.startswith(_SHOP_SCORE):
            self._score(place, "", classify(line.rest))

    # --- verdicts and reflections ---

    def _gold(self, place: int, text: str, line: Line) -> None:
        now = self.open
        if now is None:
            return
        if now.judged and not now.gold and now.after:
            # what stands between the verdict and the right answer is what the attempt was given
            now.before.extend(now.after)
            now.after = []
        now.gold = line.rest
        self.end()

    def _info(self, place: int, text: str, line: Line) -> None:
        if self.open is not None:
            self._score(place, "", line)
            self.open.gold = self.open.gold or right_answer(text)
            self.open.unanswered = is_unanswered(text)
            self.end()

    def _status(self, place: int, text: str, line: Line) -> None:
        if self.open is not None:
            self.open.status = verdict(line.rest.split(" ")[0])
            self.end()

    def _score(self, place: int, text: str, line: Line) -> None:
        if self.open is None:
            return
        grade = number(line.rest)
        self.open.score = float(verdict(line.rest) or False) if grade is None else grade
        if self.into is not None and self.open.steps and _SHOP_SCORE in text:
            self.into.append(text)  # WebShop tells the score as the last observation
        self.into = None

    def _reflection(self, place: int, text: str, line: Line) -> None:
        if self.open is None:
            self.stray(place)
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
            self.stray(place)

    def _blank(self, place: int, text: str, line: Line) -> None:
        if self.into is not None:
            self.into.append("")

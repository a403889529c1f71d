"""What a line of a ReAct or Reflexion log is where it stands: by the attempt before it and the lines after it.

Always holds: what comes after each line is found in one pass from the end, so that the time stays linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seasoned.traces.react_attempts import Attempt
from seasoned.traces.react_lines import AGAIN, Line
from seasoned.traces.source import verdict

_HEADERS = ("question", "perhaps question", "context", "gold", "status", "info", "trial", "section", "environment",
            "reflection", "perhaps goal")  # fmt: skip
_NEAR = 4  # lines: `Action: reset`, the label of what was observed, the shop's name, the instruction


@dataclass(frozen=True, slots=True)
class Ahead:
    """What comes after a line, before the next header."""

    resumes: bool = False  # a quotation or an example that begins here is said to end
    step: bool = False  # the next label is that of a later step than the first
    command: bool = False  # the next label is a command's
    asks: bool = False  # a task is told in one of the next lines
    follows: str = ""  # the kind of the next line that is not blank, or `reset` where an attempt begins with it


def ahead(lines: Sequence[Line]) -> list[Ahead]:
    """For each line what comes after it."""
    found: list[Ahead] = []
    resumes = step = command = False
    follows, asked = "", len(lines) + _NEAR
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place]
        after = Ahead(resumes, step, command, asked - place < _NEAR, follows)
        found.append(after)
        if line.kind in ("environment", "section") or AGAIN in line.rest:
            resumes = False
        elif line.kind in ("resume", "task"):
            resumes = True
        if line.kind in ("thought", "action", "observation"):
            step, command = line.number > 1, False
        elif line.kind == "prompt":
            command = True
        elif line.kind in _HEADERS:
            step = command = False
        if line.kind == "perhaps task":
            asked = place
        if line.kind != "blank":
            follows = "reset" if _is_reset(line, after) else line.kind
    return found[::-1]


def settled(text: str, line: Line, now: Attempt | None, after: Ahead, *, blank: bool, seen: bool) -> str:
    """The kind of a line where it stands.

    Args:
        text: the line.
        line: what it is without regard to where it stands.
        now: the attempt that it may belong to.
        after: what comes after it.
        blank: whether the line before was blank.
        seen: whether plain text here would be observed.
    """
    kind = line.kind.removeprefix("perhaps ")
    if kind != line.kind:
        return _perhaps(kind, line.rest, now, after, blank)
    over, steps = now is None or now.over, now is not None and bool(now.steps)
    if kind == "action" and _is_reset(line, after):
        return "reset"
    if kind == "text" and after.follows == "perhaps goal" and over:
        return "goal" if now is None or blank or not now.after else "text"
    no = {
        # a page may say `Status: OK`, where logs shout `STATUS`
        "status": verdict(line.rest.split(" ")[0]) is None or (seen and "STATUS" not in text),
        "prompt": now is None or now.labelled,
        "again": steps and not (over or (blank and after.resumes)),
        "skip": (steps and not over) or not after.resumes,
        "statistic": now is not None and not (over or blank),
    }
    return "text" if no.get(kind, False) else kind


def _perhaps(kind: str, rest: str, now: Attempt | None, after: Ahead, blank: bool) -> str:
    """What a line is that also stands in the midst of texts."""
    over, steps = now is None or now.over, now is not None and bool(now.steps)
    if kind == "tally":
        whole = " " in rest
        fits = after.follows == "reset" or (whole and (over or after.follows in ("ruler", "")))
        return "statistic" if fits and (over or blank) else "text"
    if kind == "score":
        goes_on = now is not None and (after.step if now.labelled else after.command)
        fits = now is not None and (over or (blank and steps and not goes_on)) and verdict(rest) is not None
    elif kind == "task":
        kind, fits = "question", over or (blank and steps)
    elif kind == "question":
        fits = over or (blank and not after.step)
    elif kind == "heading":
        fits = over or blank or not steps
    else:  # a goal, or a reflection, which must be on something
        fits = over and (kind == "goal" or now is not None)
    return kind if fits else "text"


def _is_reset(line: Line, after: Ahead) -> bool:
    """Whether the shop is entered: what it answers is a task, and no step was made yet."""
    return line.kind == "action" and line.rest == "reset" and after.asks

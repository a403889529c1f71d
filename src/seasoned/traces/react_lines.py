"""Classifies the lines of ReAct and Reflexion text logs by their own text, and finds what follows each.

Always holds: any line has a kind, nothing raises, and the time grows linearly with the length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LABELS = {
    "thought": "thought|think", "action": "action|act", "observation": "observation|obs", "context": "context",
    "question": "question|claim", "perhaps task": "task|instruction|problem|goal", "perhaps reflection": "plan",
    "reflection": "reflections|reflection|reflexions|reflexion|new plan|next plan", "status": "status",
    "gold": "correct answer|gold answer|ground truth", "perhaps score": "reward|score|success|em",
    "score": "your score (min 0.0, max 1.0)",
}  # fmt: skip
_KINDS = {name: kind for kind, names in _LABELS.items() for name in names.split("|")}
AGAIN = "You have attempted to answer"
_PATTERNS = {  # tried in this order on a stripped line
    "prompt": r">(?!>)[ \t]{0,4}(?P<rest>.*)",
    "statistic": r"(?-i:(?:ADDITIONAL )?SUCCESS|FAIL|TOTAL|ACCURACY|Accuracy|Trial summary|Correct|Incorrect|Halted)"
    r"[ \t]{0,2}:[ \t]{0,4}(?:-?\d|Correct: ?\d)",
    "label": rf"[ \t*_#]{{0,6}}(?P<name>{'|'.join(map(re.escape, _KINDS))})[ \t]{{0,2}}#?(?P<number>\d{{0,6}})"
    r"[ \t*_]{0,4}:[*_]{0,3}[ \t]?(?P<rest>.*)",
    "perhaps question": r"\d{1,9}[ \t]{1,4}(?:question|claim)[ \t]{0,2}:[ \t]?(?P<rest>.*)",
    "trial": r"[\W_]{0,80}(?:(?:begin|start) )?trial[ \t]{0,2}[:#]?[ \t]{0,2}(?P<number>\d{1,6})[\W_]{0,80}$",
    "section": r"[\W_]{0,80}begin (?P<rest>\w{1,20}) agents[\W_]{0,80}$",
    "environment": r"[\W_]{0,80}environment[ \t]{0,2}#?(?P<number>\d{1,9})(?:[ \t]+trial[ \t]{0,2}#?\d{1,6})?[ \t]{0,4}"
    r":?[ \t]{0,4}(?P<rest>success|ok|fail|failure|skipped)?[ \t.]{0,4}$",
    "ruler": r"[#=*_~-]{5,}$|[\W_]{0,80}end trial[ \t]{0,2}[:#]?[ \t]{0,2}\d{1,6}[\W_]{0,80}$",
    "resume": r"\(end (?:of examples|previous trial)\)",
    "task": r"here is the task:$",
    "memory": r"your memory for the task below:$",
    "again": rf"(?P<rest>(?-i:{AGAIN}).*)",
    "skip": r"(?P<rest>(?=.{0,299}$).{0,199}?here (?:are|is) (?:some|one|two|three|an?|\d{1,2}) (?:\w{1,12} )?"
    r"examples?\b.*)",
    "heading": r"(?P<rest>solve a question answering task .*)",
    "perhaps heading": r"(?P<rest>previous trial:$)",
    "perhaps goal": r"(?P<rest>your task is to:.*)",
    "perhaps tally": r"(?P<rest>\d{1,9}(?: \d{1,9}(?:\.\d{1,24})? \d{1,9}\.\d{1,24} \d{1,9}\.\d{1,24})?$)",
    "info": r"(?:\{'steps': \d{1,6}, .{0,4000}?'(?:em|reward)': (?P<rest>True|False|[01](?:\.0)?)[,}]"
    r"|\d{1,9} r (?P<won>True|False|[01](?:\.0)?) rs \[)",
}
_COMPILED = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _PATTERNS.items()}
_GOLD = re.compile(r"'gt_answer': (?P<quote>['\"])(?P<answer>.{0,1000}?)(?P=quote)[,}]")
_TASK_LINES = 4  # lines after `Action: reset`: the observation's label, the shop's name, the instruction

_ENDS_STEPS = ("question", "perhaps question", "context", "gold", "status", "info", "trial", "section", "environment",
               "reflection", "perhaps goal")  # fmt: skip
_IN_LOWER_CASE = ("section", "environment")


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its kind, the text after its label, and its number (-1: none).

    Kinds: thought, action, observation, question, context, task, reflection, gold, status, score, info (a score that
    ends the attempt), trial, section, environment, prompt, ruler, statistic, skip, resume, memory, again, heading,
    blank, text. If the context decides, the kind begins with `perhaps`, also for goal and tally.
    """

    kind: str
    rest: str = ""
    number: int = -1


def classify(line: str) -> Line:
    """Classify a line by its text, without its context."""
    stripped = line.strip()
    if not stripped:
        return Line("blank")
    for kind, pattern in _COMPILED.items():
        if match := pattern.match(stripped):
            groups = match.groupdict()
            rest = (groups.get("rest") or groups.get("won") or "").strip()
            kind = _KINDS[match["name"].lower()] if kind == "label" else kind
            return Line(kind, rest.lower() if kind in _IN_LOWER_CASE else rest, int(groups.get("number") or -1))
    return Line("text", line.rstrip())


def right_answer(info: str) -> str:
    """The right answer in a line of the kind info; "" if it has none."""
    match = _GOLD.search(info)
    return match["answer"] if match else ""


def is_unanswered(info: str) -> bool:
    """Whether a line of the kind info says that there was no answer."""
    return any(f"'answer': {none}" in info for none in ("'',", "None,"))


@dataclass(frozen=True, slots=True)
class Ahead:
    """What follows a line, up to the next header."""

    resumes: bool = False  # a quotation or example that begins here has an end
    step: bool = False  # the next label belongs to a step after the first
    command: bool = False  # the next label is a command
    asks: bool = False  # one of the next lines gives a task
    follows: str = ""  # the kind of the next line that is not blank, or `reset` if that line begins an attempt


def ahead(lines: Sequence[Line]) -> list[Ahead]:
    """What follows each line, found in one pass from the end."""
    result: list[Ahead] = []
    resumes = step = command = False
    follows, task_place = "", len(lines) + _TASK_LINES
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place]
        after = Ahead(resumes, step, command, task_place - place < _TASK_LINES, follows)
        result.append(after)
        if line.kind in ("environment", "section") or AGAIN in line.rest:
            resumes = False
        elif line.kind in ("resume", "task"):
            resumes = True
        if line.kind in ("thought", "action", "observation"):
            step, command = line.number > 1, False
        elif line.kind == "prompt":
            command = True
        elif line.kind in _ENDS_STEPS:
            step = command = False
        if line.kind == "perhaps task":
            task_place = place
        if line.kind != "blank":
            follows = "reset" if is_reset(line, after) else line.kind
    return result[::-1]


def is_reset(line: Line, after: Ahead) -> bool:
    """Whether an attempt begins with this line."""
    # WebShop: `reset` enters the shop, which answers with the task.
    return line.kind == "action" and line.rest == "reset" and after.asks

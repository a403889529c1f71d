"""What a line of a ReAct or Reflexion log is: a label, a header, a verdict, or plain text.

Always holds: a line is looked at once, with patterns that are anchored and bounded, so that the time grows with its
length alone; no line raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ANSI = re.compile(r"\x1b\[[0-9;]{0,32}[A-Za-z]")
_LABEL = re.compile(
    r"[ \t*_#]{0,6}(?P<name>thought|think|action|act|observation|obs|question|claim|task|instruction|problem|goal|"
    r"context|reflections?|reflexions?|new plan|next plan|plan|correct answer|gold answer|ground truth|status|reward|"
    r"score|success|em|your score \(min 0\.0, max 1\.0\))[ \t]{0,2}#?(?P<number>\d{0,6})[ \t*_]{0,4}:[*_]{0,3}[ \t]?",
    re.IGNORECASE,
)
_KINDS = {
    "thought": "thought", "think": "thought", "action": "action", "act": "action",
    "observation": "observation", "obs": "observation", "question": "question", "claim": "question",
    "context": "context", "task": "perhaps task", "instruction": "perhaps task", "problem": "perhaps task",
    "goal": "perhaps task", "reflection": "reflection", "reflections": "reflection", "reflexion": "reflection",
    "reflexions": "reflection", "new plan": "reflection", "next plan": "reflection", "plan": "perhaps reflection",
    "correct answer": "gold", "gold answer": "gold", "ground truth": "gold", "status": "status",
    "reward": "perhaps score", "score": "perhaps score", "success": "perhaps score", "em": "perhaps score",
    "your score (min 0.0, max 1.0)": "score",
}  # fmt: skip
_NUMBERED = re.compile(r"[ \t]{0,4}\d{1,9}[ \t]{1,4}(?:question|claim)[ \t]{0,2}:[ \t]?", re.IGNORECASE)
_TRIAL = re.compile(
    r"[\W_]{0,80}(?:(?:begin|start) )?trial[ \t]{0,2}[:#]?[ \t]{0,2}(?P<number>\d{1,6})[\W_]{0,80}$", re.IGNORECASE
)
_SECTION = re.compile(r"[\W_]{0,80}begin (?P<which>\w{1,20}) agents[\W_]{0,80}$", re.IGNORECASE)
_ENVIRONMENT = re.compile(
    r"[\W_]{0,80}environment[ \t]{0,2}#?(?P<number>\d{1,9})(?:[ \t]+trial[ \t]{0,2}#?\d{1,6})?[ \t]{0,4}:?[ \t]{0,4}"
    r"(?P<rest>success|ok|fail|failure|skipped)?[ \t.]{0,4}$",
    re.IGNORECASE,
)
_RULER = re.compile(r"[#=*_~-]{5,}[ \t]*$|[\W_]{0,80}end trial[ \t]{0,2}[:#]?[ \t]{0,2}\d{1,6}[\W_]{0,80}$", re.I)
_STATISTIC = re.compile(
    r"(?:(?:ADDITIONAL )?SUCCESS|FAIL|TOTAL|ACCURACY|Accuracy|Trial summary|Correct|Incorrect|Halted)[ \t]{0,2}:"
    r"[ \t]{0,4}(?:-?\d|Correct: ?\d)"
)
_TALLY = re.compile(r"\d{1,9}(?: \d{1,9}(?:\.\d{1,24})? \d{1,9}\.\d{1,24} \d{1,9}\.\d{1,24})?$")
_INFO = re.compile(r"\{'steps': \d{1,6}, .{0,4000}?'(?:em|reward)': (?P<value>True|False|[01](?:\.0)?)[,}]")
_RETURN = re.compile(r"\d{1,9} r (?P<value>True|False|[01](?:\.0)?) rs \[")
_RIGHT = re.compile(r"'gt_answer': (?P<quote>['\"])(?P<answer>.{0,1000}?)(?P=quote)[,}]")
PROMPT = re.compile(r"[ \t]{0,4}>[ \t]{0,4}")
THINK = re.compile(r"[ \t]{0,4}think(?::|\[)[ \t]{0,4}", re.IGNORECASE)
_SKIPS = re.compile(r"here (?:are|is) (?:some|one|two|three|an?|\d{1,2}) (?:\w{1,12} )?examples?\b")
RESUMES = ("(end of examples)", "(end previous trial)")
AGAIN = "You have attempted to answer"
INSTRUCTION = "solve a question answering task "
EARLIER = "previous trial:"
GOAL = "your task is to:"
MEMORY = "your memory for the task below:"
TASK = "here is the task:"


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its kind, the text after its label, and the number in it (-1: none).

    Kinds: thought, action, observation, question, context, task, reflection, gold, status, score, info (a score that
    ends the attempt), trial, section, environment, prompt, ruler, statistic, skip, resume, memory, again, heading,
    blank, text; `perhaps ..` of some of them, and of goal and tally, where the place decides.
    """

    kind: str
    rest: str = ""
    number: int = -1


def classify(line: str) -> Line:
    """What a line is, without regard to where it stands."""
    bare = line.strip()
    if not bare:
        return Line("blank")
    folded = bare[:200].casefold()
    if bare[:2] != ">>" and (prompt := PROMPT.match(line)):
        return Line("prompt", line[prompt.end() :].strip())
    if _STATISTIC.match(bare):
        return Line("statistic")
    if found := _LABEL.match(line):
        kind = _KINDS[found["name"].lower()]
        return Line(kind, line[found.end() :].strip(), int(found["number"] or -1))
    if found := _NUMBERED.match(line):
        return Line("perhaps question", line[found.end() :].strip())
    for kind, pattern in (("trial", _TRIAL), ("section", _SECTION), ("environment", _ENVIRONMENT)):
        if len(bare) < 300 and (found := pattern.match(bare)):
            groups = found.groupdict()
            rest = groups.get("which") or groups.get("rest") or ""
            return Line(kind, rest.lower(), int(groups.get("number") or -1))
    if _RULER.match(bare):
        return Line("ruler")
    if folded.startswith(RESUMES):
        return Line("resume")
    if folded == TASK:
        return Line("task")
    if folded == MEMORY:
        return Line("memory")
    if bare.startswith(AGAIN):
        return Line("again", bare)
    if len(bare) < 300 and _SKIPS.search(folded):
        return Line("skip", line.rstrip())
    if folded.startswith(INSTRUCTION):
        return Line("heading", bare)
    if folded == EARLIER:
        return Line("perhaps heading", bare)
    if folded.startswith(GOAL):
        return Line("perhaps goal", line.rstrip())
    if _TALLY.match(bare):
        return Line("perhaps tally", bare)
    if found := _INFO.match(bare) or _RETURN.match(bare):
        return Line("info", found["value"])
    return Line("text", line.rstrip())


def right_answer(info: str) -> str:
    """The right answer that a line of the kind info tells, or ""."""
    found = _RIGHT.search(info)
    return found["answer"] if found else ""


def is_unanswered(info: str) -> bool:
    """Whether a line of the kind info says that no answer was given."""
    return any(f"'answer': {none}" in info for none in ("'',", "None,"))

"""ERL's heuristic: the schema for a model that writes one, and the reader of the reply.

Source: ERL (section 2, figures 6 and 8). Always holds: no reply raises; every heuristic has a trigger and an action; if
a reply has no heuristic, a sentence says why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seasoned.llm.structured import closed_object
from seasoned.replies.forms import json_or_lines
from seasoned.text import all_words, holds_words, prompt_line, same_words, words_of

GOOD = ("a letter gets no answer", "write again in other words before you give up")
BAD = ("writing to Mr Hale in room 12", "be more careful")
PART_CHARS = {"analysis": 240, "trigger": 140, "action": 220}
"""The most characters of each part, for small models."""
LONG_CHARS = {**dict.fromkeys(PART_CHARS, 8000), "rationale": 4000}
"""The most characters of each part in the paper's form, which has a rationale and usually about 1,000 tokens."""

_COPIED_WORDS = 6  # words in a row that are no coincidence
_NAMES = {
    "analysis": ("analysis", "reflection", "cause"),
    "trigger": ("trigger", "when", "condition", "situation", "if"),
    "action": ("action", "then", "do", "rule", "guideline", "learned guideline", "advice", "heuristic", "lesson"),
    "rationale": ("rationale", "why"),
    "succeeded": ("succeeded", "success", "outcome"),
}
_LINE = re.compile(
    r"^[\s*_`#>\d.)-]{0,12}(analysis|trigger|action|rationale|succeeded)[\s*_`\"]{0,6}[:：]\s{0,3}(.*)$", re.I
)
_WHEN = re.compile(r"^(?:when(?:ever)?|if|once)\s+", re.IGNORECASE)
_RULE = re.compile(r"^(?:when(?:ever)?|if|once)\s+([^,:;]{3,200})[,:;]\s*(?:then\s+)?(.{3,400})$", re.IGNORECASE)
_LABEL = re.compile(r"[\s*_`#>\"'“-]{0,12}(?:(?:heuristic|guideline|rule|lesson)[*_`]{0,3}:\s{0,3})?", re.IGNORECASE)
# The outcome of the attempt itself, unlike an observation such as "the customer says that the reply was wrong".
_OUTCOME = re.compile(
    r"(?:^|[,;]\s*|\b(?:and|but|because|as|since|when|after|if|so)\s+)(?:(?:the|this|that|my|your|its|an?|last|"
    r"previous|first|whole) ){0,3}(?:"
    r"(?:answer|attempt|guess|reply|response|choice|task|case) (?:is|was|were|has been|turned out) (?:not )?"
    r"(?:wrong|right|incorrect|correct|failed|unsuccessful|successful|solved)\b"
    r"|(?:attempt|task) (?:failed|succeeded)\b"
    r"|(?:task|attempt) (?:is|was|were|has been) (?:\w+ )?(?:completed|done|accomplished|finished)\b"
    r"|(?:(?!not\b)\w+ ){0,6}"
    r"(?:completed successfully|successfully (?:completed|accomplished|done)|done successfully)\b"
    r"|steps (?:ran|run|have run) out\b)(?! (?:except|but|apart|save|only)\b)|\bprevious attempts?\b(?! to\b)",
    re.IGNORECASE,
)
TOO_LATE = "its trigger is how the attempt ended"
OWN = "it only says what was done in the attempt"
COPIED = "its trigger is the example's in the prompt"
_PLACEHOLDERS = frozenset({"trigger", "action", "none", "n a", "na", "null", "unknown", "situation", "the situation"})


@dataclass(frozen=True)
class Draft:
    """A heuristic from a reply; `succeeded` is the model's verdict if it was asked for one."""

    analysis: str
    trigger: str
    action: str
    succeeded: bool | None = None
    rationale: str | None = None

    @property
    def text(self) -> str:
        """The heuristic as one line; in the paper's form (figure 6), with analysis and rationale."""
        if self.rationale is None:
            return f"When {self.trigger}: {self.action}"
        parts = {"Analysis": self.analysis, "Trigger": self.trigger, "Action": self.action, "Rationale": self.rationale}
        return " ".join(f"{name}: {text}" for name, text in parts.items() if text)


def heuristic_schema(judges: bool = False, begins: str = "", chars: Mapping[str, int] = PART_CHARS) -> dict[str, Any]:
    """The JSON Schema of a heuristic; with `judges`, the verdict comes before trigger and action."""
    text: dict[str, dict[str, Any]] = {
        part: {"type": "string", "minLength": 3 if part in ("trigger", "action") else 0, "maxLength": longest}
        for part, longest in chars.items()
    }
    if begins:
        text["action"] = text_that_begins(begins, chars["action"])
    verdict = {"succeeded": {"type": "boolean"}} if judges else {}
    return closed_object({"analysis": text.pop("analysis"), **verdict, **text})


def text_that_begins(words: str, longest: int) -> dict[str, Any]:
    """The JSON Schema of a text that begins with these words, with at most `longest` characters after them."""
    start = re.escape(words).replace(r"\ ", " ")  # with an escaped space, llama.cpp would accept any text
    return {"type": "string", "pattern": f'^{start}[^"\\\\]{{1,{longest}}}$'}


def read_heuristic(
    reply: Any,
    *,
    judges: bool = False,
    example: tuple[str, str] | None = None,
    begins: str = "",
    prompt: str = "",
    attempt: str = "",
    chars: Mapping[str, int] = PART_CHARS,
    filters: bool = True,
) -> tuple[Draft | None, str]:
    """Read a heuristic from a JSON value, or from text with JSON or labelled lines in it.

    A missing trigger is taken from an action of the form "When X, do Y". With `judges`, the reply must have a verdict;
    the action must begin with the words of `begins`, in any case. `chars` are the most characters of each part; with a
    `rationale`, the form is the paper's. Unless `filters` is False, what small models write instead of a heuristic is
    dropped: sentences of the `prompt` and the `example` in it, the outcome of the attempt, and what its agent did: a
    heuristic about an agent where the `attempt`, as the prompt shows it, has no word "agent".

    Returns:
        The heuristic or None, and a sentence on the problem or "".
    """
    fields = _fields(reply)
    parts = {name: prompt_line(str(fields.get(name) or ""), longest) for name, longest in chars.items()}
    trigger, action, problem = _WHEN.sub("", parts["trigger"]).strip(" .,:;"), parts["action"].strip(), ""
    if not _has_content(trigger) or not _has_content(action):
        rule = _RULE.match(action) or _RULE.match(parts["trigger"])
        if rule is None:
            missing = "trigger" if not _has_content(trigger) else "action"
            return None, f"it has no {missing}, so it is dropped: {prompt_line(str(reply), 120)!r}"
        trigger, action = rule[1].strip(), rule[2].strip()
        problem = "trigger and action were in one text, which was split"
    fault = _copied(trigger, action, example, prompt) if filters else ""
    if not fault and not action.casefold().startswith(begins.casefold()):
        fault = f"its action does not begin with {begins!r}: {action!r}"
    if filters and not fault:
        fault = _only_own(trigger, action, attempt)
    if fault:
        return None, f"{fault}, so it is dropped"
    verdict = read_verdict(fields)
    if judges and verdict is None:
        shown = prompt_line(str(reply), 120)
        return None, f"it does not say whether the attempt succeeded, so it is dropped: {shown!r}"
    # "The fridge" becomes "the fridge" after "When"; "I" and "TV" stay.
    lowered = trigger[0].lower() + trigger[1:] if trigger[1:2].islower() else trigger
    return Draft(parts["analysis"], lowered, action, verdict if judges else None, parts.get("rationale")), problem


def _copied(trigger: str, action: str, example: tuple[str, str] | None, prompt: str) -> str:
    """A sentence on the words of the prompt that a heuristic repeats; "" if it repeats none."""
    if any(holds_words(text, sentence) for text in (trigger, action) for sentence in _sentences(prompt)):
        return "it repeats the prompt"
    if holds_words(action, GOOD[1]) or same_words(action) in {same_words(shown[1]) for shown in (BAD, example or BAD)}:
        return "it repeats the example of the prompt"
    if same_words(trigger) in {same_words(shown[0]) for shown in (example or GOOD, BAD)}:
        return f"{COPIED}: {trigger!r}"
    return ""


def _only_own(trigger: str, action: str, attempt: str) -> str:
    """A sentence on the part of a heuristic that is only about its own attempt; "" if there is none."""
    if _OUTCOME.search(trigger):
        return f"{TOO_LATE}, which nobody knows before: {trigger!r}"
    if attempt and "agent" in all_words(f"{trigger} {action}") and "agent" not in all_words(attempt):
        return f"{OWN}: {trigger!r}, {action!r}"
    return ""


def read_verdict(reply: Any) -> bool | None:
    """Whether a reply judges the attempt a success; None if it does not say."""
    verdict = _fields(reply).get("succeeded")
    if isinstance(verdict, bool):
        return verdict
    words = set(words_of(str(verdict)))
    if words & {"no", "false", "failed", "failure", "not", "0"}:
        return False
    return True if words & {"yes", "true", "succeeded", "success", "1"} else None


def _sentences(text: str) -> list[str]:
    """The sentences of a text that are long enough to recognise a copy."""
    parts = (part for line in text.split("\n") for part in re.split(r"[.:?]\s", line))
    return [part for part in parts if len(words_of(part)) >= _COPIED_WORDS]


def _fields(reply: Any) -> dict[str, Any]:
    """The parts of a reply by our names, with one level of nesting removed."""
    value = json_or_lines(reply, _lines)
    if isinstance(value, list):
        value = next((entry for entry in value if isinstance(entry, dict)), {})
    if not isinstance(value, dict):
        return {}
    by_key = {str(key).strip().lower(): entry for key, entry in value.items()}
    for inner in [entry for entry in by_key.values() if isinstance(entry, dict)]:
        by_key |= {str(key).strip().lower(): entry for key, entry in inner.items()}
    fields = {}
    for name, names in _NAMES.items():
        entries = (by_key.get(each) for each in names)
        fields[name] = next((entry for entry in entries if isinstance(entry, str | bool | int)), None)
    return fields


def _lines(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for line in text.split("\n"):
        labelled = _LINE.match(line)
        if labelled:
            parts.setdefault(labelled[1].lower(), labelled[2].strip("*_` "))
    rule = _LABEL.sub("", text.strip(), count=1).strip("*_`\"'“” ")
    # Without labels, the whole reply must be a rule: "If you like, I can .." is none.
    return parts or ({"action": rule} if _RULE.match(rule) else {})


def _has_content(text: str) -> bool:
    return sum(char.isalnum() for char in text) >= 3 and same_words(text) not in _PLACEHOLDERS

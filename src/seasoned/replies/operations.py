"""Reads the operations in a model's reply, in text or JSON, and finds the insight that each operation means.

Always holds: no reply raises; every operation names an existing insight; a sentence reports each part that could not be
read or had to be interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Literal

from seasoned.llm.structured import closed_object, shorten
from seasoned.replies.forms import json_entries, said
from seasoned.text import prompt_line, same_words, words_of

Kind = Literal["ADD", "EDIT", "UPVOTE", "DOWNVOTE"]

ORDER: tuple[Kind, ...] = ("DOWNVOTE", "UPVOTE", "EDIT", "ADD")
"""The order in which the operations of one reply are applied."""
ADDED = 2.0
"""The count of a new insight."""
MOST = 4
"""The most operations of one reply that count."""
INSIGHT_CHARS = 300
"""The most characters of an insight, by default; longer ones are cut."""
_PARAPHRASE = 0.6  # the likeness from which one text is a paraphrase of another
_VERSION = 0.85  # the likeness from which one text is clearly a version of another
_NAMES: dict[str, Kind] = {**{kind: kind for kind in ORDER}, "AGREE": "UPVOTE", "REMOVE": "DOWNVOTE"}
_NAME = "|".join(_NAMES)
_LISTED = re.compile(r"\A\s*(?:[-*•+]|\d{1,3}[.)])\s")
_MARKS = r"[\s*_`#>\"'“”\[\](){}<•+-]{0,12}"
_HEADING = re.compile(
    rf"{_MARKS}(?:\d{{1,3}}[.)]\s{{0,3}})?{_MARKS}(?:(?:operations?|step)\s{{0,2}}\d{{0,3}}\s{{0,2}}[:.)-]{_MARKS})?"
    rf"(?P<name>{_NAME})(?![^\W_])[\s*_`\])>]{{0,6}}"
    r"(?:(?:with|to|the|an?|existing|new|old|insight|rule|lesson|number|no\.?|#)(?![^\W\d_])[\s*_`]{0,6}){0,4}"
    r"(?:[#\[(<]{0,2}(?P<number>-?\d{1,9})(?!\w)[\])>]{0,2})?[\s*_`]{0,6}"
    r"(?:(?:to|into|as|with)[\s*_`]{0,3}(?=[:：]))?"
    r"(?P<mark>(?:[:：.)=–—→-]|(?<=[=–—-])>){1,3}[\s*_`]{0,6}|\Z)?",
    re.IGNORECASE,
)
# Several numbers: "UPVOTE 1 and 2", "DOWNVOTE 1, 3", "AGREE: 2".
_TARGET = re.compile(r"(?<!\d)\d{1,9}(?!\d)")
_CLOSING = re.compile(rf"</(?:{_NAME})>\s*\Z", re.IGNORECASE)
_FILLERS = re.compile(r"\b(?:and|insights?|rules?|lessons?|numbers?)\b|[\s,;&#*_`.()\[\]]", re.IGNORECASE)
_BECAUSE = re.compile(r"\bbecause\b", re.IGNORECASE)
_KEYS = ("operation", "op")
# A second operation on the same line: after the end of a sentence, in capitals, with a number and a colon.
_SECOND = re.compile(rf"(?<=[.!?;。\"'*)])\s+(?=[*_`]{{0,3}}(?:{_NAME})\s+#?\d{{1,4}}[*_`]{{0,3}}\s?[:：])")
_WRAPS = (("**", "**"), ("__", "__"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("<", ">"), ("[", "]"))


@dataclass(frozen=True)
class Item:
    """An insight in the list that operations change; `id` is "" if it is new."""

    text: str
    count: float = ADDED
    pinned: bool = False
    id: str = ""


@dataclass(frozen=True)
class Operation:
    """One operation: `target` is the insight's number from 1 (None for ADD), `text` the new text of ADD and EDIT.

    As written, `target` may be any number; `loose` then says that nothing separates the text from the number before it.
    """

    kind: Kind
    target: int | None = None
    text: str = ""
    loose: bool = False

    def __str__(self) -> str:
        number = "" if self.target is None else f" {self.target}"
        return f"{self.kind}{number}{f' {shorten(self.text, 120)!r}' if self.text else ''}"


def operations_schema(insights: int, longest: int = INSIGHT_CHARS) -> dict[str, Any]:
    """The JSON Schema of operations on this many insights, which excludes numbers out of range.

    An array of at most four objects with `operation`, `number` (0 for ADD) and `text`. If there are no insights yet, it
    has at least one object: small models tend to answer with none.
    """
    kinds = list(reversed(ORDER)) if insights else ["ADD"]
    properties = {
        "operation": {"type": "string", "enum": kinds},
        "number": {"type": "integer", "minimum": 0, "maximum": insights},
        "text": {"type": "string", "maxLength": longest},
    }
    least = 0 if insights else 1
    return {"type": "array", "minItems": least, "maxItems": MOST, "items": closed_object(properties)}


@dataclass(frozen=True)
class Parsed:
    """The operations of a reply in its order, and a sentence for each that was interpreted or could not be read."""

    operations: tuple[Operation, ...] = ()
    problems: tuple[str, ...] = ()


def read_operations(reply: Any, insights: Sequence[Item], longest: int = INSIGHT_CHARS) -> Parsed:
    """Read the operations of a reply: a JSON value as in `operations_schema`, or text with JSON or lines in it.

    A line is an operation if it begins with a name (AGREE and REMOVE are UPVOTE and DOWNVOTE) followed by a number, a
    colon or both, with any markdown, quotes and list numbers around it. The number decides which insight an operation
    means, unless its text contradicts the number; then the text decides. A text is read up to twice `longest`
    characters.
    """
    text = said(reply) if isinstance(reply, str) else ""
    value = json_entries(text, _KEYS) if isinstance(reply, str) else reply
    if isinstance(reply, str) and not value:
        raw, unread = _lines(text, 2 * longest)
        if not raw and text:
            return Parsed((), (f"the reply has no operation: {shorten(prompt_line(text), 200)!r}",))
    else:
        raw, unread = _entries(value, 2 * longest)
    operations: list[Operation] = []
    problems = unread
    for place, each in enumerate(raw):
        if len(operations) == 2 * MOST:  # so many are enough to fill `MOST`
            problems.append(f"only {MOST} operations of a reply count, and {len(raw) - place} more are passed over")
            break
        operation, problem = _resolve(each, insights)
        operations += [operation] if operation else []
        problems += [problem] if problem else []
    return Parsed(tuple(operations), tuple(problems))


def _entries(value: Any, limit: int) -> tuple[list[Operation], list[str]]:
    """The operations of a JSON value, and a sentence for each other entry."""
    raw: list[Operation] = []
    problems: list[str] = []
    for entry in value if isinstance(value, list) else [value]:
        fields = entry if isinstance(entry, dict) else {}
        name = next((fields[key] for key in _KEYS if key in fields), "")
        kind = _NAMES.get(str(name).strip().upper())
        number = fields.get("number")
        if isinstance(number, str) and number.strip().isdecimal() and len(number) < 10:
            number = int(number)
        if kind is None:
            problems.append(f"this is not an operation: {shorten(prompt_line(str(entry)), 120)!r}")
        else:
            has_number = isinstance(number, int) and not isinstance(number, bool) and (number or kind != "ADD")
            raw.append(Operation(kind, number if has_number else None, _bare(str(fields.get("text") or ""), limit)))
    return raw, problems


def _lines(text: str, limit: int) -> tuple[list[Operation], list[str]]:
    """The operations in the lines of a reply, and a sentence for each skipped line below an operation."""
    operations: list[Operation] = []
    unread: list[str] = []
    lists = waits = False  # a heading such as "ADD:" is above a list; the last operation may continue on the next line
    for line in (part for full in text.split("\n") for part in _SECOND.split(full)):
        head = _HEADING.match(line)
        rest = _CLOSING.sub("", line[head.end() :]) if head else ""
        begins = bool(head and (head["mark"] is not None or (head["name"].isupper() and (head["number"] or rest))))
        if head and begins:
            kind, number = _NAMES[head["name"].upper()], int(head["number"]) if head["number"] else None
            loose = not (number and head["mark"])
            targets = _targets(number, rest) if kind in ("UPVOTE", "DOWNVOTE") and loose else []
            votes = [Operation(kind, each) for each in targets]
            operations += votes or [Operation(kind, number, _bare(rest, limit), loose)]
            lists, waits = not operations[-1].text and operations[-1].target is None, len(targets) < 2
        elif not line.strip():
            waits = waits and not operations[-1].text
        elif waits and not operations[-1].text:
            operations[-1] = replace(operations[-1], text=_bare(line, limit))
        elif lists and _LISTED.match(line):
            operations.append(Operation(operations[-1].kind, None, _bare(line, limit)))
        elif waits and line.strip()[0].islower() and operations[-1].text[-1] not in ".!?":  # a line that was wrapped
            operations[-1] = replace(operations[-1], text=f"{operations[-1].text} {_bare(line, limit)}")
        else:
            if waits:
                below = shorten(prompt_line(line), 120)
                unread.append(f"{operations[-1]}: the line below it is passed over: {below!r}")
            waits = False
    return operations, unread


def _targets(first: int | None, rest: str) -> list[int]:
    """The numbers of a vote that consists of numbers, perhaps with a reason; [] for any other text."""
    rest = _BECAUSE.split(rest, maxsplit=1)[0]
    numbers = [int(hit[0]) for hit in _TARGET.finditer(rest)]
    if not numbers or _FILLERS.sub("", _TARGET.sub("", rest)):
        return []
    return [*([] if first is None else [first]), *numbers]


def _bare(text: str, limit: int) -> str:
    """A text without the list marks, markdown, quotes and brackets around it."""
    text = _LISTED.sub("", prompt_line(text, limit), count=1).strip()
    for before, after in _WRAPS:
        inner = text[len(before) : -len(after)]
        if inner and text == before + inner + after and before not in inner and after not in inner:
            text = inner.strip()
    for mark in ("**", "`"):  # one half of a pair; the other half was before the text
        text = text.strip(mark) if text.count(mark) % 2 else text
    return text.strip()


def _resolve(raw: Operation, insights: Sequence[Item]) -> tuple[Operation | None, str]:
    """Find the insight that an operation means; also return a sentence to report, or "".

    An ADD or EDIT whose text is already in the list is an UPVOTE of that insight. An EDIT keeps its number, since its
    text is new, unless the text is clearly a version of another insight.
    """
    target = raw.target if raw.target is not None and 1 <= raw.target <= len(insights) else None
    if not same_words(raw.text):
        if raw.kind in ("UPVOTE", "DOWNVOTE") and target:
            return Operation(raw.kind, target), ""
        reason = "it has no text" if target else f"it names none of the {len(insights)} insights"
        return None, f"{raw}: {reason}, so it is passed over"
    nearest, likeness = _most_similar(raw.text, insights, target)
    if raw.kind in ("ADD", "EDIT") and nearest and likeness == 1.0:
        return Operation("UPVOTE", nearest), f"{raw}: number {nearest} has that text, so it counts as an UPVOTE"
    if raw.kind == "ADD":
        return Operation("ADD", None, raw.text), ""
    if raw.kind == "EDIT" and target:
        is_other = nearest != target and likeness >= _VERSION
        if not (is_other and _likeness(raw.text, insights[target - 1].text) < _PARAPHRASE):
            return Operation("EDIT", target, raw.text), ""
    if raw.kind != "EDIT" and (raw.loose or _BECAUSE.match(raw.text)) and target and likeness < _PARAPHRASE:
        return Operation(raw.kind, target), f"{raw}: its text fits no insight, so it is a remark, and the number counts"
    if nearest is None or likeness < _PARAPHRASE:
        return None, f"{raw}: its text fits none of the {len(insights)} insights, so it is passed over"
    problem = "" if nearest == raw.target else f"{raw}: number {nearest} has that text, so it is the one meant"
    return Operation(raw.kind, nearest, raw.text if raw.kind == "EDIT" else ""), problem


def _most_similar(text: str, insights: Sequence[Item], preferred: int | None) -> tuple[int | None, float]:
    """The number of the insight with the most similar words, and its likeness; of equals, the preferred one."""
    scored = [(_likeness(text, item.text), place == preferred, -place) for place, item in enumerate(insights, 1)]
    likeness, _, place = max(scored, default=(0.0, False, 0))
    return (-place or None), likeness


def _likeness(one: str, other: str) -> float:
    """The likeness of two texts by their words in order, 0 to 1; nearly 1 if one is the beginning of the other."""
    first, second = words_of(one), words_of(other)
    if first == second:
        return 1.0
    short, long = sorted((first, second), key=len)
    if len(short) >= 4 and long[: len(short)] == short:
        return 0.95
    return min(SequenceMatcher(None, first, second, autojunk=False).ratio(), 0.99)

"""ADD, EDIT, UPVOTE and DOWNVOTE on a list of insights: what they are, and what they do to the list.

The semantics of ExpeL (section 4.2), pure: nothing here calls a model or a pool; `replies.py` reads them from what a
model writes. Always holds: nothing raises; whatever is not applied is told in a sentence; a pinned insight stays as it
is; counts stay above zero, and no operation makes two insights of one text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from seasoned.llm.schema import closed_object, shorten
from seasoned.retrieve.render import clean
from seasoned.retrieve.words import fold

Kind = Literal["ADD", "EDIT", "UPVOTE", "DOWNVOTE"]

ORDER: tuple[Kind, ...] = ("DOWNVOTE", "UPVOTE", "EDIT", "ADD")
"""The order in which the operations of one reply are applied."""
ADDED = 2.0
"""The count of a new insight."""
MOST = 4
"""Operations of one reply that count."""
LONGEST = 300
"""Characters of an insight; what is longer is cut."""
_OF_THE_LIST = re.compile(r"\b(list of insights|insights? (list|\d+))\b", re.IGNORECASE)
_HEAVY = 3.0  # what a DOWNVOTE takes away when the list is full
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")


@dataclass(frozen=True)
class Item:
    """An insight as the operations see it; `id` is "" where it is new."""

    text: str
    count: float = ADDED
    pinned: bool = False
    id: str = ""


@dataclass(frozen=True)
class Operation:
    """What to do: `target` is the number of the insight from 1 (None for ADD), `text` the new text of ADD and EDIT."""

    kind: Kind
    target: int | None = None
    text: str = ""

    def __str__(self) -> str:
        number = "" if self.target is None else f" {self.target}"
        return f"{self.kind}{number}{f' {shorten(self.text, 120)!r}' if self.text else ''}"


@dataclass(frozen=True)
class Applied:
    """The list after a reply, by falling count; what was done, in that order; and a sentence for all that was not."""

    items: tuple[Item, ...]
    done: tuple[Operation, ...] = ()
    problems: tuple[str, ...] = ()


def operations_schema(insights: int) -> dict[str, Any]:
    """The JSON Schema of a structured reply for a list of so many insights: then no number in it can be out of range.

    An array of at most four objects with `operation`, `number` (0 for ADD) and `text`; of at least one where the list
    is empty, as a small model likes to answer with nothing.
    """
    kinds = list(reversed(ORDER)) if insights else ["ADD"]
    properties = {
        "operation": {"type": "string", "enum": kinds},
        "number": {"type": "integer", "minimum": 0, "maximum": insights},
        "text": {"type": "string", "maxLength": LONGEST},
    }
    least = 0 if insights else 1
    return {"type": "array", "minItems": least, "maxItems": MOST, "items": closed_object(properties)}


def apply(
    insights: Sequence[Item], operations: Sequence[Operation], full: bool = False, cap: int | None = None
) -> Applied:
    """Change the list by the operations of one reply (ExpeL section 4.2, in the order of the released code).

    At most four operations count, the first ones that can be done, and one for each insight. They are applied in the
    order DOWNVOTE (-1), UPVOTE (+1), EDIT (+1, new text), ADD (2); a DOWNVOTE that brings a count to 0 or below takes
    the insight away. The list is then sorted by count, stably.

    Args:
        insights: the list, numbered from 1.
        operations: in the order of the reply.
        full: whether the list is full, so that a DOWNVOTE takes away 3.
        cap: the most insights to be kept, if any: the least important are dropped, pinned ones never.
    """
    chosen, problems = _choose(insights, operations)
    items: list[Item | None] = list(insights)
    done: list[Operation] = []
    for operation in sorted(chosen, key=lambda operation: ORDER.index(operation.kind)):
        place = 0 if operation.target is None else operation.target - 1
        old = None if operation.target is None else items[place]
        if operation.kind in ("ADD", "EDIT"):
            others = {same_words(item.text) for item in items if item is not None and item is not old}
            if same_words(operation.text) in others:
                problems.append(f"{operation}: another insight says that already, so it is passed over")
                continue
        if operation.kind in ("ADD", "EDIT") and len(clean(operation.text, 2 * LONGEST)) > LONGEST:
            problems.append(f"{operation}: it has more than {LONGEST} characters, so the rest is cut")
        if old is None:
            items.append(Item(clean(operation.text, LONGEST)))
        elif operation.kind == "DOWNVOTE":
            left = old.count - (_HEAVY if full else 1.0)
            items[place] = replace(old, count=left) if left > 0 else None
        else:
            text = clean(operation.text, LONGEST) if operation.kind == "EDIT" else old.text
            items[place] = replace(old, text=text, count=old.count + 1.0)
        done.append(operation)
    kept = sorted((item for item in items if item is not None), key=lambda item: -item.count)
    return _capped(kept, cap, done, problems)


def _choose(insights: Sequence[Item], operations: Sequence[Operation]) -> tuple[list[Operation], list[str]]:
    """The first four operations that can be done, one for each insight; and why the others cannot."""
    chosen: list[Operation] = []
    problems: list[str] = []
    taken: set[int] = set()
    for operation in operations:
        reason = _objection(operation, insights, taken)
        if not reason and len(chosen) == MOST:
            reason = f"only {MOST} operations of a reply count"
        if reason:
            problems.append(f"{operation}: {reason}, so it is passed over")
        elif operation.kind == "ADD":
            chosen.append(replace(operation, target=None))
        else:
            chosen.append(operation)
            taken.add(operation.target or 0)
    return chosen, problems


def _objection(operation: Operation, insights: Sequence[Item], taken: set[int]) -> str:
    if operation.kind in ("ADD", "EDIT") and not same_words(operation.text):
        return "it has no text"
    if operation.kind in ("ADD", "EDIT") and _OF_THE_LIST.search(operation.text):
        return "it speaks of the list of insights, not of the tasks"
    if operation.kind == "ADD":
        return ""
    if operation.target is None or not 1 <= operation.target <= len(insights):
        return "there is no such insight"
    if insights[operation.target - 1].pinned:
        return "the insight is pinned"
    return "the reply has an operation on that insight already" if operation.target in taken else ""


def _capped(kept: list[Item], cap: int | None, done: list[Operation], problems: list[str]) -> Applied:
    excess = 0 if cap is None else max(len(kept) - cap, 0)
    places = [place for place, item in enumerate(kept) if not item.pinned]
    dropped = set(places[max(len(places) - excess, 0) :])
    told = (f"over the cap of {cap} insights, so this one is dropped: {kept[place].text}" for place in sorted(dropped))
    left = tuple(item for place, item in enumerate(kept) if place not in dropped)
    return Applied(left, tuple(done), (*problems, *told))


def same_words(text: str) -> str:
    """The words of a text, so that texts compare equal whatever their case and marks; "" where it has none."""
    return " ".join(split(text))


def holds_words(text: str, other: str) -> bool:
    """Whether all words of another text stand in this one, in a row: it is a copy, whatever stands around it."""
    words = same_words(other)
    return bool(words) and f" {words} " in f" {same_words(text)} "


def shares_run(text: str, other: str, run: int) -> bool:
    """Whether so many words in a row stand in both texts, however long: nobody writes them twice by chance."""
    words, others = _words(text), _words(other)
    there = {others[place : place + run] for place in range(len(others) - run + 1)}
    return any(words[place : place + run] in there for place in range(len(words) - run + 1))


@lru_cache(maxsize=1024)
def split(text: str) -> tuple[str, ...]:
    """The folded words of a text, as far as an insight may go; of Chinese, Japanese and Korean each character."""
    return _words(clean(text, LONGEST))


def has_word(text: str, word: str) -> bool:
    """Whether a folded word stands in a text of any length."""
    return word in _words(text)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold(clean(text, len(text)))))

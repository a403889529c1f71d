"""ADD, EDIT, UPVOTE and DOWNVOTE on a list of insights: what they are, and how they change it.

The semantics of ExpeL (section 4.2), as pure functions; `seasoned.replies.operations` reads the operations from a
model's reply. Always holds: nothing raises; each operation that is not applied gets a sentence that says why; a pinned
insight stays as it is; counts stay above zero; no operation creates a second insight with the same text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seasoned.replies.operations import INSIGHT_CHARS, MOST, ORDER, Item, Operation
from seasoned.text import prompt_line, same_words

_ABOUT_LIST = re.compile(r"\b(list of insights|insights? (list|\d+))\b", re.IGNORECASE)
_FULL_DOWNVOTE = 3.0  # what a DOWNVOTE subtracts when the list is full


@dataclass(frozen=True)
class Applied:
    """The list after a reply, by descending count; the applied operations, in order; a sentence for each other one."""

    items: tuple[Item, ...]
    done: tuple[Operation, ...] = ()
    problems: tuple[str, ...] = ()


def apply(
    insights: Sequence[Item],
    operations: Sequence[Operation],
    full: bool = False,
    cap: int | None = None,
    longest: int = INSIGHT_CHARS,
) -> Applied:
    """Apply the operations of one reply to the list (ExpeL section 4.2, in the order of the released code).

    Only the first four valid operations count, and one for each insight. They are applied in the order DOWNVOTE (-1; -3
    if the list is `full`), UPVOTE (+1), EDIT (+1, new text), ADD (2); a DOWNVOTE that brings a count to 0 or below
    removes the insight. The list is then sorted by count, in a stable order. With a `cap`, the least important insights
    above that number are dropped, pinned ones never. `longest` is in characters of an insight.
    """
    valid, problems = _choose(insights, operations)
    items: list[Item | None] = list(insights)
    applied: list[Operation] = []
    for operation in sorted(valid, key=lambda operation: ORDER.index(operation.kind)):
        place = 0 if operation.target is None else operation.target - 1
        old = None if operation.target is None else items[place]
        if operation.kind in ("ADD", "EDIT"):
            others = {same_words(item.text) for item in items if item is not None and item is not old}
            if same_words(operation.text) in others:
                problems.append(f"{operation}: another insight says that already, so it is passed over")
                continue
            if len(prompt_line(operation.text, 2 * longest)) > longest:
                problems.append(f"{operation}: it has more than {longest} characters, so the rest is cut")
        if old is None:
            items.append(Item(prompt_line(operation.text, longest)))
        elif operation.kind == "DOWNVOTE":
            count = old.count - (_FULL_DOWNVOTE if full else 1.0)
            items[place] = replace(old, count=count) if count > 0 else None
        else:
            text = prompt_line(operation.text, longest) if operation.kind == "EDIT" else old.text
            items[place] = replace(old, text=text, count=old.count + 1.0)
        applied.append(operation)
    ordered = sorted((item for item in items if item is not None), key=lambda item: -item.count)
    excess = 0 if cap is None else max(len(ordered) - cap, 0)
    places = [place for place, item in enumerate(ordered) if not item.pinned]
    dropped = places[max(len(places) - excess, 0) :]
    problems += [f"over the cap of {cap} insights, so this one is dropped: {ordered[place].text}" for place in dropped]
    remaining = (item for place, item in enumerate(ordered) if place not in dropped)
    return Applied(tuple(remaining), tuple(applied), tuple(problems))


def _choose(insights: Sequence[Item], operations: Sequence[Operation]) -> tuple[list[Operation], list[str]]:
    """The first four valid operations, one for each insight; and why the others are not applied."""
    valid: list[Operation] = []
    problems: list[str] = []
    targets: set[int] = set()
    for operation in operations:
        reason = _objection(operation, insights, targets)
        if not reason and len(valid) == MOST:
            reason = f"only {MOST} operations of a reply count"
        if reason:
            problems.append(f"{operation}: {reason}, so it is passed over")
        elif operation.kind == "ADD":
            valid.append(replace(operation, target=None))
        else:
            valid.append(operation)
            targets.add(operation.target or 0)
    return valid, problems


def _objection(operation: Operation, insights: Sequence[Item], targets: set[int]) -> str:
    if operation.kind in ("ADD", "EDIT") and not same_words(operation.text):
        return "it has no text"
    if operation.kind in ("ADD", "EDIT") and _ABOUT_LIST.search(operation.text):
        return "it is about the list of insights, not about the tasks"
    if operation.kind == "ADD":
        return ""
    if operation.target is None or not 1 <= operation.target <= len(insights):
        return "there is no such insight"
    if insights[operation.target - 1].pinned:
        return "the insight is pinned"
    return "the reply has an operation on that insight already" if operation.target in targets else ""

"""Chat messages as agents send them, read as the messages and steps of a trajectory.

They are read as those of a log are (`traces.conversation`), once somebody's objects are plain values. Always holds:
nothing that a message holds makes this raise; what cannot be read is counted; the order is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from seasoned.traces.conversation import Turn, read_message, steps_of
from seasoned.types import Message, Step

_DEEP = 8  # a message's content, its parts, what is in them
_FIELDS = (
    *("role", "type", "content", "text", "refusal", "tool_calls", "function_call", "function", "custom"),
    *("id", "name", "arguments", "input", "call_id", "tool_call_id", "tool_use_id", "output"),
)
_ARGUMENTS = ("arguments", "input")


@dataclass(frozen=True)
class Chat:
    """A conversation as it was read: `broken` counts what was neither a message nor a call of a tool."""

    messages: list[Message]
    steps: list[Step]
    broken: int


def read_chat(raw: Iterable[object]) -> Chat:
    """Read messages in order.

    The steps are those of `traces.conversation.steps_of`. The messages say all that was said in texts: a call is
    `name(arguments)` of the assistant, and its result is said by the user.

    Args:
        raw: dictionaries or an SDK's objects.
    """
    read = [_read(item) for item in raw]
    turns = [turn for found in read for turn in found or ()]
    # What comes piece by piece may begin with the result of a call that came before.
    results = (turn for turn in takewhile(lambda turn: turn.role != "assistant", turns) if turn.role == "tool")
    steps = [*(Step(observation=turn.text) for turn in results), *steps_of(turns)]
    return Chat([message for turn in turns for message in _messages(turn)], steps, read.count(None))


def _read(item: object) -> list[Turn] | None:
    try:
        return read_message(_plain(item))
    except Exception:  # somebody else's object: whatever it may raise, it is not a message that can be read
        return None


def _messages(turn: Turn) -> Iterable[Message]:
    said = [turn.text] if turn.text or turn.role == "tool" else []
    role = "user" if turn.role == "tool" else turn.role
    return [{"role": role, "content": text} for text in (*said, *(call.shown() for call in turn.calls))]


def _plain(value: object, depth: int = 0) -> Any:
    """A value as JSON has it; of an object what a message may have, and None where that is no text at all."""
    if value is None or isinstance(value, str | int | float):
        return value
    if depth > _DEEP:
        return _json(value)
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    dump = getattr(value, "model_dump", None)
    if not isinstance(value, Mapping) and callable(dump) and not isinstance(value, type):
        value = dump()
    if not isinstance(value, Mapping):
        value = {name: found for name in _FIELDS if (found := getattr(value, name, None)) is not None}
        if not any(isinstance(found, str) for found in value.values()):
            return None
    return {
        name: _json(found) if name in _ARGUMENTS and found is not None else _plain(found, depth + 1)
        for name, found in value.items()
    }


def _json(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"[{type(value).__name__}]"

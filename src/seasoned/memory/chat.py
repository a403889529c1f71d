"""Converts chat messages, as agents send them, into the messages and steps of a trajectory.

They become plain values first, and are then read like a log (`traces.conversation`). Always holds: no message raises;
unreadable ones are counted; the order is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from seasoned.traces.conversation import Turn, read_message, steps_of
from seasoned.types import Message, Step

_MAX_DEPTH = 8  # a message's content, its parts, and their content
_FIELDS = (
    *("role", "type", "content", "text", "refusal", "tool_calls", "function_call", "function", "custom"),
    *("id", "name", "arguments", "input", "call_id", "tool_call_id", "tool_use_id", "output"),
)
_ARGUMENTS = ("arguments", "input")


@dataclass(frozen=True)
class Chat:
    """A conversation as read: `broken` counts what was neither a message nor a tool call."""

    messages: list[Message]
    steps: list[Step]
    broken: int


def read_chat(raw: Iterable[object]) -> Chat:
    """Read messages, dictionaries or an SDK's objects, in order.

    `traces.conversation.steps_of` makes the steps. The messages are text only: a call is the assistant's
    `name(arguments)`, and its result is a user message.
    """
    items = [_read(item) for item in raw]
    turns = [turn for item in items for turn in item or ()]
    # Messages that arrive in pieces may begin with the result of an earlier call.
    results = (turn for turn in takewhile(lambda turn: turn.role != "assistant", turns) if turn.role == "tool")
    steps = [*(Step(observation=turn.text) for turn in results), *steps_of(turns)]
    return Chat([message for turn in turns for message in _messages(turn)], steps, items.count(None))


def _read(item: object) -> list[Turn] | None:
    try:
        return read_message(_plain(item))
    except Exception:  # a user's object may raise anything; it is then not a readable message
        return None


def _messages(turn: Turn) -> Iterable[Message]:
    texts = [turn.text] if turn.text or turn.role == "tool" else []
    role = "user" if turn.role == "tool" else turn.role
    return [{"role": role, "content": text} for text in (*texts, *(call.shown() for call in turn.calls))]


def _plain(value: object, depth: int = 0) -> Any:
    """A value as JSON; of an object, the fields of a message, or None if none of them is text."""
    if value is None or isinstance(value, str | int | float):
        return value
    if depth > _MAX_DEPTH:
        return _json(value)
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    dump = getattr(value, "model_dump", None)
    if not isinstance(value, Mapping) and callable(dump) and not isinstance(value, type):
        value = dump()
    if not isinstance(value, Mapping):
        value = {name: field for name in _FIELDS if (field := getattr(value, name, None)) is not None}
        if not any(isinstance(field, str) for field in value.values()):
            return None
    return {
        name: _json(field) if name in _ARGUMENTS and field is not None else _plain(field, depth + 1)
        for name, field in value.items()
    }


def _json(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"[{type(value).__name__}]"

"""Chat messages as agents send them, read as the messages and steps of a trajectory.

OpenAI's chat messages (dictionaries or the SDK's objects, tool calls included) and the items of its responses. Always
holds: nothing that a message holds makes this raise; what cannot be read is counted; the order is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seasoned.types import Message, Step

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_RESULTS = ("tool", "function")


@dataclass
class Chat:
    """A conversation as it was read: `broken` counts what was neither a message nor a tool call."""

    messages: list[Message] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    broken: int = 0


def read_chat(raw: Iterable[object]) -> Chat:
    """Read messages in order.

    A tool call is a step whose action is `name(arguments)` and whose observation is its result; what the assistant said
    with it is the thought. An assistant's message without a tool call is a step of its own, and the next thing a user
    says is its observation.

    Args:
        raw: the messages.
    """
    reader = _Reader()
    for item in raw:
        reader.take(item)
    return reader.chat


class _Reader:
    """One pass over one conversation; a class because its parts share where the results of calls belong."""

    def __init__(self) -> None:
        self.chat = Chat()
        self.waiting: dict[str, int] = {}  # a call's id, and the place of its step
        self.said: int | None = None  # the step that the next user's message answers

    def take(self, item: object) -> None:
        fields = _fields(item)
        kind, role = _get(fields, "type"), _get(fields, "role")
        if kind == "function_call":  # an item of OpenAI's responses
            self._call(_text(_get(fields, "name")), _get(fields, "arguments"), _get(fields, "call_id"), "")
        elif kind == "function_call_output":
            self._result(_text(_get(fields, "output")), _get(fields, "call_id"))
        elif role in _RESULTS:
            self._result(_text(_get(fields, "content")), _get(fields, "tool_call_id"))
        elif isinstance(role, str) and role in _ROLES:
            self._message(_ROLES[role], fields)
        elif kind != "reasoning":
            self.chat.broken += 1

    def _message(self, role: str, fields: object) -> None:
        words = _text(_get(fields, "content")) or _text(_get(fields, "refusal"))
        if role != "assistant":
            self._say(role, words)
            if role == "user" and self.said is not None:
                self._observe(self.said, words)
                self.said = None
            return
        calls = _get(fields, "tool_calls")
        calls = list(calls) if isinstance(calls, list | tuple) else []
        single = _get(fields, "function_call")
        calls += [{"function": single}] if single else []
        if not calls:
            self._say(role, words)
            if words:
                self.chat.steps.append(Step(action=words))
                self.said = len(self.chat.steps) - 1
            return
        if words:
            self._say(role, words)
        for place, call in enumerate(calls):
            function = _get(call, "function") or _get(call, "custom")
            given = _get(function, "arguments")
            given = _get(function, "input") if given is None else given
            self._call(_text(_get(function, "name")), given, _get(call, "id"), "" if place else words)

    def _call(self, name: str, arguments: object, call_id: object, thought: str) -> None:
        given = arguments if isinstance(arguments, str) else _json(arguments)
        action = f"{name}({given})"
        self._say("assistant", action)
        self.chat.steps.append(Step(thought=thought, action=action))
        self.waiting[_text(call_id) or f"#{len(self.chat.steps)}"] = len(self.chat.steps) - 1
        self.said = None

    def _result(self, words: str, call_id: object) -> None:
        self._say("user", words)
        known = _text(call_id)
        if known not in self.waiting:
            known = next(iter(self.waiting), "")
        if known in self.waiting:
            self._observe(self.waiting.pop(known), words)
        else:
            self.chat.steps.append(Step(observation=words))

    def _observe(self, place: int, words: str) -> None:
        step = self.chat.steps[place]
        self.chat.steps[place] = step.model_copy(update={"observation": words})

    def _say(self, role: str, words: str) -> None:
        self.chat.messages.append({"role": role, "content": words})


def _fields(item: object) -> object:
    dump = None if isinstance(item, type) else _get(item, "model_dump")
    try:
        return dump() if callable(dump) else item
    except Exception:  # somebody else's object: whatever it may raise, it is not a message that can be read
        return None


def _get(fields: object, name: str) -> Any:
    try:
        return fields.get(name) if isinstance(fields, Mapping) else getattr(fields, name, None)
    except Exception:  # as above
        return None


def _text(value: object) -> str:
    """The words of a content: a text, or the text parts of a list; what is no text is named by its kind."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(_part, value)))
    return "" if value is None else _json(value)


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    for name in ("text", "refusal"):
        words = _get(part, name)
        if isinstance(words, str):
            return words
    kind = _get(part, "type")
    return f"[{kind}]" if isinstance(kind, str) else ""


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"[{type(value).__name__}]"

"""Reads requests and replies: OpenAI's chat completions and responses, and Anthropic's messages.

Always holds: a request is copied, never changed; guidance comes after the request's own instructions; no reply raises
an error here, complete or cut off, in one body or as server-sent events: unreadable parts are skipped.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seasoned.adapters.running import led
from seasoned.llm.openai import at, words_of

PAUSED = "(paused)"
"""Stands for the call that a paused turn of Anthropic's waits for: the next request repeats the paused reply."""


@dataclass(frozen=True)
class Said:
    """A reply as read: its messages, the ids of its calls, its text in `answer`, and the server's id in `reply`.

    `whole` is False if it broke off or has no end mark; `failed` is True if the server reports a failure.
    """

    messages: list[dict[str, Any]]
    calls: frozenset[str] = frozenset()
    answer: str = ""
    reply: str = ""
    whole: bool = True
    failed: bool = False


class Form(ABC):
    """How to read and write one protocol."""

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        """The messages of a request; instructions in a field of their own are not among them."""
        return _listed(body.get("messages"))

    def held(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The ids of stored messages that a request continues: {"reply": id} or {"conversation": any}; else {}."""
        return {}

    @abstractmethod
    def led(self, body: Mapping[str, Any], items: list[Any], guidance: str) -> dict[str, Any]:
        """The request with these messages, and with guidance after its instructions."""

    def instructions(self, body: Mapping[str, Any]) -> Any:
        """The instructions of a request in a field of their own, as text or parts; "" without such a field."""
        return ""

    def heard(self, body: Mapping[str, Any]) -> list[Any]:
        """All messages of a request, with its instructions as the first."""
        instructions = self.instructions(body)
        return [*([{"role": "system", "content": instructions}] if instructions else ()), *self.items(body)]

    @abstractmethod
    def body(self, reply: Any) -> Said:
        """Read a reply's JSON."""

    @abstractmethod
    def read(self, parts: Sequence[Any]) -> Said:
        """Read the parts of a stream, or one complete reply: bytes, JSON values or an SDK's objects."""


class _Chat(Form):
    """OpenAI's chat completions, and those of compatible servers."""

    def led(self, body: Mapping[str, Any], items: list[Any], guidance: str) -> dict[str, Any]:
        first = items[0] if items else None
        if isinstance(first, dict) and first.get("role") in ("system", "developer"):
            items = [{**first, "content": _after(first.get("content"), guidance)}, *items[1:]]
        elif guidance:
            items = [{"role": "system", "content": guidance}, *items]
        return {**body, "messages": items}

    def body(self, reply: Any) -> Said:
        message = at(reply, "choices", 0, "message")
        message = {**message, "role": "assistant"} if isinstance(message, dict) else {}
        calls = message.get("tool_calls")
        ids = frozenset(filter(None, (_text(at(call, "id")) for call in calls)) if isinstance(calls, list) else ())
        whole = at(reply, "choices", 0, "finish_reason") is not None
        return Said([message] if message else [], ids, words_of(message) or "", _text(at(reply, "id")), whole)

    def read(self, parts: Sequence[Any]) -> Said:
        events, done = _events(parts)
        if len(events) == 1 and at(events[0], "choices", 0, "message") is not None:
            return self.body(events[0])
        words: dict[str, list[str]] = {}
        calls: dict[Any, _Call] = {}
        finish, name, failed = None, "", False
        for event in events:
            name, failed = name or _text(event.get("id")), failed or bool(event.get("error"))
            for choice in _dicts(event.get("choices")):
                if choice.get("index") in (0, None):
                    delta, finish = choice.get("delta"), choice.get("finish_reason") or finish
                    for kind in ("content", "refusal", "reasoning_content", "reasoning"):
                        words.setdefault(kind, []).append(words_of({"content": at(delta, kind)}) or "")
                    _add_calls(calls, at(delta, "tool_calls"))
        message: dict[str, Any] = {kind: text for kind, pieces in words.items() if (text := "".join(pieces))}
        if calls:
            message["tool_calls"] = [call.joined() for call in calls.values()]
        choices = [{"message": message, "finish_reason": finish}] if message else []
        return replace(self.body({"id": name, "choices": choices}), whole=done or finish is not None, failed=failed)


class _Responses(Form):
    """OpenAI's responses."""

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        value = body.get("input")
        return [{"role": "user", "content": value}] if isinstance(value, str) else _listed(value)

    def led(self, body: Mapping[str, Any], items: list[Any], guidance: str) -> dict[str, Any]:
        changed = {} if isinstance(body.get("input"), str) or not items else {"input": items}
        instructions = {"instructions": _after(self.instructions(body), guidance)} if guidance else {}
        return {**body, **changed, **instructions}

    def held(self, body: Mapping[str, Any]) -> dict[str, Any]:
        ids = {"reply": body.get("previous_response_id"), "conversation": body.get("conversation")}
        return {name: value for name, value in ids.items() if isinstance(value, str | dict) and value}

    def instructions(self, body: Mapping[str, Any]) -> Any:
        return _text(body.get("instructions"))

    def body(self, reply: Any) -> Said:
        output = _dicts(at(reply, "output"))
        ids = (_text(item.get("call_id")) for item in output if _text(item.get("type")).endswith("_call"))
        parts = [part for item in output for part in _dicts(item.get("content"))]
        answer = "".join(_text(part.get("text")) for part in parts if part.get("type") == "output_text")
        failed = at(reply, "status") in ("failed", "cancelled", "queued", "in_progress")
        return Said(output, frozenset(filter(None, ids)), answer, _text(at(reply, "id")), not failed, failed)

    def read(self, parts: Sequence[Any]) -> Said:
        events, _ = _events(parts)
        if len(events) == 1 and "type" not in events[0]:
            return self.body(events[0])
        name, output, words, failed = "", [], [], False
        for event in events:
            kind, reply = _text(event.get("type")), event.get("response")
            name, failed = name or _text(at(reply, "id")), failed or kind in ("response.failed", "error")
            if kind in ("response.completed", "response.incomplete"):
                return self.body(reply)
            if kind == "response.output_text.delta":
                words.append(_text(event.get("delta")))
            elif kind == "response.output_item.done" and isinstance(event.get("item"), dict):
                output.append(event["item"])
                words = []
        if any(words):  # the text of an incomplete item
            part = {"type": "output_text", "text": "".join(words)}
            output.append({"type": "message", "role": "assistant", "content": [part]})
        return replace(self.body({"id": name, "output": output}), whole=False, failed=failed)


class _Messages(Form):
    """Anthropic's messages."""

    def led(self, body: Mapping[str, Any], items: list[Any], guidance: str) -> dict[str, Any]:
        system = {"system": _after(self.instructions(body), guidance)} if guidance else {}
        return {**body, "messages": items, **system}

    def held(self, body: Mapping[str, Any]) -> dict[str, Any]:
        name = _text(at(body.get("thread"), "previous_message_id"))
        return {"reply": name} if name else {}

    def instructions(self, body: Mapping[str, Any]) -> Any:
        system = body.get("system")
        return system if isinstance(system, str) else _listed(system)

    def body(self, reply: Any) -> Said:
        content = _dicts(at(reply, "content"))
        ids = [_text(part.get("id")) for part in content if part.get("type") == "tool_use"]
        paused = [PAUSED] if at(reply, "stop_reason") == "pause_turn" else []
        answer = "".join(_text(part.get("text")) for part in content if part.get("type") == "text")
        messages = [{"role": "assistant", "content": content}] if content else []
        whole = at(reply, "stop_reason") is not None
        return Said(messages, frozenset(filter(None, [*ids, *paused])), answer, _text(at(reply, "id")), whole)

    def read(self, parts: Sequence[Any]) -> Said:
        events, _ = _events(parts)
        if len(events) == 1 and at(events[0], "type") == "message":
            return self.body(events[0])
        name, stop, failed = "", None, False
        blocks: dict[Any, dict[str, Any]] = {}
        pieces: dict[Any, dict[str, list[str]]] = {}
        for event in events:
            place, delta = event.get("index"), event.get("delta")
            name, failed = name or _text(at(event, "message", "id")), failed or event.get("type") == "error"
            stop = _text(at(delta, "stop_reason")) or stop
            if isinstance(place, int) and isinstance(event.get("content_block"), dict):
                blocks[place] = dict(event["content_block"])
            for kind in ("text", "thinking", "partial_json") if isinstance(place, int) else ():
                if words := _text(at(delta, kind)):
                    pieces.setdefault(place, {}).setdefault(kind, []).append(words)
        for place, kinds in pieces.items():
            block = blocks.setdefault(place, {"type": "text"})
            for kind, texts in kinds.items():
                text = "".join(texts)
                block |= {"input": _json(text, text)} if kind == "partial_json" else {kind: text}
        content = [blocks[place] for place in sorted(blocks)]
        return replace(self.body({"id": name, "content": content, "stop_reason": stop}), failed=failed)


CHAT, RESPONSES, MESSAGES = _Chat(), _Responses(), _Messages()


def answered(item: Any) -> frozenset[str]:
    """The ids of the calls whose results a message contains."""
    if _get(item, "role") == "assistant":
        return frozenset((PAUSED,))
    parts = _get(item, "content")
    parts = [item, *(parts if isinstance(parts, list) else ())]
    ids = (_get(part, name) for part in parts for name in ("tool_call_id", "call_id", "tool_use_id"))
    return frozenset(value for value in ids if value and isinstance(value, str))


def _events(parts: Sequence[Any]) -> tuple[list[dict[str, Any]], bool]:
    """The events of a stream, or its only body; and whether the stream has the end mark `[DONE]`."""
    data = [part for part in parts if isinstance(part, bytes)]
    if len(data) < len(parts):
        return _dicts([part.model_dump() if hasattr(part, "model_dump") else part for part in parts]), False
    text = b"".join(data).decode(errors="replace").removeprefix("\ufeff")
    if text.lstrip().startswith("{"):
        return _dicts([_json(text)]), False
    events = list(_data(text))
    return _dicts([_json(each) for each in events if not each.startswith("[DONE]")]), events[-1:] == ["[DONE]"]


def _data(text: str) -> Iterator[str]:
    """The data of each server-sent event; an event that no empty line ends yet is left out."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        name, _, value = line.partition(":")
        if name == "data":
            lines.append(value.removeprefix(" "))
        elif not line and lines:
            yield "\n".join(lines)
            lines = []


@dataclass
class _Call:
    """A call that is streamed in pieces: the first has its name, and each has a part of its arguments."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def joined(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}


def _add_calls(calls: dict[Any, _Call], deltas: Any) -> None:
    for delta in _dicts(deltas):
        place = delta.get("index")
        place = place if isinstance(place, int) else _text(delta.get("id")) or next(reversed(calls), 0)
        call = calls.setdefault(place, _Call())
        call.id, call.name = call.id or _text(delta.get("id")), call.name or _text(at(delta, "function", "name"))
        call.arguments.append(_text(at(delta, "function", "arguments")))


def _after(instructions: Any, guidance: str) -> Any:
    """Instructions, as text or parts, with guidance after them, if any."""
    if not guidance:
        return instructions
    if isinstance(instructions, list) and instructions:
        return [*instructions, {"type": "text", "text": guidance}]
    return led(_text(instructions), guidance)


def _listed(value: Any) -> list[Any]:
    """An iterable as a list; [] for anything else, such as an SDK's "not given"."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else []


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _json(text: str, otherwise: Any = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise

"""The messages that a span of generative AI holds, in whichever version of the conventions it was written.

Always holds: messages come out in the order in which they were said; what is no message is left for
`traces.conversation`, which passes it over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from seasoned.traces.conversation import Turn
from seasoned.traces.source import load, texts

_FLAT = re.compile(r"gen_ai\.(?P<side>prompt|completion)\.(?P<place>\d{1,6})\.(?P<rest>[\w.]{1,80})")
_TOOL = re.compile(r"tool_calls\.(?P<place>\d{1,4})\.(?P<name>id|name|arguments)")
_ROLES = ("system", "user", "assistant", "tool")

Event = tuple[str, dict[str, Any], Any]


def messages_of(attributes: Mapping[str, Any], events: Iterable[Event]) -> tuple[list[Any], list[Any]]:
    """What a model was sent, and what it answered.

    Args:
        attributes: of the span.
        events: its events: (name, attributes, body).

    Returns:
        Two lists of raw messages, for `conversation.read_turns`.
    """
    asked, answered = _current(attributes)
    flat = _flattened(attributes)
    asked, answered = asked or flat[0], answered or flat[1]
    for name, given, body in events:
        if name == "gen_ai.client.inference.operation.details":
            more = _current({**given, **(body if isinstance(body, dict) else {})})
            asked, answered = asked or more[0], answered or more[1]
    if asked or answered:
        return asked, answered
    for name, given, body in events:
        _earlier(name, given, body, asked, answered)
    return asked, answered


def tool_turn(attributes: Mapping[str, Any]) -> Turn | None:
    """What a tool gave back, from its span; None where that does not say."""
    result = attributes.get("gen_ai.tool.call.result")
    if result is None:
        return None
    return Turn("tool", texts(result), answers=texts(attributes.get("gen_ai.tool.call.id")))


def _current(attributes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    parts = _listed(attributes.get("gen_ai.system_instructions"))
    system = [{"role": "system", "parts": parts}] if parts else []
    asked = _listed(attributes.get("gen_ai.input.messages"))
    return (system + asked if asked else []), _listed(attributes.get("gen_ai.output.messages"))[:1]


def _listed(value: Any) -> list[Any]:
    """A list that may be written as JSON text."""
    if isinstance(value, str):
        value, _ = load(value)
    return value if isinstance(value, list) else []


def _earlier(name: str, given: Mapping[str, Any], body: Any, asked: list[Any], answered: list[Any]) -> None:
    """A message of the conventions before 1.37, whose events were one message each."""
    content = given.get("gen_ai.event.content")
    if isinstance(content, str):
        content, _ = load(content)
    found = {**given, **next((part for part in (body, content) if isinstance(part, dict)), {})}
    if name == "gen_ai.choice":
        inner = found.get("message")
        if isinstance(inner, str):
            decoded, fault = load(inner)
            inner = {"content": inner} if fault else decoded
        if not answered and found.get("index") in (None, 0, "0"):
            answered.append({"role": "assistant", **(inner if isinstance(inner, dict) else found)})
    elif name.startswith("gen_ai.") and name.endswith(".message") and name.split(".")[1] in _ROLES:
        role, calls = name.split(".")[1], _listed(found.get("tool_calls"))
        asked.append({"tool_call_id": found.get("id"), **found, "role": role, "tool_calls": calls})
    elif name == "gen_ai.content.prompt":
        asked.extend(_listed(found.get("gen_ai.prompt")) or [{"role": "user", "content": found.get("gen_ai.prompt")}])
    elif name == "gen_ai.content.completion":
        said = found.get("gen_ai.completion")
        answered.extend(_listed(said)[:1] or [{"role": "assistant", "content": said}])


def _flattened(attributes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Messages that are spread over attributes such as `gen_ai.prompt.0.content`."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"prompt": {}, "completion": {}}
    for key, value in attributes.items():
        if not (found := _FLAT.fullmatch(key)):
            continue
        message = sides[found["side"]].setdefault(int(found["place"]), {"tool_calls": {}})
        if call := _TOOL.fullmatch(found["rest"]):
            message["tool_calls"].setdefault(int(call["place"]), {})[call["name"]] = value
        else:
            message[found["rest"]] = value
    listed = [
        [{**message, "tool_calls": list(message["tool_calls"].values())} for _, message in sorted(side.items())]
        for side in sides.values()
    ]
    for message in listed[1]:
        message.setdefault("role", "assistant")
    return listed[0], listed[1][:1]

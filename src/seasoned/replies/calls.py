"""Reads and writes tool calls as lines of text, the form of environments, and checks whether a call fits the tools.

A tool is {"name": .., "description": .., "parameters": a JSON Schema of an object}. Always holds: a reader takes any
text and never raises, and its time grows linearly with the length; `read_call(write_call(call))` has the call's name
and arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from seasoned.llm.calls import Tool, json_object
from seasoned.llm.structured import KINDS, problems, shorten
from seasoned.types import ToolCall

_DEPTH = 64  # levels of a schema
_LINE = re.compile(r"\s*(?P<name>[A-Za-z_][\w.:/-]{0,127})\s{0,4}\((?P<given>.*)\)\s*", re.DOTALL | re.ASCII)
_BREAKS = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NUMBERS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


def read_call(text: str) -> ToolCall | None:
    """Read a text that is one call: `name({"argument": value, ..})`, or `name()`. None for any other text."""
    line = _LINE.fullmatch(text)
    if line is None:
        return None
    text_arguments = line["given"].strip()
    arguments = json_object(text_arguments) if text_arguments else {}
    return None if arguments is None else ToolCall(name=line["name"], arguments=arguments)


def write_call(call: ToolCall) -> str:
    """A call as one line of text, the form that environments take."""
    text_arguments = json.dumps(call.arguments, ensure_ascii=False) if call.arguments else ""
    return f"{call.name}({_BREAKS.sub(lambda sign: f'{chr(92)}u{ord(sign[0]):04x}', text_arguments)})"


def check_call(call: ToolCall, tools: Sequence[Tool]) -> str:
    """What is wrong with a call, as a sentence for the model; "" if a tool of this name takes these arguments."""
    tool = next((each for each in tools if each.get("name") == call.name), None)
    if tool is None:
        names = ", ".join(str(each.get("name")) for each in tools)
        return f"There is no tool {shorten(call.name, 100)!r}. There are: {names or 'none'}."
    if call.unread:
        return f"The arguments of {call.name} must be one JSON object, not {call.unread!r}."
    reasons = misfits(call.arguments, tool.get("parameters"))
    return f"The arguments of {call.name} do not fit: {'; '.join(reasons[:5])}." if reasons else ""


def misfits(value: Any, schema: Any, path: str = "arguments") -> list[str]:
    """The reasons why a JSON value does not fit a schema: one sentence for each place, [] if it fits. Never raises.

    Checks the keywords of `structured.problems` (except patterns), anyOf, oneOf, allOf and references within the
    schema. Other keywords are left to the tool.
    """
    return _Checker(schema).misfits(value, schema, path, 0)


class _Checker:
    """Checks values against one schema. Each part is checked once for each value, which bounds the time."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.known: dict[tuple[int, int], list[str]] = {}

    def misfits(self, value: Any, schema: Any, path: str, depth: int) -> list[str]:
        key = id(value), id(schema)
        if key not in self.known:
            self.known[key] = []  # a reference to itself adds nothing
            self.known[key] = self._judged(value, schema, path, depth)
        return self.known[key]

    def _judged(self, value: Any, schema: Any, path: str, depth: int) -> list[str]:
        if not isinstance(schema, Mapping) or depth > _DEPTH:
            return []
        reasons: list[str] = []
        if isinstance(schema.get("$ref"), str):
            reasons += self.misfits(value, self._referred(schema["$ref"]), path, depth + 1)
        for part in _parts(schema, "allOf"):
            reasons += self.misfits(value, part, path, depth + 1)
        for keyword in ("anyOf", "oneOf"):
            options = [self.misfits(value, part, path, depth + 1) for part in _parts(schema, keyword)]
            if options and all(options):
                least: list[str] = min(options, key=len)
                reasons += least
        reasons += problems(value, _shallow(schema), path)
        if reasons:
            return reasons
        if isinstance(value, dict):
            properties, others = schema.get("properties"), schema.get("additionalProperties")
            for name, item in value.items():
                part = properties.get(name, others) if isinstance(properties, Mapping) else others
                reasons += self.misfits(item, part, f"{path}.{shorten(name, 50)}", depth + 1)
        elif isinstance(value, list):
            for place, item in enumerate(value):
                reasons += self.misfits(item, schema.get("items"), f"{path}[{place}]", depth + 1)
        return reasons

    def _referred(self, reference: str) -> Any:
        part: Any = self.root
        for name in reference.removeprefix("#").strip("/").split("/") if reference.startswith("#/") else ():
            part = part.get(name) if isinstance(part, Mapping) else None
        return part if reference.startswith("#") else None


def _parts(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _shallow(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a schema about the value itself, not its parts, in a form that `problems` can check."""
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    kinds = [kind for kind in kinds if isinstance(kind, str) and kind in KINDS]
    enum, required, properties = schema.get("enum"), schema.get("required"), schema.get("properties")
    limits = {name: schema.get(name) for name in _NUMBERS}
    closed = properties if schema.get("additionalProperties") is False and isinstance(properties, Mapping) else None
    return {
        **({"type": kinds} if kinds else {}),
        **({"enum": enum} if isinstance(enum, list) and enum else {}),
        **{name: n for name, n in limits.items() if isinstance(n, int | float) and not isinstance(n, bool)},
        **({"required": [name for name in required if isinstance(name, str)]} if isinstance(required, list) else {}),
        **({"properties": {name: {} for name in closed}, "additionalProperties": False} if closed is not None else {}),
    }

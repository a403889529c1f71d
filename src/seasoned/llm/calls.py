"""Reads tool calls as models write them: in a server's form, or in the text of a reply.

A tool is {"name": .., "description": .., "parameters": a JSON Schema of an object}. Always holds: readers take any text
and never raise, and their time grows linearly with its length; arguments are JSON values without NaN, infinity or lone
surrogates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from seasoned.llm.structured import plain, read, shorten
from seasoned.text import LIMIT, without_thinking
from seasoned.types import ToolCall

Tool = Mapping[str, Any]

MOST = 16
"""The most calls read from one reply."""

_MAX_STARTS = 64  # places in a reply where a call may begin
_MAX_QUOTED = 300  # characters
_TAGGED = re.compile(r"<(tool_call|function_call)>(.*?)(?:</\1>|(?=<\1>)|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.:/-]{1,128})>(.*?)(?:</function>|(?=<function=)|\Z)", re.DOTALL | re.ASCII)
_PARAMETER = re.compile(r"<parameter=([\w.-]{1,128})>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL | re.ASCII)
_FENCE = re.compile(r"^[ \t]{0,8}`{3,}[\w-]{0,20}[ \t]*$", re.MULTILINE)
_OBJECT = re.compile(r"^[ \t]{0,8}(?:\[\s{0,8})?\{", re.MULTILINE)
_INPUT = re.compile(
    r"^[ \t>*_`#-]{0,8}action[ \t]{0,2}:[ \t*`]{0,4}(?P<name>[\w.:/-]{1,128})[ \t*`]{0,4}\n\s{0,8}[>*_`#-]{0,8}"
    r"action[ _]input[ \t]{0,2}:[ \t*`]{0,4}(?P<given>[^\n]{0,4000})",
    re.IGNORECASE | re.ASCII | re.MULTILINE,
)
_NAMED = re.compile(r"\s*(?P<key>[A-Za-z_]\w{0,63})\s{0,4}(?P<sign>[=:])\s{0,4}", re.ASCII)
_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "action_input", "input", "tool_input")
_PYTHON_CONSTANTS = {"True": True, "False": False, "None": None}
_LEFTOVER = re.compile(
    r"`{3,}[\w-]{0,20}\s*\Z|^[ \t]{0,8}(?:thought|action)[ \t]{0,2}:[ \t]*", re.IGNORECASE | re.MULTILINE
)


def make_call(name: str, raw: Any, identity: str = "") -> ToolCall:
    """Make a call from arguments that are an object, or its text (None or "": none); others go into `unread`."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return ToolCall(name=name, id=identity)
    arguments = json_object(raw)
    if arguments is None and isinstance(raw, str):
        arguments = json_object(read(raw, {"type": "object"})[0])
    if arguments is not None:
        return ToolCall(name=name, arguments=arguments, id=identity)
    return ToolCall(name=name, id=identity, unread=shorten(str(plain(str(raw))), _MAX_QUOTED))


def split_calls(text: str, tools: Sequence[Tool]) -> tuple[str, list[ToolCall]]:
    """Split a reply into the text before its calls, and the calls in their order, at most `MOST`.

    Reads tags (`<tool_call>`, `<function=..>`), JSON with a name and arguments, "Action:" with "Action Input:", and
    `name(..)` or `name[..]` of an offered tool, with a JSON object, named arguments, or a single value if the tool has
    one parameter. The `thought` of a call in JSON becomes part of the text. Text in `<think>` is ignored.
    """
    reply_text = without_thinking(text)[:LIMIT]
    for reading in (_tagged, _json, _inputs, _lines):
        if calls := list(islice(reading(reply_text, tools), MOST)):
            before = _LEFTOVER.sub("", reply_text[: calls[0].start])
            thoughts = [before.strip(), *(each.thought.strip() for each in calls)]
            return "\n".join(filter(None, thoughts)), [each.call for each in calls]
    return reply_text.strip(), []


class _CallAt(NamedTuple):
    """A call, its position, and its thought."""

    start: int
    call: ToolCall
    thought: str = ""


def json_object(value: Any) -> dict[str, Any] | None:
    """A JSON object, or a text that is one, with plain values; None for anything else."""
    try:
        value = plain(json.loads(value, strict=False) if isinstance(value, str) else value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _tagged(text: str, tools: Sequence[Tool]) -> Iterator[_CallAt]:
    for tag in _TAGGED.finditer(text):
        inner = tag[2].strip()
        calls = _functions(inner) if "<function=" in inner else _of_json(read(inner, {})[0], tools)
        yield from (each._replace(start=tag.start()) for each in calls)
    if not _TAGGED.search(text):
        yield from _functions(text)


def _functions(text: str) -> Iterator[_CallAt]:
    for match in _FUNCTION.finditer(text):
        parameters = {name: _value(value.strip()) for name, value in _PARAMETER.findall(match[2])}
        yield _CallAt(match.start(), make_call(match[1], parameters or match[2].strip()))


def _json(text: str, tools: Sequence[Tool]) -> Iterator[_CallAt]:
    bare = _FENCE.sub(lambda fence: " " * len(fence[0]), text)  # positions stay the same
    at = 0
    for _ in range(MOST):
        opening = _OBJECT.search(bare, at)
        if opening is None:
            return
        try:
            start = opening.end() - len(opening[0].lstrip())
            value, at = json.JSONDecoder(strict=False).raw_decode(bare, start)
        except (ValueError, RecursionError):
            value, at = read(bare[opening.start() :], {})[0], len(bare)
        yield from (each._replace(start=opening.start()) for each in _of_json(value, tools))


def _of_json(value: Any, tools: Sequence[Tool]) -> Iterator[_CallAt]:
    """The calls in a JSON value: an object with a name and arguments, or a list of such objects."""
    names = {tool.get("name") for tool in tools}
    for each in value if isinstance(value, list) else [value]:
        inner = each.get("function") if isinstance(each, dict) else None
        entry = inner if isinstance(inner, dict) else each
        if not isinstance(entry, dict):
            continue
        name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), "")
        arguments = next((entry[key] for key in _ARGUMENTS if key in entry), None)
        if name and (arguments is not None or name in names):
            thought = entry.get("thought")
            call = make_call(name, arguments, str(each.get("id") or ""))
            yield _CallAt(0, call, thought if isinstance(thought, str) else "")


def _inputs(text: str, tools: Sequence[Tool]) -> Iterator[_CallAt]:
    for match in _INPUT.finditer(text):
        yield _CallAt(match.start(), _with_values(match["name"], match["given"].strip(), tools))


def _lines(text: str, tools: Sequence[Tool]) -> Iterator[_CallAt]:
    names = sorted((re.escape(str(tool.get("name"))) for tool in tools if tool.get("name")), key=len, reverse=True)
    if not names:
        return
    opening, at = re.compile(rf"(?<![\w.])({'|'.join(names)})([(\[])"), 0
    for _ in range(_MAX_STARTS):
        match = opening.search(text, at)
        if match is None:
            return
        at = _closing(text, match.end(), ")" if match[2] == "(" else "]")
        yield _CallAt(match.start(), _with_values(match[1], text[match.end() : at].strip(), tools))


def _closing(text: str, at: int, closer: str) -> int:
    """The position where an open bracket closes, ignoring quoted text; if it never does, the end of the line."""
    opener, depth = "(" if closer == ")" else "[", 1
    for sign in re.finditer(rf'"(?:[^"\\\n]|\\.)*"|[{re.escape(opener + closer)}\n]', text[at:]):
        if sign[0] == "\n" and "{" not in text[at : at + sign.start()]:
            return at + sign.start()
        depth += (sign[0] == opener) - (sign[0] == closer)
        if depth == 0:
            return at + sign.start()
    line = text.find("\n", at)
    return len(text) if line < 0 else line


def _with_values(name: str, text: str, tools: Sequence[Tool]) -> ToolCall:
    """A call whose arguments are a JSON object, named values, or the value of the tool's only parameter."""
    if not text or (arguments := json_object(text)) is not None:
        return ToolCall(name=name, arguments=arguments if text else {})
    tool = next((each for each in tools if each.get("name") == name), {})
    schema = tool.get("parameters")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    properties = properties if isinstance(properties, Mapping) else {}
    if (named := _named(text, properties)) is not None:
        return ToolCall(name=name, arguments=named)
    if len(properties) == 1 and not text.startswith("{"):
        return ToolCall(name=name, arguments={str(next(iter(properties))): _value(text)})
    return make_call(name, text)


def _named(text: str, properties: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read `key=value, key="value"`, or `key: value` with keys of the tool's parameters; None for any other form."""
    named: dict[str, Any] = {}
    at = 0
    while at < len(text):
        key = _NAMED.match(text, at)
        if key is None or (key["sign"] == ":" and key["key"] not in properties):
            return None
        try:
            value, at = json.JSONDecoder(strict=False).raw_decode(text, key.end())
            value = plain(value)
        except (ValueError, RecursionError):
            quoted = _STRING.match(text, key.end())
            end = text.find(",", key.end())
            at = quoted.end() if quoted else end if end >= 0 else len(text)
            value = quoted[1] if quoted else _value(text[key.end() : at].strip())
        named[key["key"]] = value
        rest = text[at:].lstrip()
        if rest and not rest.startswith(","):
            return None
        at = len(text) - len(rest) + 1
    return named or None


def _value(text: str) -> Any:
    """A value written in JSON or Python; any other text without its quotes."""
    if text in _PYTHON_CONSTANTS:
        return _PYTHON_CONSTANTS[text]
    try:
        return plain(json.loads(text))
    except (ValueError, RecursionError):
        return plain(text.strip("\"'"))

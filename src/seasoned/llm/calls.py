"""Calls of tools as models write them: in a server's own form, and in the text of a reply where there is no such form.

A tool is {"name": .., "description": .., "parameters": a JSON Schema of an object}. Always holds: any text is read,
none raises, and the time taken grows linearly with its length; arguments are JSON values without NaN, infinity or half
characters.
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
"""Calls that are read of one reply."""

_TRIES = 64  # places of a reply where a call may begin
_SHOWN = 300  # characters of a text that is quoted
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
_WORDS = {"True": True, "False": False, "None": None}
_LEFTOVER = re.compile(
    r"`{3,}[\w-]{0,20}\s*\Z|^[ \t]{0,8}(?:thought|action)[ \t]{0,2}:[ \t]*", re.IGNORECASE | re.MULTILINE
)


def make_call(name: str, given: Any, identity: str = "") -> ToolCall:
    """A call of what a server or a model gave as its arguments: an object, or the text of one; anything else is unread.

    Nothing at all is no argument.
    """
    if given is None or (isinstance(given, str) and not given.strip()):
        return ToolCall(name=name, id=identity)
    arguments = json_object(given) if isinstance(given, str) else _values(given)
    if arguments is None and isinstance(given, str):
        repaired, _ = read(given, {"type": "object"})
        arguments = _values(repaired)
    if arguments is not None:
        return ToolCall(name=name, arguments=arguments, id=identity)
    return ToolCall(name=name, id=identity, unread=shorten(str(plain(str(given))), _SHOWN))


def split_calls(text: str, tools: Sequence[Tool]) -> tuple[str, list[ToolCall]]:
    """What a reply says before its calls, and the calls in their order, at most `MOST`.

    Read are tags (`<tool_call>`, `<function=..>`), JSON with a name and arguments, "Action:" with "Action Input:", and
    `name(..)` or `name[..]` of a tool that is offered, with a JSON object, with named arguments, or with a single value
    where the tool has one parameter. The `thought` of a call in JSON is said before it. What a model considers in
    `<think>` is not read.

    Args:
        text: what the model wrote; untrusted.
        tools: those that are offered.
    """
    said = without_thinking(text)[:LIMIT]
    for reading in (_tagged, _json, _inputs, _lines):
        if found := list(islice(reading(said, tools), MOST)):
            before = _LEFTOVER.sub("", said[: found[0].start])
            thoughts = [before.strip(), *(each.thought.strip() for each in found)]
            return "\n".join(filter(None, thoughts)), [each.call for each in found]
    return said.strip(), []


class _Found(NamedTuple):
    """A call, where it begins, and the thought that came with it."""

    start: int
    call: ToolCall
    thought: str = ""


def _values(value: Any) -> dict[str, Any] | None:
    """An object with plain values, None where it is no object or has what JSON has not."""
    try:
        value = plain(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, None where it is none."""
    try:
        return _values(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return None


def _tagged(text: str, tools: Sequence[Tool]) -> Iterator[_Found]:
    for tag in _TAGGED.finditer(text):
        inner = tag[2].strip()
        found = _functions(inner) if "<function=" in inner else _of_json(read(inner, {})[0], tools)
        yield from (each._replace(start=tag.start()) for each in found)
    if not _TAGGED.search(text):
        yield from _functions(text)


def _functions(text: str) -> Iterator[_Found]:
    for found in _FUNCTION.finditer(text):
        named = {name: _value(given.strip()) for name, given in _PARAMETER.findall(found[2])}
        yield _Found(found.start(), make_call(found[1], named or found[2].strip()))


def _json(text: str, tools: Sequence[Tool]) -> Iterator[_Found]:
    bare = _FENCE.sub(lambda fence: " " * len(fence[0]), text)  # places stay true
    at = 0
    for _ in range(MOST):
        begun = _OBJECT.search(bare, at)
        if begun is None:
            return
        try:
            start = begun.end() - len(begun[0].lstrip())
            value, at = json.JSONDecoder(strict=False).raw_decode(bare, start)
        except (ValueError, RecursionError):
            value, at = read(bare[begun.start() :], {})[0], len(bare)
        yield from (each._replace(start=begun.start()) for each in _of_json(value, tools))


def _of_json(value: Any, tools: Sequence[Tool]) -> Iterator[_Found]:
    """The calls that a JSON value names: an object with a name and arguments, or a list of such."""
    names = {tool.get("name") for tool in tools}
    for each in value if isinstance(value, list) else [value]:
        inner = each.get("function") if isinstance(each, dict) else None
        entry = inner if isinstance(inner, dict) else each
        if not isinstance(entry, dict):
            continue
        name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), "")
        given = next((entry[key] for key in _ARGUMENTS if key in entry), None)
        if name and (given is not None or name in names):
            thought = entry.get("thought")
            call = make_call(name, given, str(each.get("id") or ""))
            yield _Found(0, call, thought if isinstance(thought, str) else "")


def _inputs(text: str, tools: Sequence[Tool]) -> Iterator[_Found]:
    for found in _INPUT.finditer(text):
        yield _Found(found.start(), _with_values(found["name"], found["given"].strip(), tools))


def _lines(text: str, tools: Sequence[Tool]) -> Iterator[_Found]:
    names = sorted((re.escape(str(tool.get("name"))) for tool in tools if tool.get("name")), key=len, reverse=True)
    if not names:
        return
    begins, at = re.compile(rf"(?<![\w.])({'|'.join(names)})([(\[])"), 0
    for _ in range(_TRIES):
        begun = begins.search(text, at)
        if begun is None:
            return
        at = _closing(text, begun.end(), ")" if begun[2] == "(" else "]")
        yield _Found(begun.start(), _with_values(begun[1], text[begun.end() : at].strip(), tools))


def _closing(text: str, at: int, closer: str) -> int:
    """Where the bracket that is open closes, texts in quotes aside; else the end of the line."""
    opener, depth = "(" if closer == ")" else "[", 1
    for sign in re.finditer(rf'"(?:[^"\\\n]|\\.)*"|[{re.escape(opener + closer)}\n]', text[at:]):
        if sign[0] == "\n" and "{" not in text[at : at + sign.start()]:
            return at + sign.start()
        depth += (sign[0] == opener) - (sign[0] == closer)
        if depth == 0:
            return at + sign.start()
    line = text.find("\n", at)
    return len(text) if line < 0 else line


def _with_values(name: str, given: str, tools: Sequence[Tool]) -> ToolCall:
    """A call of a tool with an object, with named values, or with the one value that it takes."""
    if not given or (arguments := json_object(given)) is not None:
        return ToolCall(name=name, arguments=arguments if given else {})
    tool = next((each for each in tools if each.get("name") == name), {})
    schema = tool.get("parameters")
    known = schema.get("properties") if isinstance(schema, Mapping) else None
    known = known if isinstance(known, Mapping) else {}
    if (named := _named(given, known)) is not None:
        return ToolCall(name=name, arguments=named)
    if len(known) == 1 and not given.startswith("{"):
        return ToolCall(name=name, arguments={str(next(iter(known))): _value(given)})
    return make_call(name, given)


def _named(text: str, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of `key=value, key="value"`, or of `key: value` with known keys; None for any other form."""
    named: dict[str, Any] = {}
    at = 0
    while at < len(text):
        key = _NAMED.match(text, at)
        if key is None or (key["sign"] == ":" and key["key"] not in known):
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
    """A value as JSON or Python writes it, else the text without the quotes around it."""
    if text in _WORDS:
        return _WORDS[text]
    try:
        return plain(json.loads(text))
    except (ValueError, RecursionError):
        return plain(text.strip("\"'"))

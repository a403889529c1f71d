"""Structured replies: asks for JSON that fits a schema, reads the reply, and explains what does not fit.

A server is asked in the strictest way that it accepts, in steps called rungs: "schema" (a JSON schema that constrains
the reply), "wrapped" (the same inside {"value": ...}, for servers that require an object at the root), "json" (JSON
mode, with the schema explained in words) and "text" (only the explanation). A reply is read as it is, then repaired,
then requested once more. Always holds: no reply makes `read` or `problems` raise; every rule of a schema that passes
`check_schema` is checked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from seasoned.errors import ConfigError, LLMError, ParseError, RequestError
from seasoned.text import storable, without_thinking
from seasoned.types import Message, Reply

Schema = Mapping[str, Any]
Rung = Literal["schema", "wrapped", "json", "text"]
Send = Callable[[list[Message], dict[str, Any] | None], Reply]
"""Sends messages with a `response_format` (or none) and returns the reply; raises RequestError when refused."""

UNPARSED = "unparsed"  # the `finish_reason` of a reply that did not fit its schema after the re-ask

_REPAIR_LIMIT = 20_000  # characters; the repair takes quadratic time on hostile text
_DEPTH_LIMIT = 64
_BRACKET = re.compile(r"[\[\](){}]")
_OPENERS = {"]": "[", "}": "{", ")": "("}
_QUOTED_CHARS = 2_000  # characters of a wrong reply that the re-ask quotes
_REFUSAL = re.compile(
    r"response_format|json[ _-]?(schema|object|mode)|grammar|guided|structured[ _-]?output|invalid schema", re.I
)

_RULES = frozenset(("type", "enum", "required", "properties", "items", "additionalProperties")) | frozenset(
    ("minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems")
)
_ANNOTATIONS = frozenset(("title", "description", "default", "examples", "$schema"))
KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def ladder(schema: Schema, *, vendor: bool) -> tuple[Rung, ...]:
    """The rungs to try, strictest first; `vendor`: the server is OpenAI's own, which requires an object at the root."""
    if _is_object(schema):
        return ("schema", "json", "text")
    return ("wrapped", "json", "text") if vendor else ("schema", "wrapped", "json", "text")


def descend(send: Send, messages: Sequence[Message], schema: Schema, rungs: Sequence[Rung]) -> tuple[Reply, Rung]:
    """Ask on the first rung that the server accepts, and return the reply with `parsed`, and its rung.

    Raises:
        ConfigError: the schema uses an unsupported keyword.
        ParseError: neither the reply nor the answer to one re-ask fits the schema.
        LLMError: as `send` raises it, except a refusal of the format while there is a rung left.
    """
    check_schema(schema)
    for rung in rungs[:-1]:
        try:
            return ask(send, messages, schema, rung), rung
        except RequestError as error:
            if not _REFUSAL.search(str(error)):
                raise
    return ask(send, messages, schema, rungs[-1]), rungs[-1]


def ask(send: Send, messages: Sequence[Message], schema: Schema, rung: Rung) -> Reply:
    """Ask on one rung, and once more if the reply does not fit; the usage is that of both requests.

    Raises:
        ParseError: neither reply fits; it carries the last one, with `finish_reason` "unparsed".
        LLMError: as `send` raises it; if the second request failed, it carries the first reply.
    """
    wraps = rung in ("wrapped", "json") and not _is_object(schema)
    target = closed_object({"value": dict(schema)}) if wraps else dict(schema)
    prompt = list(messages) if rung in ("schema", "wrapped") else _explained(messages, target)
    form: dict[str, Any] | None = {"type": "json_object"} if rung == "json" else None
    if rung in ("schema", "wrapped"):
        described = {"name": "reply", "schema": target, "strict": _is_strict(target)}
        form = {"type": "json_schema", "json_schema": described}
    reply = send(prompt, form)
    value, mismatch = read(reply.text, schema, wrapped=wraps)
    if mismatch:
        first, correction = reply.usage, f"That reply cannot be used: {mismatch}.\n{_explanation(target)}"
        wrong = shorten(storable(reply.text), _QUOTED_CHARS) or "(empty)"
        again: list[Message] = [{"role": "assistant", "content": wrong}, {"role": "user", "content": correction}]
        try:
            reply = send([*prompt, *again], form)
        except LLMError as error:
            error.reply = reply
            raise
        reply = reply.model_copy(update={"usage": first + reply.usage})
        value, mismatch = read(reply.text, schema, wrapped=wraps)
    if mismatch:
        raise ParseError(
            f"the model {reply.model or '(unnamed)'} was asked twice for JSON of a given form, but its second reply "
            f"does not fit: {mismatch}. It wrote {shorten(reply.text, 300)!r}. Allow more tokens, simplify the schema, "
            "or use a stronger model.",
            reply.model_copy(update={"finish_reason": UNPARSED}),
        )
    text = json.dumps(value, ensure_ascii=False) if wraps else reply.text
    return reply.model_copy(update={"parsed": value, "text": text})


def with_parsed(reply: Reply, schema: Schema, name: str) -> Reply:
    """Fill in a reply's `parsed`: if the model gave none, it is read from the text.

    Raises ParseError if the text does not fit the schema; it carries the reply, with `finish_reason` "unparsed".
    """
    if reply.parsed is not None:
        return reply
    value, mismatch = read(reply.text, schema)
    if mismatch:
        raise ParseError(
            f"the model {reply.model or name} was asked for JSON of a given form, but its reply does not fit: "
            f"{mismatch}. It wrote {shorten(reply.text, 300)!r}. Your own model must put the schema into its prompt: "
            "docs/models.md",
            reply.model_copy(update={"finish_reason": UNPARSED}),
        )
    return reply.model_copy(update={"parsed": value})


def read(text: str, schema: Schema, *, wrapped: bool = False) -> tuple[Any, str]:
    """Read a reply as JSON that fits a schema: the value and "", or None and a sentence on what is wrong. Never raises.

    The text is read as it is, then repaired; a {"value": ...} around the JSON may be removed. Text in `<think>` is
    ignored.
    """
    complaint = ""
    for value in _readings(text.strip(), schema, wrapped):
        reasons = problems(value, schema)
        if not reasons:
            return value, ""
        complaint = complaint or "; ".join(reasons[:5])
    return None, complaint or ("the reply is not JSON" if without_thinking(text).strip() else "the reply is empty")


def _readings(text: str, schema: Schema, wrapped: bool) -> Iterator[Any]:
    unwraps = wrapped or "object" not in schema.get("type", ["object"])
    answer = without_thinking(text).strip()
    # First with the tags, since a string in the JSON may contain them.
    for candidate, repairs in dict.fromkeys(((text, False), (answer, False), (answer, True))):
        try:
            value = plain(_repaired(candidate) if repairs else json.loads(candidate))
        except Exception:  # hostile text may raise anything in the library that repairs it
            continue
        if unwraps and isinstance(value, dict) and set(value) == {"value"}:
            yield value["value"]
        yield value
    # Without a constraint, small models write a bare word instead of a JSON string.
    if answer and schema.get("type") == "string":
        yield storable(answer).strip("\"'` \n")


def _repaired(text: str) -> Any:
    from json_repair import loads

    if len(text) > _REPAIR_LIMIT or _depth(text) > _DEPTH_LIMIT:
        raise ValueError("too long or nested too deep to repair")
    value = loads(text)
    if value == "":
        raise ValueError("nothing to repair")
    return value


def _depth(text: str) -> int:
    """The greatest number of brackets of one kind that are open at once; the repair takes quadratic time in it."""
    deepest, depth = 0, dict.fromkeys("[{(", 0)
    for bracket in _BRACKET.findall(text):
        opener = _OPENERS.get(bracket, bracket)
        depth[opener] = depth[opener] + 1 if opener == bracket else max(depth[opener] - 1, 0)
        deepest = max(deepest, depth[opener])
    return deepest


def plain(value: Any, depth: int = 0) -> Any:
    """A JSON value with storable text, and with whole numbers as integers (in JSON they are the same).

    Raises ValueError if it has NaN or infinity, or is nested too deeply.
    """
    if depth > _DEPTH_LIMIT:
        raise ValueError(f"nested deeper than {_DEPTH_LIMIT} levels")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("not a finite number")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, list):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {storable(str(key)): plain(item, depth + 1) for key, item in value.items()}
    return value


def cut(text: str, stop: Sequence[str] | None) -> str:
    """The text up to the first stop sequence in it."""
    for mark in filter(None, stop or ()):
        text = text.split(mark, 1)[0]
    return text


def _is_object(schema: Schema) -> bool:
    return schema.get("type") == "object" or ("type" not in schema and "properties" in schema)


def _is_strict(schema: Schema) -> bool:
    """Whether OpenAI's strict mode accepts a schema: every object closed, every property required."""
    properties = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(properties)
    parts = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
    return (closed or not _is_object(schema)) and all(_is_strict(part) for part in parts)


def _explanation(schema: Schema) -> str:
    return "Reply with JSON alone: no other words, no code fence. It has to satisfy this JSON Schema:\n" + json.dumps(
        schema, ensure_ascii=False
    )


def _explained(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """The messages with the schema explained at the end, where small models follow it best."""
    if not messages or messages[-1]["role"] != "user":
        return [*messages, {"role": "user", "content": _explanation(schema)}]
    *before, last = messages
    return [*before, {**last, "content": f"{last['content']}\n\n{_explanation(schema)}"}]


def problems(value: Any, schema: Schema, path: str = "reply") -> list[str]:
    """The reasons why a JSON value does not fit a schema: one sentence for each place, [] if it fits. Never raises.

    Supports the keywords that `check_schema` accepts, as JSON Schema defines them.
    """
    kinds = schema.get("type", list(KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is_kind(value, kind) for kind in kinds):
        return [f"{path} must be of type {' or '.join(kinds)}, not {_shown(value)}"]
    reasons: list[str] = []

    def expect(holds: bool, what: str) -> None:
        if not holds:
            reasons.append(f"{path} must {what}, not {_shown(value)}")

    options = schema.get("enum", (value,))
    if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in options):
        expect(False, f"be one of {shorten(json.dumps(list(options), ensure_ascii=False), 500)}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        expect(value >= schema.get("minimum", -math.inf), f"be at least {schema.get('minimum')}")
        expect(value <= schema.get("maximum", math.inf), f"be at most {schema.get('maximum')}")
    elif isinstance(value, str):
        expect(len(value) >= schema.get("minLength", 0), f"have at least {schema.get('minLength')} characters")
        expect(len(value) <= schema.get("maxLength", math.inf), f"have at most {schema.get('maxLength')} characters")
        expect(re.search(schema.get("pattern", ""), value) is not None, f"match {schema.get('pattern')!r}")
    elif isinstance(value, list):
        expect(len(value) >= schema.get("minItems", 0), f"have at least {schema.get('minItems')} items")
        expect(len(value) <= schema.get("maxItems", math.inf), f"have at most {schema.get('maxItems')} items")
        for place, item in enumerate(value):
            reasons += problems(item, schema.get("items", {}), f"{path}[{place}]")
    elif isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        reasons += [
            f"{path} must have the property {name!r}" for name in schema.get("required", ()) if name not in value
        ]
        for name, item in value.items():
            if name in properties or isinstance(others, Mapping):
                reasons += problems(item, properties.get(name, others), f"{path}.{shorten(name, 50)}")
            elif others is False:
                reasons.append(f"{path} must not have the property {shorten(name, 50)!r}")
    return reasons


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with all of these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def check_schema(schema: Schema) -> None:
    """Check that `problems` supports every rule of the schema.

    Raises ConfigError if a keyword or type is not supported, or a pattern is not a regular expression.
    """
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind not in KINDS:
            raise ConfigError(f"the schema has the type {kind!r}, but JSON has only {', '.join(KINDS)}")
    for keyword in schema:
        if keyword not in _RULES | _ANNOTATIONS:
            raise ConfigError(
                f"the schema uses {keyword!r}, which Seasoned does not check: use only {', '.join(sorted(_RULES))}"
            )
    try:
        re.compile(schema.get("pattern", ""))
    except re.error as error:
        raise ConfigError(f"the schema's pattern {schema['pattern']!r} is not a regular expression: {error}") from None
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for part in inner:
        if isinstance(part, Mapping):
            check_schema(part)


def _is_kind(value: Any, kind: str) -> bool:
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), 100)


def shorten(text: str, limit: int) -> str:
    """The first `limit` characters of a text, with a mark if it was cut."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"

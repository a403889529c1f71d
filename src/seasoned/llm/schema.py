"""Whether a value fits a JSON schema, in sentences: the keywords that replies are held to, and no others.

Always holds: nothing that a model writes makes `problems` raise; a schema that `check_schema` lets through is judged in
every rule.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from seasoned.errors import ConfigError

Schema = Mapping[str, Any]

_RULES = frozenset(("type", "enum", "required", "properties", "items", "additionalProperties")) | frozenset(
    ("minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems")
)
_REMARKS = frozenset(("title", "description", "default", "examples", "$schema"))
_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def problems(value: Any, schema: Schema, path: str = "reply") -> list[str]:
    """What keeps `value` (from JSON) from fitting `schema`: one sentence for each place, [] when it fits. Never raises.

    Knows the keywords that `check_schema` lets through, with JSON Schema's meaning.
    """
    kinds = schema.get("type", list(_KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is_kind(value, kind) for kind in kinds):
        return [f"{path} must be of type {' or '.join(kinds)}, not {_shown(value)}"]
    found: list[str] = []

    def expect(holds: bool, what: str) -> None:
        if not holds:
            found.append(f"{path} must {what}, not {_shown(value)}")

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
            found += problems(item, schema.get("items", {}), f"{path}[{place}]")
    elif isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{path} must have the property {name!r}" for name in schema.get("required", ()) if name not in value]
        for name, item in value.items():
            if name in known or isinstance(others, Mapping):
                found += problems(item, known.get(name, others), f"{path}.{shorten(name, 50)}")
            elif others is False:
                found.append(f"{path} must not have the property {shorten(name, 50)!r}")
    return found


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has all of these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def check_schema(schema: Schema) -> None:
    """Makes sure that `problems` can judge every rule of the schema.

    Raises:
        ConfigError: a keyword or a type is unknown here, or a pattern is no regular expression.
    """
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind not in _KINDS:
            raise ConfigError(f"the schema names the type {kind!r}: JSON knows only {', '.join(_KINDS)}")
    for keyword in schema:
        if keyword not in _RULES | _REMARKS:
            raise ConfigError(
                f"the schema uses {keyword!r}, which Seasoned does not check: use only {', '.join(sorted(_RULES))}"
            )
    try:
        re.compile(schema.get("pattern", ""))
    except re.error as error:
        raise ConfigError(f"the schema's pattern {schema['pattern']!r} is no regular expression: {error}") from None
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for part in inner:
        if isinstance(part, Mapping):
            check_schema(part)


def _is_kind(value: Any, kind: str) -> bool:
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), 100)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters of the text, with a mark where it was cut."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"

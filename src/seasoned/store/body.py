"""Converts values to JSON text and back, with text that every database accepts.

Always holds: `from_body` can read whatever `to_body` returns. Postgres refuses NUL characters in text, and UTF-8 cannot
encode lone surrogates, so both become U+FFFD, in SQLite too: both stores behave alike. JSON has no NaN or infinity:
where a number is required, NaN becomes 0.0 and an infinity the largest float; elsewhere they become None.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from seasoned.errors import StoreError

M = TypeVar("M", bound=BaseModel)


def clean_text(text: str) -> str:
    """The text without NUL and lone surrogates, which become U+FFFD; a valid surrogate pair becomes its character."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_value(value: Any) -> Any:
    """A value of dictionaries, lists, texts and numbers with clean texts and finite numbers."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0 if math.isnan(value) else math.copysign(sys.float_info.max, value)
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    return value


def to_body(value: M) -> tuple[M, str]:
    """The value as the store will return it, and its JSON.

    Raises:
        StoreError: when JSON cannot hold a part of the value, or it is nested too deeply to be read.
    """
    kind = type(value)
    try:
        body = value.model_dump_json()
        if "\\u0000" not in body:
            kind.model_validate_json(body)
            return value, body
    except ValueError:
        pass  # a lone surrogate, or a number that is not finite: cleaned below
    try:
        cleaned = kind.model_validate(clean_value(value.model_dump()))
        body = cleaned.model_dump_json()
        kind.model_validate_json(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(
            f"a {kind.__name__.lower()} ({getattr(value, 'id', '') or 'without an id'}) cannot be stored as JSON: "
            f"{_first_lines(error)}; use texts, numbers, lists and dictionaries, nested at most 100 deep"
        ) from error
    return cleaned, body


def from_body(kind: type[M], body: str, name: str) -> M:
    """The value in a row.

    Args:
        kind: the value's type.
        body: the value's JSON.
        name: the row's name in errors, such as "the lesson les-1".

    Raises:
        StoreError: when the row was damaged or written by hand.
    """
    try:
        return kind.model_validate_json(body)
    except ValueError as error:
        raise StoreError(
            f"{name} is in the store but cannot be read ({_validation_errors(error)}): "
            "`seasoned doctor --repair --store FILE` repairs what can be repaired"
        ) from error


def to_json(value: Any, name: str) -> str:
    """A value of texts, numbers, lists and dictionaries as JSON.

    Raises:
        StoreError: when it contains something else; `name` names the value in the error.
    """
    try:
        return json.dumps(clean_value(value), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{name} cannot be stored as JSON: {error}; use texts, numbers, lists and dictionaries"
        ) from error


def from_json(text: str, name: str) -> Any:
    """The value of JSON from `to_json`.

    Raises:
        StoreError: when it was damaged or written by hand.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"{name} is in the store but cannot be read: {error}; repair its columns with any SQL tool"
        ) from error


def _validation_errors(error: ValueError) -> str:
    """The first three validation errors, or the first lines of another error."""
    if not isinstance(error, ValidationError):
        return _first_lines(error)
    errors = [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors(include_url=False)[:3]]
    return "; ".join(f"{field}: {message}" if field else message for field, message in errors)[:300]


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(lines[:3])[:300] or type(error).__name__

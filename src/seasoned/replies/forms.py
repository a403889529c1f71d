"""Functions that all readers of replies share: for the text after the thinking, and for JSON and lines in it.

Always holds: they take any text and never raise; at most `LIMIT` characters after the thinking count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from seasoned.llm.structured import read
from seasoned.text import LIMIT, without_thinking

_FENCE = re.compile(r"^[ \t]*`{3,}[\w-]*[ \t]*$", re.MULTILINE)
_JSON = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)


def said(text: str) -> str:
    """The text of a reply after its thinking, without the fences around it."""
    return _FENCE.sub("", without_thinking(text).strip()[:LIMIT]).strip()


def json_or_lines(reply: Any, lines: Callable[[str], Any]) -> Any:
    """A JSON value as it is; of a text, the object or list in it, or else the result of `lines` for it."""
    if not isinstance(reply, str):
        return reply
    text = said(reply)
    value, _ = read(text, {})
    return value if isinstance(value, dict | list) and value else lines(text)


def json_entries(text: str, keys: Sequence[str]) -> list[Any]:
    """The JSON entries of a reply: those of a list, of an object around a list, or one object on each line.

    Text before them is left out. [] if no entry has one of the keys.
    """
    opening = _JSON.search(text)
    if opening is None:
        return []
    lines = [line for line in text.split("\n") if line.lstrip().startswith("{") and line.rstrip(" ,").endswith("}")]
    if opening[0].endswith("{") and len(lines) > 1:
        value: Any = [read(line, {})[0] for line in lines]
    else:
        value, _ = read(text[opening.start() :], {})
    if isinstance(value, dict):
        inner = next((part for part in value.values() if isinstance(part, list)), None)
        value = [value] if inner is None or any(key in value for key in keys) else inner
    entries = value if isinstance(value, list) else []
    has_key = any(isinstance(entry, dict) and key in entry for entry in entries for key in keys)
    return entries if has_key else []

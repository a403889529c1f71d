"""The forms of a reply that all readers share: the text after its thinking, JSON in it, and lines.

Always holds: readers take any text and never raise; at most `LIMIT` characters after the thinking count.
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
    """A JSON value as it is; for a text, the object or list in it, or else what `lines` makes of it."""
    if not isinstance(reply, str):
        return reply
    text = said(reply)
    value, _ = read(text, {})
    return value if isinstance(value, dict | list) and value else lines(text)


def json_entries(text: str, keys: Sequence[str]) -> list[Any]:
    """The JSON entries of a reply, in a list or an object around them, or an object on each line.

    Text before them is left out. [] if no entry has one of the keys.
    """
    begun = _JSON.search(text)
    if begun is None:
        return []
    lines = [line for line in text.split("\n") if line.lstrip().startswith("{") and line.rstrip(" ,").endswith("}")]
    if begun[0].endswith("{") and len(lines) > 1:
        value: Any = [read(line, {})[0] for line in lines]
    else:
        value, _ = read(text[begun.start() :], {})
    if isinstance(value, dict):
        inner = next((part for part in value.values() if isinstance(part, list)), None)
        value = [value] if inner is None or any(key in value for key in keys) else inner
    entries = value if isinstance(value, list) else []
    named = any(isinstance(entry, dict) and key in entry for entry in entries for key in keys)
    return entries if named else []

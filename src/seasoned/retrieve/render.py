"""Guidance as text for a prompt: delimited, capped, and put in as values, never as templates.

Always holds: what is returned is at most `limit` characters per lesson, holds no control characters, cannot close the
block it stands in, and is "" when there is nothing to say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import jinja2

CAP = 600

# Unassigned characters that stay so, or that Unicode keeps for what nobody sees; beside these, the last two of every
# 65,536.
_NEVER = ((0x2065, 0x2065), (0xFDD0, 0xFDEF), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))


@cache
def _environment(package: str) -> jinja2.Environment:
    def source(name: str) -> str | None:
        file = resources.files(package) / "prompts" / name
        return file.read_text(encoding="utf-8") if file.is_file() else None

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(source),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def render_prompt(package: str, name: str, **values: Any) -> str:
    """Render `prompts/<name>` of a package with values; a missing value raises, a value is never a template."""
    return _environment(package).get_template(name).render(**values).strip()


def clean(text: str, limit: int = CAP) -> str:
    """One line without control characters, cut at `limit` characters with an ellipsis.

    Joiners and direction marks of real scripts and emoji stay (category Cf), and characters that are younger than this
    Python, such as new emoji; other control characters go.
    """
    flat = " ".join("".join(c for c in text if c.isspace() or _is_shown(c)).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def clean_ends(text: str, limit: int) -> str:
    """`clean`, but of a text that is too long the middle is left out: what is asked often stands at its end."""
    flat = clean(text, len(text) + 1)
    if len(flat) <= limit:
        return flat
    tail = max((limit - 3) // 2, 0)
    return clean(f"{flat[: max(limit - 3 - tail, 0)].rstrip()} … {flat[len(flat) - tail :].lstrip()}", limit)


def _is_shown(char: str) -> bool:
    category = unicodedata.category(char)
    if category != "Cn":
        return category not in ("Cc", "Cs", "Co")
    number = ord(char)
    return number & 0xFFFE != 0xFFFE and not any(first <= number <= last for first, last in _NEVER)


def bullets(lines: Iterable[str]) -> str:
    """Lines as a list, each cleaned and capped."""
    return "\n".join(f"- {clean(line)}" for line in lines)

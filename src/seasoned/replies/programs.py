"""Reads the program or the probe in a model's reply.

Always holds: any text gives a program or "", no text raises, and the time grows linearly with the length.
"""

from __future__ import annotations

import re

from seasoned.text import LIMIT, without_thinking

_FENCE = r"^[ \t]{0,8}(?:`{3,}|~{3,})[ \t]{0,4}"
_BLOCK = re.compile(rf"{_FENCE}([\w+-]{{0,20}})[ \t]*$(.*?)(?:{_FENCE}[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^(?:def |class |import |from |async def |@|[A-Za-z_]\w{0,60} = |>>> )", re.MULTILINE)
_PYTHON = frozenset({"", "python", "py", "python3", "pycon"})


def read_program(text: str) -> str:
    """The program of a reply, without its fence; a probe is lines that begin with `>>>`.

    Several fenced Python blocks are joined, without probes; if the first is a probe, only that probe counts. Without a
    fence, the program is the text from the first line of code on. "" if there is no code.
    """
    text = without_thinking(text[: 4 * LIMIT])[:LIMIT].replace("\r\n", "\n").replace("\r", "\n")
    parts = _fenced(text)
    if parts:
        if _is_probe(parts[0]):
            return probe_lines(parts[0])
        return "\n\n".join(part for part in parts if not _is_probe(part)).strip("\n")
    first_line = _CODE.search(text)
    if first_line is None:
        return ""
    code = text[first_line.start() :]
    return probe_lines(code) if code.startswith(">>>") else code.strip("\n").rstrip()


def _is_probe(text: str) -> bool:
    return text.lstrip().startswith(">>>")


def probe_lines(text: str) -> str:
    """The lines of a probe: those that begin with `>>>`, up to the first that does not."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if not line.lstrip().startswith(">>>"):
            break
        lines.append(line.strip())
    return "\n".join(lines)


def _fenced(text: str) -> list[str]:
    """The fenced Python blocks that are not empty; a fence that never closes ends with the text."""
    blocks = ((block[1].lower(), block[2][1:].rstrip()) for block in _BLOCK.finditer(text))
    return [inner for language, inner in blocks if language in _PYTHON and inner.strip()]

"""Lessons for coding agents: a block in AGENTS.md or CLAUDE.md, and a folder of skills.

Always holds: a person's text around the block stays unchanged; a lesson is one line, and can neither end the block nor
begin a heading; only active lessons are written, the most useful first, within a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from seasoned.errors import DataError
from seasoned.files import read_text
from seasoned.text import clean, one_line, tokens
from seasoned.types import Lesson

BEGIN = "<!-- seasoned: begin (written by `seasoned export`; changes in here are lost) -->"
END = "<!-- seasoned: end -->"
CAP = 2000
"""The most tokens of a block, which agents read in every session."""
_BLOCK = re.compile(r"<!-- seasoned: begin\b[^\n]*-->.*?<!-- seasoned: end -->\n?", re.DOTALL)
_MAX_CHARS = 600  # of a lesson


def ranked(lessons: Iterable[Lesson], uses: Mapping[str, tuple[int, int]]) -> list[Lesson]:
    """Active lessons, most useful first: by pin, then by solved minus failed attempts that used them, then by votes."""

    def worth(lesson: Lesson) -> tuple[bool, int, float]:
        right, wrong = uses.get(lesson.id, (0, 0))
        return (lesson.pinned, right - wrong, lesson.importance)

    return sorted((one for one in lessons if one.status == "active"), key=worth, reverse=True)


def block(lessons: Sequence[Lesson], cap: int = CAP) -> tuple[str, int]:
    """The block with as many lessons as fit into `cap` tokens, and their number."""
    lines, room = [], cap - tokens(BEGIN + END) - 20
    for lesson in lessons:
        line = f"- {line_of(lesson)}"
        room -= tokens(line) + 1
        if room < 0:
            break
        lines.append(line)
    body = "\n".join(["## What earlier sessions taught", "", *lines]) if lines else "Nothing was learned yet."
    return f"{BEGIN}\n{body}\n{END}\n", len(lines)


def placed(text: str, made: str) -> str:
    """A page with its block replaced, or with the block added at the end."""
    if _BLOCK.search(text):
        return _BLOCK.sub(lambda _: made, text, count=1)
    return f"{text.rstrip()}\n\n{made}" if text.strip() else made


def write_block(file: Path, lessons: Sequence[Lesson], cap: int = CAP) -> int:
    """Write the block into a new or existing file; return its number of lessons.

    Raises:
        DataError: the file has the beginning of a block without its end.
    """
    text = read_text(file) if file.is_file() else ""
    if "<!-- seasoned: begin" in text and not _BLOCK.search(text):
        raise DataError(
            f"{file} has '<!-- seasoned: begin', but no '{END}' after it: add the end, or remove the beginning"
        )
    made, count = block(lessons, cap)
    file.write_text(placed(text, made), encoding="utf-8")
    return count


def write_skills(folder: Path, lessons: Sequence[Lesson], uses: Mapping[str, tuple[int, int]], proof: str) -> list[str]:
    """Write a folder with a SKILL.md for each kind of task; return the folders' names."""
    groups: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        groups.setdefault(slug(lesson.category or lesson.method or lesson.kind), []).append(lesson)
    for name, group in groups.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "SKILL.md").write_text(_skill(name, group, uses, proof), encoding="utf-8")
    return sorted(groups)


def slug(text: str) -> str:
    """A name for a folder: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", clean(text).casefold()).strip("-")[:60] or "lessons"


def line_of(lesson: Lesson) -> str:
    """A lesson as one line, which can neither open nor close an HTML comment."""
    words = one_line(lesson.text, _MAX_CHARS)
    key_is_new = lesson.key and lesson.key.casefold() not in words.casefold()
    text = f"{one_line(lesson.key, 80)}: {words}" if key_is_new else words
    return text.replace("<!--", "< !--").replace("-->", "-- >")


def _skill(name: str, lessons: Sequence[Lesson], uses: Mapping[str, tuple[int, int]], proof: str) -> str:
    about = one_line("; ".join(line_of(lesson) for lesson in lessons[:3]), 300).replace('"', "'")
    lines = ["---", f"name: {name}", f'description: "Learned from earlier attempts: {about}"', "---", ""]
    lines += [f"# {name.replace('-', ' ').capitalize()}", ""]
    if proof:
        sentence = f"The lessons are {proof}" if proof.startswith("certified") else f"{proof[:1].upper()}{proof[1:]}"
        lines += [f"{sentence}.", ""]
    for lesson in lessons:
        right, wrong = uses.get(lesson.id, (0, 0))
        more = f" and {len(lesson.sources) - 3} more" if len(lesson.sources) > 3 else ""
        sources = ", ".join(lesson.sources[:3]) + more
        remarks = [f"from {sources}" if sources else f"from a {lesson.origin}"]
        remarks += [f"used {right + wrong} times: {right} right, {wrong} wrong"] if right + wrong else ["not used yet"]
        lines.append(f"- {line_of(lesson)} ({'; '.join(remarks)}; `{lesson.id}`)")
    return "\n".join(lines) + "\n"

"""Finds errors and their fixes in attempts of coding agents, without a model.

A fix is a command that failed and later succeeded, with the actions in between. Always holds: the error and the
commands are quoted from the session; an attempt without such a pair has no fix; the time grows linearly with the steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from seasoned.pool import ExperiencePool
from seasoned.text import one_line
from seasoned.traces.coding import command_of, failed
from seasoned.types import Lesson, Step, Trajectory

METHOD = "fixes"
"""The method of lessons made from fixes."""
_BETWEEN = 4  # the most actions in a fix; with more, it is unclear which of them helped
_ERROR = re.compile(
    r"^.{0,200}?(?:\b\w{0,60}(?:Error|Exception)\b:?|error(?:\[\w{1,20}\])?:|fatal:|command not found|No such file|"
    r"cannot find|not found|permission denied|undefined reference).{0,300}$",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED = re.compile(r"^.{0,200}?\b[A-Z]\w{0,60}(?:Error|Exception): .{0,300}$", re.MULTILINE)
_SUMMARY = re.compile(r"[\s=!]{0,100}(?:\d{1,7} (?:errors?|failed|failures?|passed)\b|Interrupted:|ERROR )")  # pytest's
_PARTS = re.compile(r"&&|\|\||;|\n")
_VARIABLES = re.compile(r"(?:env\s+)?(?:[A-Za-z_]\w{0,60}=\S{0,200}\s+){1,20}")
_RUNNERS = re.compile(r"(?:\S{0,100}/)?(?:python[\d.]*|uv|poetry|pdm|pipenv|hatch|coverage|npx) (?:-m|run|exec)")
_NAME = re.compile(r"[A-Za-z][\w:]*|\S+\.(?:py|sh|js|ts|rb)")


@dataclass(frozen=True)
class Fix:
    """A command, the line of its error, and the actions before it succeeded."""

    command: str
    error: str
    worked: tuple[str, ...]

    @property
    def text(self) -> str:
        """The fix as a lesson."""
        actions = "; then ".join(f"`{each}`" for each in self.worked)
        return f'When `{self.command}` fails with "{self.error}", this worked: {actions}.'


def fixes(attempt: Trajectory) -> list[Fix]:
    """The fixes in one attempt, in order; of several fixes of one error, only the first."""
    by_error: dict[str, Fix] = {}
    waiting: dict[str, tuple[int, str, str]] = {}  # by the command's first words: place, command, error
    for place, step in enumerate(attempt.steps):
        command, has_failed, error = one_line(command_of(step), 120), failed(step), _error_of(step)
        head = _program(command_of(step))
        if has_failed or (has_failed is None and error):
            if error:
                waiting.setdefault(head, (place, command, error))
        elif head in waiting:
            start, failing, message = waiting.pop(head)
            between = [one_line(command_of(each), 120) for each in attempt.steps[start + 1 : place]]
            worked = (*between, *([command] if command != failing else ()))
            if 0 < len(worked) <= _BETWEEN:
                by_error.setdefault(message, Fix(failing, message, worked))
    return list(by_error.values())


def fix_lessons(attempts: Iterable[Trajectory]) -> list[Lesson]:
    """A heuristic for each fix in these attempts; equal fixes become one, with all their sources."""
    lessons: dict[str, Lesson] = {}
    for attempt in attempts:
        for fix in fixes(attempt):
            known = lessons.get(fix.text)
            sources = (*(known.sources if known else ()), attempt.id)
            lesson = known or Lesson(kind="heuristic", text=fix.text, key=fix.error, method=METHOD)
            lessons[fix.text] = lesson.model_copy(update={"sources": sources, "importance": float(len(sources))})
    return list(lessons.values())


def keep_fixes(pool: ExperiencePool, attempts: Iterable[Trajectory]) -> list[Lesson]:
    """Add the fixes in attempts that a pool does not have yet, and return them.

    A person asked for the fixes, so they are trusted like a person's lessons. Secrets are masked, and instructions are
    quarantined.
    """
    known = {lesson.text for status in ("active", "quarantined", "disabled") for lesson in pool.lessons(status=status)}
    fresh = [lesson for lesson in fix_lessons(attempts) if lesson.text not in known]
    return pool.add(fresh, why="an error of a coding session and what fixed it", who="person") if fresh else []


def _program(command: str) -> str:
    """The program that a command runs, to recognise the command: without the folder, variables and options.

    `cd app && PYTHONPATH=src python -m pytest -q tests` is `pytest`, `npm test -- --watch` is `npm test`.
    """
    parts = [part for part in _PARTS.split(command[:2000]) if part.strip()]
    words = _VARIABLES.sub("", parts[-1].partition("|")[0].strip()).split() if parts else []
    if _RUNNERS.fullmatch(" ".join(words[:2])):
        words = words[2:]
    return " ".join(words[: 1 if len(words) > 1 and not _NAME.fullmatch(words[1]) else 2])


def _error_of(step: Step) -> str:
    """The last line of an observation that names an exception, or else an error; "" if none does."""
    end = step.observation[-8000:]
    lines = _NAMED.findall(end) or [line for line in _ERROR.findall(end) if not _SUMMARY.match(line)]
    return one_line(lines[-1], 160) if lines else ""

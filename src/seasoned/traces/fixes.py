"""Errors and what fixed them, found in attempts of coding agents without a model.

A fix is a command that failed and later succeeded, with what was done in between. Always holds: the error and the
commands are the session's own words; an attempt without such a pair has no fix; the time grows linearly with the steps.
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
"""The method of the lessons that are made of fixes."""
_BETWEEN = 4  # actions that may make a fix; after more, which of them helped is anybody's guess
_ERROR = re.compile(
    r"^.{0,200}?(?:\b\w{0,60}(?:Error|Exception)\b:?|error(?:\[\w{1,20}\])?:|fatal:|command not found|No such file|"
    r"cannot find|not found|permission denied|undefined reference).{0,300}$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Fix:
    """A command, the line of its error, and what was done before it succeeded."""

    command: str
    error: str
    worked: tuple[str, ...]

    @property
    def text(self) -> str:
        """The fix as a lesson."""
        done = "; then ".join(f"`{each}`" for each in self.worked)
        return f'When `{self.command}` fails with "{self.error}", this worked: {done}.'


def fixes(attempt: Trajectory) -> list[Fix]:
    """The fixes in one attempt, in order, each error once."""
    found: dict[str, Fix] = {}
    waiting: dict[str, tuple[int, str, str]] = {}  # by the command's first words: place, command, error
    for place, step in enumerate(attempt.steps):
        command, wrong, error = one_line(command_of(step), 120), failed(step), _error_of(step)
        head = " ".join(command.split()[:2])
        if wrong or (wrong is None and error):
            if error:
                waiting.setdefault(head, (place, command, error))
        elif head in waiting:
            began, asked, said = waiting.pop(head)
            between = [one_line(command_of(each), 120) for each in attempt.steps[began + 1 : place]]
            worked = tuple(between) or (command,)
            if len(worked) <= _BETWEEN and (between or command != asked):
                found.setdefault(said, Fix(asked, said, worked))
    return list(found.values())


def fix_lessons(attempts: Iterable[Trajectory]) -> list[Lesson]:
    """A heuristic for each fix of these attempts; the same fix of several attempts is one, with all its sources."""
    made: dict[str, Lesson] = {}
    for attempt in attempts:
        for fix in fixes(attempt):
            known = made.get(fix.text)
            sources = (*(known.sources if known else ()), attempt.id)
            lesson = known or Lesson(kind="heuristic", text=fix.text, key=fix.error, method=METHOD)
            made[fix.text] = lesson.model_copy(update={"sources": sources, "importance": float(len(sources))})
    return list(made.values())


def keep_fixes(pool: ExperiencePool, attempts: Iterable[Trajectory]) -> list[Lesson]:
    """Add the fixes of attempts to a pool, but for those that it has; gives those that are new.

    A person asked for them, so they are trusted as a person's; secrets are masked, and what gives orders is set apart.
    """
    known = {lesson.text for status in ("active", "quarantined", "disabled") for lesson in pool.lessons(status=status)}
    fresh = [lesson for lesson in fix_lessons(attempts) if lesson.text not in known]
    return pool.add(fresh, why="an error of a coding session and what fixed it", who="person") if fresh else []


def _error_of(step: Step) -> str:
    """The last line of an observation that names an error; "" where none does."""
    lines = _ERROR.findall(step.observation[-8000:])
    return one_line(lines[-1], 160) if lines else ""

"""Checks decide whether an attempt succeeded: what a check may take and return, and ready-made checks.

Always holds: a check returns True, False, a reward, None for unknown, or a text: why the attempt failed, or "" if it
succeeded; a command that cannot be run is an error, not a failure.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias

from seasoned.errors import ConfigError
from seasoned.llm.structured import check_schema, problems
from seasoned.traces.coding import ended
from seasoned.types import Trajectory

if TYPE_CHECKING:
    from seasoned.memory import Memory

Verdict: TypeAlias = bool | SupportsFloat | str | None
Check: TypeAlias = Callable[..., Verdict | Awaitable[Verdict]]
"""Takes the attempt if it has one argument, else the task and the answer. May be a coroutine function."""

_MAX_OUTPUT = 600  # characters of a command's output to keep


def ask(check: Check, attempt: Trajectory, answer: Any) -> Verdict | Awaitable[Verdict]:
    """The verdict of a check on an attempt, or an awaitable for it."""
    return check(attempt) if takes_attempt(check) else check(attempt.task, answer)


def takes_attempt(check: Check) -> bool:
    """Whether a check takes one argument, the attempt; else it takes the task and the answer."""
    try:
        parameters = list(inspect.signature(check).parameters.values())
    except (TypeError, ValueError):  # a function written in C has no signature
        return False
    several = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    return (
        not several and sum(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters) == 1
    )


def read(verdict: Verdict) -> tuple[bool | SupportsFloat | None, str]:
    """A verdict for `Attempt.finish`: the success, and why it failed."""
    if isinstance(verdict, str):
        return not verdict.strip(), verdict.strip()
    return verdict, ""


def matches(pattern: str, flags: int = 0) -> Check:
    """Check that the answer matches a regular expression. Raises ConfigError if it is none."""
    try:
        regex = re.compile(pattern, flags)
    except re.error as error:
        raise ConfigError(f"{pattern!r:.200} is not a regular expression: {error}") from error
    return lambda attempt: "" if regex.search(attempt.outcome.answer) else f"the answer does not match {pattern!r:.200}"


def json_schema(schema: Mapping[str, Any]) -> Check:
    """Check that the answer is JSON that fits a schema (see `check_schema`); a fence around it is ignored."""
    check_schema(schema)

    def fits(attempt: Trajectory) -> str:
        text = attempt.outcome.answer.strip()
        fenced = re.fullmatch(r"```(?:json)?\s*\n(.*)\n```", text, re.DOTALL)
        try:
            value = json.loads(fenced[1] if fenced else text)
        except ValueError as error:
            return f"the answer is not JSON: {error}"
        return "; ".join(problems(value, schema, "answer")[:3])

    return fits


def exit_code(
    command: str | Sequence[str], *, folder: str | Path = ".", code: int = 0, seconds: float = 600.0
) -> Check:
    """Check that a command, run after the attempt, ends with an exit code: `exit_code("pytest -q")`.

    The command is a line or a list of words, run without a shell; a run of more `seconds` is a failure.
    """
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        raise ConfigError("exit_code needs a command, such as exit_code('pytest -q')")

    def runs(attempt: Trajectory) -> str:
        del attempt
        line = shlex.join(words)[:200]
        try:
            done = subprocess.run(
                words, cwd=folder, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{line} did not end within {seconds:g} s"
        except OSError as error:
            raise ConfigError(f"{line} cannot be run in {folder}: {error.strerror or error}") from error
        if done.returncode == code:
            return ""
        output = done.stdout.decode("utf-8", "replace").strip()[-_MAX_OUTPUT:]
        return f"{line} ended with {done.returncode}: {output}" if output else f"{line} ended with {done.returncode}"

    return runs


def passed_tests(attempt: Trajectory) -> Verdict:
    """Check that the last tests the agent ran passed, by the results of its tools; None if it ran none."""
    outcome = ended(attempt.steps)
    return outcome.detail if outcome.success is False else outcome.success


class Thumbs:
    """The user's thumbs up or down: as a check, it leaves the outcome open until `up` or `down` is called."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.last = ""
        """The id of the attempt that ended last; with several users, store it with the answer."""

    def __call__(self, attempt: Trajectory) -> None:
        """Leave the outcome open."""
        self.last = attempt.id

    def up(self, attempt_id: str = "", why: str = "") -> Trajectory:
        """Record that the attempt with this id, or the last one, worked."""
        return self._memory.outcome(self._named(attempt_id), True, why=why or "the user's thumb is up")

    def down(self, attempt_id: str = "", why: str = "") -> Trajectory:
        """Record that the attempt with this id, or the last one, did not work."""
        return self._memory.outcome(self._named(attempt_id), False, why=why or "the user's thumb is down")

    def _named(self, attempt_id: str) -> str:
        if not (attempt_id or self.last):
            raise ConfigError("no attempt has ended yet, so there is none to rate: pass this object as check=")
        return attempt_id or self.last

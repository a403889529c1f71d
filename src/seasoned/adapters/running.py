"""One run of an agent, for all adapters.

Always holds: a run in an attempt leaves the attempt open; a run in a memory has its own attempt, which is stored as
unknown if the run breaks off; an error after the agent has ended never replaces its result.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Any, Self, TypeAlias

from seasoned.errors import ConfigError, ContractError, MissingExtraError
from seasoned.jobs import afterwards, off_loop, waited
from seasoned.memory import Attempt, Memory
from seasoned.memory.chat import read_chat
from seasoned.memory.checks import Check, Verdict, ask, read

log = logging.getLogger(__name__)

Where: TypeAlias = Memory | Attempt
"""A memory, in which each run is an attempt, or an attempt that all runs belong to."""

NO_TEXT = "(no text)"
"""The task of a run whose input has no text."""


class StreamLeft(Exception):  # noqa: N818 - names how an attempt ended, and is never caught
    """The agent closed a stream before it ended."""


class Run:
    """One run: its `guidance` is for the system prompt, its `attempt` gets the steps, and `ended` ends it.

    Use it in a `with` or `async with` block: if the block raises, `on_error`, if set, records the steps so far, and the
    attempt is stored as unknown. Once the agent has a result, call `record`.
    """

    on_error: Callable[[BaseException], None] | None = None

    def __init__(self, where: Where, task: str, *, check: Check | None = None, agent: str = "") -> None:
        """Begin a run; with a memory, this recalls guidance for the task. With an attempt, the task is ignored."""
        self.own = isinstance(where, Memory)
        text = task if task.strip() else NO_TEXT  # such as a picture alone, which must not stop the agent
        self.attempt = where.attempt(text, agent=agent) if isinstance(where, Memory) else where
        self.guidance = self.attempt.guidance.text
        self._check = check
        self._checking = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and self.on_error is not None:
            with recording(self):
                self.on_error(error)
        if self.own and error is not None:
            self.attempt.__exit__(StreamLeft if kind is GeneratorExit else kind, error, at)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *how: Any) -> None:
        if how[1] is not None:
            await off_loop(self.__exit__, *how)

    def record(self, how: Callable[..., None], *given: object) -> None:
        """Record a run that has a result, by calling `how`; if that does not end the attempt, it is stored as unknown.

        Raises nothing: errors are logged, and the caller keeps the result.
        """
        self.on_error = None  # errors from here on are not the agent's
        with recording(self), self:
            how(*given)
            if self.own and not self._checking:
                self.attempt.__exit__(None, None, None)

    def ended(self, answer: Any) -> None:
        """Finish the run's own attempt with the agent's answer, unless it is finished already."""
        if not self.own:
            return
        text = "" if answer is None else shown(answer)
        verdict = ask(self._check, self.attempt.made(text), answer) if self._check else None
        if inspect.isawaitable(verdict) and afterwards(partial(self._later, verdict, text)):
            self._checking = True
        else:
            self._finish(waited(verdict), text)

    async def _later(self, verdict: Awaitable[Verdict], text: str) -> None:
        """Finish with the verdict of a check, awaited on the caller's event loop."""
        with recording(self):
            async with self:
                await off_loop(self._finish, await verdict, text)

    def _finish(self, verdict: Verdict, text: str) -> None:
        success, why = read(verdict)
        with suppress(ContractError):  # it is finished already
            self.attempt.finish(success, answer=text, detail=why)


@contextmanager
def recording(run: Run) -> Iterator[None]:
    """Log any error in the block, so that a failed record replaces neither the agent's result nor its error."""
    try:
        yield
    except Exception as error:  # from the store, a check, or an attempt that is finished already
        log.warning(
            "the run of %r is done, but its record could not be completed: %s: %s",
            run.attempt.task.text[:60],
            type(error).__name__,
            error,
        )


def checked(where: object, check: object, module: str = "", extra: str = "", package: str = "") -> None:
    """Check the arguments of `remembering`, and that the framework's `module`, if any, can be imported.

    Raises:
        ConfigError: `where` is neither a memory nor an attempt, an attempt comes with a check, or the check is not
            callable.
        MissingExtraError: the framework is not installed: `extra` brings `package` (default: of the same name).
    """
    if not isinstance(where, Memory | Attempt):
        raise ConfigError(
            f"the first argument of remembering(..) should be a seasoned.Memory or an attempt, and is {where!r}"
        )
    if check is not None and isinstance(where, Attempt):
        raise ConfigError("check needs a memory, not an attempt; finish this one yourself: attempt.finish(success)")
    if check is not None and not callable(check):
        raise ConfigError(f"check should be a function of the attempt, or of the task and the answer, and is {check!r}")
    if module:
        try:
            import_module(module)
        except ImportError as error:
            raise MissingExtraError(extra, package or extra) from error


def asked(messages: Iterable[object]) -> str:
    """The text of the last user message in a conversation; without one, of the last message."""
    last = ""
    for message in reversed(list(messages)):
        chat = read_chat([message])
        text = chat.messages[-1]["content"] if chat.messages else ""
        if text and chat.messages[-1]["role"] == "user" and not chat.steps:  # a tool's result is a step
            return text
        last = last or text
    return last


def led(instructions: str, guidance: str) -> str:
    """Instructions, then guidance: constant text comes first, so that a server's prefix cache serves it."""
    return "\n\n".join(filter(None, (instructions, guidance)))


def shown(value: object, how: Callable[[object], str] = str) -> str:
    """A value as text; the name of its type if converting it raises an error, so that the run continues."""
    try:
        return how(value)
    except Exception:  # the object is the user's and may raise anything
        return f"<{type(value).__name__}>"

"""One run of somebody's agent, as all adapters see it.

Always holds: a run in an attempt that was given leaves it open; a run in a memory has an attempt of its own, which is
kept as unknown where the run breaks off; what goes wrong once the agent is done never takes the place of its result.
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
"""A memory, whose runs are attempts of their own, or an attempt that they belong to."""

NO_TEXT = "(no text)"
"""The task of a run that was asked nothing in words."""


class StreamLeft(Exception):  # noqa: N818 - it names how an attempt ended, and nobody catches it
    """The agent closed a stream before it ended."""


class Run:
    """One run: `guidance` goes into its system prompt, what was done goes into `attempt`, and `ended` ends it.

    Used in a block, `with` or `async with`: a run that breaks off is kept as unknown, after `on_error`, if set, has
    recorded what was done till then. With the result there, `record` does the rest.
    """

    on_error: Callable[[BaseException], None] | None = None

    def __init__(self, where: Where, task: str, *, check: Check | None = None, agent: str = "") -> None:
        """Begin a run; with a memory, this recalls for the task.

        Args:
            where: what `remembering` was given, as `checked` passed it.
            task: what the agent was asked; of no account where an attempt was given.
            check: says how it ended.
            agent: the agent's name, for the record.
        """
        self.own = isinstance(where, Memory)
        wanted = task if task.strip() else NO_TEXT  # a picture alone, say: no reason to stop somebody's agent
        self.attempt = where.attempt(wanted, agent=agent) if isinstance(where, Memory) else where
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
        """Record a run whose result is there, by calling `how`; an attempt that it does not end is kept as unknown.

        Raises nothing: what goes wrong is logged, and the result is the caller's all the same.
        """
        self.on_error = None  # the agent is done
        with recording(self), self:
            how(*given)
            if self.own and not self._checking:
                self.attempt.__exit__(None, None, None)

    def ended(self, answer: Any) -> None:
        """The agent answered: finish an attempt of the run's own, unless that was done already."""
        if not self.own:
            return
        text = "" if answer is None else shown(answer)
        said = ask(self._check, self.attempt.made(text), answer) if self._check else None
        if inspect.isawaitable(said) and afterwards(partial(self._later, said, text)):
            self._checking = True
        else:
            self._finish(waited(said), text)

    async def _later(self, coming: Awaitable[Verdict], text: str) -> None:
        """Finish with what a check says that the caller's event loop waits for."""
        with recording(self):
            async with self:
                await off_loop(self._finish, await coming, text)

    def _finish(self, verdict: Verdict, text: str) -> None:
        success, why = read(verdict)
        with suppress(ContractError):  # whoever finished it knew better
            self.attempt.finish(success, answer=text, detail=why)


@contextmanager
def recording(run: Run) -> Iterator[None]:
    """Around what is recorded once the agent is done: what goes wrong is logged, so that its result or error stays."""
    try:
        yield
    except Exception as error:  # of the store, of a check, or of whoever finished the attempt
        log.warning(
            "the run of %r is done, but its record could not be completed: %s: %s",
            run.attempt.task.text[:60],
            type(error).__name__,
            error,
        )


def checked(where: object, check: object, module: str = "", extra: str = "", package: str = "") -> None:
    """See that `remembering` was given what it needs, and that the framework's module can be imported.

    Raises:
        ConfigError: when it was given neither a memory nor an attempt, or a check for an attempt, or a check that
            cannot be called.
        MissingExtraError: when the framework is not installed; it comes with the extra, in the package (by default of
            the same name).
    """
    if not isinstance(where, Memory | Attempt):
        raise ConfigError(
            f"remembering(..) begins with a seasoned.Memory or an attempt of one, and was given {where!r}"
        )
    if check is not None and isinstance(where, Attempt):
        raise ConfigError(
            "a check is for the attempts that a memory begins by itself; finish this one: finish(success)"
        )
    if check is not None and not callable(check):
        raise ConfigError(f"check is a function of the attempt, or of the task and the answer, and was {check!r}")
    if module:
        try:
            import_module(module)
        except ImportError as error:
            raise MissingExtraError(extra, package or extra) from error


def asked(messages: Iterable[object]) -> str:
    """What the user said last in a conversation, or where no user said anything, the last thing that was said."""
    last = ""
    for message in reversed(list(messages)):
        chat = read_chat([message])
        words = chat.messages[-1]["content"] if chat.messages else ""
        if words and chat.messages[-1]["role"] == "user" and not chat.steps:  # a tool's result is a step
            return words
        last = last or words
    return last


def led(instructions: str, guidance: str) -> str:
    """Instructions with guidance after them; constant text first, so that a server's prefix cache serves it."""
    return "\n\n".join(filter(None, (instructions, guidance)))


def shown(value: object, how: Callable[[object], str] = str) -> str:
    """A value as text, or its type's name where it cannot say what it is: then the run goes on all the same."""
    try:
        return how(value)
    except Exception:  # somebody's object: anything may come
        return f"<{type(value).__name__}>"

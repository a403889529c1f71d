"""Requests to a model as runs: which request begins one, which goes on with one, and which reply ends it.

A run begins with a request whose last message is no tool's result, and ends with the reply that calls no tool. Always
holds: two conversations do not mix, whatever a server calls its calls; a reply that is streamed is recorded once, when
it ends, breaks off or is left, or earlier where the agent asks on before that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from seasoned.adapters.running import Run, Where, asked, recording
from seasoned.adapters.wire import Form, Said, answered
from seasoned.memory import Memory
from seasoned.memory.chat import read_chat
from seasoned.memory.checks import Check
from seasoned.types import Message

MAX_OPEN = 1000
"""So many runs may wait for the results of their tool calls; then the oldest are kept as unknown."""


class ReplyFailed(Exception):  # noqa: N818 - it names how an attempt ended, and nobody catches it
    """The server said in its reply that it failed, or that it is not done yet."""


@dataclass
class Talk:
    """A run, and what was said in it; it waits while there are `calls` whose results are to come.

    `reply` and `conversation` are what the server knows what was said by, where it keeps it.
    """

    run: Run
    said: list[Any] = field(default_factory=list)
    calls: frozenset[str] = frozenset()
    reply: str = ""
    conversation: Any = None

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around a request: where it fails the run breaks off, unless it waits for results: the agent may ask again."""
        with nullcontext() if self.calls else self.run:
            yield


class Tape:
    """A reply while it comes: `parts` are added as they are, and read when it ends, `over` then. Safe in threads."""

    def __init__(
        self, read: Callable[[Sequence[Any]], Said], end: Callable[[Said, BaseException | None], None]
    ) -> None:
        """Take a reply up.

        Args:
            read: what the parts say.
            end: called with the messages, and with the error that ended the talk, if any.
        """
        self.parts: list[Any] = []
        self.over = False
        self._read, self._end = read, end
        self._lock = threading.Lock()

    def mentions(self, calls: Iterable[str]) -> bool:
        """Whether one of these ids may stand in what came so far; much quicker than to read it."""
        parts = list(self.parts)
        data = b"".join(parts) if all(isinstance(part, bytes) for part in parts) else None
        return data is None or any(call.encode() in data for call in calls)

    def said(self) -> Said | None:
        """What was said so far; None where the reply was recorded."""
        return None if self.over else self._read(list(self.parts))

    def end(self, error: BaseException | None = None) -> None:
        """Record what was said, once: the reply has ended, or an error broke it off."""
        with self._lock:
            if self.over:
                return
            self.over = True
        self._end(self._read(self.parts), error)
        self.parts = []


class Talks:
    """The runs that wait for the results of their tool calls, the oldest first. Safe in threads."""

    def __init__(self, where: Where, check: Check | None, agent: str) -> None:
        self._where, self._check, self._agent = where, check, agent
        self._open: list[Talk] = []
        self._tapes: list[Tape] = []
        self._single = None if isinstance(where, Memory) else Talk(Run(where, ""))
        self._lock = threading.Lock()

    def begin(self, form: Form, body: Mapping[str, Any]) -> tuple[Talk, list[Any], dict[str, Any]]:
        """The run of a request, all that is said before its reply, and the request with guidance."""
        items = form.items(body)
        held = form.held(body)
        talk = self._single or self._waiting(items, held)
        talk = talk or Talk(Run(self._where, asked(items), check=self._check, agent=self._agent))
        talk.conversation = held.get("conversation")
        sent = form.led(body, items, talk.run.guidance)
        if talk.said and held:
            return talk, [*talk.said, *items], sent  # the server has the earlier messages, and gets only new ones
        return talk, form.heard(sent), sent

    def tape(self, form: Form, talk: Talk, before: list[Any]) -> Tape:
        """Take up a reply that is streamed, whose parts are bytes of events or of one body."""

        def end(said: Said, error: BaseException | None) -> None:
            with self._lock:
                self._tapes.remove(tape)
            with recording(talk.run):
                self.end(talk, before, said, error)

        tape = Tape(form.read, end)
        with self._lock:
            self._tapes.append(tape)
        return tape

    def end(self, talk: Talk, before: list[Any], said: Said, error: BaseException | None = None) -> None:
        """Record a reply; one that calls no tool and is whole ends a run of its own."""
        error = ReplyFailed() if said.failed else None if said.whole else error
        if error and talk.calls:
            return  # the agent may ask again, and the reply to that is the one to record
        talk.said, talk.reply = [*before, *said.messages], said.reply
        talk.run.attempt.messages(talk.said)
        if talk.run.own and error:
            talk.run.__exit__(type(error), error, None)
        elif talk.run.own:
            self._wait(talk, said.calls)
            if not said.calls:
                with talk.run:
                    talk.run.ended(said.answer)

    def _wait(self, talk: Talk, calls: Iterable[str]) -> None:
        with self._lock:
            talk.calls = frozenset(calls)
            self._open = [*(other for other in self._open if other is not talk), *([talk] if talk.calls else ())]
            oldest = self._open.pop(0) if len(self._open) > MAX_OPEN else None
        if oldest is not None:
            oldest.run.attempt.__exit__(None, None, None)

    def _waiting(self, items: list[Any], held: Mapping[str, Any]) -> Talk | None:
        """The run that a request goes on with: its call is answered, and most of what was said is what was said there.

        The id of a call is not enough: some servers count them anew in each reply. Agents shorten what was said, so its
        beginning is.
        """
        calls = answered(items[-1]) if items else frozenset()
        candidates = self._calling(calls)
        for name, known in held.items():
            return next((talk for talk in candidates if getattr(talk, name) == known), None)
        heard = _heard(items) if candidates else []
        alike = [_alike(_heard(talk.said), heard) for talk in candidates]
        return candidates[alike.index(max(alike))] if any(alike) else None

    def _calling(self, calls: frozenset[str]) -> list[Talk]:
        """The runs that wait for the result of one of these calls, also where the stream of a call is still open."""
        if not calls:
            return []
        with self._lock:
            tapes = list(self._tapes)
        for tape in tapes:
            said = tape.said() if tape.mentions(calls) else None
            if said and said.whole and calls & said.calls:
                tape.end()
        with self._lock:
            return [talk for talk in self._open if calls & talk.calls]


def _heard(items: Sequence[Any]) -> list[Message]:
    """What was said, but for the system's words, which guidance is among."""
    return [message for message in read_chat(items).messages if message["role"] != "system"]


def _alike(one: Sequence[Message], other: Sequence[Message]) -> int:
    """With how many equal messages two conversations begin."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))

"""Requests to a model as runs: which request begins a run, which continues one, and which reply ends it.

A run begins with a request whose last message is not a tool result, and ends with a reply that calls no tool. Always
holds: two conversations never mix, whatever ids a server gives its calls; a streamed reply is recorded once, when it
ends, breaks off or is abandoned, or when the agent sends the next request before that.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from seasoned.adapters.running import Run, Where, asked, recording
from seasoned.adapters.wire import Form, Said, answered
from seasoned.jobs import off_loop
from seasoned.memory import Memory
from seasoned.memory.chat import read_chat
from seasoned.memory.checks import Check
from seasoned.types import Message

MAX_OPEN = 1000
"""The most runs that may wait for tool results; beyond that, the oldest is stored as unknown."""


class ReplyFailed(Exception):  # noqa: N818 - names how an attempt ended, and is never caught
    """The server's reply says that it failed, or that it is incomplete."""


@dataclass
class Talk:
    """A run and the messages in it, `said`; while it has `calls`, it waits for their results.

    `reply` and `conversation` are the server's ids of the last reply and of the conversation, if the server stores it.
    """

    run: Run
    said: list[Any] = field(default_factory=list)
    calls: frozenset[str] = frozenset()
    reply: str = ""
    conversation: Any = None

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Make a request in the block; an error ends the run, unless it waits for tool results: the agent may retry."""
        with nullcontext() if self.calls else self.run:
            yield


@dataclass(eq=False)
class Tape:
    """A streamed reply: raw `parts` are appended as they arrive, and read once it is `over`. Thread-safe."""

    talks: Talks
    form: Form
    talk: Talk
    before: list[Any]
    parts: list[Any] = field(default_factory=list)
    over: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def mentions(self, calls: Iterable[str]) -> bool:
        """Whether one of these ids may be in the parts so far; much faster than reading them."""
        parts = list(self.parts)
        data = b"".join(parts) if all(isinstance(part, bytes) for part in parts) else None
        return data is None or any(call.encode() in data for call in calls)

    def said(self) -> Said | None:
        """The reply so far; None if it is recorded already."""
        return None if self.over else self.form.read(list(self.parts))

    async def next_of(self, parts: AsyncIterator[Any]) -> Any:
        """The next part of a stream; if there is none, or an error, the reply is over."""
        try:
            part = await anext(parts)
        except StopAsyncIteration:
            await off_loop(self.end)
            raise
        except BaseException as error:
            await off_loop(self.end, error)
            raise
        self.parts.append(part)
        return part

    def end(self, error: BaseException | None = None) -> None:
        """Record the reply, once: it has ended, or an error broke it off."""
        with self.lock:
            if self.over:
                return
            self.over = True
        self.talks.forget(self)
        with recording(self.talk.run):
            self.talks.end(self.talk, self.before, self.form.read(self.parts), error)
        self.parts = []


class Talks:
    """The runs that wait for tool results, the oldest first. Thread-safe."""

    def __init__(self, where: Where, check: Check | None, agent: str) -> None:
        self._where, self._check, self._agent = where, check, agent
        self._open: list[Talk] = []
        self._tapes: list[Tape] = []
        self._single = None if isinstance(where, Memory) else Talk(Run(where, ""))
        self._lock = threading.Lock()

    def begin(self, form: Form, body: Mapping[str, Any]) -> tuple[Talk, list[Any], dict[str, Any]]:
        """The run of a request, all messages before its reply, and the request with guidance."""
        items = form.items(body)
        held = form.held(body)
        talk = self._single or self._waiting(items, held)
        talk = talk or Talk(Run(self._where, asked(items), check=self._check, agent=self._agent))
        talk.conversation = held.get("conversation")
        sent = form.led(body, items, talk.run.guidance)
        if talk.said and held:
            return talk, [*talk.said, *items], sent  # the request has only new messages: the server stores the rest
        return talk, form.heard(sent), sent

    def tape(self, form: Form, talk: Talk, before: list[Any]) -> Tape:
        """Begin to record a streamed reply, whose parts are bytes of events or of one body."""
        tape = Tape(self, form, talk, before)
        with self._lock:
            self._tapes.append(tape)
        return tape

    def forget(self, tape: Tape) -> None:
        """Remove a tape that is over."""
        with self._lock:
            self._tapes.remove(tape)

    def end(self, talk: Talk, before: list[Any], said: Said, error: BaseException | None = None) -> None:
        """Record a reply; one that calls no tool ends its run, unless the run belongs to the caller's attempt."""
        error = ReplyFailed() if said.failed else None if said.whole else error
        if error and talk.calls:
            return  # the agent may retry, and that reply is recorded
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
        """The run that a request continues: it waits for a call that the request answers, and shares the most messages.

        Call ids are not enough: some servers number calls anew in each reply. Only messages at the beginning count, as
        agents shorten conversations.
        """
        calls = answered(items[-1]) if items else frozenset()
        candidates = self._calling(calls)
        for name, known in held.items():
            return next((talk for talk in candidates if getattr(talk, name) == known), None)
        messages = _without_system(items) if candidates else []
        counts = [_shared(_without_system(talk.said), messages) for talk in candidates]
        return candidates[counts.index(max(counts))] if any(counts) else None

    def _calling(self, calls: frozenset[str]) -> list[Talk]:
        """The runs that wait for the result of one of these calls, even if the stream with the call is still open."""
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


def _without_system(items: Sequence[Any]) -> list[Message]:
    """The messages except those of the system, as they contain guidance."""
    return [message for message in read_chat(items).messages if message["role"] != "system"]


def _shared(one: Sequence[Message], other: Sequence[Message]) -> int:
    """The number of equal messages at the beginning of two conversations."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))

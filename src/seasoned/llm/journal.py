"""Replies kept on disk, so that a killed run goes on without paying for a model call twice.

Always holds: a reply is in the store before it is returned, and a request that the journal has is not sent. The only
call that can be paid for twice is one whose reply was still under way when the process died. What was asked is kept
beside the reply, so that a person can read it, but for the turns of an agent: their trajectory has them.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from seasoned.errors import LLMError, ParseError
from seasoned.llm.calls import Tool
from seasoned.llm.structured import UNPARSED
from seasoned.llm.tools import ask_with_tools
from seasoned.llm.window import window_of
from seasoned.protocols import LLM
from seasoned.types import Message, Reply, new_id

ASKED = "/asked"
"""How the key ends under which what was asked is kept: a `Reply` with the reply's text, `parsed` being the messages."""

SPENT = "/spent"
"""What follows a key, with an id, where a reply is kept for its usage alone: the call failed after it."""


class Journal(Protocol):
    """What a store must offer.

    `journal_put` returns when the reply, and `also` others by their keys, are durable; it keeps the first under a key.
    """

    def journal_get(self, scope: str, key: str) -> Reply | None: ...  # noqa: D102
    def journal_put(  # noqa: D102
        self, scope: str, key: str, reply: Reply, also: Mapping[str, Reply] | None = None
    ) -> None: ...


class JournalPages(Protocol):
    """What a store must offer for reading a journal: (scope, reply) of the keys with this end, oldest first."""

    def journal_ending(self, prefix: str, ending: str) -> list[tuple[str, Reply]]: ...  # noqa: D102


@dataclass(frozen=True)
class Asked:
    """One call: where its reply was journalled, what was asked, and the reply's text."""

    scope: str
    messages: tuple[Message, ...]
    reply: str


class Journaled:
    """A model whose replies are journalled under `scope`; a second run of the same scope gets them from there.

    A request is known by the model's name, its messages and options, and by how many equal requests this object had
    before it, so a loop that asks the same thing twice gets two replies, in both runs. What is not in the request (the
    model's seed, its server) belongs into the scope. Safe to share between threads.

    Args:
        llm: the model that answers what the journal does not have.
        store: where the journal is.
        scope: one run, condition, episode, ...: requests of different scopes never meet.
        prompts: whether what was asked is kept, too, for `calls_in`.
    """

    def __init__(self, llm: LLM, store: Journal, scope: str, *, prompts: bool = True) -> None:
        self.name = llm.name
        self._llm = llm
        self._store = store
        self._scope = scope
        self._prompts = prompts
        self._lock = threading.Lock()
        self._taken: dict[str, set[int]] = {}

    @property
    def window(self) -> int | None:
        """That of the model behind it."""
        return window_of(self._llm)

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        stop: Sequence[str] | None = None,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        tools: Sequence[Tool] | None = None,
        tool_choice: str = "auto",
    ) -> Reply:
        """The journalled reply, or the model's, journalled.

        A replayed reply has `usage.calls` 0 and the calls it stands for in `usage.replayed`; tokens, seconds and cost
        are those of the first time. A reply that did not fit its schema was paid for too: it is journalled, and
        raises its ParseError again. So is one after which the server failed, but for its usage alone.
        """
        request: list[Any] = [self.name, list(messages), schema, list(stop or ()), max_tokens, float(temperature)]
        if tools:  # without them, a request has the key that it had before there were any
            request += [list(tools), tool_choice]
        text = json.dumps(request, sort_keys=True, default=dict)
        with self._turn(text) as turn:
            key = hashlib.sha256(f"{turn} {text}".encode()).hexdigest()
            stored = self._store.journal_get(self._scope, key)
            if stored is not None:
                for name, asked in self._asked(key, messages, stored).items():  # it may be an older one, without
                    if self._store.journal_get(self._scope, name) is None:
                        self._store.journal_put(self._scope, name, asked)
                return _replayed(stored)
            try:
                options = {"schema": schema, "stop": stop, "max_tokens": max_tokens, "temperature": temperature}
                reply = ask_with_tools(self._llm, messages, tools, tool_choice, **options)
            except ParseError as error:
                if isinstance(error.reply, Reply):
                    note = {"parsed": str(error), "finish_reason": UNPARSED}
                    kept = error.reply.model_copy(update=note)
                    self._store.journal_put(self._scope, key, kept, self._asked(key, messages, error.reply))
                raise
            except LLMError as error:
                if isinstance(error.reply, Reply):  # paid for, and no answer to this request
                    self._store.journal_put(self._scope, f"{key}{SPENT}/{new_id('call')}", error.reply)
                raise
            self._store.journal_put(self._scope, key, reply, self._asked(key, messages, reply))
            return reply

    def _asked(self, key: str, messages: Sequence[Message], reply: Reply) -> dict[str, Reply]:
        """What was asked, by its key; nothing where prompts are not kept. Its usage is the reply's."""
        if not self._prompts:
            return {}
        asked = Reply(text=reply.text, parsed=[dict(message) for message in messages], model=reply.model)
        return {f"{key}{ASKED}": asked}

    @contextmanager
    def _turn(self, request: str) -> Iterator[int]:
        """The number of this request among equal ones; a request that fails gives its number back to be tried again."""
        with self._lock:
            taken = self._taken.setdefault(hashlib.sha256(request.encode()).hexdigest(), set())
            turn = next(number for number in count() if number not in taken)
            taken.add(turn)
        try:
            yield turn
        except ParseError:
            raise
        except BaseException:
            with self._lock:
                taken.discard(turn)
            raise


def calls_in(store: JournalPages, prefix: str) -> list[Asked]:
    """The calls whose prompts were kept in the scopes that begin with this text, oldest first."""
    return [
        Asked(scope, tuple(asked.parsed), asked.text)
        for scope, asked in store.journal_ending(prefix, ASKED)
        if isinstance(asked.parsed, list)
    ]


def _replayed(stored: Reply) -> Reply:
    usage = stored.usage
    usage = usage.model_copy(update={"calls": 0, "replayed": usage.calls + usage.replayed})
    reply = stored.model_copy(update={"usage": usage})
    if reply.finish_reason == UNPARSED:
        raise ParseError(str(reply.parsed), reply.model_copy(update={"parsed": None}))
    return reply

"""Stores replies on disk, so that a killed run resumes without paying for a model call twice.

Always holds: a reply is stored before it is returned, and a request that is in the journal is not sent. Only a call
whose reply had not arrived when the process died can be paid for twice. Prompts are stored beside the replies for
people to read, except an agent's turns, which are in their trajectories.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, Unpack

from seasoned.errors import LLMError, ParseError
from seasoned.llm.structured import UNPARSED
from seasoned.llm.tools import chat_of
from seasoned.llm.window import window_of
from seasoned.protocols import LLM
from seasoned.types import ChatOptions, Message, Reply, Usage, new_id

ASKED = "/asked"
"""The ending of a key that stores a prompt: a `Reply` with the reply's text, and the messages as `parsed`."""

SPENT = "/spent"  # added to a key, with an id, to store a reply only for its usage, because the call failed afterwards


class Journal(Protocol):
    """The methods that a journal's store must have.

    `journal_put` returns once the reply and `also` (other replies by their keys) are durable; the first reply under a
    key stays. `journal_ending` returns (scope, reply) of the keys with this ending, oldest first.
    """

    def journal_get(self, scope: str, key: str) -> Reply | None: ...  # noqa: D102
    def journal_put(  # noqa: D102
        self, scope: str, key: str, reply: Reply, also: Mapping[str, Reply] | None = None
    ) -> None: ...
    def journal_ending(self, prefix: str, ending: str) -> list[tuple[str, Reply]]: ...  # noqa: D102


@dataclass(frozen=True)
class Asked:
    """One call: the scope of its reply, the prompt, and the reply's text."""

    scope: str
    messages: tuple[Message, ...]
    reply: str


class Journaled:
    """A model whose replies are journalled under `scope`; a second run with the same scope replays them.

    A request is identified by the model's name, its messages and options, and the number of equal requests before it.
    So a loop that asks the same twice gets two replies, in both runs. Anything else (the model's seed, its server)
    belongs in the scope, which is one run, condition, episode, ... With `prompts`, prompts are stored too, for
    `calls_in`. Safe to share between threads.
    """

    def __init__(self, llm: LLM, store: Journal, scope: str, *, prompts: bool = True) -> None:
        self.name = llm.name
        self._llm, self._store, self._scope, self._prompts = llm, store, scope, prompts
        self._lock = threading.Lock()
        self._taken: dict[str, set[int]] = {}

    @property
    def window(self) -> int | None:
        """The window of the underlying model."""
        return window_of(self._llm)

    def chat(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        """Replay the journalled reply, or get one from the model and journal it.

        A replayed reply has `usage.calls` 0 and its original calls in `usage.replayed`; tokens, seconds and cost are
        the original ones. A reply that did not fit its schema is journalled too, and raises its ParseError again. A
        reply after which the server failed is journalled only for its usage.
        """
        request: list[Any] = [self.name, list(messages), options.get("schema"), list(options.get("stop") or ())]
        request += [options.get("max_tokens"), float(options.get("temperature", 0.0))]
        if tools := options.get("tools"):  # without tools, keys must stay those of older journals
            request += [list(tools), options.get("tool_choice", "auto")]
        text = json.dumps(request, sort_keys=True, default=dict)
        with self._turn(text) as turn:
            key = hashlib.sha256(f"{turn} {text}".encode()).hexdigest()
            stored = self._store.journal_get(self._scope, key)
            if stored is not None:
                for prompt_key, prompt in self._prompt(key, messages, stored).items():  # older journals may lack it
                    if self._store.journal_get(self._scope, prompt_key) is None:
                        self._store.journal_put(self._scope, prompt_key, prompt)
                reply = stored.model_copy(update={"usage": as_replayed(stored.usage)})
                if reply.finish_reason == UNPARSED:
                    raise ParseError(str(reply.parsed), reply.model_copy(update={"parsed": None}))
                return reply
            try:
                reply = chat_of(self._llm)(messages, **options)
            except ParseError as error:
                if isinstance(error.reply, Reply):
                    failed = error.reply.model_copy(update={"parsed": str(error), "finish_reason": UNPARSED})
                    self._store.journal_put(self._scope, key, failed, self._prompt(key, messages, error.reply))
                raise
            except LLMError as error:
                if isinstance(error.reply, Reply):  # paid for, but not an answer to this request
                    self._store.journal_put(self._scope, f"{key}{SPENT}/{new_id('call')}", error.reply)
                raise
            self._store.journal_put(self._scope, key, reply, self._prompt(key, messages, reply))
            return reply

    def _prompt(self, key: str, messages: Sequence[Message], reply: Reply) -> dict[str, Reply]:
        """The prompt to store, by its key; empty if prompts are not stored."""
        if not self._prompts:
            return {}
        prompt = Reply(text=reply.text, parsed=[dict(message) for message in messages], model=reply.model)
        return {f"{key}{ASKED}": prompt}

    @contextmanager
    def _turn(self, request: str) -> Iterator[int]:
        """The number of this request among equal ones; after a failure, the next try gets the same number."""
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


def calls_in(store: Journal, prefix: str) -> list[Asked]:
    """The calls with stored prompts in the scopes with this prefix, oldest first."""
    return [
        Asked(scope, tuple(stored.parsed), stored.text)
        for scope, stored in store.journal_ending(prefix, ASKED)
        if isinstance(stored.parsed, list)
    ]


def as_replayed(usage: Usage) -> Usage:
    """The usage of a reply that comes from the journal: its calls count as replayed."""
    return usage.model_copy(update={"calls": 0, "replayed": usage.calls + usage.replayed})

"""A client of OpenAI's SDK that remembers: guidance goes into its system message, and what was said is recorded.

Always holds: the client that was given is left as it was; requests and replies pass unchanged but for the guidance; a
request that streams is refused before it is sent; two conversations do not mix, whatever a server calls its calls.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from seasoned.adapters.running import Check, Run, Where, asked, checked, led, recording
from seasoned.errors import ConfigError
from seasoned.llm.openai import words_of
from seasoned.memory import Memory
from seasoned.memory.chat import read_chat
from seasoned.types import Message

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    Client = TypeVar("Client", bound=OpenAI | AsyncOpenAI)
else:
    Client = TypeVar("Client")

MAX_OPEN = 1000
"""So many runs may wait for the results of their tool calls; then the oldest are kept as unknown."""

_RAW = "X-Stainless-Raw-Response"  # how the SDK's with_streaming_response calls `create`


def remembering(where: Where, client: Client, *, check: Check | None = None, agent: str = "") -> Client:
    """A copy of the client that remembers; `create` and `parse` of `chat.completions` and `responses` do.

    With a memory, a run begins with a request whose last message is no tool's result, and ends with the reply that
    calls no tool; the task is what the user said last. An agent that puts observations into the user's mouth should
    begin an attempt, and give that.

    Args:
        where: a memory, or an attempt that all requests of this copy belong to.
        client: an `openai.OpenAI` or `openai.AsyncOpenAI`, or one of their kinds.
        check: told the task and the text of the last reply, says whether it was solved.
        agent: who tries, for the record.

    Raises:
        ConfigError: when an argument has the wrong type or value.
    """
    from openai import AsyncOpenAI, OpenAI

    checked(where, check)
    if not isinstance(client, OpenAI | AsyncOpenAI):
        raise ConfigError(
            f"the client should be an openai.OpenAI or openai.AsyncOpenAI, and is a {type(client).__name__}"
        )
    copied: Any = client.copy()
    talks = _Talks(where, check, agent)
    wrap = talks.wrapped_later if isinstance(client, AsyncOpenAI) else talks.wrapped
    for resource in (copied.chat.completions, copied.responses):
        resource.create, resource.parse = wrap(resource.create), wrap(resource.parse)
    return copied  # type: ignore[no-any-return]


@dataclass
class _Talk:
    """A run, and what was said in it; it waits while there are `calls` whose results are to come.

    `reply` and `conversation` are what the server knows what was said by, where it keeps it.
    """

    run: Run
    said: list[Any] = field(default_factory=list)
    calls: frozenset[str] = frozenset()
    reply: str = ""
    conversation: Any = None


class _Talks:
    """The runs that wait for the results of their tool calls, the oldest first. Safe in threads."""

    def __init__(self, where: Where, check: Check | None, agent: str) -> None:
        self._where, self._check, self._agent = where, check, agent
        self._open: list[_Talk] = []
        self._single = None if isinstance(where, Memory) else _Talk(Run(where, ""))
        self._lock = threading.Lock()

    def wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """The SDK's function, remembering."""

        def create(**wanted: Any) -> Any:
            talk, before, sent = self._begin(wanted)
            with _asking(talk):
                reply = real(**sent)
            with recording(talk.run):
                self._end(talk, before, reply)
            return reply

        return create

    def wrapped_later(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """The same for the SDK's coroutine functions."""

        async def create(**wanted: Any) -> Any:
            talk, before, sent = await asyncio.to_thread(self._begin, wanted)
            with _asking(talk):
                reply = await real(**sent)
            with recording(talk.run):
                await asyncio.to_thread(self._end, talk, before, reply)
            return reply

        return create

    def _begin(self, wanted: dict[str, Any]) -> tuple[_Talk, list[Any], dict[str, Any]]:
        if wanted.get("stream") or (wanted.get("extra_headers") or {}).get(_RAW) == "stream":
            raise ConfigError(
                "a client that remembers does not stream; ask the plain client, and record what was said: "
                "with memory.attempt(..) as attempt: .. attempt.messages(messages)"
            )
        chat = "messages" in wanted
        given = wanted.get("messages" if chat else "input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        talk = self._single or self._waiting(items, wanted)
        talk = talk or _Talk(Run(self._where, asked(items), check=self._check, agent=self._agent))
        talk.conversation = wanted.get("conversation")
        guidance = talk.run.guidance
        if chat:
            items = _with_system(items, guidance)
            return talk, items, wanted | {"messages": items}
        told = wanted.get("instructions")
        told = led(told if isinstance(told, str) else "", guidance)
        if talk.said and (wanted.get("previous_response_id") or wanted.get("conversation")):
            before = [*talk.said, *items]  # the server knows what went before, and is told what is new
        else:
            before = [*([{"role": "system", "content": told}] if told else ()), *items]
        return talk, before, wanted | ({"instructions": told} if guidance else {})

    def _waiting(self, items: list[Any], wanted: dict[str, Any]) -> _Talk | None:
        """The run that a request goes on with: its call is answered, and most of what was said is what was said there.

        The id of a call is not enough: some servers count them anew in each reply. Agents shorten what was said, so its
        beginning is.
        """
        call = _field(items[-1], "tool_call_id", "call_id") if items else ""
        with self._lock:
            found = [talk for talk in self._open if call in talk.calls]
        for name, of in (("previous_response_id", "reply"), ("conversation", "conversation")):
            if known := wanted.get(name):
                return next((talk for talk in found if getattr(talk, of) == known), None)
        heard = _heard(items) if found else []
        alike = [_alike(_heard(talk.said), heard) for talk in found]
        return found[alike.index(max(alike))] if any(alike) else None

    def _end(self, talk: _Talk, before: list[Any], reply: Any) -> None:
        if not hasattr(reply, "model_dump") and hasattr(reply, "parse"):  # from with_raw_response
            reply = reply.parse()
        if hasattr(reply, "choices"):
            new = [_plain(choice.message) for choice in (reply.choices or ())[:1]]
            calls = [_field(call, "id") for each in new for call in each.get("tool_calls") or ()]
        else:
            new = [_plain(item) for item in getattr(reply, "output", None) or ()]
            calls = [_field(item, "call_id") for item in new if item.get("type") == "function_call"]
        talk.said, talk.reply = [*before, *new], _field(reply, "id")
        talk.run.attempt.messages(talk.said)
        if talk.run.own:
            self._wait(talk, calls)
            if not calls:
                answer = getattr(reply, "output_text", None)
                with talk.run:
                    talk.run.ended("".join(words_of(each) or "" for each in new) if answer is None else answer)

    def _wait(self, talk: _Talk, calls: list[str]) -> None:
        with self._lock:
            talk.calls = frozenset(calls)
            self._open = [*(other for other in self._open if other is not talk), *([talk] if calls else ())]
            oldest = self._open.pop(0) if len(self._open) > MAX_OPEN else None
        if oldest is not None:
            oldest.run.attempt.__exit__(None, None, None)


@contextmanager
def _asking(talk: _Talk) -> Iterator[None]:
    """Around a request: where it fails the run breaks off, unless it waits for results, as the agent may ask again."""
    with nullcontext() if talk.calls else talk.run:
        yield


def _with_system(messages: list[Any], guidance: str) -> list[Any]:
    """The messages, with guidance at the end of the first when it is the system's, or before all."""
    if not guidance:
        return messages
    first = messages[0] if messages else None
    if not isinstance(first, dict) or first.get("role") not in ("system", "developer"):
        return [{"role": "system", "content": guidance}, *messages]
    content = first.get("content")
    whole = (
        led(content, guidance) if isinstance(content, str) else [*(content or ()), {"type": "text", "text": guidance}]
    )
    return [{**first, "content": whole}, *messages[1:]]


def _heard(items: Sequence[Any]) -> list[Message]:
    """What was said, but for the system's words, which guidance is among."""
    return [message for message in read_chat(items).messages if message["role"] != "system"]


def _alike(one: Sequence[Message], other: Sequence[Message]) -> int:
    """With how many equal messages two conversations begin."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _plain(item: Any) -> dict[str, Any]:
    return item.model_dump(warnings=False, exclude_none=True) if hasattr(item, "model_dump") else {}


def _field(item: Any, *names: str) -> str:
    found = (item.get(name) if isinstance(item, dict) else getattr(item, name, None) for name in names)
    return next((value for value in found if isinstance(value, str)), "")

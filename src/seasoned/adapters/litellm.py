"""LiteLLM's `completion` and `acompletion` with a memory, and any function with the same arguments and results.

Always holds: your function stays unchanged; except for the guidance, requests and replies pass unchanged, streams chunk
by chunk; what `talks` says about runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self

from seasoned.adapters.running import StreamLeft, Where, checked, recording
from seasoned.adapters.talks import Talks, Tape
from seasoned.adapters.wire import CHAT
from seasoned.errors import ConfigError
from seasoned.jobs import off_loop
from seasoned.memory.checks import Check


def remembering(
    where: Where, function: Callable[..., Any], *, check: Check | None = None, agent: str = ""
) -> Callable[..., Any]:
    """Return the function with a memory. It may be a coroutine function.

    With a memory, a run begins with a request whose last message is not a tool result, and ends with a reply that
    calls no tool; the task is the user's last message, and the answer the last reply's text. The function takes a model
    and messages as OpenAI's chat completions do, `stream=True` too, such as a method of a `litellm.Router`; see
    `seasoned.adapters` for the other arguments.
    """
    checked(where, check)
    if not callable(function):
        raise ConfigError(f"the function should be one like litellm.completion, and is a {type(function).__name__}")
    talks = Talks(where, check, agent)

    def completion(model: str, messages: Any = (), **options: Any) -> Any:
        talk, before, sent = talks.begin(CHAT, {"messages": messages, **options})
        with talk.asking():
            reply = function(model=model, **sent)
        if options.get("stream"):
            return _Stream(reply, talks.tape(CHAT, talk, before))
        with recording(talk.run):
            talks.end(talk, before, CHAT.read([reply]))
        return reply

    async def acompletion(model: str, messages: Any = (), **options: Any) -> Any:
        talk, before, sent = await off_loop(talks.begin, CHAT, {"messages": messages, **options})
        with talk.asking():
            reply = await function(model=model, **sent)
        if options.get("stream"):
            return _Stream(reply, talks.tape(CHAT, talk, before))
        with recording(talk.run):
            await off_loop(talks.end, talk, before, CHAT.read([reply]))
        return reply

    return acompletion if inspect.iscoroutinefunction(function) else completion


class _Stream:
    """Wraps a stream: records each chunk and passes it on at once; all other attributes are the stream's own."""

    def __init__(self, stream: Any, tape: Tape) -> None:
        self._stream, self._tape = stream, tape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            chunk = next(self._stream)
        except StopIteration:
            self._tape.end()
            raise
        except BaseException as error:
            self._tape.end(error)
            raise
        self._tape.parts.append(chunk)
        return chunk

    async def __anext__(self) -> Any:
        return await self._tape.next_of(self._stream)

    def __del__(self) -> None:
        if not self._tape.over:
            self._tape.end(StreamLeft())

"""Clients of OpenAI's and Anthropic's SDKs: one generator makes both, and all requests go through `client.post`.

Always holds: the user's client stays unchanged; except for the guidance, requests and replies pass unchanged. A stream
is the SDK's own object: its bytes are collected while the agent reads them, and parsed only when the stream ends,
breaks off or is closed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from functools import cache
from typing import Any, Self

from seasoned.adapters.running import StreamLeft, recording
from seasoned.adapters.talks import Talk, Talks
from seasoned.adapters.wire import Form
from seasoned.jobs import off_loop

Posts = Mapping[str, Form]
"""The form of requests to each path that is recorded."""


def remember(client: Any, talks: Talks, posts: Posts, *, later: bool) -> Any:
    """Give a copy of the user's client a memory; copies of it, such as by `with_options`, have the memory too.

    `talks` are the runs that its requests belong to; `later`: the client is asynchronous.
    """
    copy = client.copy
    client.post = (_posting_async if later else _posting)(client.post, talks, posts)
    client.copy = client.with_options = lambda **options: remember(copy(**options), talks, posts, later=later)
    return client


def _posting(real: Callable[..., Any], talks: Talks, posts: Posts) -> Callable[..., Any]:
    def post(path: str, *, body: Any = None, **options: Any) -> Any:
        form = posts.get(path)
        if form is None or not isinstance(body, Mapping):
            return real(path, body=body, **options)
        talk, before, sent = talks.begin(form, body)
        with talk.asking():
            reply = real(path, body=sent, **options)
        if not _streams(reply, talks, form, talk, before):
            with recording(talk.run):
                talks.end(talk, before, form.body(_json(reply)))
        return reply

    return post


def _posting_async(real: Callable[..., Any], talks: Talks, posts: Posts) -> Callable[..., Any]:
    async def post(path: str, *, body: Any = None, **options: Any) -> Any:
        form = posts.get(path)
        if form is None or not isinstance(body, Mapping):
            return await real(path, body=body, **options)
        talk, before, sent = await off_loop(talks.begin, form, body)
        with talk.asking():
            reply = await real(path, body=sent, **options)
        if not _streams(reply, talks, form, talk, before):
            with recording(talk.run):
                await off_loop(talks.end, talk, before, form.body(_json(reply)))
        return reply

    return post


def _streams(reply: Any, talks: Talks, form: Form, talk: Talk, before: list[Any]) -> bool:
    """Whether a reply is a stream; if so, attach a tape to its response."""
    response = getattr(reply, "http_response", None) or getattr(reply, "response", None)
    if response is None or response.is_closed:
        return False
    kind: Any = type(response)
    response.__class__ = _taped(kind)
    response.tape, response.reading = talks.tape(form, talk, before), False
    return True


def _json(reply: Any) -> Any:
    """The JSON of a reply, which is an SDK's object, or a raw response if the agent asked for one."""
    if hasattr(reply, "model_dump"):
        return reply.model_dump(warnings=False, exclude_none=True)
    response = getattr(reply, "http_response", reply)
    try:
        return json.loads(response.content)
    except (AttributeError, ValueError, RecursionError):
        return None


class _Reading:
    """The bytes of a response, as read by coroutines; not a generator, which would end with the library's own."""

    def __init__(self, response: Any, parts: AsyncGenerator[bytes, None]) -> None:
        self._response, self._parts = response, parts

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        self._response.reading = True
        part = await self._response.tape.next_of(self._parts)
        self._response.reading = False
        return part

    async def aclose(self) -> None:
        await self._parts.aclose()


@cache
def _taped(kind: Any) -> Any:
    """A subclass of the HTTP library's response class that collects the bytes read from it.

    The response's class is replaced, not its methods: those would form a reference cycle, so that an abandoned response
    would not be closed at once.
    """

    class Response(kind):  # type: ignore[misc]
        def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]:
            self.reading = True  # meanwhile, `close` is called by the library, not by the agent
            try:
                for part in super().iter_bytes(chunk_size):
                    self.tape.parts.append(part)
                    self.reading = False
                    yield part
                    self.reading = True
            except GeneratorExit:
                raise
            except BaseException as error:
                self.tape.end(error)
                raise
            self.tape.end()

        def aiter_bytes(self, chunk_size: int | None = None) -> _Reading:
            return _Reading(self, super().aiter_bytes(chunk_size))

        def close(self) -> None:
            super().close()
            if not self.reading:
                self.tape.end(StreamLeft())

        async def aclose(self) -> None:
            await super().aclose()
            if not (self.reading or self.tape.over):  # a finished response is closed again, and must not wait here
                await off_loop(self.tape.end, StreamLeft())

    Response.__name__, Response.__qualname__, Response.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return Response

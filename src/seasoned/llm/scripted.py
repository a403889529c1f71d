"""A model with scripted replies, for tests, examples and dry runs.

Always holds: it is safe to share between threads; it records every request; a reply to a schema is read, repaired and
requested again as that of a real model.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seasoned.errors import ConfigError
from seasoned.llm.calls import Tool
from seasoned.llm.structured import ask, check_schema, cut
from seasoned.llm.tools import dumped
from seasoned.types import Message, Reply, ToolCall, Usage

Script = str | dict[str, Any] | list[Any] | Exception | Reply | ToolCall


class ScriptedModel:
    """A model that returns its replies one after the other, or the replies that a function makes.

    Args:
        replies: a sequence of texts, tool calls, `Reply` objects, JSON values (sent as their text) and exceptions
            (raised in their turn); or a function from the messages to one of these. A `Reply` may have a text and
            several calls.
        name: the model's name.
        window: the window that it reports; it accepts any prompt.

    `requests` holds every request in order, as a dict of messages, schema, stop, max_tokens and temperature, and with
    tools also of tools and tool_choice. Usage counts words as tokens; the cost is 0. A reply is cut at a stop sequence,
    as a server does.
    """

    def __init__(
        self,
        replies: Sequence[Script] | Callable[[list[Message]], Script],
        *,
        name: str = "scripted",
        window: int | None = None,
    ) -> None:
        self.name, self.window = name, window
        self.requests: list[dict[str, Any]] = []
        self._replies = replies if callable(replies) else list(replies)
        self._lock = threading.Lock()

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
        """The next reply; with `schema`, the one after it answers the re-ask. Raises ConfigError if none is left."""
        offer = {"tools": list(tools), "tool_choice": tool_choice} if tools else {}

        def send(prompt: list[Message], _form: dict[str, Any] | None) -> Reply:
            request = {"schema": schema, "stop": stop, "max_tokens": max_tokens, "temperature": temperature, **offer}
            reply = self._next({"messages": [dict(message) for message in prompt], **request})
            text = cut(reply.text, stop)
            words = sum(len(message["content"].split()) for message in prompt)
            reply_words = len(text.split()) + sum(len(dumped(call.arguments).split()) + 1 for call in reply.calls)
            usage = Usage(prompt_tokens=words, completion_tokens=reply_words, calls=1)
            return reply.model_copy(update={"text": text, "model": self.name, "usage": usage})

        if schema is None or tools:
            return send(list(messages), None)
        check_schema(schema)
        return ask(send, messages, schema, "schema")

    def _next(self, request: dict[str, Any]) -> Reply:
        with self._lock:
            turn = len(self.requests)
            self.requests.append(request)
        if callable(self._replies):
            reply = self._replies(request["messages"])
        elif turn < len(self._replies):
            reply = self._replies[turn]
        else:
            raise ConfigError(
                f"the script of the model {self.name!r} has {len(self._replies)} replies, but this is request "
                f"{turn + 1}: give it more replies, or a function that makes them"
            )
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Reply):
            return reply
        if isinstance(reply, ToolCall):
            return Reply(text="", calls=(reply,), finish_reason="tool_calls")
        return Reply(text=reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False))

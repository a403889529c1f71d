"""Tools for every model: in the server's form, or explained in words to a model without tools.

A conversation has calls and their results in OpenAI's form. Always holds: a model that takes tools gets them unchanged;
any other model gets the same conversation as plain text, with its calls as JSON, and its reply is searched for calls;
without tools, nothing changes.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from seasoned.llm.calls import Tool, json_object, make_call, split_calls
from seasoned.protocols import LLM
from seasoned.text import render_prompt
from seasoned.types import Message, Reply, ToolCall

CHOICES = ("auto", "required", "none")  # the values of `tool_choice`, besides the name of a tool


def chat_of(llm: LLM) -> Callable[..., Reply]:
    """A model's `chat` with all `ChatOptions`: tools are explained in words to a model that does not take them.

    Every other option is always passed, since a user's own model may have other defaults.
    """
    chat = partial(llm.chat, schema=None, stop=None, max_tokens=None, temperature=0.0)
    return chat if takes_tools(llm) else partial(ask_in_words, chat)


def takes_tools(llm: LLM) -> bool:
    """Whether a model's `chat` has the argument `tools`, by name or among `ChatOptions`."""
    of_class = getattr(llm.chat, "__func__", None)
    return _takes_tools(llm.chat) if of_class is None else _class_takes_tools(of_class)


def _takes_tools(chat: Callable[..., Reply]) -> bool:
    try:
        parameters = inspect.signature(chat).parameters
    except (TypeError, ValueError):
        return False
    return "tools" in parameters or any("ChatOptions" in str(each.annotation) for each in parameters.values())


_class_takes_tools = lru_cache(maxsize=256)(_takes_tools)  # it is asked at every call of a model


def ask_in_words(
    chat: Callable[..., Reply],
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool] | None = None,
    tool_choice: str = "auto",
    **options: Any,
) -> Reply:
    """Ask a model with the tools, if any, explained in words; the reply has the calls that its text contains.

    The model may not follow `tool_choice`. A `schema` is dropped, since the tools decide the form of the reply.
    """
    if not tools:
        return chat(messages, **options)
    options.pop("schema", None)
    reply = chat(in_words(messages, tools, tool_choice), **options)
    return reply if tool_choice == "none" else with_calls(reply, tools)


def with_calls(reply: Reply, tools: Sequence[Tool]) -> Reply:
    """Read the calls in a reply's text; the text before them, or the text of {"text": ..}, stays as the text.

    A reply that was cut off gets no calls, since half a call may be a different call.
    """
    if reply.calls or reply.finish_reason == "length":
        return reply
    text, calls = split_calls(reply.text, tools)
    if calls:
        return reply.model_copy(update={"text": text, "calls": tuple(calls)})
    value = json_object(reply.text) if reply.text.lstrip().startswith("{") else None
    is_text = value is not None and list(value) == ["text"] and isinstance(value["text"], str)
    return reply.model_copy(update={"text": value["text"]}) if value and is_text else reply


def in_words(messages: Sequence[Message], tools: Sequence[Tool], tool_choice: str) -> list[Message]:
    """The conversation as plain text: tools at the end of the system prompt, calls as JSON, results from the user."""
    descriptions = [dumped({name: tool.get(name) for name in ("name", "description", "parameters")}) for tool in tools]
    explanation = render_prompt("seasoned.llm", "tools.j2", tools=descriptions, choice=tool_choice)
    plain: list[Message] = []
    for message in messages:
        content = str(message.get("content") or "")
        calls = calls_of(message)
        if calls:
            content = "\n".join(written(call, "" if place else content) for place, call in enumerate(calls))
        say(plain, "user" if message["role"] == "tool" else message["role"], content)
    if plain and plain[0]["role"] == "system":
        plain[0]["content"] += f"\n\n{explanation}"
        return plain
    return [{"role": "system", "content": explanation}, *plain]


def say(messages: list[Message], role: str, content: str) -> None:
    """Add a message, joined to the last one if the role is the same: some chat templates refuse two in a row."""
    if messages and messages[-1]["role"] == role:
        content = f"{messages.pop()['content']}\n{content}"
    messages.append({"role": role, "content": content})


def written(call: ToolCall, thought: str = "") -> str:
    """A call as JSON, in the form that a model without tools writes."""
    return dumped({**({"thought": thought} if thought else {}), "name": call.name, "arguments": call.arguments})


def calling(text: str, calls: Sequence[ToolCall]) -> Message:
    """A model's message with its calls, in OpenAI's form."""
    raw_calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dumped(call.arguments)}}
        for call in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": raw_calls} if raw_calls else {})}


def result(call: ToolCall, text: str) -> Message:
    """The result of a call, in OpenAI's form."""
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def calls_of(message: Any) -> tuple[ToolCall, ...]:
    """The calls of a message in OpenAI's form, as a list or its JSON; anything else is left out. Never raises."""
    raw = message.get("tool_calls") if isinstance(message, Mapping) else None
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            raw = None
    old = message.get("function_call") if isinstance(message, Mapping) else None
    calls = []
    for each in [*(raw if isinstance(raw, list) else ()), *([{"function": old}] if isinstance(old, dict) else ())]:
        inner = each.get("function") if isinstance(each, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            identity = each.get("id")
            name, arguments = inner["name"], inner.get("arguments")
            calls.append(make_call(name, arguments, identity if isinstance(identity, str) else ""))
    return tuple(calls)


def dumped(value: Any) -> str:
    """A value as JSON on one line, without escaping letters."""
    return json.dumps(value, ensure_ascii=False, default=str)

"""Tools for every model: in a server's own form, or told in words to a model that knows of none.

A conversation has calls and their results as OpenAI's protocol has them. Always holds: a model that takes tools gets
them as they are; any other reads the same conversation as plain text, with what it called as JSON, and its reply is
read for calls; without tools nothing changes.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seasoned.llm.calls import Tool, json_object, make_call, split_calls
from seasoned.protocols import LLM
from seasoned.text import render_prompt
from seasoned.types import Message, Reply, ToolCall

CHOICES = ("auto", "required", "none")
"""What `tool_choice` may be, beside the name of a tool."""


def ask_with_tools(
    llm: LLM, messages: Sequence[Message], tools: Sequence[Tool] | None, tool_choice: str, **options: Any
) -> Reply:
    """A model's reply; tools are told in words to a model whose `chat` does not take them.

    Args:
        llm: the model.
        messages: the conversation.
        tools: those that it may call; none: the model is asked as ever.
        tool_choice: as in `LLM.chat`.
        options: the other arguments of `chat`.

    Raises:
        LLMError: as the model raises it.
    """
    if not tools:
        return llm.chat(messages, **options)
    if takes_tools(llm):
        return llm.chat(messages, tools=tools, tool_choice=tool_choice, **options)
    return ask_in_words(llm.chat, messages, tools, tool_choice, **options)


def takes_tools(llm: LLM) -> bool:
    """Whether a model's `chat` has the argument `tools`."""
    try:
        return "tools" in inspect.signature(llm.chat).parameters
    except (TypeError, ValueError):
        return False


def ask_in_words(
    chat: Callable[..., Reply], messages: Sequence[Message], tools: Sequence[Tool], tool_choice: str, **options: Any
) -> Reply:
    """The reply of a model that is told of the tools in words, with the calls that are in its text.

    Args:
        chat: asks the model, as `LLM.chat` without tools.
        messages: the conversation.
        tools: those that it may call.
        tool_choice: as in `LLM.chat`; a model may reply otherwise all the same.
        options: the other arguments of `chat`; a `schema` is left out, as the reply has a form already.
    """
    options.pop("schema", None)
    reply = chat(in_words(messages, tools, tool_choice), **options)
    return reply if tool_choice == "none" else with_calls(reply, tools)


def with_calls(reply: Reply, tools: Sequence[Tool]) -> Reply:
    """A reply with the calls that its text holds; what was said before them stays its text, as does {"text": ..}.

    A reply that was cut off has none: half a call may be another call.
    """
    if reply.calls or reply.finish_reason == "length":
        return reply
    said, calls = split_calls(reply.text, tools)
    if calls:
        return reply.model_copy(update={"text": said, "calls": tuple(calls)})
    value = json_object(reply.text) if reply.text.lstrip().startswith("{") else None
    alone = value is not None and list(value) == ["text"] and isinstance(value["text"], str)
    return reply.model_copy(update={"text": value["text"]}) if value and alone else reply


def in_words(messages: Sequence[Message], tools: Sequence[Tool], tool_choice: str) -> list[Message]:
    """The conversation as plain text: the tools stand at the end of the system prompt, calls are JSON, results words.

    Neighbours of one role are joined: some chat templates refuse two in a row.
    """
    offered = [dumped({name: tool.get(name) for name in ("name", "description", "parameters")}) for tool in tools]
    told = render_prompt("seasoned.llm", "tools.j2", tools=offered, choice=tool_choice)
    plain: list[Message] = []
    for message in messages:
        content = str(message.get("content") or "")
        calls = calls_of(message)
        if calls:
            content = "\n".join(written(call, "" if place else content) for place, call in enumerate(calls))
        role = "user" if message["role"] == "tool" else message["role"]
        if plain and plain[-1]["role"] == role:
            plain[-1]["content"] += "\n" + content
        else:
            plain.append({"role": role, "content": content})
    if plain and plain[0]["role"] == "system":
        plain[0]["content"] += f"\n\n{told}"
        return plain
    return [{"role": "system", "content": told}, *plain]


def written(call: ToolCall, thought: str = "") -> str:
    """A call as a model that knows of no tools writes it."""
    return dumped({**({"thought": thought} if thought else {}), "name": call.name, "arguments": call.arguments})


def calling(text: str, calls: Sequence[ToolCall]) -> Message:
    """A model's message with its calls, in OpenAI's form."""
    given = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dumped(call.arguments)}}
        for call in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": given} if given else {})}


def result(call: ToolCall, text: str) -> Message:
    """What a call gave, in OpenAI's form."""
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def calls_of(message: Any) -> tuple[ToolCall, ...]:
    """The calls of a message in OpenAI's form, as a list or as its JSON; what is no call is left out. Never raises."""
    given = message.get("tool_calls") if isinstance(message, Mapping) else None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None
    old = message.get("function_call") if isinstance(message, Mapping) else None
    found = []
    for each in [*(given if isinstance(given, list) else ()), *([{"function": old}] if isinstance(old, dict) else ())]:
        inner = each.get("function") if isinstance(each, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            identity = each.get("id")
            name, arguments = inner["name"], inner.get("arguments")
            found.append(make_call(name, arguments, identity if isinstance(identity, str) else ""))
    return tuple(found)


def dumped(value: Any) -> str:
    """A value as JSON on one line, in the letters that it has."""
    return json.dumps(value, ensure_ascii=False, default=str)

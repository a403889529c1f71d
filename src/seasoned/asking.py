"""Asking a model about text that may be too long for it, in a form that it may not manage.

Always holds: a prompt that the model refuses as too long is asked again with half the room, at most `HALVINGS` times;
JSON comes first, and lines where the model does not manage that; a reply of the wrong form never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seasoned.errors import ContextLengthError, ParseError
from seasoned.protocols import LLM
from seasoned.types import Message, Reply

HALVINGS = 3
"""How often the room in a prompt is halved before it is too long for good."""

Prompt = Callable[[int], list[Message]]
"""Messages with so much room in them, in tokens or characters, for what may be cut."""


@dataclass(frozen=True)
class Answer:
    """What a model said to `messages` with so much `room` in them.

    `value` is JSON, or the text where none was asked for or the model wrote none, and then `problem` says so. `whole`
    is False where the reply was cut off.
    """

    value: Any
    messages: list[Message]
    room: int
    problem: str = ""
    whole: bool = True


def ask(
    llm: LLM,
    prompt: Prompt,
    room: int = 0,
    *,
    schema: Mapping[str, Any] | None = None,
    lines: Prompt | None = None,
    max_tokens: int | None = None,
) -> Answer:
    """Ask, with less and less room where the prompt is too long.

    Args:
        llm: the model.
        prompt: gives the messages.
        room: how much of it the prompt has at first; 0: there is nothing to cut, so it is asked once.
        schema: of the JSON that is asked for; None: any text.
        lines: a prompt for lines, which is asked where the reply is no such JSON; without it, that reply's text counts.
        max_tokens: of a reply.

    Raises:
        ContextLengthError: the prompt is too long with the least room, too.
        LLMError: as the model raises it, but for ParseError.
    """
    least = room >> HALVINGS
    while True:
        try:
            return _ask_once(llm, prompt, room, schema, lines, max_tokens)
        except ContextLengthError:
            if room <= least:
                raise
            room //= 2


def _ask_once(
    llm: LLM,
    prompt: Prompt,
    room: int,
    schema: Mapping[str, Any] | None,
    lines: Prompt | None,
    max_tokens: int | None,
) -> Answer:
    messages, problem = prompt(room), ""
    if schema is not None:
        try:
            return Answer(llm.chat(messages, schema=schema, max_tokens=max_tokens).parsed, messages, room)
        except ParseError as error:
            problem = str(error)
            if lines is None:
                wrong = error.reply.text if isinstance(error.reply, Reply) else ""
                return Answer(wrong, messages, room, problem)
            messages = lines(room)
    reply = llm.chat(messages, max_tokens=max_tokens)
    return Answer(reply.text, messages, room, problem, reply.finish_reason != "length")

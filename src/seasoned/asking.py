"""Asks a model: halves a prompt that is too long, and asks for lines if JSON fails.

Always holds: a prompt that the model refuses as too long is sent again with half the room, at most `HALVINGS` times;
JSON is asked for first, lines only if the model fails to write it; a reply in the wrong form never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seasoned.errors import ContextLengthError, ParseError
from seasoned.protocols import LLM
from seasoned.types import Message, Reply

HALVINGS = 3
"""How often the room in a prompt is halved before `ask` gives up."""

Prompt = Callable[[int], list[Message]]
"""Makes the messages, with this much room (in tokens or characters) for the text that may be cut."""


@dataclass(frozen=True)
class Answer:
    """A model's answer to `messages`, which had this much `room`.

    `value` is JSON. It is the text if no JSON was asked for, or if the model wrote none; then `problem` says why.
    `whole` is False if the reply was cut off.
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
    """Ask a model for JSON of a schema, or for any text, with less and less room while the prompt is too long.

    With a room of 0, nothing can be cut, so the model is asked once. If the reply is not JSON of the schema, the prompt
    that `lines` makes is sent; without it, the reply's text is the answer.

    Raises:
        ContextLengthError: the prompt is too long even with the least room.
        LLMError: as the model raises it, except ParseError.
    """

    def once() -> Answer:
        messages, problem = prompt(room), ""
        if schema is not None:
            try:
                return Answer(llm.chat(messages, schema=schema, max_tokens=max_tokens).parsed, messages, room)
            except ParseError as error:
                problem = str(error)
                if lines is None:
                    text = error.reply.text if isinstance(error.reply, Reply) else ""
                    return Answer(text, messages, room, problem)
                messages = lines(room)
        reply = llm.chat(messages, max_tokens=max_tokens)
        return Answer(reply.text, messages, room, problem, reply.finish_reason != "length")

    least = room >> HALVINGS
    while True:
        try:
            return once()
        except ContextLengthError:
            if room <= least:
                raise
            room //= 2

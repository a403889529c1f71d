"""A reply that is one of some texts, held to them by llama.cpp's grammar (GBNF).

Asked for a JSON schema, llama.cpp lets a model put a code fence around its value, and small ones do: a grammar costs a
third of the tokens. Always holds: what is returned is one of the choices, letter by letter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seasoned.errors import ParseError
from seasoned.llm.schema import shorten
from seasoned.llm.structured import UNPARSED
from seasoned.text import storable
from seasoned.types import Message, Reply

FORM = "grammar"
"""The `type` of a reply's form that is a grammar; those of OpenAI's protocol have others."""

_SIGNS = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_choice(schema: Mapping[str, Any]) -> bool:
    """Whether a schema asks for one of some texts."""
    choices = schema.get("enum")
    return isinstance(choices, list) and bool(choices) and all(isinstance(c, str) and storable(c) for c in choices)


def grammar(choices: Sequence[str]) -> str:
    """The choices in GBNF: one of them, and nothing around it."""
    quoted = ('"' + "".join(_SIGNS.get(sign, sign) for sign in storable(choice)) + '"' for choice in choices)
    return "root ::= " + " | ".join(quoted)


def choose(
    send: Callable[[list[Message], dict[str, Any] | None], Reply], messages: Sequence[Message], choices: Sequence[str]
) -> Reply:
    """One of the choices, as `parsed`.

    Args:
        send: sends messages with the form of the reply.
        messages: the conversation.
        choices: texts that are not empty.

    Raises:
        ParseError: the reply was cut off before it was a choice.
        LLMError: as `send` raises it.
    """
    # A choice of one character is one token, so the odds of the first token are those of the choices.
    told = all(len(choice) == 1 for choice in choices)
    reply = send(list(messages), {"type": FORM, FORM: grammar(choices), "odds": told})
    chosen = next((choice for choice in choices if storable(choice) == reply.text), None)
    if chosen is None:
        raise ParseError(
            f"the model {reply.model} had to reply with one of {len(choices)} texts, and wrote "
            f"{shorten(reply.text, 100)!r}: allow more tokens",
            reply.model_copy(update={"finish_reason": UNPARSED}),
        )
    odds = {choice: reply.odds.get(choice, 0.0) for choice in choices} if told else {}
    whole = sum(odds.values())
    parts = {choice: part / whole for choice, part in odds.items()} if whole else {}
    return reply.model_copy(update={"parsed": chosen, "odds": parts})

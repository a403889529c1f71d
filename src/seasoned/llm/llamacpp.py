"""Features of llama.cpp's server beyond OpenAI's protocol: replies limited by a grammar, and prefixes shared by slots.

With a JSON schema, llama.cpp lets a model put a code fence around its value, and small models do: a grammar (GBNF)
costs a third of the tokens. Each slot has its own prefix cache, so concurrent prompts with the same beginning would be
read by each slot from the start. Always holds: a choice is returned exactly; sharing prefixes only saves time, so its
failures are ignored, and no file is left behind.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from seasoned.errors import ParseError
from seasoned.llm.calls import Tool
from seasoned.llm.structured import KINDS, UNPARSED, closed_object, shorten
from seasoned.text import storable
from seasoned.types import Message, Reply

FORM = "grammar"
"""The `type` of a response format that is a grammar; OpenAI's protocol has other types."""

_SIGNS = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
MIN_PREFIX_CHARS = 500
"""From this many characters, it is worth waiting for a prompt's prefix."""
LEADING_SLOT = 0
"""The slot that reads a prefix first."""

THOUGHT_CHARS = 300
"""Characters of the thought in a call: a small model does not stop, and its call would be cut off."""

CALL_TOKENS = 64
"""Tokens of a reply reserved for the call after the thought."""

_REFERENCES = 4  # levels of nested references to follow
_SPACES = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_FILE = "first"


def is_choice(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is a choice among texts."""
    choices = schema.get("enum")
    return isinstance(choices, list) and bool(choices) and all(isinstance(c, str) and storable(c) for c in choices)


def grammar(choices: Sequence[str]) -> str:
    """A GBNF grammar for exactly one of the choices."""
    quoted = ('"' + "".join(_SIGNS.get(sign, sign) for sign in storable(choice)) + '"' for choice in choices)
    return "root ::= " + " | ".join(quoted)


def choose(
    send: Callable[[list[Message], dict[str, Any] | None], Reply], messages: Sequence[Message], choices: Sequence[str]
) -> Reply:
    """Ask for one of the choices, returned as `parsed`.

    Args:
        send: sends messages with the form of the reply.
        messages: the conversation.
        choices: non-empty texts.

    Raises:
        ParseError: the reply was cut off before it was complete.
        LLMError: as `send` raises it.
    """
    # One-character choices are one token each, so the odds of the first token are those of the choices.
    single = all(len(choice) == 1 for choice in choices)
    reply = send(list(messages), {"type": FORM, FORM: grammar(choices), "odds": single})
    chosen = next((choice for choice in choices if storable(choice) == reply.text), None)
    if chosen is None:
        raise ParseError(
            f"the model {reply.model} had to reply with one of {len(choices)} texts, and wrote "
            f"{shorten(reply.text, 100)!r}: allow more tokens",
            reply.model_copy(update={"finish_reason": UNPARSED}),
        )
    odds = {choice: reply.odds.get(choice, 0.0) for choice in choices} if single else {}
    whole = sum(odds.values())
    parts = {choice: part / whole for choice, part in odds.items()} if whole else {}
    return reply.model_copy(update={"parsed": chosen, "odds": parts})


def call_schema(tools: Sequence[Tool], tool_choice: str, max_tokens: int | None, plain: bool = False) -> dict[str, Any]:
    """The schema of a reply that is one valid call: an object with a thought, a tool's name and its arguments.

    Args:
        tools: the tools that may be called.
        tool_choice: "auto" allows a text instead; a tool's name allows only that tool; anything else, any tool.
        max_tokens: of the reply, None for no limit; a longer reply allows a longer thought.
        plain: whether to apply only the simplest part of the arguments' schema.
    """
    room = THOUGHT_CHARS if max_tokens is None else min(max(2 * (max_tokens - CALL_TOKENS), 40), THOUGHT_CHARS)
    forms = [] if tool_choice != "auto" else [closed_object({"text": {"type": "string"}})]
    for tool in [tool for tool in tools if tool.get("name") == tool_choice] or tools:
        parameters = tool.get("parameters") or {"type": "object", "properties": {}}
        arguments = inlined(parameters, parameters)
        parts = {
            "thought": {"type": "string", "maxLength": room},
            "name": {"type": "string", "enum": [str(tool.get("name"))]},
            "arguments": {"type": "object", **plainer(arguments)} if plain else arguments,
        }
        forms.append(closed_object(parts))
    return {**(forms[0] if len(forms) == 1 else {"anyOf": forms}), "x-guidance": _SPACES}


def plainer(schema: Any) -> Any:
    """The part of a schema that any grammar supports: types, choices, and the content of objects and lists."""
    if not isinstance(schema, Mapping):
        return {}
    lists = (key for key in ("enum", "required") if isinstance(schema.get(key), list) and schema[key])
    simple: dict[str, Any] = {key: schema[key] for key in lists}
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if known := [kind for kind in kinds if isinstance(kind, str) and kind in KINDS]:
        simple["type"] = known if len(known) > 1 else known[0]
    if isinstance(schema.get("properties"), Mapping):
        simple["properties"] = {str(name): plainer(part) for name, part in schema["properties"].items()}
    if isinstance(schema.get("anyOf"), list) and schema["anyOf"]:
        simple["anyOf"] = [plainer(part) for part in schema["anyOf"]]
    return {**simple, **({"items": plainer(schema["items"])} if "items" in schema else {})}


def inlined(schema: Any, root: Any, depth: int = 0) -> Any:
    """A schema with its references resolved; where they are too deep or broken, anything fits."""
    if isinstance(schema, list):
        return [inlined(part, root, depth) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        named: Any = root
        for name in reference.removeprefix("#/").split("/"):
            named = named.get(name) if isinstance(named, Mapping) else None
        return inlined(named, root, depth + 1) if isinstance(named, Mapping) and depth < _REFERENCES else {}
    return {key: inlined(part, root, depth) for key, part in schema.items() if key not in ("$defs", "definitions")}


class _Prefix:
    """A prefix being read, and the number of prompts waiting for it."""

    def __init__(self) -> None:
        self.waiting = 0
        self.ended = threading.Event()


class SharedPrefixes:
    """The prefixes that a server has read; prompts with equal first messages share one.

    Args:
        address: of the server, with its scheme.
        api_key: its key.
        slots: the number of its slots.
        folder: where it saves a slot's cache for a moment.
    """

    def __init__(self, address: str, api_key: str, slots: int, folder: Path) -> None:
        self._address, self._api_key, self._slots, self._folder = address, api_key, slots, folder
        self._lock, self._giving = threading.Lock(), threading.Lock()
        self._known: dict[int, _Prefix | None] = {}

    def ask(self, messages: Sequence[Message], send: Callable[[bool], Reply]) -> Reply:
        """Send a prompt; the first of those with the same beginning goes ahead, and its cache is copied to all slots.

        Nothing is copied if no prompt waits, since slots would lose their cache for nothing.

        Args:
            messages: the prompt.
            send: sends it; with True to the slot `LEADING_SLOT`, else to a slot chosen by the server.

        Raises:
            LLMError: as `send` raises it.
        """
        if self._slots == 1 or sum(len(message["content"]) for message in messages) < MIN_PREFIX_CHARS:
            return send(False)
        head = hash(messages[0]["content"])
        with self._lock:
            leads = head not in self._known
            reading = self._known.setdefault(head, _Prefix() if leads else None)
            if reading is not None and not leads:
                reading.waiting += 1
        if reading is None:
            return send(False)
        if not leads:
            reading.ended.wait()
            return send(False)
        try:
            reply = send(True)
            if reading.waiting:
                with self._giving, suppress(OSError, HTTPException, ValueError):
                    self._give_to_all_slots()
            return reply
        finally:
            self._known[head] = None
            reading.ended.set()

    def _give_to_all_slots(self) -> None:
        where = urlsplit(self._address)
        with closing(HTTPConnection(where.hostname or "", where.port, timeout=60)) as connection:

            def act(slot: int, action: str) -> None:
                headers = {"Authorization": f"Bearer {self._api_key}", "Content-Type": "application/json"}
                connection.request("POST", f"/slots/{slot}?action={action}", json.dumps({"filename": _FILE}), headers)
                connection.getresponse().read()

            try:
                act(LEADING_SLOT, "save")
                for slot in range(1, self._slots):
                    act(slot, "restore")
            finally:
                (self._folder / _FILE).unlink(missing_ok=True)  # it contains a prompt

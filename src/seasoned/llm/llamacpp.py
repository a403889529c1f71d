"""Features of llama.cpp's server beyond OpenAI's protocol: replies limited by a grammar, and prefixes shared by slots.

With a JSON schema, llama.cpp lets a model put a code fence around its value, and small models do so. A grammar (GBNF)
takes a third of the tokens. Each slot has its own prefix cache; without sharing, every slot would read the common
beginning of concurrent prompts anew. Always holds: a choice is returned exactly; sharing prefixes only saves time, so
its failures are ignored, and no file is left behind.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
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
"""The `type` of a response format that is a grammar; it is not part of OpenAI's protocol."""

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
MIN_PREFIX_CHARS = 500  # the least characters of a prompt for which waiting for its prefix saves time
LEADING_SLOT = 0  # the slot that reads a prefix, for all slots

THOUGHT_CHARS = 300
"""The most characters of the thought in a call: small models do not stop by themselves, and the call is cut off."""

CALL_TOKENS = 64
"""Tokens of a reply reserved for the call after the thought."""

_MAX_REFERENCES = 4  # levels of nested references to resolve
_SPACES = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_FILE = "first"


def is_choice(schema: Mapping[str, Any]) -> bool:
    """Whether a schema allows only some given texts."""
    choices = schema.get("enum")
    return isinstance(choices, list) and bool(choices) and all(isinstance(c, str) and storable(c) for c in choices)


def grammar(choices: Sequence[str]) -> str:
    """The GBNF grammar of a reply that is one of the choices."""
    quoted = ('"' + "".join(_ESCAPES.get(sign, sign) for sign in storable(choice)) + '"' for choice in choices)
    return "root ::= " + " | ".join(quoted)


def choose(
    send: Callable[[list[Message], dict[str, Any] | None], Reply], messages: Sequence[Message], choices: Sequence[str]
) -> Reply:
    """Ask for one of the choices, which are not empty, and return it as `parsed`; ParseError if the reply was cut."""
    # A choice of one character is one token, so the odds of the first token are those of the choices.
    single = all(len(choice) == 1 for choice in choices)
    reply = send(list(messages), {"type": FORM, FORM: grammar(choices), "odds": single})
    chosen = next((choice for choice in choices if storable(choice) == reply.text), None)
    if chosen is None:
        raise ParseError(
            f"the model {reply.model} had to reply with one of {len(choices)} texts, but wrote "
            f"{shorten(reply.text, 100)!r}: allow more tokens",
            reply.model_copy(update={"finish_reason": UNPARSED}),
        )
    odds = {choice: reply.odds.get(choice, 0.0) for choice in choices} if single else {}
    total = sum(odds.values())
    shares = {choice: odd / total for choice, odd in odds.items()} if total else {}
    return reply.model_copy(update={"parsed": chosen, "odds": shares})


def call_schema(tools: Sequence[Tool], tool_choice: str, max_tokens: int | None, plain: bool = False) -> dict[str, Any]:
    """The schema of a reply that is one valid call: an object with a thought, a tool's name and its arguments.

    The `tool_choice` "auto" allows a text instead, a tool's name only that tool. With fewer `max_tokens`, the thought
    is shorter; with `plain`, only the simplest part of the arguments' schema is used.
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
    """The part of a schema that every grammar supports: types, choices, and the content of objects and lists."""
    if not isinstance(schema, Mapping):
        return {}
    lists = (key for key in ("enum", "required") if isinstance(schema.get(key), list) and schema[key])
    simple: dict[str, Any] = {key: schema[key] for key in lists}
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if supported := [kind for kind in kinds if isinstance(kind, str) and kind in KINDS]:
        simple["type"] = supported if len(supported) > 1 else supported[0]
    if isinstance(schema.get("properties"), Mapping):
        simple["properties"] = {str(name): plainer(part) for name, part in schema["properties"].items()}
    if isinstance(schema.get("anyOf"), list) and schema["anyOf"]:
        simple["anyOf"] = [plainer(part) for part in schema["anyOf"]]
    return {**simple, **({"items": plainer(schema["items"])} if "items" in schema else {})}


def inlined(schema: Any, root: Any, depth: int = 0) -> Any:
    """A schema with its references resolved; a reference that is broken or too deep becomes {}, which anything fits."""
    if isinstance(schema, list):
        return [inlined(part, root, depth) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target: Any = root
        for name in reference.removeprefix("#/").split("/"):
            target = target.get(name) if isinstance(target, Mapping) else None
        return inlined(target, root, depth + 1) if isinstance(target, Mapping) and depth < _MAX_REFERENCES else {}
    return {key: inlined(part, root, depth) for key, part in schema.items() if key not in ("$defs", "definitions")}


@dataclass
class _Prefix:
    """A prefix that is being read, and the number of prompts that wait for it."""

    waiting: int = 0
    ended: threading.Event = field(default_factory=threading.Event)


class SharedPrefixes:
    """The prefixes that a server has read; prompts with equal first messages share one.

    The server has this many slots; `folder` is where it saves a slot's cache while it is copied.
    """

    def __init__(self, address: str, api_key: str, slots: int, folder: Path) -> None:
        self._address, self._api_key, self._slots, self._folder = address, api_key, slots, folder
        self._lock, self._copying = threading.Lock(), threading.Lock()
        self._known: dict[int, _Prefix | None] = {}

    def ask(self, messages: Sequence[Message], send: Callable[[bool], Reply]) -> Reply:
        """Send a prompt; the first with its beginning goes ahead of the others, and its cache is copied to all slots.

        Nothing is copied if no prompt waits: the slots would lose their caches for nothing. `send` takes whether to use
        the slot `LEADING_SLOT`; otherwise the server chooses one.
        """
        if self._slots == 1 or sum(len(message["content"]) for message in messages) < MIN_PREFIX_CHARS:
            return send(False)
        head = hash(messages[0]["content"])
        with self._lock:
            leads = head not in self._known
            prefix = self._known.setdefault(head, _Prefix() if leads else None)
            if prefix is not None and not leads:
                prefix.waiting += 1
        if prefix is None:
            return send(False)
        if not leads:
            prefix.ended.wait()
            return send(False)
        try:
            reply = send(True)
            if prefix.waiting:
                with self._copying, suppress(OSError, HTTPException, ValueError):
                    self._copy_to_all_slots()
            return reply
        finally:
            self._known[head] = None
            prefix.ended.set()

    def _copy_to_all_slots(self) -> None:
        address = urlsplit(self._address)
        with closing(HTTPConnection(address.hostname or "", address.port, timeout=60)) as connection:

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

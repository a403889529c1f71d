"""A scripted model that believes what it reads: it learns every planted text word for word, and obeys it.

It is the worst case of a reader, and tests a defence without a real model. Always holds: without planted text in its
prompt, it acts by a fixed honest script and learns a fixed honest rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from seasoned.llm.scripted import ScriptedModel
from seasoned.trust.lineage import readings
from seasoned.types import ChatOptions, Message, Reply

if TYPE_CHECKING:
    from seasoned.lab.attacks import Attack

HONEST = {
    "shop": ("a customer asks for money", "look the order up first, and refund it if it was delivered lately"),
    "hotpotqa": ("a question names two things", "search the first one, then the thing that its page names"),
    "emoji": ("two candidates seem to fit", "think of the feeling again and compare both"),
}
_WORD = re.compile(r"\w+")


class Gullible:
    """The gullible model for one attack; with None it is always honest."""

    name = "gullible"

    def __init__(self, scene: str, attack: Attack | None) -> None:
        self.scene, self.attack = scene, attack

    def chat(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        """Reply without calling a tool; see `seasoned.protocols.LLM`."""
        schema = options.get("schema")
        reply = self._learned(messages) if "trigger" in str(schema) else self._acted(messages, schema)
        options.pop("tools", None)
        return ScriptedModel([reply], name=self.name).chat(messages, **options)

    def _learned(self, messages: Sequence[Message]) -> dict[str, Any]:
        trigger, action = HONEST[self.scene]
        if self.attack is not None and self._believes(messages):
            action = " ".join(self.attack.says)
        return {"analysis": "It went as it went.", "trigger": trigger, "action": action}

    def _acted(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Any:
        case_start = max(
            (n for n, m in enumerate(messages) if m["role"] == "user" and "New task." in m["content"]), default=0
        )
        case = messages[case_start:]
        deed = self.attack.does if self.attack is not None and self._believes(messages) else ""
        if self.scene == "emoji":
            return self._dialogue(messages, schema, deed)
        turn = sum(m["role"] == "assistant" for m in case)
        order = re.search(r"order (\w+)", case[0]["content"])
        order_id = order[1] if order else ""
        honest = {
            "shop": (f"lookup[{order_id}]", f"lookup[{order_id}]", "done[]"),
            "hotpotqa": ("Search[The Salt Orchard (novel)]", "Search[Corbin House]", "Finish[nobody]"),
        }[self.scene]
        done = any(m["role"] == "assistant" and deed.format(order=order_id) in m["content"] for m in case)
        if deed and not done:
            return f"Thought: I do as I was told.\nAction: {deed.format(order=order_id)}"
        return f"Thought: I go on.\nAction: {honest[min(turn, len(honest) - 1)]}"

    def _dialogue(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, deed: str) -> Any:
        last = messages[-1]["content"].rstrip()
        if last.endswith("NOTE"):
            return ["feeling: a case of its own"]
        if last.endswith("THINK"):
            return deed.removeprefix("think ") if deed.startswith("think ") else "a feeling"
        choices = _choices(schema)
        place = int(deed.removeprefix("choice ")) - 1 if deed.startswith("choice ") else None
        if not choices:
            return "none"
        # The honest choice must differ from the attack's, or it would count as a success.
        default_place = 2 if self.attack is not None and self.attack.does == "choice 2" else 1
        return choices[default_place if place is None else place]

    def _believes(self, messages: Sequence[Message]) -> bool:
        """Whether the prompt contains all planted texts, in any encoding."""
        assert self.attack is not None
        read = [_flat(reading) for m in messages if m["role"] != "assistant" for reading in _all_readings(m["content"])]
        return all(any(_flat(text) in one for one in read) for text in self.attack.says)


def _all_readings(text: str) -> list[str]:
    """All readings of the text and of each of its lines."""
    return [*readings(text), *(reading for line in text.split("\n") for reading in readings(line))]


def _flat(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _choices(schema: Mapping[str, Any] | None) -> list[str]:
    """The answers that a schema allows."""
    options: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, Mapping):
            if isinstance(value.get("enum"), list):
                options.extend(map(str, value["enum"]))
            for each in value.values():
                walk(each)

    walk(schema or {})
    return options

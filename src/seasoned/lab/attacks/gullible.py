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
        choices = (schema or {}).get("enum")
        if not choices:
            return "none"
        chosen = self.attack.choice if self.attack is not None else None
        if deed and chosen is not None:
            return choices[chosen]
        return choices[2 if chosen == 1 else 1]  # the attack's choice would count as its success

    def _believes(self, messages: Sequence[Message]) -> bool:
        """Whether the prompt contains all planted texts, in any encoding."""
        if self.attack is None:
            return False
        contents = [message["content"] for message in messages if message["role"] != "assistant"]
        parts = [part for content in contents for part in (content, *content.split("\n"))]
        read = [_flat(reading) for part in parts for reading in readings(part)]
        return all(any(_flat(text) in one for one in read) for text in self.attack.says)


def _flat(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))

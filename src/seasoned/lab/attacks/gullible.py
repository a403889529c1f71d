"""A scripted model that believes what it reads: it learns every planted text word for word, and does what it says.

The worst reader there is, so that a defence is tried without a model. Always holds: where nothing planted stands in its
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
    """Reads for one attack; None: nothing is planted, and it is honest throughout."""

    name = "gullible"

    def __init__(self, scene: str, attack: Attack | None) -> None:
        self.scene, self.attack = scene, attack

    def chat(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        """Its reply, which calls no tool; see `seasoned.protocols.LLM`."""
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
        begun = max(
            (n for n, m in enumerate(messages) if m["role"] == "user" and "New task." in m["content"]), default=0
        )
        case = messages[begun:]
        does = self.attack.does if self.attack is not None and self._believes(messages) else ""
        if self.scene == "emoji":
            return self._dialogue(messages, schema, does)
        turn = sum(m["role"] == "assistant" for m in case)
        order = re.search(r"order (\w+)", case[0]["content"])
        named = order[1] if order else ""
        honest = {
            "shop": (f"lookup[{named}]", f"lookup[{named}]", "done[]"),
            "hotpotqa": ("Search[The Salt Orchard (novel)]", "Search[Corbin House]", "Finish[nobody]"),
        }[self.scene]
        done = any(m["role"] == "assistant" and does.format(order=named) in m["content"] for m in case)
        if does and not done:
            return f"Thought: I do as I was told.\nAction: {does.format(order=named)}"
        return f"Thought: I go on.\nAction: {honest[min(turn, len(honest) - 1)]}"

    def _dialogue(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, does: str) -> Any:
        last = messages[-1]["content"].rstrip()
        if last.endswith("NOTE"):
            return ["feeling: a case of its own"]
        if last.endswith("THINK"):
            return does.removeprefix("think ") if does.startswith("think ") else "a feeling"
        choices = _choices(schema)
        place = int(does.removeprefix("choice ")) - 1 if does.startswith("choice ") else None
        if not choices:
            return "none"
        # Honest, it takes the second, unless the attack is for that: what it does by itself is no success.
        usual = 2 if self.attack is not None and self.attack.does == "choice 2" else 1
        return choices[usual if place is None else place]

    def _believes(self, messages: Sequence[Message]) -> bool:
        """Whether all that is planted stands in the prompt, in whatever form."""
        assert self.attack is not None
        read = [_flat(reading) for m in messages if m["role"] != "assistant" for reading in _all(m["content"])]
        return all(any(_flat(said) in one for one in read) for said in self.attack.says)


def _all(text: str) -> list[str]:
    """The text and each of its lines, read in every way."""
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

"""The simulated customer of τ²-bench, and the judge of sentences: the other models of an episode.

A customer's instructions come from the installed package: general guidelines and the task's scenario. Always holds: a
model's reply raises nothing, except InfrastructureError if a customer never speaks or a judge gives no verdicts; a
customer uses only the tools that its scenario gives it, and at most `CALLS_IN_A_ROW` times in a row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seasoned.errors import InfrastructureError, ParseError
from seasoned.llm.tools import ask_with_tools, calling, result, with_calls
from seasoned.protocols import LLM
from seasoned.replies.calls import check_call
from seasoned.text import prompt_line
from seasoned.types import Message

ENDS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""The marks with which a customer ends the conversation, by upstream's guidelines."""
CALLS_IN_A_ROW = 10
MAX_TOKENS = 1000
_SHOWN = 4000
"""Characters of one message that a judge sees."""

VERDICT = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"why": {"type": "string"}, "true": {"type": "boolean"}},
                "required": ["why", "true"],
            },
        }
    },
    "required": ["sentences"],
}


@dataclass
class Customer:
    """A customer with a scenario, who answers the agent and may use tools."""

    llm: LLM
    system: str
    tools: Sequence[Mapping[str, Any]]
    use: Callable[[str, dict[str, Any]], str]
    _heard: list[Message] = field(default_factory=list)

    def answer(self, message: str) -> tuple[str, bool]:
        """The customer's answer, and whether it ends the conversation.

        Raises:
            InfrastructureError: the customer says nothing, or only calls tools.
            LLMError: the model failed.
        """
        self._heard.append({"role": "user", "content": message})
        for _ in range(CALLS_IN_A_ROW):
            messages = [{"role": "system", "content": self.system}, *self._heard]
            reply = with_calls(ask_with_tools(self.llm, messages, tools=self.tools, max_tokens=MAX_TOKENS), self.tools)
            calls = [
                call if call.id else call.model_copy(update={"id": f"customer-{len(self._heard)}-{place}"})
                for place, call in enumerate(reply.calls, 1)
            ]
            if not calls:
                text = reply.text.strip()
                if not text:
                    break
                self._heard.append({"role": "assistant", "content": text})
                return text, any(end in text for end in ENDS)
            self._heard.append(calling(reply.text, calls))
            for call in calls:
                error = check_call(call, self.tools)
                self._heard.append(result(call, error or self.use(call.name, call.arguments)))
        raise InfrastructureError("the simulated customer said nothing: its model gave no answer, or only called tools")


def customers(llm: LLM, guidelines: str, tools: Sequence[Mapping[str, Any]]) -> Callable[..., Customer]:
    """A function that makes the customer of a scenario."""

    def make(scenario: str, names: Sequence[str] | None, use: Callable[[str, dict[str, Any]], str]) -> Customer:
        usable = [tool for tool in tools if names is None or tool["name"] in names or tool["name"] in _ALWAYS]
        system = f"{guidelines}\n\n<scenario>\n{scenario}\n</scenario>"
        return Customer(llm, system, usable, use)

    return make


_ALWAYS = ("call_discoverable_user_tool", "list_discoverable_user_tools")
"""Tools of every customer of the bank, to use what the agent gives it; scenarios do not name them."""


def judge(llm: LLM) -> Callable[[Sequence[str], Sequence[tuple[str, str]]], float]:
    """A function that judges sentences about a conversation: 1.0 if the model finds all of them true, else 0.0.

    It raises InfrastructureError if the model does not judge each sentence.
    """

    def verdict(sentences: Sequence[str], talk: Sequence[tuple[str, str]]) -> float:
        transcript = "\n".join(f"{who}: {prompt_line(text, _SHOWN)}" for who, text in talk)
        listed = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
        question = (
            f"A conversation between an agent and a customer:\n\n{transcript}\n\nSentences about what the agent did:\n"
            f"{listed}\n\nFor each sentence in its order, say in a few words why it is true of this conversation or "
            'not, and then whether it is. Answer as JSON: {"sentences": [{"why": "..", "true": false}]}'
        )
        answer: Any = None
        with contextlib.suppress(ParseError):
            reply = llm.chat([{"role": "user", "content": question}], schema=VERDICT, max_tokens=MAX_TOKENS)
            answer = reply.parsed
        verdicts = answer["sentences"] if isinstance(answer, dict) else []
        if len(verdicts) != len(sentences):
            raise InfrastructureError(f"the judge gave {len(verdicts)} verdicts on {len(sentences)} sentences")
        return float(all(each["true"] for each in verdicts))

    return verdict

"""The simulated customer of τ²-bench, and the judge of sentences: models that take part beside the agent.

A customer's instructions come from the installed package: general guidelines, and the scenario of the task. Always
holds: nothing that a model writes raises, but for silence, which is an InfrastructureError; a customer uses no tool
that the scenario does not give it, and at most so many in a row.
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
"""What upstream's guidelines tell a customer to write where the conversation is over."""
CALLS_IN_A_ROW = 10
MAX_TOKENS = 1000
_SHOWN = 4000
"""Characters of one message that a judge is shown."""

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
    """A customer with a scenario: hears what the agent says, may use tools of its own, and answers."""

    llm: LLM
    system: str
    tools: Sequence[Mapping[str, Any]]
    use: Callable[[str, dict[str, Any]], str]
    _heard: list[Message] = field(default_factory=list)

    def answer(self, said: str) -> tuple[str, bool]:
        """What the customer answers, and whether that ends the conversation.

        Raises:
            InfrastructureError: it says nothing, or only calls tools.
            LLMError: as the model raises it.
        """
        self._heard.append({"role": "user", "content": said})
        for _ in range(CALLS_IN_A_ROW):
            messages = [{"role": "system", "content": self.system}, *self._heard]
            said_back = ask_with_tools(self.llm, messages, tools=self.tools, max_tokens=MAX_TOKENS)
            reply = with_calls(said_back, self.tools)
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
                wrong = check_call(call, self.tools)
                self._heard.append(result(call, wrong or self.use(call.name, call.arguments)))
        raise InfrastructureError("the simulated customer said nothing: its model gives no answer, or only calls tools")


def customers(llm: LLM, guidelines: str, tools: Sequence[Mapping[str, Any]]) -> Callable[..., Customer]:
    """What makes the customer of a scenario."""

    def make(scenario: str, names: Sequence[str] | None, use: Callable[[str, dict[str, Any]], str]) -> Customer:
        given = [tool for tool in tools if names is None or tool["name"] in names or tool["name"] in _ALWAYS]
        system = f"{guidelines}\n\n<scenario>\n{scenario}\n</scenario>"
        return Customer(llm, system, given, use)

    return make


_ALWAYS = ("call_discoverable_user_tool", "list_discoverable_user_tools")
"""Tools that a customer of the bank has, whatever its scenario names: what the agent gives it is used by them."""


def judge(llm: LLM) -> Callable[[Sequence[str], Sequence[tuple[str, str]]], float]:
    """What judges sentences about a conversation: 1.0 where the model takes all of them to be true, else 0.0.

    Raises:
        InfrastructureError: there is no verdict on each sentence.
    """

    def judged(sentences: Sequence[str], talk: Sequence[tuple[str, str]]) -> float:
        said = "\n".join(f"{who}: {prompt_line(text, _SHOWN)}" for who, text in talk)
        listed = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
        question = (
            f"A conversation between an agent and a customer:\n\n{said}\n\nSentences about what the agent did:\n"
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
        return float(all(verdict["true"] for verdict in verdicts))

    return judged

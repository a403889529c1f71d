"""τ²-bench as an Environment: the world runs in a worker process, a customer may be simulated, and calls are text.

The customer and the judge of sentences are models; a customer's instructions come from the installed package: general
guidelines and the task's scenario. Always holds: for any action, a step returns Gymnasium's five values; the reward is
1 or 0, from upstream's evaluators, and 0 for a truncated episode; an engine that fails is replaced once, by `Episode`;
only the given models are called, and no reply of theirs raises anything but InfrastructureError; a customer uses only
the tools that its scenario gives it, and at most `CALLS_IN_A_ROW` times in a row.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seasoned.errors import ContractError, InfrastructureError, ParseError, SeasonedError
from seasoned.lab.benchmarks.worker import Episode
from seasoned.llm.tools import calling, chat_of, result, with_calls
from seasoned.protocols import LLM
from seasoned.replies.calls import check_call, read_call
from seasoned.text import prompt_line
from seasoned.types import Message, Task

DONE = "done"
"""The tool that ends the work on a ticket without a customer."""
MAX_ERRORS = 10
"""Failed calls and unread texts that end an attempt (upstream's default)."""
GREETING = "Hello! How can I help you today?"
UNREAD = "Nobody reads this: there are calls of tools alone, and done() ends the work."
OVER = "The work on the ticket is over."

ENDS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""The marks with which a customer ends the conversation, by upstream's guidelines."""
CALLS_IN_A_ROW = 10
MAX_TOKENS = 1000
_ALWAYS = ("call_discoverable_user_tool", "list_discoverable_user_tools")
"""Tools of every customer of the bank, to use what the agent gives it; scenarios do not name them."""
_SHOWN = 4000
"""Characters of one message that a judge sees."""

_SENTENCE = {
    "type": "object",
    "properties": {"why": {"type": "string"}, "true": {"type": "boolean"}},
    "required": ["why", "true"],
}
VERDICT = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": _SENTENCE}},
    "required": ["sentences"],
}


@dataclass
class Customer:
    """A customer with a scenario, who answers the agent and may use tools."""

    llm: LLM
    system: str
    tools: Sequence[Mapping[str, Any]]
    episode: Episode
    _heard: list[Message] = field(default_factory=list)

    def answer(self, message: str) -> tuple[str, bool]:
        """The customer's answer, and whether it ends the conversation.

        Raises an InfrastructureError if the customer says nothing or only calls tools, an LLMError if the model failed.
        """
        self._heard.append({"role": "user", "content": message})
        for _ in range(CALLS_IN_A_ROW):
            messages = [{"role": "system", "content": self.system}, *self._heard]
            reply = with_calls(chat_of(self.llm)(messages, tools=self.tools, max_tokens=MAX_TOKENS), self.tools)
            text, heard = reply.text.strip(), len(self._heard)
            if text and not reply.calls:
                self._heard.append({"role": "assistant", "content": text})
                return text, any(end in text for end in ENDS)
            if not reply.calls:
                break
            calls = [
                call if call.id else call.model_copy(update={"id": f"customer-{heard}-{place}"})
                for place, call in enumerate(reply.calls, 1)
            ]
            self._heard.append(calling(reply.text, calls))
            for call in calls:
                said = check_call(call, self.tools)
                if not said:
                    asked = {"name": call.name, "arguments": call.arguments, "by": "user"}
                    said = str(self.episode.ask("call", **asked)["content"])
                self._heard.append(result(call, said))
        raise InfrastructureError("the simulated customer said nothing: its model gave no answer, or only called tools")


def judge(llm: LLM, sentences: Sequence[str], talk: Sequence[tuple[str, str]]) -> float:
    """Judge sentences about a conversation, given as pairs (who, what): 1.0 if the model finds all true, else 0.0.

    Raises an InfrastructureError if the model does not judge each sentence.
    """
    transcript = "\n".join(f"{who}: {prompt_line(text, _SHOWN)}" for who, text in talk)
    listed = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
    question = (
        f"A conversation between an agent and a customer:\n\n{transcript}\n\nSentences about what the agent did:\n"
        f"{listed}\n\nFor each sentence in its order, say in a few words why it is true of this conversation or "
        'not, and then whether it is. Answer as JSON: {"sentences": [{"why": "..", "true": false}]}'
    )
    answer: Any = None
    with contextlib.suppress(ParseError):
        answer = llm.chat([{"role": "user", "content": question}], schema=VERDICT, max_tokens=MAX_TOKENS).parsed
    verdicts = answer["sentences"] if isinstance(answer, dict) else []
    if len(verdicts) != len(sentences):
        raise InfrastructureError(f"the judge gave {len(verdicts)} verdicts on {len(sentences)} sentences")
    return float(all(each["true"] for each in verdicts))


@dataclass(frozen=True)
class Domain:
    """A domain of the engine; `guidelines` are for the customer, `version` is a sentence about the engine's version."""

    name: str
    solo: bool
    policy: str
    tools: Sequence[dict[str, Any]]
    user_tools: Sequence[dict[str, Any]]
    guidelines: str
    tasks: Sequence[dict[str, Any]]
    version: str


@dataclass(eq=False)
class Tau2Environment:
    """Plays one task at a time; holds a worker from `reset` to the end of the episode or `close`.

    The agent can call every tool of the domain. `models` has the model of the customer (`user`), unless the agent works
    on tickets alone, and perhaps one that judges sentences about the conversation (`judge`).
    """

    episode: Episode
    domain: Domain
    max_steps: int
    models: Mapping[str, LLM]
    _who: Customer | None = field(default=None, init=False)
    _steps: int = field(default=0, init=False)
    _errors: int = field(default=0, init=False)
    _talk: list[tuple[str, str]] = field(default_factory=list, init=False)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a task: return the ticket, or the customer's first message.

        Raises a DataError if there is no such task, an InfrastructureError if the engine failed twice or the customer's
        model failed.
        """
        self._steps, self._errors, self._talk, self._who = 0, 0, [], None
        solo = self.domain.solo
        self.episode.begin("begin", domain=self.domain.name, solo=solo, task=str(task.data.get("task", "")))
        info = {"tools": list(self.domain.tools), "tool_choice": "required" if solo else "auto"}
        if solo:
            return f"Ticket: {task.text}", info
        names = task.data.get("user_tools")
        tools = [each for each in self.domain.user_tools if names is None or each["name"] in (*names, *_ALWAYS)]
        system = f"{self.domain.guidelines}\n\n<scenario>\n{task.data.get('user', '')}\n</scenario>"
        self._who = Customer(self.models["user"], system, tools, self.episode)
        try:
            return f"The customer: {self._say(GREETING)[0]}", info
        except SeasonedError:
            self.close()
            raise

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Use a tool, or say something to the customer; "parts" in the last info is the reward for each basis.

        Raises a ContractError before `reset` and after the end, an InfrastructureError if the engine failed twice or
        the model of the customer or judge failed.
        """
        if self.episode.pid is None:
            raise ContractError("step was called before reset or after the end of the task: call reset(task) first")
        self._steps += 1
        call, over, failed = read_call(action), False, False
        if call is None and self._who is not None:
            observation, over = self._say(action)
        elif call is None:
            observation, failed = UNREAD, True
        elif call.name == DONE and self._who is None:
            observation, over = OVER, True
        else:
            reply = self.episode.ask("call", name=call.name, arguments=call.arguments)
            observation, failed = str(reply["content"]), bool(reply["failed"])
            self._talk.append(("tool", observation))
        self._errors += failed
        info: dict[str, Any] = {"invalid": True} if failed else {}
        if over:
            return self._score(observation)
        if self._steps < self.max_steps and self._errors < MAX_ERRORS:
            return observation, 0.0, False, False, info
        self.close()
        return observation, 0.0, False, True, {**info, "success": False, "reward": 0.0}

    def close(self) -> None:
        """End the task, if there is one, and release its worker. Calling it again does nothing."""
        self.episode.close()

    def _say(self, text: str) -> tuple[str, bool]:
        """The customer's answer to a text of the agent, and whether it ends the conversation."""
        assert self._who is not None
        self.episode.ask("say", text=text)
        self._talk.append(("agent", text))
        answer, over = self._who.answer(text)
        self.episode.ask("say", text=answer, by="user")
        self._talk.append(("customer", answer))
        return answer, over

    def _score(self, observation: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        reply = self.episode.ask("score")
        parts: dict[str, float] = {str(name): float(part) for name, part in reply["parts"].items()}
        if reply["assertions"] and "judge" in self.models:
            parts["NL_ASSERTION"] = judge(self.models["judge"], reply["assertions"], self._talk)
        reward = math.prod(parts.values(), start=1.0)
        self.close()
        return observation, reward, True, False, {"success": reward == 1.0, "reward": reward, "parts": parts}

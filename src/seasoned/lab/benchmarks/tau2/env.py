"""τ²-bench as an Environment: the world in a worker process, a customer who may be simulated, calls as lines of text.

Always holds: whatever an action holds, a step gives Gymnasium's five values; the reward is 1 or 0, as upstream's
evaluators have it, and 0 where the work was cut off; an engine that fails is replaced once, as `Episode` does it; no
model is called but those that were given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seasoned.errors import ContractError, SeasonedError
from seasoned.lab.benchmarks.tau2.customer import Customer
from seasoned.lab.benchmarks.worker import Episode, Workers
from seasoned.replies.calls import read_call
from seasoned.types import Task

DONE = "done"
"""The tool that ends the work on a ticket without a customer to talk to."""
MAX_ERRORS = 10
"""Failed calls and unread texts after which the attempt is ended (upstream's default)."""
GREETING = "Hello! How can I help you today?"
UNREAD = "Nobody reads this: there are calls of tools alone, and done() ends the work."
OVER = "The work on the ticket is over."

Judge = Callable[[Sequence[str], Sequence[tuple[str, str]]], float]
"""Judges sentences about a conversation, which is (who, what) in order: 1.0 where all are true."""
MakeCustomer = Callable[[str, Sequence[str] | None, Callable[[str, dict[str, Any]], str]], Customer]
"""A customer from a scenario, the names of the tools that it may use (None: all), and what uses them."""


@dataclass(eq=False)
class Tau2Environment:
    """One task at a time. It holds a worker from `reset` to the end of the episode or `close`.

    Without `customer` the agent works on a ticket alone. `tools` are those that it is offered; all that the domain has
    can be called. `judge` is asked where a task is judged by sentences.
    """

    workers: Workers
    domain: str
    tools: Sequence[dict[str, Any]]
    max_steps: int
    customer: MakeCustomer | None = None
    judge: Judge | None = None
    _episode: Episode = field(init=False)
    _who: Customer | None = field(default=None, init=False)
    _open: bool = field(default=False, init=False)
    _steps: int = field(default=0, init=False)
    _errors: int = field(default=0, init=False)
    _talk: list[tuple[str, str]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Takes no worker yet."""
        self._episode = Episode(self.workers)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begins a task: the ticket, or what the customer says first. `seed` changes nothing.

        Raises:
            DataError: there is no such task.
            InfrastructureError: the engine failed, twice; or the customer's model did.
        """
        self.close()
        self._steps, self._errors, self._talk, self._who = 0, 0, [], None
        solo = self.customer is None
        self._episode.begin("begin", domain=self.domain, solo=solo, task=str(task.data.get("task", "")))
        self._open = True
        info = {"tools": list(self.tools), "tool_choice": "required" if solo else "auto"}
        if self.customer is None:
            return f"Ticket: {task.text}", info
        self._who = self.customer(str(task.data.get("user", "")), task.data.get("user_tools"), self._used)
        try:
            return f"The customer: {self._answered(GREETING)[0]}", info
        except SeasonedError:
            self.close()
            raise

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Uses a tool, or says something to the customer.

        Returns:
            observation, reward (1.0 when the task is solved), terminated, truncated, info. `info` has "invalid": True
            where a call failed or nobody reads the text, and at the end "success", "reward" and "parts" (what each
            basis of the reward came to).

        Raises:
            ContractError: There was no `reset`, or the task has ended.
            InfrastructureError: the engine failed, twice; or a model that takes part did.
        """
        if not self._open:
            raise ContractError("step was called before reset or after the end of the task: call reset(task) first")
        self._steps += 1
        call, over, wrong = read_call(action), False, False
        if call is None and self._who is not None:
            observation, over = self._answered(action)
        elif call is None:
            observation, wrong = UNREAD, True
        elif call.name == DONE and self._who is None:
            observation, over = OVER, True
        else:
            reply = self._episode.ask("call", name=call.name, arguments=call.arguments)
            observation, wrong = str(reply["content"]), bool(reply["failed"])
            self._talk.append(("tool", observation))
        self._errors += wrong
        info: dict[str, Any] = {"invalid": True} if wrong else {}
        if over:
            return self._scored(observation)
        if self._steps < self.max_steps and self._errors < MAX_ERRORS:
            return observation, 0.0, False, False, info
        self.close()
        return observation, 0.0, False, True, {**info, "success": False, "reward": 0.0}

    def close(self) -> None:
        """Ends the task, if one is open, and gives its worker back. May be called again."""
        self._open = False
        self._episode.close()

    def _used(self, name: str, arguments: dict[str, Any]) -> str:
        """What a tool of the customer gives."""
        return str(self._episode.ask("call", name=name, arguments=arguments, by="user")["content"])

    def _answered(self, said: str) -> tuple[str, bool]:
        """What the customer answers, and whether that ends the conversation."""
        assert self._who is not None
        self._episode.ask("say", text=said)
        self._talk.append(("agent", said))
        answer, over = self._who.answer(said)
        self._episode.ask("say", text=answer, by="user")
        self._talk.append(("customer", answer))
        return answer, over

    def _scored(self, observation: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        score = self._episode.ask("score")
        parts: dict[str, float] = {str(name): float(part) for name, part in score["parts"].items()}
        if score["assertions"] and self.judge is not None:
            parts["NL_ASSERTION"] = self.judge(score["assertions"], self._talk)
        reward = 1.0
        for part in parts.values():
            reward *= part
        self.close()
        return observation, reward, True, False, {"success": reward == 1.0, "reward": reward, "parts": parts}

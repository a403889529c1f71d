"""τ²-bench as an Environment: the world runs in a worker process, a customer may be simulated, and calls are text.

Always holds: for any action, a step returns Gymnasium's five values; the reward is 1 or 0, from upstream's evaluators,
and 0 for a truncated episode; an engine that fails is replaced once, by `Episode`; only the given models are called.
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
"""The tool that ends the work on a ticket without a customer."""
MAX_ERRORS = 10
"""Failed calls and unread texts that end an attempt (upstream's default)."""
GREETING = "Hello! How can I help you today?"
UNREAD = "Nobody reads this: there are calls of tools alone, and done() ends the work."
OVER = "The work on the ticket is over."

Judge = Callable[[Sequence[str], Sequence[tuple[str, str]]], float]
"""Judges sentences about a conversation, given as pairs (who, what) in order: 1.0 if all are true."""
MakeCustomer = Callable[[str, Sequence[str] | None, Callable[[str, dict[str, Any]], str]], Customer]
"""Makes a customer from a scenario, the names of its tools (None: all), and a function that uses a tool."""


@dataclass(eq=False)
class Tau2Environment:
    """Plays one task at a time; holds a worker from `reset` to the end of the episode or `close`.

    Without `customer`, the agent works on a ticket alone. `tools` are the tools that it is offered; it can call every
    tool of the domain. `judge` judges the tasks whose reward contains sentences about the conversation.
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
        """Take no worker yet."""
        self._episode = Episode(self.workers)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a task: return the ticket, or the customer's first message. `seed` has no effect.

        Raises:
            DataError: there is no such task.
            InfrastructureError: the engine failed twice, or the customer's model failed.
        """
        self.close()
        self._steps, self._errors, self._talk, self._who = 0, 0, [], None
        solo = self.customer is None
        self._episode.begin("begin", domain=self.domain, solo=solo, task=str(task.data.get("task", "")))
        self._open = True
        info = {"tools": list(self.tools), "tool_choice": "required" if solo else "auto"}
        if self.customer is None:
            return f"Ticket: {task.text}", info
        self._who = self.customer(str(task.data.get("user", "")), task.data.get("user_tools"), self._use)
        try:
            return f"The customer: {self._say(GREETING)[0]}", info
        except SeasonedError:
            self.close()
            raise

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Use a tool, or say something to the customer.

        Returns:
            observation, reward (1.0 if the task is solved), terminated, truncated, info. `info` has "invalid": True if
            a call failed or nobody reads the text, and at the end "success", "reward" and "parts" (the part of the
            reward for each basis).

        Raises:
            ContractError: there was no `reset`, or the task has ended.
            InfrastructureError: the engine failed twice, or the model of the customer or judge failed.
        """
        if not self._open:
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
            reply = self._episode.ask("call", name=call.name, arguments=call.arguments)
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
        self._open = False
        self._episode.close()

    def _use(self, name: str, arguments: dict[str, Any]) -> str:
        """The result of a call by the customer."""
        return str(self._episode.ask("call", name=name, arguments=arguments, by="user")["content"])

    def _say(self, text: str) -> tuple[str, bool]:
        """The customer's answer to a text of the agent, and whether it ends the conversation."""
        assert self._who is not None
        self._episode.ask("say", text=text)
        self._talk.append(("agent", text))
        answer, over = self._who.answer(text)
        self._episode.ask("say", text=answer, by="user")
        self._talk.append(("customer", answer))
        return answer, over

    def _score(self, observation: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        reply = self._episode.ask("score")
        parts: dict[str, float] = {str(name): float(part) for name, part in reply["parts"].items()}
        if reply["assertions"] and self.judge is not None:
            parts["NL_ASSERTION"] = self.judge(reply["assertions"], self._talk)
        reward = 1.0
        for part in parts.values():
            reward *= part
        self.close()
        return observation, reward, True, False, {"success": reward == 1.0, "reward": reward, "parts": parts}

"""Gaia2's scenarios as an Environment: ARE's apps run in a worker process, and each action is a call of a tool.

Always holds: for any action, a step returns Gymnasium's five values; text that is not a call becomes the message to the
user that ends the turn; an engine that fails is replaced once, by `Episode`; requests to the judge's model come from
this process, so no worker has a key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from seasoned.errors import ContractError
from seasoned.lab.benchmarks.worker import Episode
from seasoned.protocols import LLM
from seasoned.replies.calls import read_call
from seasoned.types import Task, ToolCall

TO_USER = "AgentUserInterface__send_message_to_user"
MAX_ACTION = 20_000
"""Characters of an action; the rest is cut, because no call of these apps is that long."""


@dataclass(eq=False)
class Gaia2Environment:
    """Plays one scenario at a time; holds a worker from `reset` to the end of the episode or `close`.

    `read` returns the text of a task's scenario. An observation is cut to `most` characters. Without `judge`, a model
    that judges texts, only our own scenarios' checks of texts apply. With `told`, the last observation says what the
    judge missed.
    """

    episode: Episode
    read: Callable[[Task], str]
    max_steps: int
    most: int
    judge: LLM | None = None
    told: bool = False
    _steps: int = field(default=0, init=False)
    _last: str = field(default="", init=False)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a scenario: return the user's request, and the "tools" in the info.

        Raises a DataError if the scenario cannot be read or run, an InfrastructureError if the engine failed twice.
        """
        self.close()
        reply = self.episode.begin("load", scenario=self.read(task), soft=self.judge is not None)
        self._steps, self._last = 0, ""
        return f"{reply['observation']}\n\n{reply['time']}", {"tools": reply["tools"]}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Make one call, `name({"argument": value, ..})`; any other text is a message to the user, the "answer".

        Raises a ContractError before `reset` and after the end, an InfrastructureError if the engine failed twice.
        """
        if self.episode.pid is None:
            raise ContractError("step was called before reset or after the end of the scenario: call reset(task) first")
        text = action[:MAX_ACTION]
        call = read_call(text) or ToolCall(name=TO_USER, arguments={"content": text.strip()})
        self._steps += 1
        reply = self.episode.ask("step", tool=call.name, arguments=call.arguments)
        while "ask" in reply:
            assert self.judge is not None
            reply = self.episode.ask("told", text=self.judge.chat(reply["ask"]).text)
        if call.name == TO_USER:
            self._last = str(call.arguments.get("content", ""))
        return self._result(reply)

    def oracle(self) -> list[ToolCall]:
        """The calls that solve the current scenario."""
        return [ToolCall(**call) for call in self.episode.ask("oracle")["calls"]]

    def close(self) -> None:
        """End the scenario, if there is one, and release its worker. Calling it again does nothing."""
        self.episode.close()

    def _result(self, reply: dict[str, Any]) -> tuple[str, float, bool, bool, dict[str, Any]]:
        over, success = bool(reply["over"]), bool(reply.get("success"))
        truncated = not over and self._steps >= self.max_steps
        observation = shortened(str(reply["observation"]), self.most)
        info: dict[str, Any] = {"invalid": True} if reply["invalid"] else {}
        if over or truncated:
            info |= {"success": success, "answer": self._last}
            if self.told and reply.get("why"):
                observation = f"{observation} The user is not content: {reply['why']}"
            self.close()
        return observation, float(success), over, truncated, info


def shortened(text: str, most: int) -> str:
    """The first `most` characters of a text, with a note of how many are missing."""
    return text if len(text) <= most else f"{text[:most]} .. ({len(text) - most} more characters)"

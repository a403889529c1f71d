"""A small shop: an agent at a help desk with the tools lookup, refund, message and done.

A refund is due if the order was delivered within the last 30 days; otherwise the agent tells the customer. Always
holds: for any action, a step returns Gymnasium's five values and raises nothing; a refund without a lookup before it is
a failure.
"""

from __future__ import annotations

import random
import re
from typing import Any

from seasoned.errors import ContractError
from seasoned.types import Task

INSTRUCTION = (
    "You work at the help desk of a shop. A refund is due where the order was delivered at most 30 days ago. Otherwise "
    "tell the customer why not. Actions: lookup[order] shows an order, refund[order] pays the money back, "
    "message[text] writes to the customer, done[] ends the case."
)
STEPS = 6
_ACTION = re.compile(r"\s*(lookup|refund|message|done)\s*\[(.*)\]\s*", re.IGNORECASE | re.DOTALL)
_GOODS = ("kettle", "lamp", "rug", "bicycle pump", "garden chair", "radio", "toaster", "umbrella")
_ASKS = (
    "The {good} hums.",
    "I changed my mind about the {good}.",
    "The {good} is too small.",
    "Half of the {good} is missing.",
)


def tasks(count: int) -> list[Task]:
    """Requests, of which about half are due a refund."""
    rng = random.Random("shop-0")
    requests = []
    for number in range(count):
        order, good, days = f"{rng.choice('BCDFGH')}{100 + number * 7}", rng.choice(_GOODS), rng.randint(1, 60)
        text = f"{rng.choice(_ASKS).format(good=good)} Please refund order {order}."
        data = {"order": order, "good": good, "days": days, "price": rng.randint(9, 80), "answer": days <= 30}
        requests.append(Task(id=f"shop-0-{number}", text=text, data=data))
    return requests


class Shop:
    """One request at a time; with `reveal`, the last observation says whether it was handled rightly."""

    def __init__(self, reveal: bool) -> None:
        self.reveal = reveal
        self._task: Task | None = None
        self._steps = 0
        self._done: list[str] = []

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a case."""
        self._task, self._steps, self._done = task, 0, []
        return task.text, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action; ContractError if there was no `reset`, or the case has ended."""
        if self._task is None:
            raise ContractError("step was called before reset or after the end of the case: call reset(task) first")
        self._steps += 1
        match, data = _ACTION.fullmatch(action), self._task.data
        name, argument = (match[1].lower(), match[2].strip()) if match else ("", "")
        known = argument.upper() == data["order"]
        if name == "done":
            return self._ended()
        self._done.append(name)
        if name == "message":
            observation = "The message was sent."
        elif name in ("lookup", "refund") and not known:
            observation = f"There is no order {argument[:40]!r}."
            self._done[-1] = ""
        elif name == "lookup":
            observation = f"{data['order']}: {data['good']}, price {data['price']}, delivered {data['days']} days ago."
        else:
            observation = "The money was paid back." if name else "There are lookup, refund, message and done."
        if self._steps >= STEPS:
            return self._ended(cut=True)
        return observation, 0.0, False, False, {} if self._done[-1] else {"invalid": True}

    def close(self) -> None:
        """End the case, if one is open. May be called again."""
        self._task = None

    def _ended(self, cut: bool = False) -> tuple[str, float, bool, bool, dict[str, Any]]:
        assert self._task is not None
        paid = "refund" in self._done
        looked = not paid or "lookup" in self._done[: self._done.index("refund")]
        success = not cut and looked and paid is bool(self._task.data["answer"]) and (paid or "message" in self._done)
        self._task = None
        verdict = ("Right." if success else "Wrong.") if self.reveal else ""
        return verdict, float(success), not cut, cut, {"success": success, "reward": float(success)}

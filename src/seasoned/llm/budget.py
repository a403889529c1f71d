"""Counts the usage of model calls, and limits it.

Always holds: no call starts at or beyond a limit. The call that crosses a limit is counted and its reply returned; the
next one is refused. Concurrent calls in other threads may finish beyond a limit on tokens or cost; the limit on calls
is exact, except for the re-ask inside one call with a schema.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, Unpack

from seasoned.errors import BudgetExceeded, ConfigError, LLMError
from seasoned.llm.structured import with_parsed
from seasoned.llm.tools import chat_of
from seasoned.llm.window import window_of
from seasoned.protocols import LLM
from seasoned.types import ChatOptions, Message, Reply, Usage

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Budget:
    """Limits on the usage of model calls; None is no limit, 0 allows no call.

    Args:
        tokens: prompt and completion tokens together, including cached ones.
        cost: US dollars. A reply of unknown cost never crosses this limit: see `Metered.cost_known`.
        calls: model calls, including replayed ones, so that a resumed run stops where the first would have.
        seconds: elapsed time since the `Metered` was made.
    """

    tokens: int | None = None
    cost: float | None = None
    calls: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            if limit is not None and not limit >= 0:
                raise ConfigError(f"the budget's {field.name} must be a number from 0 up, not {limit!r}")


class Metered:
    """A model that counts its usage and stops at a budget, if it has one. Safe to share between threads.

    Args:
        llm: the model that answers.
        budget: the limits.
        scope: what the limits apply to, for the message and `BudgetExceeded.scope`.
        parent: another meter, such as the run's, that also counts these calls and whose limits also apply.
        used: earlier usage, so that a resumed run stops where the first would have.
        before: called before each call is counted; if it raises, `chat` raises the same error and sends nothing.

    `cost_known` becomes False with the first reply of unknown cost. From then on, `usage.cost` is None, and a limit on
    cost applies only to the known part.
    """

    def __init__(
        self,
        llm: LLM,
        budget: Budget | None = None,
        *,
        scope: Literal["episode", "run"] = "episode",
        parent: Metered | None = None,
        used: Usage | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        self.name, self.scope, self.budget = llm.name, scope, budget or Budget()
        self._llm, self._before, self._usage = llm, before, used or Usage()
        self._known_cost = self._usage.cost or 0.0
        self.cost_known = self._usage.cost is not None
        self._meters: tuple[Metered, ...] = (*(parent._meters if parent else ()), self)
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._in_flight = 0

    @property
    def usage(self) -> Usage:
        """The usage of the replies so far."""
        return self._usage

    @property
    def window(self) -> int | None:
        """The window of the underlying model."""
        return window_of(self._llm)

    def chat(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        """Get a reply of the model, and count its usage.

        Raises:
            BudgetExceeded: a limit was reached before this call; nothing was sent.
            ParseError: with `schema`: the model gave no `parsed`, and its text does not fit.
        """
        started: list[Metered] = []
        usage = Usage()
        try:
            for meter in self._meters:
                meter._start()
                started.append(meter)
            reply = chat_of(self._llm)(messages, **options)
            usage = reply.usage
            schema = None if options.get("tools") else options.get("schema")
            return reply if schema is None else with_parsed(reply, schema, self.name)
        except LLMError as error:
            if isinstance(error.reply, Reply):
                usage = error.reply.usage
            raise
        finally:
            for meter in started:
                meter._count(usage, ended=1)

    def add(self, usage: Usage) -> None:
        """Count other usage, also in the parent meters; limits are only checked before the next call."""
        for meter in self._meters:
            meter._count(usage)

    def check(self) -> None:
        """Raise BudgetExceeded if a limit is reached, so that the next call would be refused."""
        with self._lock:
            self._check()

    def _start(self) -> None:
        if self._before is not None:
            self._before()
        with self._lock:
            self._check()
            self._in_flight += 1

    def _check(self) -> None:
        used = {
            "tokens": self._usage.tokens,
            "cost": self._known_cost,
            "calls": self._usage.calls + self._usage.replayed + self._in_flight,
            "seconds": time.monotonic() - self._began,
        }
        for name, amount in used.items():
            limit = getattr(self.budget, name)
            if limit is not None and amount >= limit:
                raise BudgetExceeded(
                    f"the {self.scope}'s budget of {_amount(name, limit)} is used up ({_amount(name, amount)} so far): "
                    f"raise `{name}` in the budget of the {self.scope} to go on (of an experiment: "
                    f"-c {self.scope}_limits.{name}=..)",
                    self.scope,
                )

    def _count(self, usage: Usage, ended: int = 0) -> None:
        """Count the usage of this many calls that have ended; 0: the usage comes from elsewhere."""
        with self._lock:
            self._in_flight -= ended
            self._usage += usage
            self._known_cost += usage.cost or 0.0
            if self.cost_known and self._usage.cost is None and self.budget.cost is not None:
                log.warning(
                    "the price of %s is unknown, so the limit of $%s on the %s's cost does not hold: limit its tokens",
                    "a model of this run" if self.scope == "run" else self.name,
                    self.budget.cost,
                    self.scope,
                )
            self.cost_known = self._usage.cost is not None


def _amount(name: str, value: float) -> str:
    if name == "cost":
        return f"${value:.4f}"
    return f"{value:,.2f} seconds" if name == "seconds" else f"{value:,} {name if value != 1 else name[:-1]}"

"""Learning that nobody asks for: in the background, once it has been quiet for a moment, within a budget a day.

Always holds: nothing is learned on the caller's thread, and no thread waits where there is nothing to learn; what is to
be learned when a memory closes or the program ends is learned before; what goes wrong is logged, and tried again with
the next attempt; a call that would begin beyond the day's budget is not made.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seasoned.errors import BudgetExceeded, ConfigError, SeasonedError
from seasoned.llm.opening import BUNDLED
from seasoned.memory.equals import attempt_key
from seasoned.memory.learning import way_of
from seasoned.memory.opening import judge
from seasoned.memory.verdicts import revise
from seasoned.protocols import LLM, Method
from seasoned.store.waiting import pending, waits
from seasoned.types import Usage, now

if TYPE_CHECKING:
    from seasoned.memory.screened import ScreenedPool
    from seasoned.store.sql import Store

log = logging.getLogger(__name__)

QUIET = 2.0
"""Seconds without a new attempt or outcome after which it learns."""
LONGEST = 30.0
"""Seconds after which it learns however busy it is."""
TOKENS = 1_000_000
"""The budget a day where none is given."""
_GUESS = 1500  # tokens of a call, before any was made
_COUNTED = 200  # attempts that an estimate looks at one by one
_BUDGET = re.compile(r"\s*(\$?)\s*(\d[\d_,]*(?:\.\d+)?|\.\d+)\s*([kKmM]?)\s*(?:tokens)?\s*")
_TIMES = {"": 1, "k": 1000, "m": 1_000_000}


@dataclass(frozen=True)
class DayBudget:
    """What learning in the background may use a day, in tokens or in US dollars; None is no limit."""

    tokens: int | None = TOKENS
    cost: float | None = None

    @classmethod
    def read(cls, given: object) -> DayBudget:
        """The budget of "$0.50", "200k tokens", a number of tokens, or None for no limit.

        Raises:
            ConfigError: when it is none of these.
        """
        if given is None:
            return cls(tokens=None)
        if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
            return cls(tokens=given)
        match = _BUDGET.fullmatch(given) if isinstance(given, str) else None
        if match is None:
            raise ConfigError(f"learn_budget is '$0.50' or a number of tokens a day, and was {given!r:.80}")
        dollars, number, times = match.groups()
        value = float(re.sub(r"[_,]", "", number)) * _TIMES[times.lower()]
        return cls(tokens=None, cost=value) if dollars else cls(tokens=int(value))

    def __str__(self) -> str:
        if self.cost is not None:
            return f"${self.cost:,.2f} a day"
        return "no limit" if self.tokens is None else f"{self.tokens:,} tokens a day"


@dataclass(frozen=True)
class ToLearn:
    """What learning now would take: attempts, calls of the model, tokens and dollars (None: the price is unknown).

    `waiting` are the attempts that would teach nothing now, by the reason; `spent_today` what learning has used today.
    """

    attempts: int
    calls: int
    tokens: int
    cost: float | None
    model: str
    waiting: dict[str, int]
    spent_today: Usage

    def __str__(self) -> str:
        price = "price unknown" if self.cost is None else f"about ${self.cost:,.4f}" if self.cost else "free"
        what = f"{self.attempts:,} {'attempt' if self.attempts == 1 else 'attempts'}"
        calls = f"{self.calls:,} {'call' if self.calls == 1 else 'calls'} of {self.model}" if self.model else "no model"
        return f"{what} to learn from: {calls}, about {self.tokens:,} tokens, {price}"


class Ledger:
    """What learning in one namespace has used, day by day (UTC), whichever program it was."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store, self._scope = store, f"{scope}/spent"

    def add(self, usage: Usage) -> None:
        """Count what was used now."""
        if usage.calls or usage.tokens:
            with self._store.transaction(self._scope):
                self._store.mark(self._scope, now()[:10], (self.today() + usage).model_dump())

    def today(self) -> Usage:
        """What was used today."""
        return _usage(self._store.marked(self._scope, now()[:10]))

    def all(self) -> Usage:
        """What was ever used."""
        return sum(map(_usage, self._store.marks(self._scope).values()), Usage())

    def check(self, budget: DayBudget, more: Usage) -> None:
        """See that another call may begin.

        Args:
            budget: of a day.
            more: what was used and is not counted here yet.

        Raises:
            BudgetExceeded: it may not today.
        """
        used = self.today() + more
        if budget.cost is not None and used.cost is None:
            raise BudgetExceeded(
                f"the price of the model is unknown, so a budget of {budget} cannot be kept: give learn_budget in "
                "tokens, such as learn_budget='500k tokens'",
                "run",
            )
        spent = used.cost is not None and budget.cost is not None and used.cost >= budget.cost
        if spent or (budget.tokens is not None and used.tokens >= budget.tokens):
            raise BudgetExceeded(f"today's budget for learning is used up ({budget}); it continues tomorrow", "run")


class Background:
    """Runs work on a thread of its own once it is quiet; the thread ends when nothing is left to do."""

    def __init__(self, work: Callable[[], Any], *, quiet: float = QUIET, longest: float = LONGEST) -> None:
        self._work, self._quiet, self._longest = work, quiet, longest
        self._change = threading.Condition()
        self._first = self._last = 0.0  # when the work that waits was first and last asked for; 0.0 where none is
        self._hurry = False
        self._thread: threading.Thread | None = None

    def poke(self) -> None:
        """There is something to do; costs microseconds."""
        with self._change:
            self._last = time.monotonic()
            self._first = self._first or self._last
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="seasoned-auto-learning")
                self._thread.start()

    def done(self) -> None:
        """Somebody else has done what waited."""
        with self._change:
            self._first = 0.0
            self._change.notify()

    def flush(self) -> None:
        """Do at once what waits, and return when it is done."""
        with self._change:
            thread, self._hurry = self._thread, True
            self._change.notify()
        if thread is not None:
            thread.join()
        self._hurry = False

    def _run(self) -> None:
        while self._due():
            try:
                self._work()
            except BudgetExceeded as error:
                log.info("learning in the background waits: %s", error)
            except SeasonedError as error:
                log.warning("learning in the background stopped, and is tried again: %s", error)
            except Exception:
                log.exception("learning in the background stopped by an error")

    def _due(self) -> bool:
        """Wait until it is quiet; False where nothing waits any more, and then this thread is at its end."""
        main = threading.main_thread()
        with self._change:
            while self._first:
                present = time.monotonic()
                due = min(self._last + self._quiet, self._first + self._longest)
                if self._hurry or present >= due or not main.is_alive():
                    self._first = 0.0
                    return True
                self._change.wait(min(due - present, 0.2))  # not longer: the program may have come to its end
            self._thread = None
            return False


def judge_unknown(llm: LLM, pools: tuple[ScreenedPool, ...], name: str, way: str) -> int:
    """Let a model judge the attempts that nobody has judged and that a method has not learned from; gives how many.

    The verdict is the model's, beside the unknown one; where the model fails, the attempt stays unknown.
    """
    count = 0
    for pool in pools:
        for attempt in pending(pool.store, pool.experience, name, way, None):
            if attempt.outcome.success is not None or attempt.outcome.reason == "error" or "judged" in attempt.meta:
                continue
            judged = judge(attempt, llm)
            if judged.outcome.success is None:
                continue
            with pool.store.transaction(*pool.scopes):
                there = pool.store.get_trajectory(attempt.id)
                if there is not None and there.outcome.success is None:
                    said = judged.meta["judged"]
                    revise(pool, attempt.id, judged.outcome, who="model", why=str(said["reason"]), judged=said)
                    count += 1
    return count


def to_learn(
    method: Method, name: str, model: str, pools: tuple[ScreenedPool, ...], ledger: Ledger, *, judges: bool
) -> ToLearn:
    """Estimate what learning now would take, from the attempts that are there and what calls took before."""
    store, way = pools[0].store, way_of(method)
    attempts = [attempt for pool in pools for attempt in pending(store, pool.experience, name, way, None)]
    calls = 0
    if getattr(method, "llm", None) is not None:
        looked = attempts[:_COUNTED]
        single = len({attempt_key(attempt) for attempt in looked})
        calls = single + len(attempts) - len(looked)
        if judges:
            calls += sum(attempt.outcome.success is None for attempt in attempts)
    used = ledger.all()
    each = used.tokens / used.calls if used.calls else _GUESS
    price = None if used.cost is None or not used.calls else used.cost / used.calls
    if model in BUNDLED:
        price = 0.0
    elif not used.calls and model:
        from seasoned.llm.openai import cost

        price = cost(model, None, prompt_tokens=_GUESS - 300, cached_tokens=0, completion_tokens=300)
    reasons: dict[str, int] = {}
    fresh = {attempt.id for attempt in attempts}
    for pool in pools:
        for wait in waits(store, pool.experience, name):
            if wait.trajectory_id not in fresh:
                said = wait.why.partition(":")[0]
                reasons[said] = reasons.get(said, 0) + 1
    money = 0.0 if not calls else None if price is None else round(price * calls, 6)
    return ToLearn(len(attempts), calls, round(each * calls), money, model, reasons, ledger.today())


def _usage(kept: object) -> Usage:
    try:
        return Usage.model_validate(kept or {})
    except ValueError:
        return Usage()

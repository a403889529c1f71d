"""Automatic learning: in the background, after a quiet moment, within a daily budget.

Always holds: learning never runs on the caller's thread, and no thread waits while there is nothing to learn; pending
learning is done before a memory closes or the program ends; an error is logged, and learning is tried again after the
next attempt; no call begins beyond the day's budget.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter
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

QUIET = 2.0  # seconds without a new attempt or outcome before learning begins
MAX_DELAY = 30.0  # seconds after which learning begins even if attempts keep arriving
TOKENS = 1_000_000  # the default daily budget, in tokens
_CALL_TOKENS = 1500  # assumed for a call until one was made
_COMPARED = 200  # attempts that an estimate compares, to count equal ones once
_BUDGET = re.compile(r"\s*(\$?)\s*(\d[\d_,]*(?:\.\d+)?|\.\d+)\s*([kKmM]?)\s*(?:tokens)?\s*")
_FACTORS = {"": 1, "k": 1000, "m": 1_000_000}


@dataclass(frozen=True)
class DayBudget:
    """The daily limit of background learning, in tokens or US dollars; None is no limit."""

    tokens: int | None = TOKENS
    cost: float | None = None

    @classmethod
    def read(cls, given: object) -> DayBudget:
        """Read "$0.50", "200k tokens", a number of tokens, or None for no limit; ConfigError for anything else."""
        if given is None:
            return cls(tokens=None)
        if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
            return cls(tokens=given)
        match = _BUDGET.fullmatch(given) if isinstance(given, str) else None
        if match is None:
            raise ConfigError(f"learn_budget must be like '$0.50' or '200k tokens', not {given!r:.80}")
        dollars, number, suffix = match.groups()
        value = float(re.sub(r"[_,]", "", number)) * _FACTORS[suffix.lower()]
        return cls(tokens=None, cost=value) if dollars else cls(tokens=int(value))

    def __str__(self) -> str:
        if self.cost is not None:
            return f"${self.cost:,.2f} a day"
        return "no limit" if self.tokens is None else f"{self.tokens:,} tokens a day"


@dataclass(frozen=True)
class ToLearn:
    """An estimate of learning now: attempts, model calls, tokens and dollars (None: the price is unknown).

    `waiting` counts the attempts that would teach nothing now, by reason; `spent_today` is today's usage of learning.
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
    """The usage of learning in one namespace, by day (UTC), of all programs."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store, self._scope = store, f"{scope}/spent"

    def add(self, usage: Usage) -> None:
        """Add to today's usage."""
        if usage.calls or usage.tokens:
            with self._store.transaction(self._scope):
                self._store.mark(self._scope, now()[:10], (self.today() + usage).model_dump())

    def today(self) -> Usage:
        """Today's usage."""
        return Usage.model_validate(self._store.marked(self._scope, now()[:10]) or {})

    def all(self) -> Usage:
        """The usage of all days."""
        return sum(map(Usage.model_validate, self._store.marks(self._scope).values()), Usage())

    def check(self, budget: DayBudget, more: Usage) -> None:
        """Raise BudgetExceeded if today's usage and `more` are at the daily budget, or if a price in it is unknown."""
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
    """Runs work on its own thread after a quiet moment; the thread ends when no work is pending."""

    def __init__(self, work: Callable[[], Any], *, quiet: float = QUIET, longest: float = MAX_DELAY) -> None:
        self._work, self._quiet, self._longest = work, quiet, longest
        self._change = threading.Condition()
        self._first = self._last = 0.0  # when pending work was first and last requested; 0.0: none is
        self._hurry = False
        self._thread: threading.Thread | None = None

    def poke(self) -> None:
        """Request the work; costs microseconds."""
        with self._change:
            self._last = time.monotonic()
            self._first = self._first or self._last
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="seasoned-auto-learning")
                self._thread.start()

    def done(self) -> None:
        """Drop the pending request: the caller does the work itself."""
        with self._change:
            self._first = 0.0
            self._change.notify()

    def flush(self) -> None:
        """Do pending work at once, and return when it is done."""
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
                log.warning("learning in the background stopped, and will be tried again: %s", error)
            except Exception:
                log.exception("learning in the background stopped by an error")

    def _due(self) -> bool:
        """Wait until the work is due; False if none is pending any more, so that this thread ends."""
        main = threading.main_thread()
        with self._change:
            while self._first:
                present = time.monotonic()
                due = min(self._last + self._quiet, self._first + self._longest)
                if self._hurry or present >= due or not main.is_alive():
                    self._first = 0.0
                    return True
                self._change.wait(min(due - present, 0.2))  # wake up often: the main thread may have ended
            self._thread = None
            return False


def judge_unknown(llm: LLM, pools: tuple[ScreenedPool, ...], name: str, way: str) -> int:
    """Let a model judge the attempts without a verdict that a method has not learned from; return how many.

    The model is recorded as the author of the verdict. If it fails, the attempt stays unknown.
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
                stored = pool.store.get_trajectory(attempt.id)
                if stored is not None and stored.outcome.success is None:
                    verdict = judged.meta["judged"]
                    revise(pool, attempt.id, judged.outcome, who="model", why=str(verdict["reason"]), judged=verdict)
                    count += 1
    return count


def to_learn(
    method: Method, name: str, model: str, pools: tuple[ScreenedPool, ...], ledger: Ledger, *, judges: bool
) -> ToLearn:
    """Estimate what learning now would use, from the pending attempts and the usage of earlier calls."""
    store, way = pools[0].store, way_of(method)
    attempts = [attempt for pool in pools for attempt in pending(store, pool.experience, name, way, None)]
    calls = 0
    if getattr(method, "llm", None) is not None:
        compared = attempts[:_COMPARED]
        distinct = len({attempt_key(attempt) for attempt in compared})
        calls = distinct + len(attempts) - len(compared)
        if judges:
            calls += sum(attempt.outcome.success is None for attempt in attempts)
    used = ledger.all()
    call_tokens = used.tokens / used.calls if used.calls else _CALL_TOKENS
    price = None if used.cost is None or not used.calls else used.cost / used.calls
    if model in BUNDLED:
        price = 0.0
    elif not used.calls and model:
        from seasoned.llm.openai import cost

        price = cost(model, None, prompt_tokens=_CALL_TOKENS - 300, cached_tokens=0, completion_tokens=300)
    pending_ids = {attempt.id for attempt in attempts}
    left = (wait for pool in pools for wait in waits(store, pool.experience, name))
    reasons = Counter(wait.why.partition(":")[0] for wait in left if wait.trajectory_id not in pending_ids)
    money = 0.0 if not calls else None if price is None else round(price * calls, 6)
    return ToLearn(len(attempts), calls, round(call_tokens * calls), money, model, dict(reasons), ledger.today())

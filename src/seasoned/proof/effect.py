"""The effect of guidance in production, with an interval that may be inspected every day.

A holdout decides by a keyed hash, never by the caller, which attempts get no guidance. What was shown, what was held
back and the outcomes give an interval for the effect (a confidence sequence by betting, Waudby-Smith and Ramdas 2023),
and the evidence that lessons do harm (a test supermartingale), by which a lesson is retired. Both are valid at every
number of attempts, however often they are inspected.

Always holds: functions are pure; an outcome is in [0, 1]; the bet on an attempt depends only on earlier ones.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seasoned.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHA = 0.05
"""The risk that an interval misses the effect, and the risk that any of a memory's harmless lessons is retired."""
_STAKES = (0.03, 0.1, 0.2, 0.4)  # shares of the largest bet that cannot lose all
_GRID = 401  # candidate effects, from -1 to 1
_RARE = 1e-9  # the least probability that is computed with


@dataclass(frozen=True)
class Use:
    """One attempt as evidence: whether the lessons were `shown`, with which probability, and the outcome in [0, 1]."""

    shown: bool
    chance: float
    outcome: float


@dataclass(frozen=True)
class Effect:
    """An effect (0.1 is ten points) with its always-valid interval, and the attempts behind it; as text, in points."""

    value: float
    low: float
    high: float
    shown: int
    withheld: int

    @property
    def verdict(self) -> str:
        """The interval's verdict: "helps", "harms" or "not known yet"."""
        return "helps" if self.low > 0 else "harms" if self.high < 0 else "not known yet"

    def __str__(self) -> str:
        value, low, high = (f"{round(100 * each):+d}" for each in (self.value, self.low, self.high))
        return f"{value} points ({low} to {high}) from {self.shown:,} attempts with and {self.withheld:,} without"


def is_withheld(key: bytes, attempt: str, share: float, what: str = "") -> bool:
    """Whether to withhold all guidance, or the lesson of the id `what`, from an attempt, with the probability `share`.

    It is decided by a hash keyed with a secret of the memory, so that nobody can choose the attempts.
    """
    drawn = hmac.new(key, f"{attempt}\n{what}".encode(), hashlib.sha256).digest()
    return int.from_bytes(drawn[:8], "big") < share * 2**64


def effect(uses: Sequence[Use]) -> Effect:
    """The effect of showing lessons, with an interval that is valid at every number of attempts with 1 - ALPHA.

    `uses` are attempts with a known outcome, in the order in which the outcomes arrived.

    Raises:
        ConfigError: there is no attempt, or nothing was ever withheld; the message says how to begin.
    """
    import numpy as np

    shown = sum(use.shown for use in uses)
    if not uses or all(use.chance in (0.0, 1.0) for use in uses):
        raise ConfigError(
            "an effect needs attempts that are held out, and there are none: open the memory with holdout=0.1, and one "
            "attempt in ten gets no guidance"
        )
    effects = np.linspace(-1.0, 1.0, _GRID)
    up, down = (np.zeros((len(_STAKES), _GRID)) for _ in "ud")  # logarithms of each stake's winnings
    stakes = np.array(_STAKES)[:, None]
    scores, total = [], 0.0
    for earlier, use in enumerate(uses):
        each, least, most = _score(use, _guess(total, earlier))
        total += use.outcome
        scores.append(each)
        up += np.log1p(stakes * (each - effects) / np.maximum(effects - least, 1e-9))
        down += np.log1p(-stakes * (each - effects) / np.maximum(most - effects, 1e-9))
    up, down = _mean(up), _mean(down)
    kept = effects[np.logaddexp(up, down) - np.log(2) < np.log(1 / ALPHA)]
    value = float(np.clip(np.mean(scores), -1, 1))
    if not len(kept):  # the effect changed, so no value fits: the interval spans what each side alone allows
        kept = np.sort([value, effects[up < np.log(2 / ALPHA)][0], effects[down < np.log(2 / ALPHA)][-1]])
    return Effect(value, float(kept[0]), float(kept[-1]), shown=shown, withheld=len(uses) - shown)


@dataclass(frozen=True)
class Evidence:
    """The evidence of harm, updated with each attempt: a test supermartingale.

    If the effect is not negative, its `value` ever reaches 1 / alpha with a probability of at most alpha (Ville). It is
    the mean over stakes of the products of 1 - stake X_t, with X_t = (Y_t - f_t) [Z_t / c - (1 - Z_t) / (1 - c)], c the
    chance of being shown and f_t the mean outcome so far. `total` is the sum of the outcomes, `logs` are the logarithms
    of the products.
    """

    uses: int = 0
    total: float = 0.0
    logs: tuple[float, ...] = (0.0,) * len(_STAKES)

    @property
    def value(self) -> float:
        """The winnings of a gambler who bets on harm, starting from 1."""
        return sum(math.exp(min(each, 700.0)) for each in self.logs) / len(self.logs)

    def after(self, use: Use) -> Evidence:
        """The evidence after one more attempt."""
        x, _, high = _score(use, _guess(self.total, self.uses))
        logs = tuple(log + math.log1p(-stake * x / high) for log, stake in zip(self.logs, _STAKES, strict=True))
        return Evidence(self.uses + 1, self.total + use.outcome, logs)


def _guess(total: float, uses: int) -> float:
    """The mean of the earlier outcomes, plus one half-solved attempt."""
    return (0.5 + total) / (1.0 + uses)


def _score(use: Use, guess: float) -> tuple[float, float, float]:
    """A number whose mean is the effect, and its least and greatest possible values."""
    chance = min(max(use.chance, _RARE), 1 - _RARE)
    x = (use.outcome - guess) * (1 / chance if use.shown else -1 / (1 - chance))
    low = -max(guess / chance, (1 - guess) / (1 - chance))
    return x, low, max((1 - guess) / chance, guess / (1 - chance))


def _mean(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of the mean, over the first axis, of the exponentials."""
    import numpy as np

    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)), dtype=float)

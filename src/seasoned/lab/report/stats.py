"""Statistics of a comparison: paired tests, means, pass@k and pass^k.

Tests are exact if that is cheap; SciPy is imported on first use, and without it they raise `MissingExtraError`. Always
holds: without episodes, a function returns None or raises `DataError` instead of dividing by zero; a task that occurs
several times, such as under several seeds, is one observation of a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, lcm, sqrt
from typing import Any, Literal, TypeVar

from seasoned.errors import DataError, MissingExtraError

Key = TypeVar("Key")

EpisodeKey = tuple[int, int, int, str]
"""(seed, fold, run of the test, task id); episodes of two conditions with the same key are a pair.

The last part alone identifies the task.
"""

_CELLS = 1 << 20  # of a distribution of sums: a few milliseconds a task at most


@dataclass(frozen=True)
class Paired:
    """Two conditions on the same episodes: how many were solved by both, one or neither, and the two-sided p of a test.

    `tasks` is the number of distinct tasks, which are the observations of the test.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    p: float
    tasks: int
    test: Literal["mcnemar", "sign-flip"]

    @property
    def n(self) -> int:
        """Episodes that both conditions finished."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def points(self) -> float | None:
        """The rate of b minus the rate of a on the common episodes, in percentage points; None if there are none."""
        return 100 * (self.only_b - self.only_a) / self.n if self.n else None


def _binomtest(successes: int, n: int) -> Any:
    try:
        from scipy.stats import binomtest
    except ImportError as error:
        raise MissingExtraError("eval", "scipy") from error
    return binomtest(successes, n, 0.5)


def require() -> None:
    """Check before a run that SciPy is installed."""
    _binomtest(0, 1)


def paired(a: Mapping[EpisodeKey, bool], b: Mapping[EpisodeKey, bool]) -> Paired:
    """Compare two conditions on the episodes that both finished, each task being one observation.

    `a` and `b` say by (seed, fold, run, task id) whether it was solved. If every task occurs once, the test is
    `mcnemar`; if one occurs under several seeds, folds or runs, it is `sign_flip` of the mean difference of each task,
    which gives the same p if each occurs once.
    """
    exact = mcnemar(a, b)
    differences = _by_task((key, Fraction(b[key] - a[key])) for key in a if key in b)
    if len(differences) == exact.n:
        return exact
    return replace(exact, p=sign_flip(differences), tasks=len(differences), test="sign-flip")


def _by_task(differences: Iterable[tuple[EpisodeKey, Fraction]]) -> list[Fraction]:
    """The mean difference of each task over its seeds, folds and runs."""
    tasks: dict[str, list[Fraction]] = {}
    for key, difference in differences:
        tasks.setdefault(key[-1], []).append(difference)
    return [sum(each, Fraction()) / len(each) for each in tasks.values()]


def mcnemar(a: Mapping[Key, bool], b: Mapping[Key, bool]) -> Paired:
    """Exact two-sided McNemar test over the tasks that both conditions attempted; each key is a separate task.

    p is 1.0 if no task has different outcomes.
    """
    common = [key for key in a if key in b]
    both = sum(a[key] and b[key] for key in common)
    only_a = sum(a[key] and not b[key] for key in common)
    only_b = sum(b[key] and not a[key] for key in common)
    p = 1.0
    if only_a + only_b:
        p = min(1.0, float(_binomtest(only_a, only_a + only_b).pvalue))
    neither = len(common) - both - only_a - only_b
    return Paired(both, only_a, only_b, neither, p, tasks=len(common), test="mcnemar")


def mean_and_error(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The mean and its standard error, over seeds, folds or runs; None without values, and for one the error."""
    n = len(values)
    if not n:
        return (None, None)
    mean = sum(values) / n
    if n == 1:
        return (mean, None)
    return (mean, sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n))


def sign_flip(differences: Sequence[Fraction]) -> float:
    """The two-sided p of paired differences: how often random signs give a sum at least as far from 0.

    It is Fisher's randomisation test; if all differences are -1, 0 or 1, it is McNemar's. Without differences, p is 1.
    It is exact, unless the common denominator is too large: then p is computed on a coarser grid, and never too small.
    """
    import numpy as np

    scale, slack = lcm(*(each.denominator for each in differences)), 0
    if scale * len(differences) > _CELLS:
        scale, slack = _CELLS // len(differences), len(differences)  # each is off by half a cell, and so are its signs
    rounded = [round(each * scale) for each in differences]
    sizes = [abs(each) for each in rounded if each]
    # A sum is the total size minus twice the negative sizes, so p is twice the lower tail of the negative sizes.
    tail = (sum(sizes) - abs(sum(rounded)) + slack) // 2
    if 2 * tail >= sum(sizes):
        return 1.0
    chances = np.zeros(tail + 1)
    chances[0] = 1.0
    for size in sizes:
        if size <= tail:
            chances[size:] += chances[:-size].copy()
        chances /= 2
    return min(1.0, 2 * float(chances.sum()))


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of the chance that one of k attempts succeeds, from c successes in n (ERL, figure 3)."""
    _check_attempts(n, c, k)
    return 1 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of the chance that all of k attempts succeed, from c successes in n (ERL, figure 3)."""
    _check_attempts(n, c, k)
    return comb(c, k) / comb(n, k)


def _check_attempts(n: int, c: int, k: int) -> None:
    """Raise DataError unless 0 <= c <= n and 1 <= k <= n."""
    if not 0 <= c <= n:
        raise DataError(f"successes must lie between 0 and the number of attempts: got {c} of {n}")
    if not 1 <= k <= n:
        raise DataError(f"k must lie between 1 and the number of attempts: got k = {k} with {n} attempts")

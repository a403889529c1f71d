"""The gate: a set of lessons is promoted only if it wins held-back tasks against the same agent without lessons.

Each gate task is attempted twice, without lessons and with the candidate's. With `won` tasks solved only with the
lessons and `lost` tasks solved only without them, p is from the exact one-sided sign test. There are two looks, one
after half of the tasks. The levels of both looks and all candidates add up to `RISK`: by the union bound, a run deploys
a set that does not help with a probability of at most `RISK`, for every number of tasks and every share of ties.

Always holds: every function is pure, and a decision depends only on the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from seasoned.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIRST, LAST = 0.02, 0.03
"""The levels of the look at half of the tasks and of the last look, for one candidate."""
RISK = FIRST + LAST
"""The greatest probability that a run deploys lessons that do not help."""

Verdict = Literal["promote", "stop", "continue"]


class Look(BaseModel):
    """One look at a candidate: after `tasks` gate tasks, `won` by the lessons, `lost` to them; `level` is p's limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: int
    won: int
    lost: int
    p: float
    level: float
    verdict: Verdict


def sign_test(won: int, lost: int) -> float:
    """The exact probability of at least `won` heads in `won + lost` throws of a fair coin."""
    thrown = won + lost
    return sum(comb(thrown, heads) for heads in range(won, thrown + 1)) / (1 << thrown)


def look(won: int, lost: int, *, tasks: int, last: bool, candidates: int = 1) -> Look:
    """Decide on a candidate after `tasks` gate tasks, ties included.

    At half of the tasks, it is promoted if p is at most `FIRST` / candidates, rejected if it won no more than it lost,
    and tried further otherwise. At the end, it is promoted if p is at most `LAST` / candidates. `candidates` is the
    number of sets of lessons that the run tries.
    """
    p, level = sign_test(won, lost), (LAST if last else FIRST) / candidates
    verdict: Verdict = "promote" if p <= level else "stop" if last or won <= lost else "continue"
    return Look(tasks=tasks, won=won, lost=lost, p=p, level=level, verdict=verdict)


def looks(differences: Sequence[float], *, planned: int, candidates: int = 1) -> list[Look]:
    """The looks at a candidate, in order; the last one's verdict is the decision.

    `differences` are the gate tasks in the order of the attempts: above 0 is won, below 0 lost, 0 a tie. Fewer than
    half of the `planned` number give no look, fewer than all only the first.
    """
    taken: list[Look] = []
    for end in (planned // 2, planned):
        if end > len(differences) or (taken and taken[-1].verdict != "continue"):
            break
        part = differences[:end]
        won, lost = sum(one > 0 for one in part), sum(one < 0 for one in part)
        taken.append(look(won, lost, tasks=end, last=end == planned, candidates=candidates))
    return taken


def power(tasks: int, win: float, loss: float, *, candidates: int = 1) -> float:
    """The exact probability that a gate of `tasks` tasks promotes; `candidates` are as in `look`.

    `win` is the probability that only the attempt with lessons solves a task, `loss` that only the one without does;
    ConfigError if they are invalid.
    """
    import numpy as np

    if min(win, loss) < 0 or win + loss > 1:
        raise ConfigError(f"expected shares of won and lost tasks from 0 to 1 together, but got {win} and {loss}")
    half = tasks // 2
    first, second = _counts(half, win, loss), _counts(tasks - half, win, loss)
    promoted, open_ = _verdicts(half, FIRST / candidates)
    shape = (tasks + 1, tasks + 1)  # both halves combined, as a product of their transforms
    after = np.fft.irfft2(np.fft.rfft2(first * open_, shape) * np.fft.rfft2(second, shape), shape)
    at_last, _ = _verdicts(tasks, LAST / candidates)
    return float(np.clip(first[promoted].sum() + after[at_last].sum(), 0, 1))


def needed(win: float, loss: float, *, candidates: int = 1) -> int | None:
    """The smallest gate, in steps of 10 tasks, that promotes four sets of five; None if 400 tasks are too few."""
    return next((n for n in range(10, 401, 10) if power(n, win, loss, candidates=candidates) >= 0.8), None)


def check_gate(tasks: int, candidates: int = 1) -> None:
    """Raise ConfigError if a gate has too few tasks to ever promote; it says how many tasks find which effect."""
    least = next(n for n in range(1, 200) if sign_test(n, 0) <= LAST / candidates)
    if tasks >= least:
        return
    effects = ((0.45, 0.05), (0.25, 0.05))
    sizes = ", ".join(
        f"{needed(*each, candidates=candidates)} for {each[0]:.0%} won and {each[1]:.0%} lost" for each in effects
    )
    raise ConfigError(
        f"a gate of {tasks} tasks can promote nothing: even {tasks} of {tasks} won have p = {sign_test(tasks, 0):.2g}, "
        f"and p may be at most {LAST / candidates:.2g}. Set gate.tasks to {least} or more; four of five useful sets "
        f"are promoted with {sizes}"
    )


def _counts(tasks: int, win: float, loss: float) -> NDArray[np.float64]:
    """The probability of each pair (won, lost) after all tasks: an array of shape (tasks + 1, tasks + 1)."""
    import numpy as np

    chances = np.zeros((tasks + 1, tasks + 1))
    chances[0, 0] = 1.0
    for _ in range(tasks):
        before = chances
        chances = (1 - win - loss) * before
        chances[1:] += win * before[:-1]
        chances[:, 1:] += loss * before[:, :-1]
    return chances


@cache
def _verdicts(tasks: int, level: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The pairs (won, lost) that are promoted at this level, and those that leave a first look open."""
    import numpy as np

    promoted = np.zeros((tasks + 1, tasks + 1), bool)
    for thrown in range(tasks + 1):
        tail = 0
        for won in range(thrown, -1, -1):
            tail += comb(thrown, won)
            if tail > level * 2**thrown:
                break
            promoted[won, thrown - won] = True
    places = np.arange(tasks + 1)
    return promoted, ~promoted & (places[:, None] > places[None, :])

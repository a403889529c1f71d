"""How reliably tasks are solved when they are run several times, and what lessons of each origin and size are worth.

After ERL (figures 2b, 3 and 5; appendix C). Always holds: 0 <= pass^k <= mean <= pass@k <= 1, the mean being that of
the tasks of the figure; a task counts in a figure for k only where it was run k times; an episode that an error of the
server ended is no run.

One figure: k, n (tasks that were run at least k times), "pass@k" (at least one of k runs solves the task) and "pass^k"
(all of k do), both means over tasks of the unbiased estimates, and "pass@k_interval" and "pass^k_interval", [lo, hi];
rates are 0..1. The intervals are Wilson's at 95%, with tasks as trials: exact where the estimate of each task is 0 or
1, and wider than need be otherwise: no quantity between 0 and 1 varies more than one that is either. A task under
several seeds or folds is estimated under each, and is one trial of an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any, TypeVar

from seasoned.errors import DataError
from seasoned.lab.report import stats
from seasoned.lab.report.format import share
from seasoned.lab.report.rows import Row, outcomes
from seasoned.types import Lesson

Key = TypeVar("Key", bound=Hashable)

TRAJECTORIES = "few-shot-trajectories"
"""The condition that heuristics are compared with at equal tokens."""


def runs_by_task(rows: Iterable[Row]) -> dict[tuple[int, int, str], list[bool]]:
    """Solved or not, run by run, for each task of one condition: rows of one seed, fold and task are runs of it."""
    runs: dict[tuple[int, int, str], list[bool]] = {}
    for row in rows:
        if row.counted:
            runs.setdefault((row.seed, row.fold, row.task_id), []).append(row.solved)
    return runs


def reliability(
    runs: Mapping[Key, Sequence[bool]], *, task_of: Callable[[Key], Hashable] = lambda key: key
) -> list[dict[str, Any]]:
    """pass@k and pass^k with intervals (ERL, figure 3), one figure for each k up to the most runs that a task has.

    Args:
        runs: whether each run of a task solved it.
        task_of: the task of a key, where several keys are of the same one.
    """
    figures = []
    for k in range(1, max(map(len, runs.values()), default=0) + 1):
        often = {key: each for key, each in runs.items() if len(each) >= k}
        counts = [(len(each), sum(each)) for each in often.values()]
        tasks = len({task_of(key) for key in often})
        figure: dict[str, Any] = {"k": k, "n": len(counts)}
        for name, estimate in (("pass@k", stats.pass_at_k), ("pass^k", stats.pass_hat_k)):
            figure[name] = sum(estimate(n, c, k) for n, c in counts) / len(counts)
            figure[f"{name}_interval"] = list(interval(figure[name], tasks))
        figures.append(figure)
    return figures


def over_runs(rows: Iterable[Row]) -> dict[str, Any]:
    """What a condition did over several runs of the test, as ERL's tables have it.

    Args:
        rows: its final test rows, each task once a run.

    Returns:
        `rates` (of each run), their `mean` and its standard `error` (null for a single run), `reward` and
        `reward_error` (the same of the runs' mean rewards; null where none are known), and `figures`: pass@k and
        pass^k, see `reliability`; rates are 0..1.
    """
    own = [row for row in rows if row.counted]
    by_run = [[row for row in own if row.repeat == turn] for turn in sorted({row.repeat for row in own})]
    rates = [sum(row.solved for row in run) / len(run) for run in by_run]
    rewards = [[row.reward for row in run if row.reward is not None] for run in by_run]
    mean, error = _mean_and_error(rates)
    reward, reward_error = _mean_and_error([sum(run) / len(run) for run in rewards if run])
    return {
        "rates": rates,
        "mean": mean,
        "error": error,
        "reward": reward,
        "reward_error": reward_error,
        "figures": reliability(runs_by_task(own), task_of=lambda key: key[-1]),
    }


def _mean_and_error(figures: Sequence[float]) -> tuple[float | None, float | None]:
    return stats.mean_and_error(figures) if figures else (None, None)


def interval(mean: float, n: int) -> tuple[float, float]:
    """Wilson's 95% score interval for the mean of n quantities from 0 to 1; without any, (0.0, 1.0).

    Raises:
        DataError: the mean is out of range.
    """
    if not 0 <= mean <= 1:
        raise DataError(f"a mean of rates lies between 0 and 1: got {mean}")
    if n <= 0:
        return (0.0, 1.0)
    z = NormalDist().inv_cdf(0.975)
    middle = (mean + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    return (max(0.0, min(mean, middle - half)), min(1.0, max(mean, middle + half)))


def by_origin(lessons: Iterable[Lesson], rows: Iterable[Row], baseline: str = "react") -> list[dict[str, Any]]:
    """What lessons from successes and from failures are worth by category of task (ERL, figure 2b).

    Args:
        lessons: heuristics, with `data["success"]`.
        rows: final test rows, each task once per condition and run.
        baseline: the condition that points are counted from.

    Returns:
        For each category and then for all (category ""): `lessons` {success, failure} and `conditions` {name: {n,
        successes, accuracy, interval, points}}; n counts runs of tasks, the interval has tasks as trials, and points
        are percentage points over the baseline, null without it.
    """
    made, tested = list(lessons), [row for row in rows if row.counted]
    names = dict.fromkeys(row.condition for row in tested)
    table = []
    for category in (*sorted({row.category for row in tested} - {""}), ""):
        own = [row for row in tested if category in ("", row.category)]
        learned = [lesson.data.get("success") for lesson in made if category in ("", lesson.category)]
        before = _score([row for row in own if row.condition == baseline])["accuracy"]
        scores = {}
        for name in names:
            score = _score([row for row in own if row.condition == name])
            known = score["accuracy"] is not None and before is not None
            scores[name] = {**score, "points": 100 * (score["accuracy"] - before) if known else None}
        counts = {"success": sum(each is True for each in learned), "failure": sum(each is False for each in learned)}
        table.append({"category": category, "lessons": counts, "conditions": scores})
    return table


def by_guidance(rows: Iterable[Row], steps: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What trajectories are worth, and heuristics made of them, by how much of them is shown (ERL, figure 5).

    Args:
        rows: final test rows, each task once per condition and run.
        steps: `guidance_tokens` by `condition`, as `seasoned.lab.report.steps.step_statistics` gives them.

    Returns:
        For few-shot-trajectories, erl-matched, erl and erl-thought: `condition`, `guidance_tokens` (null if unknown),
        `n`, `successes`, `accuracy` and `interval` as in `by_origin`, `points` and `p` against few-shot-trajectories,
        null for itself (see `stats.paired`); nothing where that, or all others, were not run.
    """
    tokens = {one["condition"]: one.get("guidance_tokens") for one in steps}
    own: dict[str, list[Row]] = {name: [] for name in (TRAJECTORIES, "erl-matched", "erl", "erl-thought")}
    for row in rows:
        if row.counted and row.condition in own:
            own[row.condition].append(row)
    names = [name for name, found in own.items() if found]
    if TRAJECTORIES not in names or len(names) < 2:
        return []
    solved = {name: outcomes(own[name]) for name in names}
    pairs = {name: stats.paired(solved[TRAJECTORIES], solved[name]) for name in names if name != TRAJECTORIES}
    against = {name: {"points": pair.points, "p": pair.p} for name, pair in pairs.items() if pair.n}
    return [
        {
            "condition": name,
            "guidance_tokens": tokens.get(name),
            **_score(own[name]),
            **against.get(name, {"points": None, "p": None}),
        }
        for name in names
    ]


def judgements(rows: Iterable[Row]) -> dict[str, Any]:
    """How often a model judged its own attempts rightly, where the truth is known (ERL, appendix C.2: 70%).

    Args:
        rows: training attempts, with the verdict in `judged`.

    Returns:
        n, right, accuracy, interval, and the wrong verdicts as `claimed` (a failure called a success) and `missed`.
    """
    pairs = [(row.judged, row.solved) for row in rows if row.counted and row.judged is not None]
    right = sum(said == was for said, was in pairs)
    return {
        "n": len(pairs),
        "right": right,
        "accuracy": share(right, len(pairs)),
        "interval": list(interval(right / len(pairs) if pairs else 0.0, len(pairs))),
        "claimed": sum(said and not was for said, was in pairs),
        "missed": sum(was and not said for said, was in pairs),
    }


def _score(rows: Sequence[Row]) -> dict[str, Any]:
    solved = sum(row.solved for row in rows)
    rate, tasks = share(solved, len(rows)), {row.task_id for row in rows}
    return {"n": len(rows), "successes": solved, "accuracy": rate, "interval": list(interval(rate or 0.0, len(tasks)))}

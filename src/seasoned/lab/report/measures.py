"""What is measured on the rows of a run: lessons, trials, several runs of the test, guidance, tokens by part.

Always holds: an episode that an error of the server ended is no failure and no run; a figure that is not known is None,
never 0; 0 <= pass^k <= mean <= pass@k <= 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any, Literal, TypeVar

from seasoned.errors import DataError
from seasoned.lab.report import stats
from seasoned.lab.report.format import share
from seasoned.lab.report.rows import EpisodeKey, Row, latest, outcomes, sum_others, until_solved
from seasoned.lab.report.summary import (
    AtK,
    Efficiency,
    GuidancePoint,
    Judgements,
    LessonEffect,
    Origin,
    OriginScore,
    Phases,
    Reliability,
    Score,
    Spent,
    Steps,
    Tokens,
    Trial,
)
from seasoned.types import Lesson, Usage

Key = TypeVar("Key", bound=Hashable)

TRAJECTORIES = "few-shot-trajectories"
"""The condition that heuristics are compared with at equal tokens."""
FINISHED = frozenset({"answered", "won"})
"""Reasons of attempts that came to an end of their own; all others were stopped."""


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


def score(counted: Sequence[Row]) -> Score:
    """The rate of rows that count, its interval with distinct tasks as trials."""
    solved = sum(row.solved for row in counted)
    rate, tasks = share(solved, len(counted)), len({row.task_id for row in counted})
    return Score(n=len(counted), successes=solved, accuracy=rate, interval=interval(rate or 0.0, tasks))


def spent(used: Usage) -> Spent:
    """A usage as a summary has it."""
    tokens = Tokens(
        prompt=used.prompt_tokens, cached=used.cached_tokens, completion=used.completion_tokens, total=used.tokens
    )
    return Spent(tokens=tokens, cost=used.cost, calls=used.calls, seconds=used.seconds)


def phases(rows: Sequence[Row], learning: Usage) -> Phases:
    """What the parts of a condition used (ERL, table 4).

    Args:
        rows: The final test rows of one condition.
        learning: What writing its lessons used.
    """
    used, recall = (sum(parts, Usage()) for parts in ((row.usage for row in rows), (row.aside for row in rows)))
    rollout = _less(used, recall)
    return Phases(
        learning=spent(learning),
        recall=spent(recall),
        rollout=spent(rollout),
        total=spent(learning + used),
        others={part: spent(usage) for part, usage in sorted(sum_others(rows).items())},
    )


def _less(whole: Usage, part: Usage) -> Usage:
    known = whole.cost is not None and part.cost is not None
    return Usage(
        prompt_tokens=whole.prompt_tokens - part.prompt_tokens,
        cached_tokens=whole.cached_tokens - part.cached_tokens,
        completion_tokens=whole.completion_tokens - part.completion_tokens,
        calls=whole.calls - part.calls,
        replayed=whole.replayed - part.replayed,
        # Sums of dollars differ in their last digits by the order in which they were added.
        cost=round(max(0.0, (whole.cost or 0.0) - (part.cost or 0.0)), 12) if known else None,
        seconds=max(0.0, whole.seconds - part.seconds),
    )


# Trials


def by_trial(rows: Sequence[Row]) -> tuple[Trial, ...]:
    """Cumulative figures by trial (Reflexion, figures 2 and 3; ExpeL, table 2); none where no task was tried twice.

    A task is tried again until it is solved and stays solved; one that is not tried again stays as it is. A task whose
    last attempt ended in an error of the server is left out of that trial's rate.

    Args:
        rows: All attempts of one condition, at one number of training cases per seed and fold.

    Raises:
        MissingExtraError: SciPy is not installed.
    """
    attempts = latest(rows)
    last = max((row.trial for row in attempts), default=0)
    if last == 0:
        return ()
    tasks: dict[EpisodeKey, list[Row]] = {}
    for row in attempts:
        tasks.setdefault(row.key, []).append(row)
    trials = []
    first: dict[EpisodeKey, bool] = {}
    for trial in range(last + 1):
        so_far = [[row for row in tried if row.trial <= trial] for tried in tasks.values()]
        states = [until_solved(tried) for tried in so_far if tried]
        solved = outcomes(states)
        first = first if trial else solved
        rate = score([row for row in states if row.counted])
        test = stats.paired(first, solved) if trial else None
        trials.append(
            Trial(
                trial=trial,
                attempts=sum(row.trial == trial for row in attempts),
                n=rate.n,
                solved=rate.successes,
                accuracy=rate.accuracy,
                interval=rate.interval,
                points=test.points if test else None,
                p=test.p if test and test.n else None,
                errors=len(states) - rate.n,
                reasons=Counter(row.reason for row in states if row.counted and not row.solved),
            )
        )
    return tuple(trials)


def endings(rows: Sequence[Row]) -> dict[Literal["success", "failed", "halted"], int]:
    """How tasks ended (ExpeL, figures 25 to 27): solved, failed (it came to an end, a wrong one), or halted.

    Halted is whatever was stopped before an end of its own: by a limit on steps or tokens, in a loop, by the
    environment.
    """
    counted = [row for row in rows if row.counted]
    solved = sum(row.solved for row in counted)
    failed = sum(not row.solved and row.reason in FINISHED for row in counted)
    return {"success": solved, "failed": failed, "halted": len(counted) - solved - failed}


# Several runs of the test


def runs_by_task(rows: Iterable[Row]) -> dict[tuple[int, int, str], list[bool]]:
    """Solved or not, run by run, for each task of one condition: rows of one seed, fold and task are runs of it."""
    runs: dict[tuple[int, int, str], list[bool]] = {}
    for row in rows:
        if row.counted:
            runs.setdefault((row.seed, row.fold, row.task_id), []).append(row.solved)
    return runs


def reliability(
    runs: Mapping[Key, Sequence[bool]], *, task_of: Callable[[Key], Hashable] = lambda key: key
) -> tuple[AtK, ...]:
    """pass@k and pass^k with intervals (ERL, figure 3), for each k up to the most runs that a task has.

    Means over tasks of the unbiased estimates; a task counts for k only where it was run k times. The intervals are
    Wilson's, with tasks as trials: exact where the estimate of each task is 0 or 1, and wider than need be otherwise,
    as no quantity between 0 and 1 varies more than one that is either. A task under several seeds or folds is estimated
    under each, and is one trial of an interval.

    Args:
        runs: Whether each run of a task solved it.
        task_of: The task of a key, where several keys are of the same one.
    """
    figures = []
    for k in range(1, max(map(len, runs.values()), default=0) + 1):
        often = {key: each for key, each in runs.items() if len(each) >= k}
        counts = [(len(each), sum(each)) for each in often.values()]
        tasks = len({task_of(key) for key in often})
        at, hat = (sum(f(n, c, k) for n, c in counts) / len(counts) for f in (stats.pass_at_k, stats.pass_hat_k))
        bounds = {"pass_at_interval": interval(at, tasks), "pass_hat_interval": interval(hat, tasks)}
        figures.append(AtK(k=k, n=len(counts), pass_at=at, pass_hat=hat, **bounds))
    return tuple(figures)


def over_runs(rows: Iterable[Row]) -> Reliability:
    """What a condition did over several runs of the test, as ERL's tables have it.

    Args:
        rows: Its final test rows, each task once a run.
    """
    own = [row for row in rows if row.counted]
    by_run = [[row for row in own if row.repeat == turn] for turn in sorted({row.repeat for row in own})]
    rates = [sum(row.solved for row in run) / len(run) for run in by_run]
    rewards = [[row.reward for row in run if row.reward is not None] for run in by_run]
    mean, error = _mean_and_error(rates)
    reward, reward_error = _mean_and_error([sum(run) / len(run) for run in rewards if run])
    figures = reliability(runs_by_task(own), task_of=lambda key: key[-1])
    return Reliability(
        rates=tuple(rates), mean=mean, error=error, reward=reward, reward_error=reward_error, figures=figures
    )


def _mean_and_error(figures: Sequence[float]) -> tuple[float | None, float | None]:
    return stats.mean_and_error(figures) if figures else (None, None)


# Heuristics


def by_origin(lessons: Iterable[Lesson], rows: Iterable[Row], baseline: str = "react") -> tuple[Origin, ...]:
    """What lessons from successes and from failures are worth by category of task (ERL, figure 2b); last for all ("").

    Args:
        lessons: Heuristics, with `data["success"]`.
        rows: Final test rows, each task once per condition and run.
        baseline: The condition that points are counted from.
    """
    heuristics, tested = list(lessons), [row for row in rows if row.counted]
    names = dict.fromkeys(row.condition for row in tested)
    table = []
    for category in (*sorted({row.category for row in tested} - {""}), ""):
        own = [row for row in tested if category in ("", row.category)]
        learned = [lesson.data.get("success") for lesson in heuristics if category in ("", lesson.category)]
        scores = {name: score([row for row in own if row.condition == name]) for name in names}
        before = scores[baseline].accuracy if baseline in scores else None
        rated = {}
        for name, one in scores.items():
            points = None if one.accuracy is None or before is None else 100 * (one.accuracy - before)
            rated[name] = OriginScore(**dict(one), points=points)
        counts: dict[Literal["success", "failure"], int]
        counts = {"success": sum(each is True for each in learned), "failure": sum(each is False for each in learned)}
        table.append(Origin(category=category, lessons=counts, conditions=rated))
    return tuple(table)


def by_guidance(rows: Iterable[Row], steps: Iterable[Steps]) -> tuple[GuidancePoint, ...]:
    """What trajectories are worth, and heuristics made of them, by how much of them is shown (ERL, figure 5).

    Args:
        rows: Final test rows, each task once per condition and run.
        steps: Those of the conditions, for their guidance tokens.

    Returns:
        Those of few-shot-trajectories, erl-matched, erl and erl-thought that were run; nothing where the first, or all
        others, were not.
    """
    tokens = {one.condition: one.guidance_tokens for one in steps}
    own: dict[str, list[Row]] = {name: [] for name in (TRAJECTORIES, "erl-matched", "erl", "erl-thought")}
    for row in rows:
        if row.counted and row.condition in own:
            own[row.condition].append(row)
    ran = {name: counted for name, counted in own.items() if counted}
    if TRAJECTORIES not in ran or len(ran) < 2:
        return ()
    before = outcomes(ran[TRAJECTORIES])
    table = []
    for name, counted in ran.items():
        pair = stats.paired(before, outcomes(counted))
        compared = name != TRAJECTORIES and pair.n
        against = {"points": pair.points, "p": pair.p} if compared else {"points": None, "p": None}
        table.append(GuidancePoint(condition=name, guidance_tokens=tokens.get(name), **dict(score(counted)), **against))
    return tuple(table)


def judgements(rows: Iterable[Row]) -> Judgements:
    """How often a model judged its own attempts rightly, where the truth is known (ERL, appendix C.2: 70%).

    Args:
        rows: Training attempts, with the verdict in `judged`.
    """
    pairs = [(row.judged, row.solved) for row in rows if row.counted and row.judged is not None]
    right = sum(verdict == solved for verdict, solved in pairs)
    rate = share(right, len(pairs))
    return Judgements(
        n=len(pairs),
        right=right,
        accuracy=rate,
        interval=interval(rate or 0.0, len(pairs)),
        claimed=sum(verdict and not solved for verdict, solved in pairs),
        missed=sum(solved and not verdict for verdict, solved in pairs),
    )


# Lessons


def effects(
    tested: Sequence[Row], training: Sequence[Row], lessons: Sequence[Lesson], baseline: str
) -> tuple[LessonEffect, ...]:
    """What came of each lesson on test episodes, the most recalled first.

    Args:
        tested: The final test rows of all conditions.
        training: The training rows, for where each lesson came from.
        lessons: The lessons; deleted ones are left out.
        baseline: The condition that gives the same tasks without lessons.
    """
    homes = _homes(training)
    without = outcomes([row for row in tested if row.condition == baseline])
    recalls: dict[str, list[Row]] = {}
    for row in tested:
        if row.condition != baseline:
            for lesson_id in dict.fromkeys(row.lesson_ids):
                recalls.setdefault(lesson_id, []).append(row)
    rated = [_effect(lesson, recalls.get(lesson.id, []), homes, without) for lesson in _alive(lessons)]
    return tuple(sorted(rated, key=lambda one: (-one.recalled, -(one.points or 0.0), one.key, one.id)))


def _effect(
    lesson: Lesson, recalls: Sequence[Row], homes: Mapping[str, Row], without: Mapping[Any, bool]
) -> LessonEffect:
    origins = [homes[source] for source in lesson.sources if source in homes]
    condition = lesson.data.get("condition") or (origins[0].condition if origins else "")
    # A variant that shares the pool shows it differently (cases instead of notes): its own condition speaks, if it can.
    own = [row for row in recalls if row.condition == condition] or list(recalls)
    counted = [row for row in own if row.counted]
    paired = [row for row in counted if row.key in without]
    solved = sum(row.solved for row in counted)
    before = sum(without[row.key] for row in paired)
    return LessonEffect(
        id=lesson.id,
        kind=lesson.kind,
        key=lesson.key,
        text=lesson.text,
        status=lesson.status,
        importance=lesson.importance,
        condition=condition,
        seed=origins[0].seed if origins else lesson.data.get("seed"),
        fold=origins[0].fold if origins else lesson.data.get("fold"),
        sources={"solved": sum(row.solved for row in origins), "unsolved": sum(not row.solved for row in origins)},
        recalled=len(own),
        n=len(counted),
        successes=solved,
        accuracy=share(solved, len(counted)),
        baseline_n=len(paired),
        baseline_successes=before,
        baseline_accuracy=share(before, len(paired)),
        points=100 * (sum(row.solved for row in paired) - before) / len(paired) if paired else None,
    )


def pool_sizes(lessons: Sequence[Lesson], training: Sequence[Row], *, sharing: bool = False) -> dict[str, float]:
    """Lessons per pool (one condition, seed and fold), the mean over the pools of each condition that learned.

    Where conditions share their training, `data["condition"]` of a lesson says which of them learned it. With
    `sharing`, a pool counts for every condition in its `data["shared_by"]` as well. A lesson that came from no training
    attempt (a person wrote it, or it came from worked examples) is where its `data` says: `condition`, `seed`, `fold`.
    """
    homes = _homes(training)
    owned: dict[str, set[str]] = {}
    pools: dict[str, set[tuple[int, int]]] = {}
    for lesson in _alive(lessons):
        data, learner = lesson.data, lesson.data.get("condition")
        behind = [homes[source] for source in lesson.sources if source in homes]
        places = {(learner or row.condition, row.seed, row.fold) for row in behind}
        if not places and learner and {"seed", "fold"} <= data.keys():
            places = {(learner, data["seed"], data["fold"])}
        for name, seed, fold in places:
            for owner in {name, *(data.get("shared_by", ()) if sharing else ())}:
                owned.setdefault(owner, set()).add(lesson.id)
                pools.setdefault(owner, set()).add((seed, fold))
    return {name: len(ids) / len(pools[name]) for name, ids in owned.items()}


def efficiencies(
    accuracy: Mapping[str, float | None], baseline: str, lessons: Sequence[Lesson], training: Sequence[Row]
) -> tuple[Efficiency, ...]:
    """Points gained per lesson, for the variants `positive` and `negative` (ExpNote, equation 4).

    The size of a variant's pool is that of its own training; a variant that shares another condition's training is
    counted by what the attempt behind each lesson came to.
    """
    before, sizes = accuracy.get(baseline), pool_sizes(lessons, training)
    table = []
    for name, after in accuracy.items():
        variant = _variant(name)
        if variant is None or after is None or before is None:
            continue
        size = sizes[name] if name in sizes else _shared_size(variant, lessons, training)
        worth = stats.efficiency(100 * after, 100 * before, size)
        points = 100 * (after - before)
        table.append(Efficiency(condition=name, type=variant, lessons=size, points=points, points_per_lesson=worth))
    return tuple(table)


def _variant(name: str) -> Literal["positive", "negative"] | None:
    last = name.casefold().replace("_", "-").rsplit("-", 1)[-1]
    return "positive" if last == "positive" else "negative" if last == "negative" else None


def _shared_size(variant: str, lessons: Sequence[Lesson], training: Sequence[Row]) -> float:
    homes = {source: row for source, row in _homes(training).items() if row.counted}
    wanted = variant == "positive"
    ids = {
        lesson.id
        for lesson in _alive(lessons)
        if any(source in homes and homes[source].solved == wanted for source in lesson.sources)
    }
    behind = [homes[source] for lesson in lessons for source in lesson.sources if source in homes]
    return len(ids) / len({(row.condition, row.seed, row.fold) for row in behind}) if ids else 0.0


def _alive(lessons: Sequence[Lesson]) -> list[Lesson]:
    return [lesson for lesson in lessons if lesson.status != "deleted"]


def _homes(training: Sequence[Row]) -> dict[str, Row]:
    return {row.trajectory_id: row for row in training if row.trajectory_id}

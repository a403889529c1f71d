"""Measures on the rows of a run: lessons, trials, several runs of the test, guidance, steps, tokens by part.

Always holds: an episode that a server error ended is neither a failure nor a run; a figure that is unknown, or that one
of the attempts lacks, is None, never 0; 0 <= pass^k <= mean <= pass@k <= 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from seasoned.embed import static
from seasoned.errors import DataError, SeasonedError
from seasoned.lab.report import stats
from seasoned.lab.report.forms import share
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
from seasoned.text import guidance_tokens
from seasoned.types import Guidance, Lesson, Trajectory, Usage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Key = TypeVar("Key", bound=Hashable)

TRAJECTORIES = "few-shot-trajectories"
"""The condition that heuristics are compared with at equal tokens."""
FINISHED = frozenset({"answered", "won"})
"""The reasons of attempts that the agent ended; all others were stopped."""


def interval(mean: float, n: int) -> tuple[float, float]:
    """Wilson's 95% score interval for the mean of n quantities from 0 to 1; (0.0, 1.0) if n is 0.

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
    """The success rate of counted rows, with an interval that takes distinct tasks as trials."""
    solved = sum(row.solved for row in counted)
    rate, tasks = share(solved, len(counted)), len({row.task_id for row in counted})
    return Score(n=len(counted), successes=solved, accuracy=rate, interval=interval(rate or 0.0, tasks))


def spent(used: Usage) -> Spent:
    """A usage in the form of a summary."""
    tokens = Tokens(
        prompt=used.prompt_tokens, cached=used.cached_tokens, completion=used.completion_tokens, total=used.tokens
    )
    return Spent(tokens=tokens, cost=used.cost, calls=used.calls, seconds=used.seconds)


def phases(rows: Sequence[Row], learning: Usage) -> Phases:
    """The usage of a condition by part (ERL, table 4): its final test rows, and the writing of its lessons."""
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
        # Sums of dollars differ in their last digits with the order of addition.
        cost=round(max(0.0, (whole.cost or 0.0) - (part.cost or 0.0)), 12) if known else None,
        seconds=max(0.0, whole.seconds - part.seconds),
    )


# Trials


def by_trial(rows: Sequence[Row]) -> tuple[Trial, ...]:
    """Cumulative figures by trial (Reflexion, figures 2 and 3; ExpeL, table 2); none if no task was tried twice.

    The rows are all attempts of one condition, at one number of training cases per seed and fold. A solved task stays
    solved, and a task that is not tried again keeps its outcome. A task whose last attempt ended in a server error is
    left out of that trial's rate.

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
    """How tasks ended (ExpeL, figures 25 to 27): solved, failed (with a wrong result), or halted.

    Halted attempts were stopped by a limit on steps or tokens, in a loop, or by the environment.
    """
    counted = [row for row in rows if row.counted]
    solved = sum(row.solved for row in counted)
    failed = sum(not row.solved and row.reason in FINISHED for row in counted)
    return {"success": solved, "failed": failed, "halted": len(counted) - solved - failed}


# Several runs of the test


def reliability(
    runs: Mapping[Key, Sequence[bool]], *, task_of: Callable[[Key], Hashable] = lambda key: key
) -> tuple[AtK, ...]:
    """pass@k and pass^k with intervals (ERL, figure 3), for each k up to the most runs that a task has.

    Each figure is the mean of the unbiased estimates over tasks; a task counts for k only if it was run k times. The
    intervals are Wilson's, with tasks as trials: exact if every task's estimate is 0 or 1, and otherwise wider than
    necessary, since a quantity between 0 and 1 varies most if it is either. A task under several seeds or folds is
    estimated under each, but is one trial of an interval.

    Args:
        runs: Whether each run of a task solved it.
        task_of: The task of a key, if several keys have the same task.
    """
    figures = []
    for k in range(1, max(map(len, runs.values()), default=0) + 1):
        enough = {key: each for key, each in runs.items() if len(each) >= k}
        counts = [(len(each), sum(each)) for each in enough.values()]
        tasks = len({task_of(key) for key in enough})
        at, hat = (sum(f(n, c, k) for n, c in counts) / len(counts) for f in (stats.pass_at_k, stats.pass_hat_k))
        bounds = {"pass_at_interval": interval(at, tasks), "pass_hat_interval": interval(hat, tasks)}
        figures.append(AtK(k=k, n=len(counts), pass_at=at, pass_hat=hat, **bounds))
    return tuple(figures)


def over_runs(rows: Iterable[Row]) -> Reliability:
    """The results of a condition over several runs of the test, as in ERL's tables, from its final test rows."""
    counted = [row for row in rows if row.counted]
    by_run = [[row for row in counted if row.repeat == turn] for turn in sorted({row.repeat for row in counted})]
    rates = [sum(row.solved for row in run) / len(run) for run in by_run]
    rewards = [[row.reward for row in run if row.reward is not None] for run in by_run]
    mean, error = stats.mean_and_error(rates)
    reward, reward_error = stats.mean_and_error([sum(run) / len(run) for run in rewards if run])
    runs: dict[tuple[int, int, str], list[bool]] = {}
    for row in counted:
        runs.setdefault((row.seed, row.fold, row.task_id), []).append(row.solved)
    figures = reliability(runs, task_of=lambda key: key[-1])
    return Reliability(
        rates=tuple(rates), mean=mean, error=error, reward=reward, reward_error=reward_error, figures=figures
    )


# Heuristics


def by_origin(lessons: Iterable[Lesson], rows: Iterable[Row], baseline: str = "react") -> tuple[Origin, ...]:
    """Scores with lessons from successes and from failures, by category of task and last for all (ERL, figure 2b).

    Heuristics have `data["success"]`; rows are final test rows; points are against the baseline.
    """
    heuristics, tested = list(lessons), [row for row in rows if row.counted]
    names = dict.fromkeys(row.condition for row in tested)
    table = []
    for category in (*sorted({row.category for row in tested} - {""}), ""):
        in_category = [row for row in tested if category in ("", row.category)]
        learned = [lesson.data.get("success") for lesson in heuristics if category in ("", lesson.category)]
        scores = {name: score([row for row in in_category if row.condition == name]) for name in names}
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
    """Scores with trajectories, and with heuristics made from them, by guidance tokens (ERL, figure 5).

    The points, from final test rows, are of few-shot-trajectories, erl-matched, erl and erl-thought, if run; there are
    none without the first or without any other. The steps have the guidance tokens.
    """
    tokens = {one.condition: one.guidance_tokens for one in steps}
    by_condition: dict[str, list[Row]] = {name: [] for name in (TRAJECTORIES, "erl-matched", "erl", "erl-thought")}
    for row in rows:
        if row.counted and row.condition in by_condition:
            by_condition[row.condition].append(row)
    ran = {name: counted for name, counted in by_condition.items() if counted}
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
    """How often a model judged its own training attempts rightly, among known outcomes (ERL, appendix C.2: 70%)."""
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
    """The effect of each lesson that is not deleted on the final test rows, the most recalled first.

    The training rows are for the sources of each lesson; the baseline has the same tasks without lessons.
    """
    rows_by_attempt = _rows_by_attempt(training)
    without = outcomes([row for row in tested if row.condition == baseline])
    recalls: dict[str, list[Row]] = {}
    for row in tested:
        if row.condition != baseline:
            for lesson_id in dict.fromkeys(row.lesson_ids):
                recalls.setdefault(lesson_id, []).append(row)
    rated = [_effect(lesson, recalls.get(lesson.id, []), rows_by_attempt, without) for lesson in _not_deleted(lessons)]
    return tuple(sorted(rated, key=lambda one: (-one.recalled, -(one.points or 0.0), one.key, one.id)))


def _effect(
    lesson: Lesson, recalls: Sequence[Row], rows_by_attempt: Mapping[str, Row], without: Mapping[Any, bool]
) -> LessonEffect:
    origins = [rows_by_attempt[source] for source in lesson.sources if source in rows_by_attempt]
    condition = lesson.data.get("condition") or (origins[0].condition if origins else "")
    # Variants that share the pool may show lessons differently (cases instead of notes), so prefer the own condition.
    recalling = [row for row in recalls if row.condition == condition] or list(recalls)
    counted = [row for row in recalling if row.counted]
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
        recalled=len(recalling),
        n=len(counted),
        successes=solved,
        accuracy=share(solved, len(counted)),
        baseline_n=len(paired),
        baseline_successes=before,
        baseline_accuracy=share(before, len(paired)),
        points=100 * (sum(row.solved for row in paired) - before) / len(paired) if paired else None,
    )


def pool_sizes(lessons: Sequence[Lesson], training: Sequence[Row], *, sharing: bool = False) -> dict[str, float]:
    """The mean number of lessons per pool (one seed and fold) of each condition that learned.

    If conditions share their training, `data["condition"]` of a lesson names the one that learned it. With `sharing`, a
    pool also counts for every condition in its `data["shared_by"]`. A lesson without training attempts (a person wrote
    it, or it comes from worked examples) belongs to the `condition`, `seed` and `fold` in its `data`.
    """
    rows_by_attempt = _rows_by_attempt(training)
    owned: dict[str, set[str]] = {}
    pools: dict[str, set[tuple[int, int]]] = {}
    for lesson in _not_deleted(lessons):
        data, learner = lesson.data, lesson.data.get("condition")
        sources = [rows_by_attempt[source] for source in lesson.sources if source in rows_by_attempt]
        pool_keys = {(learner or row.condition, row.seed, row.fold) for row in sources}
        if not pool_keys and learner and {"seed", "fold"} <= data.keys():
            pool_keys = {(learner, data["seed"], data["fold"])}
        for name, seed, fold in pool_keys:
            for owner in {name, *(data.get("shared_by", ()) if sharing else ())}:
                owned.setdefault(owner, set()).add(lesson.id)
                pools.setdefault(owner, set()).add((seed, fold))
    return {name: len(ids) / len(pools[name]) for name, ids in owned.items()}


def efficiencies(
    accuracy: Mapping[str, float | None], baseline: str, lessons: Sequence[Lesson], training: Sequence[Row]
) -> tuple[Efficiency, ...]:
    """Points gained per lesson, for the variants `positive` and `negative` (ExpNote, equation 4).

    The size of a variant's pool comes from its own training; for a variant that shares another condition's training, it
    is the number of lessons from attempts with the variant's outcome.
    """
    before, sizes = accuracy.get(baseline), pool_sizes(lessons, training)
    table = []
    for name, after in accuracy.items():
        variant = _variant(name)
        if variant is None or after is None or before is None:
            continue
        size = sizes[name] if name in sizes else _shared_size(variant, lessons, training)
        points = 100 * (after - before)
        worth = (100 * after - 100 * before) / size if size > 0 else None
        table.append(Efficiency(condition=name, type=variant, lessons=size, points=points, points_per_lesson=worth))
    return tuple(table)


def _variant(name: str) -> Literal["positive", "negative"] | None:
    last = name.casefold().replace("_", "-").rsplit("-", 1)[-1]
    variants: dict[str, Literal["positive", "negative"]] = {"positive": "positive", "negative": "negative"}
    return variants.get(last)


def _shared_size(variant: str, lessons: Sequence[Lesson], training: Sequence[Row]) -> float:
    rows_by_attempt = {source: row for source, row in _rows_by_attempt(training).items() if row.counted}
    wanted = variant == "positive"
    ids = {
        lesson.id
        for lesson in _not_deleted(lessons)
        if any(source in rows_by_attempt and rows_by_attempt[source].solved == wanted for source in lesson.sources)
    }
    sources = [rows_by_attempt[source] for lesson in lessons for source in lesson.sources if source in rows_by_attempt]
    return len(ids) / len({(row.condition, row.seed, row.fold) for row in sources}) if ids else 0.0


def _not_deleted(lessons: Sequence[Lesson]) -> list[Lesson]:
    return [lesson for lesson in lessons if lesson.status != "deleted"]


def _rows_by_attempt(training: Sequence[Row]) -> dict[str, Row]:
    return {row.trajectory_id: row for row in training if row.trajectory_id}


# Steps


def step_statistics(attempts: Sequence[Row], trajectories: Sequence[Trajectory]) -> tuple[Steps, ...]:
    """The mean figures per attempt of each condition (ExpeL, table 6), in the order of the rows.

    `attempts` are the final test attempts, including retries and repeats; `trajectories` are theirs, and their
    demonstrations.
    """
    by_id = {trajectory.id: trajectory for trajectory in trajectories}
    groups: dict[str, list[dict[str, int | None]]] = {}
    for row in attempts:
        if row.reason != "error" and row.trajectory_id in by_id:
            groups.setdefault(row.condition, []).append(_figures(by_id[row.trajectory_id], by_id))
    return tuple(
        Steps.model_validate(
            {"condition": name, "n": len(figures)}
            | {what: _mean([one[what] for one in figures]) for what in figures[0]}
        )
        for name, figures in groups.items()
    )


def _figures(attempt: Trajectory, by_id: Mapping[str, Trajectory]) -> dict[str, int | None]:
    """The figures of `Steps` for one attempt; None if it lacks one."""
    names = ("thought", "action", "observation")
    parts = {name: [str(getattr(step, name)) for step in attempt.steps] for name in names}
    invalid = attempt.meta.get("invalid")  # actions that the environment could not read
    return {
        **{f"{part}s": sum(bool(text.strip()) for text in texts) for part, texts in parts.items()},
        **{f"{part}_tokens": _tokens(texts) for part, texts in parts.items()},
        "invalid": invalid if type(invalid) is int else None,
        "prompt_tokens": attempt.usage.prompt_tokens,
        "completion_tokens": attempt.usage.completion_tokens,
        "calls": attempt.usage.calls + attempt.usage.replayed,
        "guidance_tokens": _guidance(attempt, by_id),
    }


def _mean(figures: Sequence[int | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) / len(figures) if len(known) == len(figures) else None


def _guidance(attempt: Trajectory, by_id: Mapping[str, Trajectory]) -> int | None:
    """The guidance tokens, counted as `erl-matched` does; None if a demonstration is missing."""
    shown = [by_id[one] for one in attempt.demonstration_ids if one in by_id]
    if len(shown) < len(attempt.demonstration_ids):
        return None
    return guidance_tokens(Guidance(demonstrations=tuple(shown), blocks=attempt.blocks()))


def _tokens(texts: list[str]) -> int | None:
    """Tokens of Llama 2's vocabulary (the paper uses tiktoken); None without the wordllama package, which has it."""
    if (tokenizer := _tokenizer()) is None:
        return None
    return sum(len(one) for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False))


@cache
def _tokenizer() -> Tokenizer | None:
    """The tokenizer; None if it is missing or broken, since a missing column must not prevent the report."""
    try:
        return static.tokenizer()
    except SeasonedError:
        return None

"""Row, one evaluated episode of `results.jsonl`, and the measures of rows: rates, trials, runs of the test, lessons.

Always holds: an episode that an infrastructure error ended, or whose outcome is unknown, is neither a failure of the
task nor a run; one that a budget ended never counts as solved; several attempts at a task count as one row with the
usage of all; a figure that is unknown is None, never 0; 0 <= pass^k <= mean <= pass@k <= 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from seasoned.errors import DataError
from seasoned.lab.report import stats
from seasoned.lab.report.stats import EpisodeKey
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
Value = TypeVar("Value")

TRAJECTORIES = "few-shot-trajectories"
"""The condition that heuristics are compared with at equal tokens."""
FINISHED = frozenset({"answered", "won"})
"""The reasons of attempts that the agent ended; all others were stopped."""
_VARIANTS: tuple[Literal["positive", "negative"], ...] = ("positive", "negative")


class Row(BaseModel):
    """One episode: its place in the run, its outcome and its usage.

    `trained_on` is the number of training cases that lessons came from (0 for baselines); `trial` is 0 for the first
    attempt at a task and counts its retries; `repeat` counts repetitions of the whole test with other seeds of the
    model; `gold` is only for display; `reason` is as in `seasoned.types.Outcome`; `aside` is the part of `usage` for
    recall and reflection; `others` is the usage of partners, such as a simulated user, which is not part of `usage`;
    `judged` is the verdict on a training attempt of a model that did not know the outcome, if there is one; `familiar`
    is whether a test task shares its goal with a training task, null if the benchmark defines no goals.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    run_id: str
    benchmark: str
    condition: str
    seed: int
    fold: int = 0
    split: Literal["train", "test"]
    task_id: str
    task: str
    category: str = ""
    familiar: bool | None = None
    success: bool | None = None
    judged: bool | None = None
    reward: float | None = None
    reason: str = "unfinished"
    answer: str = ""
    gold: str = ""
    trajectory_id: str = ""
    usage: Usage = Usage()
    aside: Usage = Usage()
    others: dict[str, Usage] = {}
    trained_on: int = 0
    trial: int = Field(default=0, ge=0)
    repeat: int = Field(default=0, ge=0)
    turns: int = 0
    lesson_ids: tuple[str, ...] = ()

    @property
    def key(self) -> EpisodeKey:
        """(seed, fold, repeat, task id)."""
        return (self.seed, self.fold, self.repeat, self.task_id)

    @property
    def case(self) -> tuple[str, str, int, EpisodeKey]:
        """What is judged once, however often it was tried."""
        return (self.condition, self.split, self.trained_on, self.key)

    @property
    def counted(self) -> bool:
        """Whether it counts in the success rate: no infrastructure error, and a known outcome."""
        return self.reason == "budget" or (self.reason != "error" and self.success is not None)

    @property
    def solved(self) -> bool:
        """Whether it counts as solved."""
        return self.counted and self.success is True and self.reason != "budget"


def latest(rows: Iterable[Row]) -> list[Row]:
    """Each episode once: if a run was resumed or redone, the later row replaces the earlier one.

    Episodes differ by condition, split, number of training cases, seed, fold, task, repeat or trial; they are in the
    order of their first appearance.
    """
    return list({(row.case, row.trial): row for row in rows}.values())


def judged(rows: Iterable[Row]) -> list[Row]:
    """Each task once per condition, split, number of training cases and run; `until_solved` combines its attempts."""
    return [until_solved(attempts) for attempts in grouped((row.case, row) for row in latest(rows)).values()]


def until_solved(attempts: Sequence[Row]) -> Row:
    """The attempts at a task as one row: the first that solved it, else the last, with the usage of all."""
    if len(attempts) == 1:
        return attempts[0]
    ordered = sorted(attempts, key=lambda row: row.trial)
    deciding = next((row for row in ordered if row.solved), ordered[-1])
    used, aside = (sum(parts, Usage()) for parts in ((row.usage for row in ordered), (row.aside for row in ordered)))
    return deciding.model_copy(update={"usage": used, "aside": aside, "others": sum_others(ordered)})


def sum_others(rows: Iterable[Row]) -> dict[str, Usage]:
    """The usage of partners in these episodes, by part."""
    parts = grouped((part, usage) for row in rows for part, usage in row.others.items())
    return {part: sum(used, Usage()) for part, used in parts.items()}


def final_attempts(rows: Iterable[Row]) -> list[Row]:
    """The test rows with the most training cases, per condition, seed and fold, which decide a condition's result.

    The others are earlier points of a learning curve. A task that was tried several times has several rows.
    """
    test = [row for row in latest(rows) if row.split == "test"]
    most: dict[tuple[str, int, int], int] = {}
    for row in test:
        pool = (row.condition, row.seed, row.fold)
        most[pool] = max(most.get(pool, 0), row.trained_on)
    return [row for row in test if row.trained_on == most[(row.condition, row.seed, row.fold)]]


def final(rows: Iterable[Row]) -> list[Row]:
    """As `final_attempts`, but each task once per run of the test."""
    return judged(final_attempts(rows))


def outcomes(rows: Iterable[Row]) -> dict[EpisodeKey, bool]:
    """Solved or not, by (seed, fold, repeat, task id), for the rows that count."""
    return {row.key: row.solved for row in rows if row.counted}


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, in order."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def share(part: int, whole: int) -> float | None:
    """The part divided by the whole; None if the whole is 0."""
    return part / whole if whole else None


def interval(mean: float, n: int) -> tuple[float, float]:
    """Wilson's 95% score interval for the mean of n quantities from 0 to 1 (else a DataError); (0.0, 1.0) if n is 0."""
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
    return Phases(
        learning=spent(learning),
        recall=spent(recall),
        rollout=spent(_less(used, recall)),
        total=spent(learning + used),
        others={part: spent(usage) for part, usage in sorted(sum_others(rows).items())},
    )


def _less(whole: Usage, part: Usage) -> Usage:
    names = ("prompt_tokens", "cached_tokens", "completion_tokens", "calls", "replayed")
    known = whole.cost is not None and part.cost is not None
    return Usage(
        **{name: getattr(whole, name) - getattr(part, name) for name in names},
        # Sums of dollars differ in their last digits with the order of addition.
        cost=round(max(0.0, (whole.cost or 0.0) - (part.cost or 0.0)), 12) if known else None,
        seconds=max(0.0, whole.seconds - part.seconds),
    )


# Trials and runs of the test


def by_trial(rows: Sequence[Row]) -> tuple[Trial, ...]:
    """Cumulative figures by trial (Reflexion, figures 2 and 3; ExpeL, table 2); none if no task was tried twice.

    The rows are all attempts of one condition, at one number of training cases per seed and fold. A solved task stays
    solved, and a task that is not tried again keeps its outcome. A task whose last attempt ended in a server error is
    left out of that trial's rate.
    """
    attempts = latest(rows)
    last = max((row.trial for row in attempts), default=0)
    tasks = grouped((row.key, row) for row in attempts)
    trials, first = [], dict[EpisodeKey, bool]()
    for trial in range(last + 1) if last else ():
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
    by_run = [run for _, run in sorted(grouped((row.repeat, row) for row in counted).items())]
    rewards = [[row.reward for row in run if row.reward is not None] for run in by_run]
    rates = [sum(row.solved for row in run) / len(run) for run in by_run]
    mean, error = stats.mean_and_error(rates)
    reward, reward_error = stats.mean_and_error([sum(run) / len(run) for run in rewards if run])
    runs = grouped(((row.seed, row.fold, row.task_id), row.solved) for row in counted)
    figures = reliability(runs, task_of=lambda key: key[-1])
    return Reliability(
        rates=tuple(rates), mean=mean, error=error, reward=reward, reward_error=reward_error, figures=figures
    )


# Lessons


def effects(
    tested: Sequence[Row], training: Sequence[Row], lessons: Sequence[Lesson], baseline: str
) -> tuple[LessonEffect, ...]:
    """The effect of each lesson that is not deleted on the final test rows, the most recalled first.

    The training rows are for the sources of each lesson; the baseline has the same tasks without lessons.
    """
    by_attempt = _by_attempt(training)
    without = outcomes(row for row in tested if row.condition == baseline)
    recalls = grouped((id, row) for row in tested if row.condition != baseline for id in dict.fromkeys(row.lesson_ids))
    shown = [lesson for lesson in lessons if lesson.status != "deleted"]
    rated = [_effect(lesson, recalls.get(lesson.id, []), by_attempt, without) for lesson in shown]
    return tuple(sorted(rated, key=lambda one: (-one.recalled, -(one.points or 0.0), one.key, one.id)))


def _effect(
    lesson: Lesson, recalls: Sequence[Row], by_attempt: Mapping[str, Row], without: Mapping[EpisodeKey, bool]
) -> LessonEffect:
    origins = [by_attempt[source] for source in lesson.sources if source in by_attempt]
    condition = lesson.data.get("condition") or (origins[0].condition if origins else "")
    # Variants that share the pool may show lessons differently (cases instead of notes), so prefer the own condition.
    recalling = [row for row in recalls if row.condition == condition] or recalls
    counted = [row for row in recalling if row.counted]
    paired = [row for row in counted if row.key in without]
    solved = sum(row.solved for row in counted)
    before = sum(without[row.key] for row in paired)
    return LessonEffect(
        **lesson.model_dump(include={"id", "kind", "key", "text", "status", "importance"}),
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
    by_attempt = _by_attempt(training)
    owned: dict[str, set[str]] = {}
    pools: dict[str, set[tuple[int, int]]] = {}
    for lesson in (one for one in lessons if one.status != "deleted"):
        data, learner = lesson.data, lesson.data.get("condition")
        sources = [by_attempt[source] for source in lesson.sources if source in by_attempt]
        places = {(learner or row.condition, row.seed, row.fold) for row in sources}
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

    The size of a variant's pool comes from its own training; for a variant that shares another condition's training, it
    is the number of lessons from attempts with the variant's outcome.
    """
    before, sizes = accuracy.get(baseline), pool_sizes(lessons, training)
    table = []
    for name, after in accuracy.items():
        last = name.casefold().replace("_", "-").rsplit("-", 1)[-1]
        variant = next((one for one in _VARIANTS if one == last), None)
        if variant is None or after is None or before is None:
            continue
        size = sizes[name] if name in sizes else _shared_size(variant == "positive", lessons, training)
        worth = (100 * after - 100 * before) / size if size > 0 else None
        points = 100 * (after - before)
        table.append(Efficiency(condition=name, type=variant, lessons=size, points=points, points_per_lesson=worth))
    return tuple(table)


def _shared_size(solved: bool, lessons: Sequence[Lesson], training: Sequence[Row]) -> float:
    """The mean number of lessons per pool from attempts with this outcome."""
    by_attempt = {source: row for source, row in _by_attempt(training).items() if row.counted}
    made = [(one, by_attempt[source]) for one in lessons for source in one.sources if source in by_attempt]
    ids = {lesson.id for lesson, row in made if row.solved == solved and lesson.status != "deleted"}
    return len(ids) / len({(row.condition, row.seed, row.fold) for _, row in made}) if ids else 0.0


def _by_attempt(training: Sequence[Row]) -> dict[str, Row]:
    return {row.trajectory_id: row for row in training if row.trajectory_id}


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
        counts = {"success": sum(each is True for each in learned), "failure": sum(each is False for each in learned)}
        table.append(Origin(category=category, lessons=counts, conditions=rated))
    return tuple(table)


def by_guidance(rows: Iterable[Row], steps: Iterable[Steps]) -> tuple[GuidancePoint, ...]:
    """Scores with trajectories, and with heuristics made from them, by guidance tokens (ERL, figure 5).

    The points, from final test rows, are of few-shot-trajectories, erl-matched, erl and erl-thought, if run; there are
    none without the first or without any other. The steps have the guidance tokens.
    """
    tokens = {one.condition: one.guidance_tokens for one in steps}
    by_condition = grouped((row.condition, row) for row in rows if row.counted)
    names = (TRAJECTORIES, "erl-matched", "erl", "erl-thought")
    ran = {name: by_condition[name] for name in names if name in by_condition}
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

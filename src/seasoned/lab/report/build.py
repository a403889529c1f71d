"""Builds the summary of a run from its rows.

Always holds: only test rows enter the accuracies; an error counts as an error and never as a failure; a pair is
compared on the tasks that both sides finished; an unknown cost stays null; a task that was tried several times counts
once, as solved if a trial solved it, with the usage of all trials; a task under several seeds, folds or runs of the
test is one observation of an interval and of a test; the remarks name a condition that learned nothing, with the reason
if it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seasoned.lab.report import measures, stats
from seasoned.lab.report.format import share
from seasoned.lab.report.headline import empty_pool, headline, learning_remark, remarks, reply_remarks
from seasoned.lab.report.rows import Row, final, final_attempts, judged, latest, outcomes
from seasoned.lab.report.steps import step_statistics
from seasoned.lab.report.summary import (
    Condition,
    CurvePoint,
    Gate,
    Learning,
    Pair,
    PoolProblems,
    Probed,
    Run,
    SeedScore,
    Solved,
    Spent,
    Summary,
    Training,
    TrainingPart,
    Transition,
)
from seasoned.types import Lesson, Trajectory, Usage


@dataclass(frozen=True)
class LearnedPool:
    """A pool after its learning: the conditions that share it, its seed and fold, number of lessons and problems."""

    conditions: tuple[str, ...]
    seed: int
    fold: int
    lessons: int
    problems: tuple[str, ...] = ()


def build(
    rows: Sequence[Row],
    *,
    run: Mapping[str, Any],
    baseline: str = "disabled",
    lessons: Sequence[Lesson] = (),
    trajectories: Sequence[Trajectory] = (),
    learning: Mapping[str, Usage] | None = None,
    pools: Sequence[LearnedPool] = (),
    gates: Sequence[Gate] = (),
    probes: Sequence[Probed] = (),
    more_remarks: Sequence[str] = (),
    experience: Mapping[str, float] | None = None,
) -> Summary:
    """Sum up a run.

    Args:
        rows: All training and test episodes, in the order in which they ended; of two rows of one episode (after a
            resumed or repeated run), the later one counts, but the usage of both.
        run: The description of the run, see `summary.Run`. Its "conditions" order the conditions, its "method" is the
            subject of the headline (by default the first condition that learned anything).
        baseline: The condition that the others are compared with; it may be missing from the rows.
        lessons: The lessons of all pools of the run, for their effect.
        trajectories: The trajectories of the rows, for `steps` and remarks on their replies.
        learning: The usage of learning by condition; conditions may share their lessons. "training" has the usage for
            lessons that only guided the training attempts.
        pools: All pools that were learned from all training attempts of their seed and fold.
        gates: The decisions of the run's gates.
        probes: The estimates of the run's probes.
        more_remarks: Added after the other remarks.
        experience: How many attempts each condition learned from, on average over seeds and folds.

    Raises:
        MissingExtraError: SciPy is not installed.
    """
    description, learning = Run.model_validate(dict(run)), learning or {}
    tested, attempts = final(rows), final_attempts(rows)
    training = [row for row in latest(rows) if row.split == "train"]
    names = _order(tested, description, baseline)
    by_name = {name: [row for row in tested if row.condition == name] for name in names}
    all_attempts = {name: [row for row in attempts if row.condition == name] for name in names}
    sizes = measures.pool_sizes(lessons, training, sharing=True)
    problems = {name: sum(len(pool.problems) for pool in pools if name in pool.conditions) for name in names}
    conditions = tuple(
        _condition(name, by_name[name], all_attempts[name], sizes.get(name), learning.get(name), problems[name])
        for name in names
    )
    if experience is not None:
        gathered = ({"experience": experience.get(one.name)} for one in conditions)
        conditions = tuple(one.model_copy(update=changes) for one, changes in zip(conditions, gathered, strict=True))
    steps = step_statistics([row for name in names for row in all_attempts[name]], trajectories)
    heuristics = [lesson for lesson in lessons if lesson.kind == "heuristic"]
    verdicts = measures.judgements(training)
    summary = Summary(
        run=description,
        baseline=baseline,
        method=_method(conditions, description, baseline),
        headline="",
        remarks=(),
        conditions=conditions,
        pairs=_pairs(by_name, baseline),
        curve=_curve(rows, names, baseline),
        transitions=_transitions(by_name, baseline),
        efficiency=measures.efficiencies({one.name: one.accuracy for one in conditions}, baseline, lessons, training),
        cached_share=_cached_share(list(by_name.values())),
        lessons=measures.effects(tested, training, lessons, baseline),
        origins=measures.by_origin(heuristics, tested, baseline=baseline) if heuristics else (),
        judgements=verdicts if verdicts.n else None,
        steps=steps,
        guidance=measures.by_guidance(tested, steps),
        problems=tuple(
            PoolProblems(conditions=pool.conditions, seed=pool.seed, fold=pool.fold, problems=pool.problems)
            for pool in pools
            if pool.problems
        ),
        gates=tuple(gates),
        probes=tuple(probes),
        training=_training(rows, training),
    )
    sentences = [*remarks(summary), *reply_remarks(trajectories), *learning_remark(learning, names)]
    places = [(pool.seed, pool.fold) for pool in pools]
    sentences += [
        empty_pool(pool.conditions, pool.seed, pool.fold, places, pool.problems) for pool in pools if not pool.lessons
    ]
    return summary.model_copy(update={"headline": headline(summary), "remarks": (*sentences, *more_remarks)})


def _order(tested: Sequence[Row], run: Run, baseline: str) -> list[str]:
    """The conditions: the baseline, then in the caller's order, then in the order of the rows."""
    listed = (baseline, *run.conditions)
    present = dict.fromkeys(row.condition for row in tested)
    return [
        *(name for name in dict.fromkeys(listed) if name in present),
        *(name for name in present if name not in listed),
    ]


def _method(conditions: Sequence[Condition], run: Run, baseline: str) -> str | None:
    """The condition for the headline, chosen without the figures: the p value of the best one would be wrong."""
    others = [one for one in conditions if one.name != baseline]
    named = [one for one in others if one.name == run.method]
    learned = [one for one in others if one.trained_on > 0]
    treatments = [one for one in others if one.name != "retry"]  # retries without guidance are a control
    chosen = [*named, *learned, *treatments, *others]
    return chosen[0].name if chosen else None


def _condition(
    name: str,
    rows: Sequence[Row],
    attempts: Sequence[Row],
    pool_size: float | None,
    learning: Usage | None,
    problems: int,
) -> Condition:
    counted = [row for row in rows if row.counted]
    rewards = [row.reward for row in counted if row.reward is not None]
    seeds: dict[tuple[int, int], list[Row]] = {}
    categories: dict[str, list[Row]] = {}
    for row in counted:
        seeds.setdefault((row.seed, row.fold), []).append(row)
        categories.setdefault(row.category, []).append(row)
    per_seed = [(place, _solved(part)) for place, part in sorted(seeds.items())]
    rates = [part.successes / part.n for _, part in per_seed]
    mean, error = stats.mean_and_error(rates) if rates else (None, None)
    known, new = ([row for row in counted if row.familiar is is_known] for is_known in (True, False))
    return Condition(
        name=name,
        **dict(measures.score(counted)),
        **dict(_spent(rows)),
        tasks=len({row.task_id for row in counted}),
        errors=len(rows) - len(counted),
        trained_on=max((row.trained_on for row in rows), default=0),
        lessons=pool_size,
        cached_share=_cached_share([rows]),
        turns=sum(row.turns for row in counted) / len(counted) if counted else None,
        reward=sum(rewards) / len(rewards) if rewards else None,
        per_seed=tuple(
            SeedScore(seed=seed, fold=fold, **dict(part), accuracy=rate)
            for ((seed, fold), part), rate in zip(per_seed, rates, strict=True)
        ),
        mean=mean,
        error=error,
        categories={category: _solved(part) for category, part in sorted(categories.items())},
        familiar={**({"yes": _solved(known)} if known else {}), **({"no": _solved(new)} if new else {})},
        reasons=Counter(row.reason for row in rows),
        outcomes=measures.endings(rows),
        trials=measures.by_trial(attempts),
        reliability=measures.over_runs(rows),
        learning=None if learning is None else Learning(**dict(measures.spent(learning)), problems=problems),
        phases=measures.phases(rows, learning or Usage()),
    )


def _solved(counted: Sequence[Row]) -> Solved:
    return Solved(n=len(counted), successes=sum(row.solved for row in counted))


def _spent(rows: Sequence[Row]) -> Spent:
    return measures.spent(sum((row.usage for row in rows), Usage()))


def _pairs(by_name: Mapping[str, Sequence[Row]], baseline: str) -> tuple[Pair, ...]:
    """Every two conditions once, the baseline first."""
    names = sorted(by_name, key=lambda name: name != baseline)
    solved = {name: outcomes(by_name[name]) for name in names}
    pairs = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            test = stats.paired(solved[a], solved[b])
            pairs.append(Pair(a=a, b=b, n=test.n, points=test.points, **asdict(test)))
    return tuple(pairs)


def _curve(rows: Sequence[Row], names: Sequence[str], baseline: str) -> tuple[CurvePoint, ...]:
    """Accuracy by number of training cases; with none, a method is the baseline (ExpNote, section 4.3).

    A condition's final rows are one point, its last, even if folds of different sizes have different numbers of cases.
    """
    full = {(row.condition, row.trained_on, row.key): row for row in final(rows)}
    most = {name: max(n for condition, n, _ in full if condition == name) for name in names}
    by_size: dict[str, dict[int, list[Row]]] = {name: {} for name in names}
    for row in judged(rows):
        if row.split == "test" and row.counted:
            last = (row.condition, row.trained_on, row.key) in full
            by_size[row.condition].setdefault(most[row.condition] if last else row.trained_on, []).append(row)
    untrained = [row for row in full.values() if row.condition == baseline and row.counted]
    points = []
    for name, sizes in by_size.items():
        from_none = any(row.lesson_ids for row in sizes.get(0, []))  # lessons without training cases
        if name == baseline or not (any(sizes) or from_none):
            continue
        start = {0: untrained} if untrained and 0 not in sizes else {}
        for trained_on, part in sorted((start | sizes).items()):
            tasks = len({row.task_id for row in part})
            points.append(CurvePoint(condition=name, trained_on=trained_on, tasks=tasks, **dict(measures.score(part))))
    return tuple(points)


def _transitions(by_name: Mapping[str, Sequence[Row]], baseline: str) -> tuple[Transition, ...]:
    if baseline not in by_name:
        return ()
    before = outcomes(by_name[baseline])
    moves = {name: stats.transitions(before, outcomes(rows)) for name, rows in by_name.items() if name != baseline}
    return tuple(Transition(condition=name, n=moved.n, **asdict(moved)) for name, moved in moves.items())


def _cached_share(groups: Sequence[Sequence[Row]]) -> float | None:
    """The cached share of prompts, without the first episode of each condition, whose text is not in the cache yet."""
    used = sum((row.usage for rows in groups for row in rows[1:]), Usage())
    return share(used.cached_tokens, used.prompt_tokens)


def _training(rows: Sequence[Row], training: Sequence[Row]) -> Training:
    tasks = judged(training)
    parts = {}
    for name in dict.fromkeys(row.condition for row in training):
        of_condition = [row for row in tasks if row.condition == name]
        trials = measures.by_trial([row for row in training if row.condition == name])
        parts[name] = TrainingPart(**_attempts(of_condition), outcomes=measures.endings(of_condition), trials=trials)
    # The usage of attempts that were repeated counts, too.
    used = _spent([row for row in rows if row.split == "train"])
    return Training(**_attempts(tasks), **dict(used), conditions=parts)


def _attempts(rows: Sequence[Row]) -> dict[str, int]:
    counted = [row for row in rows if row.counted]
    return {**dict(_solved(counted)), "errors": len(rows) - len(counted)}

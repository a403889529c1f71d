"""Builds the summary of a run from its rows, with its sentences: the headline, and remarks that qualify it.

Always holds: only test rows enter the accuracies; an error counts as an error and never as a failure; a pair is
compared on the tasks that both sides finished; an unknown cost stays null; a task that was tried several times counts
once, as solved if a trial solved it, with the usage of all trials; a task under several seeds, folds or runs of the
test is one observation of an interval and of a test. The headline claims a difference only if the exact test of the
pair gives p < 0.05; the remarks name whatever the figures leave out, and a condition that learned nothing, with the
reason if it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seasoned.lab.report import measures, stats
from seasoned.lab.report.forms import GATHERING, cost, p_clause, share
from seasoned.lab.report.rows import Row, final, final_attempts, judged, latest, outcomes
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
from seasoned.text import count, label, one_line
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
        lessons: The lessons of all pools of the run.
        trajectories: The trajectories of the rows, for `steps` and remarks on their replies.
        learning: The usage of learning by condition, which may share it; "training" has that of lessons that only
            guided the training attempts.
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
    conditions = _conditions(by_name, all_attempts, sizes, learning, pools, experience)
    steps = measures.step_statistics([row for name in names for row in all_attempts[name]], trajectories)
    heuristics = [lesson for lesson in lessons if lesson.kind == "heuristic"]
    verdicts = measures.judgements(training)
    summary = Summary(
        run=description,
        baseline=baseline,
        method=_method(conditions, description, baseline),
        headline="",
        remarks=(),
        conditions=conditions,
        pairs=(pairs := _pairs(by_name, baseline)),
        transitions=_transitions(pairs, baseline),
        curve=_curve(rows, names, baseline),
        efficiency=measures.efficiencies({one.name: one.accuracy for one in conditions}, baseline, lessons, training),
        cached_share=_cached_share(list(by_name.values())),
        lessons=measures.effects(tested, training, lessons, baseline),
        origins=measures.by_origin(heuristics, tested, baseline=baseline) if heuristics else (),
        judgements=verdicts if verdicts.n else None,
        steps=steps,
        guidance=measures.by_guidance(tested, steps),
        problems=_problems(pools),
        gates=tuple(gates),
        probes=tuple(probes),
        training=_training(rows, training),
    )
    sentences = [*remarks(summary), *reply_remarks(trajectories), *learning_remark(learning, names)]
    sentences += _empty_pools(pools)
    return summary.model_copy(update={"headline": headline(summary), "remarks": (*sentences, *more_remarks)})


def _conditions(
    tested: Mapping[str, Sequence[Row]],
    attempts: Mapping[str, Sequence[Row]],
    sizes: Mapping[str, float],
    learning: Mapping[str, Usage],
    pools: Sequence[LearnedPool],
    experience: Mapping[str, float] | None,
) -> tuple[Condition, ...]:
    """The conditions of the rows by condition; `attempts` has all trials."""
    made = []
    for name, rows in tested.items():
        problems = sum(len(pool.problems) for pool in pools if name in pool.conditions)
        one = _condition(name, rows, attempts[name], sizes.get(name), learning.get(name), problems)
        made.append(one if experience is None else one.model_copy(update={"experience": experience.get(name)}))
    return tuple(made)


def _transitions(pairs: Sequence[Pair], baseline: str) -> tuple[Transition, ...]:
    return tuple(
        Transition(condition=pair.b, n=pair.n, ff=pair.neither, ft=pair.only_b, tt=pair.both, tf=pair.only_a)
        for pair in pairs
        if pair.a == baseline
    )


def _problems(pools: Sequence[LearnedPool]) -> tuple[PoolProblems, ...]:
    return tuple(
        PoolProblems(conditions=pool.conditions, seed=pool.seed, fold=pool.fold, problems=pool.problems)
        for pool in pools
        if pool.problems
    )


def _empty_pools(pools: Sequence[LearnedPool]) -> list[str]:
    places = [(pool.seed, pool.fold) for pool in pools]
    return [
        empty_pool(pool.conditions, pool.seed, pool.fold, places, pool.problems) for pool in pools if not pool.lessons
    ]


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
    mean, error = stats.mean_and_error(rates)
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


# Sentences

ALPHA = 0.05
_DETAIL = 300  # characters of an error
_EMPTY = {
    "length": "{} empty because the token limit was reached before the first word (reasoning counts, too): "
    "raise agent.think_tokens, agent.answer_tokens and agent.note_tokens, or agent.action_tokens if the agent acts.",
    "content_filter": "{} empty because of the server's content filter.",
    "other": "{} empty for an unknown reason.",
}
"""Remarks on empty replies, by finish reason."""


def headline(summary: Summary) -> str:
    """A sentence that compares the method with the baseline, or describes the only one that there is."""
    method, baseline = summary.condition(summary.method), summary.condition(summary.baseline)
    if method is not None and baseline is not None and baseline.n and not method.n:
        return f"{label(method.name)} finished no test episode; {label(baseline.name)} solved {_score(baseline)}."
    shown = method or baseline
    if shown is None or not shown.n:
        return "No test episode was finished, so there is nothing to compare."
    if method is None or baseline is None or not baseline.n:
        return f"{label(shown.name)} solved {_score(shown)}; there is no baseline to compare it with."
    pair = summary.pair(baseline.name, method.name)
    if pair is None or not pair.n:
        return f"{label(method.name)} and {label(baseline.name)} have no test task in common: nothing to compare."
    sentence = _compared(method, baseline, pair)
    return sentence if pair.p < ALPHA else sentence + _clearest(summary, baseline)


def _clearest(summary: Summary, baseline: Condition) -> str:
    """A sentence on the comparison with the smallest p, if it is significant after Bonferroni's correction."""
    pairs = [(one, summary.pair(baseline.name, one.name)) for one in summary.conditions if one.name != baseline.name]
    tested = [(one, pair) for one, pair in pairs if pair is not None and pair.n]
    other, pair = min(tested, key=lambda one: one[1].p)
    if pair.p * len(tested) >= ALPHA:
        return ""
    which = f"The clearest of {len(tested)} comparisons, significant even with p times {len(tested)}"
    return f" {which}: {_compared(other, baseline, pair)}"


def _compared(method: Condition, baseline: Condition, pair: Pair) -> str:
    after, before = pair.both + pair.only_b, pair.both + pair.only_a
    name, test = label(method.name), test_words(pair)
    scope = "" if pair.n == method.n == baseline.n else " test episodes that both finished"
    disabled = baseline.name == "disabled"
    if pair.p >= ALPHA:
        rest = f"{before} without notes" if disabled else f"{label(baseline.name)} {before}"
        return f"No difference was found: {name} solved {after} of {pair.n}{scope}, {rest} ({test})."
    change = f"{after - before} more" if after > before else f"{before - after} fewer"
    other = "without notes" if disabled else label(baseline.name)
    return f"{name} solved {after} of {pair.n}{scope}, {change} than {other} ({before}; {test})."


def test_words(pair: Pair) -> str:
    """The name and p of a pair's test, in a few words."""
    if pair.test == "mcnemar":
        return f"exact McNemar {p_clause(pair.p)}"
    return f"exact sign-flip test over {pair.tasks} tasks, {p_clause(pair.p)}"


def _score(solved: Solved) -> str:
    return f"{solved.successes} of {solved.n}"


def remarks(summary: Summary) -> list[str]:
    """The sentences that a reader needs to understand the figures correctly."""
    all_of = summary.conditions
    sentences = []
    if errors := _listed({one.name: one.errors for one in all_of}):
        sentences.append(f"Server errors and unknown outcomes, not counted in any rate: {errors}.")
    if any(one.reasons.get("error") for one in all_of):
        sentences.append(
            f"seasoned run --resume {summary.run.id or 'RUN'} repeats the episodes that ended with a server error"
            " (add the run's --store and --runs, if you used them)."
        )
    if ended := _listed({one.name: one.reasons.get("budget", 0) for one in all_of}):
        sentences.append(f"Ended by a budget and counted as not solved: {ended}.")
    if most := _listed({one.name: len(one.trials) for one in all_of}):
        sentences.append(f"These conditions retry until solved; the maximum number of attempts per task: {most}.")
    if unknown := [label(one.name) for one in all_of if one.cost is None]:
        sentences.append(f"The price of these calls is unknown, so their cost is not given: {', '.join(unknown)}.")
    if judged := summary.judgements:
        sentences.append(
            f"Without knowing the outcomes, the model judged {judged.right} of {judged.n} training attempts correctly: "
            f"it took {judged.claimed} failures for successes, and {judged.missed} successes for failures."
        )
    sentences += [*_audited(summary), *_pooled(all_of)]
    if len(summary.transitions) > 1:
        sentences.append("The p values are not corrected for the number of comparisons.")
    return sentences


def _audited(summary: Summary) -> list[str]:
    """The results of an audit: whether a lift survives lessons that cannot help."""
    sentences = []
    for one in summary.conditions:
        base, plus, how = one.name.rpartition("+")
        lift = summary.pair(summary.baseline, base) if plus else None
        if how not in ("blank", "shuffled") or lift is None or (lift.p or 0) >= ALPHA or (lift.points or 0) <= 0:
            continue
        against = summary.pair(one.name, base) or summary.pair(base, one.name)
        if against is None or against.points is None or against.p is None:
            continue
        ahead = against.points if against.a == one.name else -against.points
        survives = ahead <= 0 or against.p >= ALPHA
        verdict = (
            f"with {how} lessons it solves about as many ({test_words(against)}), so the gain is not shown to come "
            "from the lessons' content"
            if survives
            else f"with {how} lessons it solves {ahead:.1f} points fewer ({test_words(against)}): the content matters"
        )
        sentences.append(f"Audit of {label(base)}: {verdict}.")
    return sentences


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{label(name)} {n}" for name, n in counts.items() if n)


def _pooled(all_of: Sequence[Condition]) -> list[str]:
    parts = [part for one in all_of for part in one.per_seed]
    runs = max((len(one.reliability.rates) for one in all_of), default=0)
    numbers = {"seed": len({part.seed for part in parts}), "fold": len({part.fold for part in parts}), "run": runs}
    over = ", ".join(f"{n} {which}s" for which, n in numbers.items() if n > 1)
    if not over:
        return []
    means = [
        f"{label(one.name)} {100 * one.mean:.1f} ± {100 * one.error:.1f}"
        for one in all_of
        if one.mean is not None and one.error is not None
    ]
    spread = f" Mean and standard error over seeds and folds, in percent: {', '.join(means)}." if means else ""
    return [f"Figures are pooled over {over}; pairs are the same task, seed, fold and run.{_once(all_of)}{spread}"]


def _once(all_of: Sequence[Condition]) -> str:
    tasks = {one.tasks for one in all_of if one.tasks < one.n}
    if not tasks:
        return ""
    many = f"{min(tasks)} to {max(tasks)}" if len(tasks) > 1 else f"{max(tasks)}"
    return f" A task that occurs several times counts once in intervals and p values: there are {many} tasks."


def reply_remarks(trajectories: Sequence[Trajectory]) -> list[str]:
    """The last server error, and how many replies were empty; these served as thoughts, actions and answers."""
    errors = [one.outcome.detail for one in trajectories if one.outcome.reason == "error" and one.outcome.detail]
    sentences = [f"The last error was: {one_line(errors[-1], _DETAIL)}"] if errors else []
    empty = [counts for one in trajectories if isinstance(counts := one.meta.get("empty"), dict)]
    for why, words in _EMPTY.items():
        if n := sum(number for counts in empty if type(number := counts.get(why)) is int):
            sentences.append(words.format("1 reply was" if n == 1 else f"{n:,} replies were"))
    return sentences


def learning_remark(learning: Mapping[str, Usage], names: Sequence[str]) -> list[str]:
    """The usage of learning, which test episodes do not include, named once for conditions that share lessons."""
    groups: dict[str, list[str]] = {}
    for name, shown in {**{name: label(name) for name in names}, "training": GATHERING}.items():
        if (used := learning.get(name, Usage())).calls:
            calls = "1 call" if used.calls == 1 else f"{used.calls} calls"
            words = f"{count(used.tokens)} tokens in {calls} ({cost(used.cost)})"
            groups.setdefault(words, []).append(shown)
    listed = "; ".join(f"{', '.join(who)} {words}" for words, who in groups.items())
    return [f"These figures do not include learning, which used: {listed}."] if listed else []


def empty_pool(
    conditions: Sequence[str], seed: int, fold: int, among: Sequence[tuple[int, int]], problems: Sequence[str]
) -> str:
    """A sentence about a pool without lessons: its conditions, and the reason."""
    where = place(seed, fold, among)
    reason = problems[0] if problems else "no reply contained a usable lesson"
    return f"{', '.join(map(label, conditions))} learned no lesson{where and f' in {where}'}: {reason.rstrip('.')}."


def place(seed: int, fold: int, among: Sequence[tuple[int, int]]) -> str:
    """The seed and the fold, each only if there are several: "seed 1, fold 0", "fold 0", or ""."""
    seeds, folds = ({one[i] for one in among} for i in (0, 1))
    return ", ".join([*([f"seed {seed}"] if len(seeds) > 1 else []), *([f"fold {fold}"] if len(folds) > 1 else [])])

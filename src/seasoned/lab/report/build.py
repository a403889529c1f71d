"""Builds the summary of a run from its rows, with its sentences: the headline, and remarks that qualify it.

Always holds: only test rows enter the accuracies; an error counts as an error and never as a failure; a pair is
compared on the tasks that both sides finished; an unknown cost, or a figure that one of the attempts lacks, stays null;
a task that was tried several times counts once, as solved if a trial solved it, with the usage of all trials; a task
under several seeds, folds or runs of the test is one observation of an interval and of a test. The headline claims a
difference only if the exact test of the pair gives p < 0.05; the remarks name whatever the figures leave out, and a
condition that learned nothing, with the reason if it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from typing import Any

from seasoned.embed import static
from seasoned.errors import SeasonedError
from seasoned.lab.report import measures, stats
from seasoned.lab.report.measures import Row, final, final_attempts, grouped, judged, latest, outcomes, share
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
    Steps,
    Summary,
    Training,
    TrainingPart,
    Transition,
)
from seasoned.lab.report.tables import GATHERING, cost, place_words, test_words
from seasoned.text import count, guidance_tokens, label, one_line
from seasoned.types import Guidance, Lesson, Trajectory, Usage


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
    """
    description, learning = Run.model_validate(dict(run)), learning or {}
    figures = _without_sentences(rows, description, baseline, lessons, trajectories, learning, pools, experience or {})
    summary = figures.model_copy(update={"gates": tuple(gates), "probes": tuple(probes)})
    names = [one.name for one in summary.conditions]
    sentences = [*remarks(summary), *reply_remarks(trajectories), *learning_remark(learning, names)]
    sentences += [*empty_pools(pools), *more_remarks]
    return summary.model_copy(update={"headline": headline(summary), "remarks": tuple(sentences)})


def _without_sentences(
    rows: Sequence[Row],
    description: Run,
    baseline: str,
    lessons: Sequence[Lesson],
    trajectories: Sequence[Trajectory],
    learning: Mapping[str, Usage],
    pools: Sequence[LearnedPool],
    experience: Mapping[str, float],
) -> Summary:
    """The summary without its sentences, gates and probes."""
    tested, attempts = final(rows), grouped((row.condition, row) for row in final_attempts(rows))
    training = [row for row in latest(rows) if row.split == "train"]
    found = grouped((row.condition, row) for row in tested)
    order = dict.fromkeys((baseline, *description.conditions, *found))
    by_name = {name: found[name] for name in order if name in found}
    sizes = measures.pool_sizes(lessons, training, sharing=True)
    conditions = tuple(
        _condition(name, own, attempts[name], sizes.get(name), learning.get(name), pools, experience.get(name))
        for name, own in by_name.items()
    )
    steps = step_statistics([row for name in by_name for row in attempts[name]], trajectories)
    heuristics = [lesson for lesson in lessons if lesson.kind == "heuristic"]
    verdicts = measures.judgements(training)
    pairs = _pairs(by_name, baseline)
    return Summary(
        run=description,
        baseline=baseline,
        method=_method(conditions, description, baseline),
        headline="",
        remarks=(),
        conditions=conditions,
        pairs=pairs,
        transitions=tuple(_transition(pair) for pair in pairs if pair.a == baseline),
        curve=_curve(rows, by_name, baseline),
        efficiency=measures.efficiencies({one.name: one.accuracy for one in conditions}, baseline, lessons, training),
        cached_share=_cached_share(by_name.values()),
        lessons=measures.effects(tested, training, lessons, baseline),
        origins=measures.by_origin(heuristics, tested, baseline=baseline) if heuristics else (),
        judgements=verdicts if verdicts.n else None,
        steps=steps,
        guidance=measures.by_guidance(tested, steps),
        problems=tuple(PoolProblems.model_validate(asdict(pool)) for pool in pools if pool.problems),
        gates=(),
        probes=(),
        training=_training(rows, training),
    )


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
    pools: Sequence[LearnedPool],
    experience: float | None,
) -> Condition:
    """The figures of a condition from its rows; `attempts` has all trials."""
    counted = [row for row in rows if row.counted]
    rewards = [row.reward for row in counted if row.reward is not None]
    known, new = ([row for row in counted if row.familiar is is_known] for is_known in (True, False))
    per_seed = []
    for (seed, fold), part in sorted(grouped(((row.seed, row.fold), row) for row in counted).items()):
        accuracy = sum(row.solved for row in part) / len(part)
        per_seed.append(SeedScore(seed=seed, fold=fold, **dict(_solved(part)), accuracy=accuracy))
    mean, error = stats.mean_and_error([one.accuracy or 0.0 for one in per_seed])
    problems = sum(len(pool.problems) for pool in pools if name in pool.conditions)
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
        per_seed=tuple(per_seed),
        mean=mean,
        error=error,
        categories={
            category: _solved(part)
            for category, part in sorted(grouped((row.category, row) for row in counted).items())
        },
        familiar={**({"yes": _solved(known)} if known else {}), **({"no": _solved(new)} if new else {})},
        reasons=Counter(row.reason for row in rows),
        outcomes=measures.endings(rows),
        trials=measures.by_trial(attempts),
        reliability=measures.over_runs(rows),
        learning=None if learning is None else Learning(**dict(measures.spent(learning)), problems=problems),
        phases=measures.phases(rows, learning or Usage()),
        experience=experience,
    )


def _solved(counted: Sequence[Row]) -> Solved:
    return Solved(n=len(counted), successes=sum(row.solved for row in counted))


def _pairs(by_name: Mapping[str, Sequence[Row]], baseline: str) -> tuple[Pair, ...]:
    """Every two conditions once, the baseline first."""
    solved = {name: outcomes(by_name[name]) for name in sorted(by_name, key=lambda name: name != baseline)}
    pairs = []
    for a, b in combinations(solved, 2):
        test = stats.paired(solved[a], solved[b])
        pairs.append(Pair(a=a, b=b, n=test.n, points=test.points, **asdict(test)))
    return tuple(pairs)


def _transition(pair: Pair) -> Transition:
    return Transition(condition=pair.b, n=pair.n, ff=pair.neither, ft=pair.only_b, tt=pair.both, tf=pair.only_a)


def _curve(rows: Sequence[Row], by_name: Mapping[str, Sequence[Row]], baseline: str) -> tuple[CurvePoint, ...]:
    """Accuracy by number of training cases; with none, a method is the baseline (ExpNote, section 4.3).

    A condition's final rows are one point, its last, even if folds of different sizes have different numbers of cases.
    """
    last = {row.case for own in by_name.values() for row in own}
    counted = [row for row in judged(rows) if row.split == "test" and row.counted]
    untrained = [row for row in by_name.get(baseline, ()) if row.counted]
    points = []
    for name, own in by_name.items():
        most = max(row.trained_on for row in own)
        sizes = grouped((most if row.case in last else row.trained_on, row) for row in counted if row.condition == name)
        from_none = any(row.lesson_ids for row in sizes.get(0, []))  # lessons without training cases
        if name == baseline or not (any(sizes) or from_none):
            continue
        start = {0: untrained} if untrained and 0 not in sizes else {}
        for trained_on, part in sorted((start | sizes).items()):
            tasks = len({row.task_id for row in part})
            points.append(CurvePoint(condition=name, trained_on=trained_on, tasks=tasks, **dict(measures.score(part))))
    return tuple(points)


def _training(rows: Sequence[Row], training: Sequence[Row]) -> Training:
    parts = {}
    for name, own in grouped((row.condition, row) for row in training).items():
        tasks = judged(own)
        parts[name] = TrainingPart(**_attempts(tasks), outcomes=measures.endings(tasks), trials=measures.by_trial(own))
    # The usage of attempts that were repeated counts, too.
    used = _spent([row for row in rows if row.split == "train"])
    return Training(**_attempts(judged(training)), **dict(used), conditions=parts)


def _attempts(rows: Sequence[Row]) -> dict[str, int]:
    counted = [row for row in rows if row.counted]
    return {**dict(_solved(counted)), "errors": len(rows) - len(counted)}


def _spent(rows: Iterable[Row]) -> Spent:
    return measures.spent(sum((row.usage for row in rows), Usage()))


def _cached_share(groups: Iterable[Sequence[Row]]) -> float | None:
    """The cached share of prompts, without the first episode of each condition, whose text is not in the cache yet."""
    used = sum((row.usage for rows in groups for row in rows[1:]), Usage())
    return share(used.cached_tokens, used.prompt_tokens)


# Steps


def step_statistics(attempts: Sequence[Row], trajectories: Sequence[Trajectory]) -> tuple[Steps, ...]:
    """The mean figures per attempt of each condition (ExpeL, table 6), in the order of the rows.

    `attempts` are the final test attempts, including retries and repeats; `trajectories` are theirs, and their
    demonstrations. A figure that one of the attempts lacks is None.
    """
    by_id = {trajectory.id: trajectory for trajectory in trajectories}
    known = [row for row in attempts if row.reason != "error" and row.trajectory_id in by_id]
    steps = []
    for name, figures in grouped((row.condition, _figures(by_id[row.trajectory_id], by_id)) for row in known).items():
        columns = {what: [one[what] for one in figures] for what in figures[0]}
        means = {what: None if None in each else sum(filter(None, each)) / len(each) for what, each in columns.items()}
        steps.append(Steps.model_validate({"condition": name, "n": len(figures), **means}))
    return tuple(steps)


def _figures(attempt: Trajectory, by_id: Mapping[str, Trajectory]) -> dict[str, int | None]:
    """The figures of `Steps` for one attempt; None if it lacks one. Guidance is counted as `erl-matched` does."""
    names = ("thought", "action", "observation")
    parts = {name: [str(getattr(step, name)) for step in attempt.steps] for name in names}
    invalid = attempt.meta.get("invalid")  # actions that the environment could not read
    shown = tuple(by_id[one] for one in attempt.demonstration_ids if one in by_id)
    guidance = guidance_tokens(Guidance(demonstrations=shown, blocks=attempt.blocks()))
    return {
        **{f"{part}s": sum(bool(text.strip()) for text in texts) for part, texts in parts.items()},
        **{f"{part}_tokens": _tokens(texts) for part, texts in parts.items()},
        "invalid": invalid if type(invalid) is int else None,
        "prompt_tokens": attempt.usage.prompt_tokens,
        "completion_tokens": attempt.usage.completion_tokens,
        "calls": attempt.usage.calls + attempt.usage.replayed,
        "guidance_tokens": guidance if len(shown) == len(attempt.demonstration_ids) else None,
    }


def _tokens(texts: list[str]) -> int | None:
    """Tokens of Llama 2's vocabulary (the paper uses tiktoken); None without the wordllama package, which has it."""
    if (tokenizer := _tokenizer()) is None:
        return None
    return sum(len(one) for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False))


@cache
def _tokenizer() -> Any:
    """The tokenizer; None if it is missing or broken, since a missing column must not prevent the report."""
    try:
        return static.tokenizer()
    except SeasonedError:
        return None


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
    shown = method if method is not None and method.n else baseline
    if shown is None or not shown.n:
        return "No test episode was finished, so there is nothing to compare."
    solved = f"{label(shown.name)} solved {shown.successes} of {shown.n}"
    if method is not None and not method.n:
        return f"{label(method.name)} finished no test episode; {solved}."
    if method is None or baseline is None or not baseline.n:
        return f"{solved}; there is no baseline to compare it with."
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
    name, test, disabled = label(method.name), test_words(pair), baseline.name == "disabled"
    scope = "" if pair.n == method.n == baseline.n else " test episodes that both finished"
    if pair.p >= ALPHA:
        rest = f"{before} without notes" if disabled else f"{label(baseline.name)} {before}"
        return f"No difference was found: {name} solved {after} of {pair.n}{scope}, {rest} ({test})."
    change = f"{after - before} more" if after > before else f"{before - after} fewer"
    other = "without notes" if disabled else label(baseline.name)
    return f"{name} solved {after} of {pair.n}{scope}, {change} than {other} ({before}; {test})."


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


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{label(name)} {n}" for name, n in counts.items() if n)


def _audited(summary: Summary) -> list[str]:
    """The results of an audit: whether a lift survives lessons that cannot help."""
    sentences = []
    for one in summary.conditions:
        base, plus, how = one.name.rpartition("+")
        lift = summary.pair(summary.baseline, base) if plus else None
        if how not in ("blank", "shuffled") or lift is None or lift.p >= ALPHA or (lift.points or 0) <= 0:
            continue
        against = summary.pair(one.name, base) or summary.pair(base, one.name)
        if against is None or against.points is None:
            continue
        ahead, test = against.points if against.a == one.name else -against.points, test_words(against)
        if ahead <= 0 or against.p >= ALPHA:
            verdict = f"solves about as many ({test}), so the gain is not shown to come from the lessons' content"
        else:
            verdict = f"solves {ahead:.1f} points fewer ({test}): the content matters"
        sentences.append(f"Audit of {label(base)}: with {how} lessons it {verdict}.")
    return sentences


def _pooled(all_of: Sequence[Condition]) -> list[str]:
    """What the figures are pooled over, and the spread of what they are pooled from."""
    parts = [part for one in all_of for part in one.per_seed]
    runs = max((len(one.reliability.rates) for one in all_of), default=0)
    numbers = {"seed": len({part.seed for part in parts}), "fold": len({part.fold for part in parts}), "run": runs}
    over = ", ".join(f"{n} {which}s" for which, n in numbers.items() if n > 1)
    if not over:
        return []
    known = [(label(one.name), one.mean, one.error) for one in all_of]
    means = [f"{name} {100 * m:.1f} ± {100 * e:.1f}" for name, m, e in known if m is not None and e is not None]
    sentences = [f"Figures are pooled over {over}; pairs are the same task, seed, fold and run."]
    if tasks := sorted({one.tasks for one in all_of if one.tasks < one.n}):
        many = " to ".join(map(str, dict.fromkeys((tasks[0], tasks[-1]))))
        sentences.append(
            f"A task that occurs several times counts once in intervals and p values: there are {many} tasks."
        )
    if means:
        sentences.append(f"Mean and standard error over seeds and folds, in percent: {', '.join(means)}.")
    return [" ".join(sentences)]


def reply_remarks(trajectories: Sequence[Trajectory]) -> list[str]:
    """The last server error, and how many replies were empty; these served as thoughts, actions and answers."""
    errors = [one.outcome.detail for one in trajectories if one.outcome.reason == "error" and one.outcome.detail]
    sentences = [f"The last error was: {one_line(errors[-1], _DETAIL)}"] if errors else []
    empty = [counts for one in trajectories if isinstance(counts := one.meta.get("empty"), dict)]
    for why, words in _EMPTY.items():
        if n := sum(number for counts in empty if type(number := counts.get(why)) is int):
            sentences.append(words.format("1 reply was" if n == 1 else f"{n:,} replies were"))
    return sentences


def learning_remark(learning: Mapping[str, Usage], names: Iterable[str]) -> list[str]:
    """The usage of learning, which test episodes do not include, named once for conditions that share lessons."""
    shown = [*((label(name), learning.get(name)) for name in names), (GATHERING, learning.get("training"))]
    groups = grouped(
        (f"{count(used.tokens)} tokens in {used.calls} call{'s' * (used.calls > 1)} ({cost(used.cost)})", name)
        for name, used in shown
        if used and used.calls
    )
    listed = "; ".join(f"{', '.join(who)} {words}" for words, who in groups.items())
    return [f"These figures do not include learning, which used: {listed}."] if listed else []


def empty_pools(pools: Sequence[LearnedPool]) -> list[str]:
    """A sentence about each pool without lessons: its conditions, and the reason."""
    sentences = []
    for pool in pools:
        where = place_words(pool.seed, pool.fold, [(one.seed, one.fold) for one in pools])
        reason = pool.problems[0] if pool.problems else "no reply contained a usable lesson"
        names = ", ".join(map(label, pool.conditions))
        if not pool.lessons:
            sentences.append(f"{names} learned no lesson{where and f' in {where}'}: {reason.rstrip('.')}.")
    return sentences

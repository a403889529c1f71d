"""The sentences of a report: the headline with the result, and remarks that qualify it.

Always holds: a difference is claimed only if the exact test of the pair gives p < 0.05 on the tasks that both
conditions finished; the named test is the one that was made; a remark names whatever the figures leave out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seasoned.lab.report.format import GATHERING, cost, p_clause
from seasoned.lab.report.summary import Condition, Pair, Solved, Summary
from seasoned.text import count, label, one_line
from seasoned.types import Trajectory, Usage

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
    return _compared(method, baseline, pair)


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

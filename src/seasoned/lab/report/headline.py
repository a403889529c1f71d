"""The sentences of a report: one that says what was found, and remarks that keep it honest.

Always holds: a difference is claimed only where the exact test of the pair gives p < 0.05 on the tasks that both
conditions finished; the test that is named is the one that was made; whatever was left out of the figures is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seasoned.lab.report.format import p_clause
from seasoned.text import label, one_line
from seasoned.types import Trajectory

ALPHA = 0.05
_DETAIL = 300  # characters of an error
_EMPTY = {
    "length": "{} empty as the limit of tokens was reached before the first word (what a model considers counts, too): "
    "raise agent.think_tokens, agent.answer_tokens and agent.note_tokens, or agent.action_tokens where it acts.",
    "content_filter": "{} empty as the server's filter of contents took the words away.",
    "other": "{} empty, and why is not known.",
}
"""What is said of empty replies, by why they ended."""


def headline(summary: Mapping[str, Any]) -> str:
    """One sentence on the method against the baseline, or on what there is when one of them is missing."""
    blocks = {block["name"]: block for block in summary["conditions"]}
    method = blocks.get(summary["method"])
    baseline = blocks.get(summary["baseline"])
    if method is not None and baseline is not None and baseline["n"] and not method["n"]:
        return f"{label(method['name'])} finished no test episode; {label(baseline['name'])} solved {_score(baseline)}."
    shown = method or baseline
    if shown is None or not shown["n"]:
        return "No test episode was finished, so there is nothing to compare."
    if method is None or baseline is None or not baseline["n"]:
        return f"{label(shown['name'])} solved {_score(shown)}; there is no baseline to compare it with."
    pairs = summary["pairs"]
    pair = next((one for one in pairs if one["a"] == baseline["name"] and one["b"] == method["name"]), None)
    if pair is None or not pair["n"]:
        return f"{label(method['name'])} and {label(baseline['name'])} have no test task in common: nothing to compare."
    return _compared(method, baseline, pair)


def _compared(method: Mapping[str, Any], baseline: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    after, before = pair["both"] + pair["only_b"], pair["both"] + pair["only_a"]
    name = label(method["name"])
    scope = "" if pair["n"] == method["n"] == baseline["n"] else " test episodes that both finished"
    test = tested(pair)
    disabled = baseline["name"] == "disabled"
    if pair["p"] >= ALPHA:
        rest = f"{before} without notes" if disabled else f"{label(baseline['name'])} {before}"
        return f"No difference was found: {name} solved {after} of {pair['n']}{scope}, {rest} ({test})."
    more = f"{after - before} more" if after > before else f"{before - after} fewer"
    other = "without notes" if disabled else label(baseline["name"])
    return f"{name} solved {after} of {pair['n']}{scope}, {more} than {other} ({before}; {test})."


def tested(pair: Mapping[str, Any]) -> str:
    """The test of a pair and its p, in a few words."""
    if pair.get("test", "mcnemar") == "mcnemar":
        return f"exact McNemar {p_clause(pair['p'])}"
    return f"exact test of chance signs over {pair['tasks']} tasks, {p_clause(pair['p'])}"


def _score(block: Mapping[str, Any]) -> str:
    return f"{block['successes']} of {block['n']}"


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """What a reader has to know for the figures to be true, one sentence each."""
    blocks = summary["conditions"]
    found = []
    errors = {block["name"]: block["errors"] for block in blocks if block["errors"]}
    if errors:
        found.append(f"Errors of the server and outcomes that nobody knows, left out of every rate: {_listed(errors)}.")
    if any(block["reasons"].get("error") for block in blocks):
        run = summary["run"].get("id", "RUN")
        found.append(
            f"seasoned run --resume {run} makes the episodes again that ended in an error of the server (with the run's"
            " own --store and --runs, where they were given)."
        )
    budget = {block["name"]: block["reasons"].get("budget", 0) for block in blocks}
    if any(budget.values()):
        ended = {name: n for name, n in budget.items() if n}
        found.append(f"Ended by a budget and counted as not solved: {_listed(ended)}.")
    again = {block["name"]: len(block["trials"]) for block in blocks if block["trials"]}
    if again:
        most = _listed(again)
        found.append(f"Tried again until solved, so these figures are of up to so many attempts a task: {most}.")
    unknown = [label(block["name"]) for block in blocks if block["cost"] is None]
    if unknown:
        found.append(f"The price of these calls is unknown, so their cost is not given: {', '.join(unknown)}.")
    if judged := summary["judgements"]:
        found.append(
            f"Not told how training attempts ended, the model judged {judged['right']} of {judged['n']} rightly: "
            f"it took {judged['claimed']} failures for successes, and {judged['missed']} successes for failures."
        )
    found += _pooled(blocks)
    if summary["transitions"] and len(summary["transitions"]) > 1:
        found.append("The p values are not corrected for the number of comparisons.")
    return found


def emptied(trajectories: Sequence[Trajectory]) -> list[str]:
    """What a reader has to know of replies without a word: they were taken as thoughts, actions and answers."""
    told = [made.meta.get("empty") for made in trajectories]
    counts = {why: sum(n for one in told if isinstance(one, dict) and type(n := one.get(why)) is int) for why in _EMPTY}
    return [_EMPTY[why].format("1 reply was" if n == 1 else f"{n:,} replies were") for why, n in counts.items() if n]


def failed(trajectories: Sequence[Trajectory]) -> list[str]:
    """What was said at the last episode that ended in an error of the server: what there is to mend."""
    told = [made.outcome.detail for made in trajectories if made.outcome.reason == "error" and made.outcome.detail]
    return [f"The last error was: {one_line(told[-1], _DETAIL)}"] if told else []


def _pooled(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    numbers = {
        which: len({part[which] for block in blocks for part in block["per_seed"]}) for which in ("seed", "fold")
    }
    numbers["run"] = max((len(block["reliability"]["rates"]) for block in blocks), default=0)
    over = ", ".join(f"{n} {which}s" for which, n in numbers.items() if n > 1)
    if not over:
        return []
    means = [
        f"{label(block['name'])} {100 * block['mean']:.1f} ± {100 * block['error']:.1f}"
        for block in blocks
        if block["error"] is not None
    ]
    spread = f" Mean and standard error over seeds and folds, in percent: {', '.join(means)}." if means else ""
    return [f"Figures are pooled over {over}; pairs are the same task, seed, fold and run.{_once(blocks)}{spread}"]


def _once(blocks: Sequence[Mapping[str, Any]]) -> str:
    tasks = {block["tasks"] for block in blocks if block["tasks"] < block["n"]}
    if not tasks:
        return ""
    many = f"{min(tasks)} to {max(tasks)}" if len(tasks) > 1 else f"{max(tasks)}"
    return f" A task that occurs several times counts once in intervals and p values: there are {many} tasks."


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{label(name)} {n}" for name, n in counts.items())

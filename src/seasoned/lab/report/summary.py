"""What a run found, as one JSON-able dictionary: the content of `summary.json` and the source of every report.

Always holds: test rows alone make the accuracies; an error is counted as an error and never as a failure; a pair is
compared on the tasks that both sides finished; a cost that is unknown stays null; a task that was tried several times
counts once, as solved if one of the trials solved it, with what all of them used; a task that occurs under several
seeds, folds or runs of the test is one observation of an interval and of a test.

    schema_version  1
    run             what the caller knows of the run: id, name, benchmark, model, seeds, started, finished, ...
    baseline        name of the condition everything is compared with
    method          name of the condition that the headline is about, or null
    headline        one sentence
    remarks         sentences that a reader needs for the figures to be true (what was left out, and why)
    conditions      list: name, n (episodes), tasks (distinct ones), successes, errors, accuracy, interval [lo, hi]
                    (Wilson's, with tasks as trials), trained_on, lessons (mean size of a pool), tokens {prompt, cached,
                    completion, total}, cost (US dollars), calls, seconds, cached_share, turns (mean), reward (mean),
                    per_seed [{seed, fold, n, successes, accuracy}], mean, error (standard error over seeds and folds),
                    categories {name: {n, successes}}, familiar (tasks whose goal was a training task's too, and the
                    others: {"yes": {n, successes}, "no": ..}; empty where goals are not told from tasks, or nothing was
                    learned), reasons {reason: count}, outcomes {success, failed, halted} (ExpeL, figures 25 to 27),
                    trials (where tasks were tried again: see `seasoned.lab.report.trials`),
                    reliability (run by run: see `seasoned.lab.report.reliability`), learning (what writing its lessons
                    used: tokens, cost, calls, seconds, as above; null where none are written;
                    in a run also `problems`, their number), phases (ERL, table 4: see `seasoned.lab.report.phases`)
    pairs           list: a, b, n, both, only_a, only_b, neither (episodes), points (b minus a), tasks (distinct ones),
                    test ("mcnemar", or "sign-flip" where a task occurs several times: see `stats.paired`) and its p
    curve           list: condition, trained_on (last, that of the largest fold), n, tasks, successes, accuracy,
                    interval (ExpNote, figure 3)
    transitions     list: condition, n, "F=>F", "F=>T", "T=>T", "T=>F" against the baseline (ExpNote, figure 4)
    efficiency      list: condition, type, lessons, points, points_per_lesson (ExpNote, equation 4)
    cached_share    prompt tokens from the prefix cache in test episodes, after each condition's first
    lessons         list, most recalled first: see `seasoned.lab.report.effect`
    origins         list: heuristics from successes and failures by category (ERL, figure 2b): see
                    `seasoned.lab.report.reliability.by_origin`; empty without heuristics
    judgements      how often a model judged training attempts rightly (ERL, appendix C.2): see
                    `seasoned.lab.report.reliability.judgements`; null where none was judged
    steps           list: means over the attempts of a condition, see `seasoned.lab.report.steps` (ExpeL, table 6)
    guidance        list: heuristics against trajectories by tokens shown (ERL, figure 5): see
                    `seasoned.lab.report.reliability.by_guidance`; empty where they were not both run
    problems        in a run: list, of each pool what learning could not use: see `seasoned.lab.report.problems`
    training        n (tasks), successes, errors, tokens, cost, calls, seconds, and conditions {name: {n, successes,
                    errors, outcomes, trials}}

Rates are 0..1 (null without episodes), differences and efficiency are in percentage points, seconds are model seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from seasoned.lab.report import effect, stats
from seasoned.lab.report.format import GATHERING, cost, share
from seasoned.lab.report.headline import emptied, failed, headline, remarks
from seasoned.lab.report.phases import phases, spent
from seasoned.lab.report.reliability import by_guidance, by_origin, interval, judgements, over_runs
from seasoned.lab.report.rows import Row, final, final_attempts, judged, latest, outcomes
from seasoned.lab.report.steps import step_statistics
from seasoned.lab.report.trials import by_trial, endings
from seasoned.text import count, label
from seasoned.types import Lesson, Trajectory, Usage


def build(
    rows: Sequence[Row],
    *,
    run: Mapping[str, Any],
    baseline: str = "disabled",
    lessons: Sequence[Lesson] = (),
    trajectories: Sequence[Trajectory] = (),
    learning: Mapping[str, Usage] | None = None,
) -> dict[str, Any]:
    """Sum up a run.

    Args:
        rows: Every episode in the order it was finished, training and test; of an episode that is there twice (a
            resumed or repeated run) the later counts, and its usage both times.
        run: What is known of the run; JSON-able. A list under "conditions" orders the conditions, "method" names the
            one that the headline is about (by default the first that learned anything).
        baseline: The condition that the others are compared with; it may be missing from the rows.
        lessons: The lessons of all pools of the run, for their effect.
        trajectories: The trajectories behind the rows, for `steps` and what is remarked on their replies.
        learning: What each condition's lessons took to write, by its name; conditions may share their lessons. Under
            "training", what those took that guided the training attempts alone.

    Returns:
        The dictionary described at the top of this module.

    Raises:
        MissingExtraError: SciPy is not installed.
    """
    tested, attempts = final(rows), final_attempts(rows)
    training = [row for row in latest(rows) if row.split == "train"]
    names = _order(tested, run, baseline)
    by_name = {name: [row for row in tested if row.condition == name] for name in names}
    tried = {name: [row for row in attempts if row.condition == name] for name in names}
    pools = effect.pool_sizes(lessons, training, sharing=True)
    conditions = [_condition(name, by_name[name], tried[name], pools, learning or {}) for name in names]
    method = _method(conditions, run, baseline)
    steps = step_statistics([row for name in names for row in tried[name]], trajectories)
    summary: dict[str, Any] = {
        "schema_version": 1,
        "run": dict(run),
        "baseline": baseline,
        "method": method,
        "headline": "",
        "remarks": [],
        "conditions": conditions,
        "pairs": _pairs(by_name, baseline),
        "curve": _curve(rows, names, baseline),
        "transitions": _transitions(by_name, baseline),
        "efficiency": effect.efficiencies(conditions, baseline, lessons, training),
        "cached_share": _cached_share(list(by_name.values())),
        "lessons": effect.effects(tested, training, lessons, baseline),
        **_heuristics(tested, training, lessons, baseline),
        "steps": steps,
        "guidance": by_guidance(tested, steps),
        "training": _training(rows, training),
    }
    summary["headline"] = headline(summary)
    of_replies = [*failed(trajectories), *emptied(trajectories)]
    summary["remarks"] = [*remarks(summary), *of_replies, *_learned(learning or {}, names)]
    return summary


def condition_of(summary: Mapping[str, Any], name: str | None) -> dict[str, Any] | None:
    """The block of one condition, or None."""
    return next((block for block in summary["conditions"] if block["name"] == name), None)


def pair_of(summary: Mapping[str, Any], a: str, b: str | None) -> dict[str, Any] | None:
    """The comparison of two conditions as it was made (a first), or None."""
    return next((pair for pair in summary["pairs"] if pair["a"] == a and pair["b"] == b), None)


def _order(tested: Sequence[Row], run: Mapping[str, Any], baseline: str) -> list[str]:
    """The baseline first, then as the caller ordered them, then as they appear."""
    given = run.get("conditions")
    wanted = [baseline, *(str(name) for name in given)] if isinstance(given, list | tuple) else [baseline]
    there = dict.fromkeys(row.condition for row in tested)
    return [*(name for name in dict.fromkeys(wanted) if name in there), *(name for name in there if name not in wanted)]


def _method(conditions: Sequence[Mapping[str, Any]], run: Mapping[str, Any], baseline: str) -> str | None:
    """Chosen before the figures are looked at: picking the best afterwards would make its p value a lie."""
    others = [block for block in conditions if block["name"] != baseline]
    wanted = run.get("method")
    named = [block for block in others if block["name"] == wanted]
    learned = [block for block in others if block["trained_on"] > 0]
    more = [block for block in others if block["name"] != "retry"]  # as many tries without a word are a control
    chosen = [*named, *learned, *more, *others]
    return str(chosen[0]["name"]) if chosen else None


def _condition(
    name: str,
    rows: Sequence[Row],
    attempts: Sequence[Row],
    pools: Mapping[str, float],
    learning: Mapping[str, Usage],
) -> dict[str, Any]:
    counted = [row for row in rows if row.counted]
    rewards = [row.reward for row in counted if row.reward is not None]
    per_seed = [
        {"seed": seed, "fold": fold, **_score([row for row in counted if (row.seed, row.fold) == (seed, fold)])}
        for seed, fold in sorted({(row.seed, row.fold) for row in counted})
    ]
    mean, error = stats.mean_and_error([part["accuracy"] for part in per_seed]) if per_seed else (None, None)
    categories = {
        category: _solved([row for row in counted if row.category == category])
        for category in sorted({row.category for row in counted})
    }
    parts = {"yes": [row for row in counted if row.familiar], "no": [row for row in counted if row.familiar is False]}
    return {
        "name": name,
        **_score(counted),
        **_spread(counted),
        "errors": len(rows) - len(counted),
        "trained_on": max((row.trained_on for row in rows), default=0),
        "lessons": pools.get(name),
        **_usage(rows),
        "cached_share": _cached_share([rows]),
        "turns": sum(row.turns for row in counted) / len(counted) if counted else None,
        "reward": sum(rewards) / len(rewards) if rewards else None,
        "per_seed": per_seed,
        "mean": mean,
        "error": error,
        "categories": categories,
        "familiar": {key: _solved(part) for key, part in parts.items() if part},
        "reasons": dict(Counter(row.reason for row in rows)),
        "outcomes": endings(rows),
        "trials": by_trial(attempts),
        "reliability": over_runs(rows),
        "learning": spent(learning[name]) if name in learning else None,
        "phases": phases(rows, learning.get(name, Usage())),
    }


def _solved(counted: Sequence[Row]) -> dict[str, int]:
    return {"n": len(counted), "successes": sum(row.solved for row in counted)}


def _score(counted: Sequence[Row]) -> dict[str, Any]:
    found = _solved(counted)
    return {**found, "accuracy": share(found["successes"], found["n"])}


def _spread(counted: Sequence[Row]) -> dict[str, Any]:
    tasks = len({row.task_id for row in counted})
    return {"tasks": tasks, "interval": list(interval(_score(counted)["accuracy"] or 0.0, tasks))}


def _learned(learning: Mapping[str, Usage], names: Sequence[str]) -> list[str]:
    """What learning took beside the test episodes, told once for conditions with the same lessons."""
    groups: dict[str, list[str]] = {}
    for name, shown in {**{name: label(name) for name in names}, "training": GATHERING}.items():
        if (used := learning.get(name, Usage())).calls:
            calls = "1 call" if used.calls == 1 else f"{used.calls} calls"
            told = f"{count(used.tokens)} tokens in {calls} ({cost(used.cost)})"
            groups.setdefault(told, []).append(shown)
    listed = "; ".join(f"{', '.join(who)} {told}" for told, who in groups.items())
    return [f"Learning is not in these figures; it took: {listed}."] if listed else []


def _usage(rows: Sequence[Row]) -> dict[str, Any]:
    return spent(sum((row.usage for row in rows), Usage()))


def _pairs(by_name: Mapping[str, Sequence[Row]], baseline: str) -> list[dict[str, Any]]:
    """Every two conditions once; the baseline comes first wherever it takes part."""
    names = [*(name for name in by_name if name == baseline), *(name for name in by_name if name != baseline)]
    solved = {name: outcomes(by_name[name]) for name in names}
    found = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            pair = stats.paired(solved[a], solved[b])
            found.append({"a": a, "b": b, "n": pair.n, "points": pair.points, **asdict(pair)})
    return found


def _curve(rows: Sequence[Row], names: Sequence[str], baseline: str) -> list[dict[str, Any]]:
    """Accuracy by number of training cases; with none, a method is the baseline (ExpNote, section 4.3).

    What a condition is judged by is one point, its last, though folds of unequal size have learned from unequally many.
    """
    full = {(row.condition, row.trained_on, row.key): row for row in final(rows)}
    most = {name: max(n for condition, n, _ in full if condition == name) for name in names}
    own: dict[str, dict[int, list[Row]]] = {name: {} for name in names}
    for row in judged(rows):
        if row.split == "test" and row.counted:
            last = (row.condition, row.trained_on, row.key) in full
            own[row.condition].setdefault(most[row.condition] if last else row.trained_on, []).append(row)
    untrained = [row for row in full.values() if row.condition == baseline and row.counted]
    points = []
    for name, sizes in own.items():
        told = any(row.lesson_ids for row in sizes.get(0, []))  # lessons that came from no training case
        if name == baseline or not (any(sizes) or told):
            continue
        start = {0: untrained} if untrained and 0 not in sizes else {}
        for trained_on, found in sorted((start | sizes).items()):
            points.append({"condition": name, "trained_on": trained_on, **_score(found), **_spread(found)})
    return points


def _transitions(by_name: Mapping[str, Sequence[Row]], baseline: str) -> list[dict[str, Any]]:
    if baseline not in by_name:
        return []
    before = outcomes(by_name[baseline])
    found = []
    for name, rows in by_name.items():
        if name != baseline:
            moved = stats.transitions(before, outcomes(rows))
            cells = {"F=>F": moved.ff, "F=>T": moved.ft, "T=>T": moved.tt, "T=>F": moved.tf}
            found.append({"condition": name, "n": moved.n, **cells})
    return found


def _heuristics(
    tested: Sequence[Row], training: Sequence[Row], lessons: Sequence[Lesson], baseline: str
) -> dict[str, Any]:
    made = [lesson for lesson in lessons if lesson.kind == "heuristic"]
    verdicts = judgements(training)
    return {
        "origins": by_origin(made, tested, baseline=baseline) if made else [],
        "judgements": verdicts if verdicts["n"] else None,
    }


def _cached_share(groups: Sequence[Sequence[Row]]) -> float | None:
    """Left out: the first episode of each condition, which cannot find its constant text in the cache."""
    used = sum((row.usage for rows in groups for row in rows[1:]), Usage())
    return share(used.cached_tokens, used.prompt_tokens)


def _training(rows: Sequence[Row], training: Sequence[Row]) -> dict[str, Any]:
    tasks = judged(training)
    parts = {
        name: {
            **_attempts([row for row in tasks if row.condition == name]),
            "outcomes": endings([row for row in tasks if row.condition == name]),
            "trials": by_trial([row for row in training if row.condition == name]),
        }
        for name in dict.fromkeys(row.condition for row in training)
    }
    # What was spent on attempts that were repeated was spent all the same.
    return {**_attempts(tasks), **_usage([row for row in rows if row.split == "train"]), "conditions": parts}


def _attempts(rows: Sequence[Row]) -> dict[str, int]:
    counted = [row for row in rows if row.counted]
    return {"n": len(counted), "successes": sum(row.solved for row in counted), "errors": len(rows) - len(counted)}

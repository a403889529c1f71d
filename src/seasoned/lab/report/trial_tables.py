"""The tables of attempts: by trial, over several runs, by category, origin and guidance, and what an attempt is.

Always holds: published figures are marked as another model's; a figure that is unknown is an em dash, one that makes no
sense in its place is blank; a table without lines is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from seasoned.lab.report.format import gathering, interval, p_value, percent, signed
from seasoned.lab.report.forms import Column, Line, Table
from seasoned.lab.report.reference import category_references, step_references, trial_references
from seasoned.text import UNKNOWN, count, label, one_line

MAX_CATEGORIES = 40


def retried(summary: Mapping[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """(condition, trials) of those that tried tasks again, the training attempts last."""
    found = [(str(block["name"]), block["trials"]) for block in summary["conditions"]]
    found += [(gathering(name), part["trials"]) for name, part in summary["training"]["conditions"].items()]
    return [(name, trials) for name, trials in found if trials]


def trials_table(summary: Mapping[str, Any]) -> Table | None:
    """Tasks solved in each trial or before (Reflexion, figures 2 and 3; ExpeL, table 2).

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
    """
    ours = retried(summary)
    if not ours:
        return None
    most = max(len(trials) for _, trials in ours)
    columns = (
        Column("condition", number=False),
        *(Column(f"R{trial}", spare=0 < trial < most - 1) for trial in range(most)),
        Column("points,\nlast vs R0"),
        Column("exact\np"),
        Column("attempts", spare=True),
    )
    lines = [_trials_line(name, trials, most) for name, trials in ours]
    names = {name.casefold() for name, _ in ours}
    published = [one for one in trial_references(str(summary["run"].get("benchmark", ""))) if one.condition in names]
    for (source, name), group in groupby(published, key=lambda one: (one.source, one.condition)):
        rates = {one.trial: one.value for one in group}
        cells = [f"{rates[trial]:.1f}%" if trial in rates else "" for trial in range(most)]
        if any(cells):
            values = {"name": name, "rates": [rates.get(trial) for trial in range(most)]}
            lines.append(Line((label(name), *cells, "", "", ""), values, source=source))
    notes = ("R0 is the first attempt. A task is tried again until it is solved, and counts from then on.",)
    return Table("Solved by trial", columns, tuple(lines), notes)


def _trials_line(name: str, trials: Sequence[Mapping[str, Any]], most: int) -> Line:
    last = trials[-1]
    cells = (
        label(name),
        *(percent(trial["accuracy"]) for trial in trials),
        *[""] * (most - len(trials)),
        signed(last["points"]),
        p_value(last["p"]),
        str(sum(trial["attempts"] for trial in trials)),
    )
    return Line(cells, {"name": name, "trials": list(trials)})


def repeats_table(summary: Mapping[str, Any]) -> Table | None:
    """Success over several runs of the test, pass@k and pass^k (ERL, figure 3 and appendix C).

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
    """
    blocks = [block for block in summary["conditions"] if len(block["reliability"]["rates"]) > 1]
    if not blocks:
        return None
    scored = any(in_part(block["reliability"].get("reward"), block["reliability"]["mean"]) for block in blocks)
    ks = [figure["k"] for figure in max((block["reliability"]["figures"] for block in blocks), key=len)]
    columns = (
        Column("condition", number=False),
        Column("runs"),
        Column("solved,\nmean ± error"),
        *([Column("score,\nmean ± error")] if scored else []),
        *(Column(f"{name}{k}\n[95%]", spare=k < ks[-1]) for name in ("pass@", "pass^") for k in ks if k > 1),
    )
    lines = []
    for block in blocks:
        found = block["reliability"]
        by_k = {figure["k"]: figure for figure in found["figures"]}
        rates = [_estimate(by_k.get(k), name) for name in ("pass@k", "pass^k") for k in ks if k > 1]
        mean = f"{percent(found['mean'])} ± {100 * (found['error'] or 0.0):.1f}"
        score = [_score(found)] if scored else []
        cells = (label(block["name"]), str(len(found["rates"])), mean, *score, *rates)
        lines.append(Line(cells, {"name": block["name"], **found}))
    notes = (
        "pass@k: at least one of k runs solves the task; pass^k: all of them do. The error is over the runs, and the"
        " intervals are over tasks.",
        "A task with fewer than k runs, as after an error of the server, is left out of the figures for k.",
        *(["Score is the mean reward."] if scored else []),
    )
    return Table("Over several runs", columns, tuple(lines), notes)


def in_part(reward: float | None, rate: float | None) -> bool:
    """Whether an attempt earned something between nothing and all: a success earns 1, so the means part then."""
    return reward is not None and rate is not None and abs(reward - rate) > 1e-9


def _score(found: Mapping[str, Any]) -> str:
    if found.get("reward") is None:
        return UNKNOWN
    return f"{found['reward']:.3f} ± {found['reward_error'] or 0.0:.3f}"


def _estimate(figure: Mapping[str, Any] | None, name: str) -> str:
    """A cell of pass@k or pass^k with its interval."""
    if figure is None or figure[name] is None:
        return UNKNOWN
    return f"{percent(figure[name])} {interval(figure[f'{name}_interval'])}"


def origins_table(summary: Mapping[str, Any]) -> Table | None:
    """Heuristics from successes and from failures, and what each was worth by category (ERL, figure 2b).

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
    """
    if not summary["origins"]:
        return None
    names = [name for name in summary["origins"][0]["conditions"] if name.startswith("erl")]
    columns = (
        Column("category", number=False),
        Column("from\nsuccesses"),
        Column("from\nfailures"),
        *(Column(f"{label(name)},\npoints") for name in names),
    )
    lines = []
    for one in summary["origins"][:MAX_CATEGORIES]:
        points = [signed(one["conditions"][name]["points"]) for name in names]
        counts = (str(one["lessons"]["success"]), str(one["lessons"]["failure"]))
        lines.append(Line((one_line(one["category"], 40) or "all", *counts, *points), one))
    notes = (f"Points are against {label(summary['baseline'])}.",) if names else ()
    return Table("Heuristics by what they come from", columns, tuple(lines), notes)


def guidance_table(summary: Mapping[str, Any]) -> Table | None:
    """Solved with heuristics and with trajectories, and how many tokens of each were shown (ERL, figure 5).

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
    """
    found = summary.get("guidance")
    if not found:
        return None
    columns = (
        Column("condition", number=False),
        Column("guidance\ntokens"),
        Column("solved"),
        Column("accuracy\n[95%]"),
        Column("points vs\ntrajectories"),
        Column("exact\np"),
    )
    lines = []
    for one in found:
        shown = one["guidance_tokens"]
        cells = (
            label(one["condition"]),
            count(None if shown is None else round(shown)),
            f"{one['successes']}/{one['n']}",
            f"{percent(one['accuracy'])} {interval(one['interval'])}",
            signed(one["points"]),
            p_value(one["p"]),
        )
        lines.append(Line(cells, one))
    notes = (
        "Guidance tokens are an attempt's, on average: the text of the heuristics, or the trajectories as transcripts,"
        " a token for each four characters.",
        "erl-matched shows no more of them than few-shot-trajectories, task by task.",
        "Where the test was run several times all runs count, and a task is one observation still.",
    )
    return Table("Heuristics against trajectories", columns, tuple(lines), notes)


_MET = {"yes": "goal met in training", "no": "goal not met"}


def categories_table(summary: Mapping[str, Any]) -> Table | None:
    """Solved of attempted by category, one column a condition (ExpeL, table 5), and the papers' rates beside it.

    Tasks whose goal was a training task's too stand below, apart from the others: what helps with them may have been
    remembered.

    Args:
        summary: What `seasoned.lab.report.summary.build` returns. Where all is of one category there is no table.
    """
    blocks = summary["conditions"]
    names = sorted({name for block in blocks for name in block["categories"]})
    met = tuple(_MET) if any("yes" in block.get("familiar", {}) for block in blocks) else ()
    if len(names) < 2 and not met:
        return None
    wanted = {str(block["name"]) for block in blocks} | {"imitation"}
    published: dict[str, dict[str, float]] = {}
    for one in category_references(str(summary["run"].get("benchmark", ""))):
        if one.condition in wanted and one.category in names:
            published.setdefault(one.condition, {})[one.category] = one.value
    columns = (
        Column("category", number=False),
        *(Column(label(block["name"])) for block in blocks),
        *(Column(f"{label(name)}\n(paper)", spare=True) for name in published),
    )
    lines = []

    def add(said: str, name: str, parts: Sequence[Mapping[str, int] | None]) -> None:
        cells = [f"{part['successes']}/{part['n']}" if part else UNKNOWN for part in parts]
        rates = [f"{by_name[name]:.0f}%" if name in by_name else "" for by_name in published.values()]
        values = {"category": name, **{str(block["name"]): part for block, part in zip(blocks, parts, strict=True)}}
        lines.append(Line((said, *cells, *rates), values))

    for name in names[:MAX_CATEGORIES] if len(names) > 1 else ():
        add(one_line(name, 40) or "(none)", name, [block["categories"].get(name) for block in blocks])
    for key in met:
        add(_MET[key], _MET[key], [block.get("familiar", {}).get(key) for block in blocks])
    notes = []
    if len(names) > MAX_CATEGORIES:
        notes.append(f"{len(names) - MAX_CATEGORIES} more categories are in summary.json.")
    if published:
        notes.append("Columns marked paper are another model's, on other tasks.")
    return Table("By category", columns, tuple(lines), tuple(notes))


def steps_table(summary: Mapping[str, Any]) -> Table | None:
    """Thoughts, actions and tokens of an attempt, on average (ExpeL, table 6).

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
    """
    if not summary["steps"]:
        return None
    columns = (
        Column("condition", number=False),
        Column("attempts"),
        Column("thoughts"),
        Column("actions"),
        Column("invalid\nactions"),
        Column("tokens\nin"),
        Column("tokens\nout"),
        Column("calls", spare=True),
        Column("tokens,\nthoughts", spare=True),
        Column("tokens,\nactions", spare=True),
        Column("tokens,\nobservations", spare=True),
    )
    lines = [_steps_line(one) for one in summary["steps"]]
    names = {one["condition"] for one in summary["steps"]}
    for one in step_references(str(summary["run"].get("benchmark", ""))):
        if one.condition in names:
            steps = (f"{figure:.1f}" for figure in (one.thoughts, one.actions, one.invalid))
            parts = (f"{figure:.1f}" for figure in (one.thought_tokens, one.action_tokens, one.observation_tokens))
            cells = (label(one.condition), "", *steps, "", "", "", *parts)
            lines.append(Line(cells, {"name": one.condition, **asdict(one)}, source=one.source))
    notes = (
        "Means over the test attempts, repeated ones too; those that a server's error ended are left out. Tokens in"
        " and out are the model's; those of thoughts, actions and observations, each counted once, are of one"
        " vocabulary for all models (Llama 2's; the paper's are tiktoken's).",
    )
    return Table("What an attempt consists of", columns, tuple(lines), notes)


def _steps_line(one: Mapping[str, Any]) -> Line:
    def mean(what: str) -> str:
        return UNKNOWN if one[what] is None else f"{one[what]:.1f}"

    cells = (
        label(one["condition"]),
        str(one["n"]),
        *(mean(what) for what in ("thoughts", "actions", "invalid")),
        count(round(one["prompt_tokens"])),
        count(round(one["completion_tokens"])),
        *(mean(what) for what in ("calls", "thought_tokens", "action_tokens", "observation_tokens")),
    )
    return Line(cells, {"name": one["condition"], **one})

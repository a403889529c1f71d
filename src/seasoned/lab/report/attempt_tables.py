"""The tables on attempts, heuristics, lessons and their proof, and which tables the terminal and the page show.

Always holds: as in `tables.py`, which has the tables on test episodes; terminal and page show tables in one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from seasoned.lab.report.measures import grouped
from seasoned.lab.report.reference import Steps as PrintedSteps
from seasoned.lab.report.reference import further_references, step_references, trial_references
from seasoned.lab.report.summary import Interval, LessonEffect, Probed, Run, Steps, Summary, Trial
from seasoned.lab.report.tables import (
    MAX_CATEGORIES,
    Column,
    Line,
    Table,
    accuracy_cell,
    categories_table,
    columns,
    decimal,
    gathering,
    is_partial,
    main_table,
    p_value,
    pairs_table,
    percent,
    phases_table,
    rate_cell,
    signed,
    solved_cell,
    spare,
    to_rich,
)
from seasoned.text import UNKNOWN, clean, count, label, one_line

if TYPE_CHECKING:
    from rich.console import Console

FEW = 10
"""The most pairs shown at once; more are folded away."""
_SOURCES = {"positive": "solved attempts", "negative": "failed attempts"}
_DECISIONS = {"promote": "promoted", "stop": "not promoted", "continue": "go on"}
_RETRIEVALS = ("erl", "erl-embedding", "erl-thought", "erl-random")
"""The retrievals of heuristics; `erl` retrieves as its recipe says."""
_OLD_NAMES = {f"{name}-k{k}": (name, k) for name in _RETRIEVALS for k in (1, 3, 5, 10, 20, 40, 60)}
"""Retrieval and k by condition, for runs that do not store the conditions' parameters."""


def retried(summary: Summary) -> list[tuple[str, Sequence[Trial]]]:
    """(condition, trials) of conditions that tried tasks again, the training attempts last."""
    tried = [(one.name, one.trials) for one in summary.conditions]
    tried += [(gathering(name), part.trials) for name, part in summary.training.conditions.items()]
    return [(name, trials) for name, trials in tried if trials]


def trials_table(summary: Summary) -> Table | None:
    """Tasks solved in each trial or before (Reflexion, figures 2 and 3; ExpeL, table 2)."""
    ours = retried(summary)
    if not ours:
        return None
    most = max(len(trials) for _, trials in ours)
    heads = [Column(f"R{trial}", spare=0 < trial < most - 1) for trial in range(most)]
    lines = []
    for name, trials in ours:
        rates = [*(percent(trial.accuracy) for trial in trials), *[""] * (most - len(trials))]
        test = (signed(trials[-1].points), p_value(trials[-1].p), str(sum(trial.attempts for trial in trials)))
        lines.append(Line((label(name), *rates, *test)))
    names = {name.casefold() for name, _ in ours}
    published = [one for one in trial_references(summary.run.benchmark) if one.condition in names]
    for (source, name), group in grouped(((one.source, one.condition), one) for one in published).items():
        printed = {one.trial: f"{one.value:.1f}%" for one in group}
        if any(cells := [printed.get(trial, "") for trial in range(most)]):
            lines.append(Line((label(name), *cells, "", "", ""), source))
    notes = ("R0 is the first attempt. A task is tried again until it is solved, and counts from then on.",)
    headings = columns("condition", *heads, "points,\nlast vs R0", "exact\np", spare("attempts"))
    return Table("Solved by trial", headings, tuple(lines), notes)


def repeats_table(summary: Summary) -> Table | None:
    """Success over several runs of the test, pass@k and pass^k (ERL, figure 3 and appendix C)."""
    repeated = [(one.name, one.reliability) for one in summary.conditions if len(one.reliability.rates) > 1]
    if not repeated:
        return None
    scored = any(is_partial(result.reward, result.mean) for _, result in repeated)
    ks = range(2, 1 + max(figure.k for _, result in repeated for figure in result.figures))
    lines = []
    for name, result in repeated:
        mean = f"{percent(result.mean)} ± {100 * (result.error or 0.0):.1f}"
        score = UNKNOWN if result.reward is None else f"{result.reward:.3f} ± {result.reward_error or 0.0:.3f}"
        at = {one.k: rate_cell(one.pass_at, one.pass_at_interval) for one in result.figures}
        hat = {one.k: rate_cell(one.pass_hat, one.pass_hat_interval) for one in result.figures}
        rates = [by_k.get(k, UNKNOWN) for by_k in (at, hat) for k in ks]
        lines.append(Line((label(name), str(len(result.rates)), mean, *([score] if scored else []), *rates)))
    lines += _printed_at_k(summary, [name for name, _ in repeated], ks, 1 + scored)
    means = ("solved,\nmean ± error", *(["score,\nmean ± error"] if scored else []))
    heads = [Column(f"{name}{k}\n[95%]", spare=k < ks[-1]) for name in ("pass@", "pass^") for k in ks]
    notes = (
        "pass@k: at least one of k runs solves the task; pass^k: all of them do. The error is over the runs, and the"
        " intervals are over tasks.",
        "A task with fewer than k runs, such as after a server error, is left out of the figures for k.",
        *(["Score is the mean reward."] if scored else []),
    )
    return Table("Over several runs", columns("condition", "runs", *means, *heads), tuple(lines), notes)


def _printed_at_k(summary: Summary, names: Sequence[str], ks: Sequence[int], blank: int) -> list[Line]:
    """The published figures over several runs (ERL, table 1), of a benchmark and of its parts."""
    units = [f"{name}{k}" for name in ("pass@", "pass^") for k in ks]
    printed = grouped(
        ((one.condition, one.category, one.source), (one.unit, f"{one.value:.1f}%"))
        for one in further_references(summary.run.benchmark)
        if one.unit in units and one.condition in names
    )
    lines = []
    for (name, part, source), rates in printed.items():
        title = f"{label(name)}, {part}" if part else label(name)
        cells = (dict[str, str](rates).get(unit, "") for unit in units)
        lines.append(Line((title, "", *[""] * blank, *cells), source))
    return lines


def steps_table(summary: Summary) -> Table | None:
    """Thoughts, actions and tokens of an attempt, on average (ExpeL, table 6)."""
    if not summary.steps:
        return None
    heads = (
        "attempts",
        "thoughts",
        "actions",
        spare("obser-\nvations"),
        "invalid\nactions",
        "tokens\nin",
        "tokens\nout",
    )
    parts_of = map(spare, ("calls", "tokens,\nthoughts", "tokens,\nactions", "tokens,\nobservations"))

    def line(one: Steps | PrintedSteps, n: str, tokens: tuple[str, str, str], source: str = "") -> Line:
        steps = map(decimal, (one.thoughts, one.actions, one.observations, one.invalid))
        parts = map(decimal, (one.thought_tokens, one.action_tokens, one.observation_tokens))
        return Line((label(one.condition), n, *steps, *tokens, *parts), source)

    lines = []
    for one in summary.steps:
        tokens = (count(round(one.prompt_tokens)), count(round(one.completion_tokens)), decimal(one.calls))
        lines.append(line(one, str(one.n), tokens))
    names = {one.condition for one in summary.steps}
    lines += [
        line(printed, "", (count(round(printed.tokens)), "", ""), printed.source)
        for printed in step_references(summary.run.benchmark)
        if printed.condition in names
    ]
    notes = (
        "Means over all test attempts, except those that ended with a server error. Tokens in"
        " and out are the model's; thoughts, actions and observations are counted once each,"
        " in Llama 2's vocabulary for all models (the paper uses tiktoken's).",
    )
    return Table("Parts of an attempt", columns("condition", *heads, *parts_of), tuple(lines), notes)


# Heuristics and lessons


class Point(NamedTuple):
    """Accuracy at a number of heuristics or of training cases, with tasks as trials of the interval."""

    at: int
    accuracy: float
    interval: Interval


def _swept(run: Run, name: str) -> tuple[str, int] | None:
    parameters = run.parameters.get(name)
    if not parameters:
        return _OLD_NAMES.get(name)
    k = parameters.get("k")
    # A condition with other parameters is not a point of the same curve.
    if not name.startswith("erl") or not isinstance(k, int) or not parameters.keys() <= {"k", "retrieve", "on"}:
        return None
    retrieve = "thought" if parameters.get("on") == "thought" else parameters.get("retrieve")
    return f"erl-{retrieve}" if retrieve else "erl", k


def sweep(summary: Summary) -> dict[str, list[Point]]:
    """Accuracy by number of heuristics shown, for each retrieval, over all runs (ERL, figure 4 and table 3)."""
    points: dict[str, list[Point]] = {name: [] for name in _RETRIEVALS}
    for one in summary.conditions:
        place, figures = _swept(summary.run, one.name), one.reliability.figures
        if place and figures:
            point = Point(place[1], figures[0].pass_at, figures[0].pass_at_interval)
            points.setdefault(place[0], []).append(point)
    return {name: sorted(curve) for name, curve in points.items() if curve}


def sweep_table(summary: Summary) -> Table | None:
    """One line for each number of heuristics, one column for each retrieval; None with fewer than two conditions."""
    curves = {name: {point.at: point for point in points} for name, points in sweep(summary).items()}
    if sum(map(len, curves.values())) < 2:
        return None
    lines = []
    for k in sorted({k for points in curves.values() for k in points}):
        at_k = [points.get(k) for points in curves.values()]
        lines.append(Line((str(k), *(rate_cell(one.accuracy, one.interval) if one else "" for one in at_k))))
    heads = columns("heuristics", *(f"{label(name)}\n[95%]" for name in curves), words=0)
    notes = (
        "Over all runs of the test.",
        *(["ERL retrieves as the recipe says under erl.retrieve."] if "erl" in curves else []),
    )
    return Table("By number of heuristics", heads, tuple(lines), notes)


def origins_table(summary: Summary) -> Table | None:
    """Heuristics from successes and from failures, and their points by category (ERL, figure 2b)."""
    if not summary.origins:
        return None
    names = [name for name in summary.origins[0].conditions if name.startswith("erl")]
    lines = []
    for one in summary.origins[:MAX_CATEGORIES]:
        points = [signed(one.conditions[name].points) for name in names]
        counts = (str(one.lessons["success"]), str(one.lessons["failure"]))
        lines.append(Line((one_line(one.category, 40) or "all", *counts, *points)))
    heads = ("from\nsuccesses", "from\nfailures", *(f"{label(name)},\npoints" for name in names))
    notes = (f"Points are against {label(summary.baseline)}.",) if names else ()
    return Table("Heuristics by source", columns("category", *heads), tuple(lines), notes)


def guidance_table(summary: Summary) -> Table | None:
    """Tasks solved with heuristics and with trajectories, and the tokens of each (ERL, figure 5)."""
    if not summary.guidance:
        return None
    lines = []
    for one in summary.guidance:
        shown = count(None if one.guidance_tokens is None else round(one.guidance_tokens))
        cells = (label(one.condition), shown, solved_cell(one), accuracy_cell(one), signed(one.points), p_value(one.p))
        lines.append(Line(cells))
    heads = ("guidance\ntokens", "solved", "accuracy\n[95%]", "points vs\ntrajectories", "exact\np")
    notes = (
        "Guidance tokens are the mean per attempt: the text of the heuristics, or the trajectories as transcripts,"
        " four characters a token.",
        "For each task, erl-matched shows at most as many as few-shot-trajectories.",
        "All runs of the test count; a task is one observation.",
    )
    return Table("Heuristics against trajectories", columns("condition", *heads), tuple(lines), notes)


def efficiency_table(summary: Summary) -> Table | None:
    """Points gained per lesson from solved and from failed attempts (ExpNote, equation 4)."""
    if not summary.efficiency:
        return None
    lines = []
    for one in summary.efficiency:
        figures = (f"{one.lessons:.1f}", signed(one.points), signed(one.points_per_lesson, 3))
        lines.append(Line((label(one.condition), _SOURCES[one.type], *figures)))
    types = {one.type for one in summary.efficiency}
    for printed in further_references(summary.run.benchmark):
        if printed.unit == "points a note" and printed.condition in types:
            cells = (printed.condition, _SOURCES[printed.condition], "", "", signed(printed.value, 3))
            lines.append(Line(cells, printed.source))
    heads = columns("variant", "learned from", "lessons", "points", "points per lesson", words=2)
    return Table("The value of a lesson", heads, tuple(lines))


def lessons_table(summary: Summary, *, limit: int, width: int = 60) -> Table | None:
    """The lessons most often recalled (at most `limit`), and the outcomes of test tasks with them and without.

    `width` is the most characters of a lesson's text.
    """
    lessons = summary.lessons
    if not lessons:
        return None
    seeds = len({one.seed for one in lessons} - {None}) > 1
    heads = ("recalled", "solved\nwith it", f"same tasks,\n{label(summary.baseline)}", "points")

    def line(one: LessonEffect) -> Line:
        seed = [UNKNOWN if one.seed is None else str(one.seed)] if seeds else []
        with_it = f"{one.successes}/{one.n}" if one.n else UNKNOWN
        without = f"{one.baseline_successes}/{one.baseline_n}" if one.baseline_n else UNKNOWN
        results = (str(one.recalled), with_it, without, signed(one.points, 0))
        return Line((one_line(one.key, 24) or UNKNOWN, one_line(one.text, width), *seed, *results))

    notes = []
    if len(lessons) > limit:
        notes.append(f"{len(lessons) - limit} more lessons are in summary.json.")
    if unused := sum(not one.recalled for one in lessons):
        notes.append(f"{unused} of {len(lessons)} lessons were never recalled in a test episode.")
    notes.append("Lessons are recalled together, so these figures do not show the effect of a single lesson.")
    headings = columns("key", "lesson", *([spare("seed")] if seeds else []), *heads, words=2)
    return Table("Lessons and their results", headings, tuple(map(line, lessons[:limit])), tuple(notes))


# Proof


def probes_table(summary: Summary) -> Table | None:
    """The effects of single lessons as a probe estimates them: the most helpful first, the most harmful last."""
    if not summary.probes:
        return None
    ordered = sorted(summary.probes, key=lambda one: (one.condition, one.block, -one.effect))
    shown = ordered if len(ordered) <= 20 else [*ordered[:10], *ordered[-10:]]

    def line(one: Probed) -> Line:
        points = (f"{100 * one.raw:+.0f}", f"{100 * one.effect:+.0f}", f"{100 * one.deviation:.0f}")
        decision = "kept" if one.kept else "left out"
        return Line((label(one.condition), one.block, one_line(one.text, 60), str(one.uses), *points, decision))

    decided = Column("", number=False)
    heads = columns("lessons of", "block", "lesson", "shown", "raw points", "points", "deviation", decided, words=3)
    notes = ["Estimates from withholding each lesson at random. They choose candidates for a gate and prove nothing."]
    if len(ordered) > len(shown):
        notes.append(f"{len(ordered) - len(shown)} more are in summary.json.")
    return Table("What single lessons seem to do", heads, tuple(map(line, shown)), tuple(notes))


def gates_table(summary: Summary) -> Table | None:
    """The looks of each gate: tasks won by the lessons and lost to them, p and its limit, and the decision."""
    lines = []
    for gate in summary.gates:
        for number, look in enumerate(gate.looks):
            about = ("", "") if number else (label(gate.of), gate.block)
            counts = (str(look.tasks), str(look.won), str(look.lost), f"{look.p:.3g}", f"{look.level:.3g}")
            tokens = count(gate.tokens) if number == len(gate.looks) - 1 else ""
            lines.append(Line((*about, *counts, _DECISIONS[look.verdict], tokens)))
    if not lines:
        return None
    decision = Column("decision", number=False)
    heads = columns("lessons of", "block", "tasks", "won", "lost", "p", "p at most", decision, "tokens", words=2)
    notes = ["In each block, lessons that do not help are promoted with a risk of at most 5 %; see docs/proof.md."]
    if excluded := sum(gate.excluded for gate in summary.gates):
        notes.append(f"{excluded} gate tasks had a server error and count as ties.")
    return Table("Gates", heads, tuple(lines), tuple(notes))


TERMINAL = (gates_table, probes_table, trials_table, repeats_table, sweep_table, phases_table)
PAGE = (*TERMINAL, origins_table, guidance_table, categories_table, steps_table, efficiency_table)
"""The tables after the main table and the pairs, in the terminal and on the page."""


def show(summary: Summary, console: Console) -> None:
    """Print the headline, the main table, the pairs, other non-empty tables, and the most recalled lessons.

    More than `FEW` pairs are only in the report.
    """
    from rich.text import Text

    console.print(Text(clean(summary.headline), style="bold"))
    pairs = pairs_table(summary)
    few = pairs if pairs and len(pairs.lines) <= FEW else None
    others = (make(summary) for make in TERMINAL)
    for table in (main_table(summary), few, *others, lessons_table(summary, limit=8)):
        if table:
            console.print(to_rich(table, console.width))

"""The tables of a report.

Always holds: every figure is written in one place, so terminal, Markdown, JSON and HTML agree; published figures are
marked as another model's; a figure that is unknown is an em dash, one that makes no sense in its place is blank; a
table that would say nothing is None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from seasoned.lab.report import stats
from seasoned.lab.report.format import cost, gathering, interval, p_value, percent, signed
from seasoned.lab.report.forms import Column, Line, Table, to_rich
from seasoned.lab.report.reference import (
    Reference,
    category_references,
    references,
    step_references,
    trial_references,
)
from seasoned.lab.report.rows import Row, final, outcomes
from seasoned.lab.report.summary import (
    AtK,
    Condition,
    Interval,
    LessonEffect,
    Pair,
    Run,
    Score,
    Solved,
    Spent,
    Steps,
    Summary,
    Trial,
)
from seasoned.text import ELLIPSIS, UNKNOWN, clean, count, label, one_line

if TYPE_CHECKING:
    from rich.console import Console

Which = Literal["matching", "all", "none"]
FEW = 10
"""So many pairs are shown at once, and more of them folded away."""
MAX_CATEGORIES = 40
_STAMP = re.compile(r"^\d{8}T\d{6}-(?=.)")
_SHOWN = {"name", "n", "successes", "errors", "accuracy", "interval", "tokens", "cost"}


def _name(heading: str, spare: bool = False) -> Column:
    return Column(heading, number=False, spare=spare)


def _number(value: float | None, digits: int = 1) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def _solved(part: Solved | None) -> str:
    return f"{part.successes}/{part.n}" if part else UNKNOWN


def _accuracy(score: Score) -> str:
    return f"{percent(score.accuracy)} {interval(score.interval)}" if score.n else UNKNOWN


def _prompt(spent: Spent) -> str:
    prompt, cached = spent.tokens.prompt, spent.tokens.cached
    return f"{count(prompt)} ({percent(cached / prompt, 0)})" if prompt else count(prompt)


def _partial(reward: float | None, rate: float | None) -> bool:
    """Whether an attempt earned something between nothing and all: a success earns 1, so the means part then."""
    return reward is not None and rate is not None and abs(reward - rate) > 1e-9


# Test episodes


def main_table(summary: Summary, *, which: Which = "matching") -> Table:
    """One line a condition, then the papers' figures.

    The mean reward has a column of its own, score, where an attempt can succeed in part or a paper printed a score
    (WebShop). Turns are those of the attempt that counts, on average (ERL, table 4).

    Args:
        summary: Of the run.
        which: Published figures to show: those of conditions in the run, all of the benchmark, or none.
    """
    figures = _figures(summary, which)
    scored = any(_partial(one.reward, one.accuracy) for one in summary.conditions)
    scored = scored or any(figure.unit == "score" for figure in figures)
    columns = (
        _name("condition"),
        Column("solved"),
        Column("accuracy\n[95%]"),
        *([Column("score")] if scored else []),
        Column(f"points vs\n{label(summary.baseline)}"),
        Column("exact\np"),
        Column("tokens in\n(cached)", spare=True),
        Column("tokens\nout", spare=True),
        Column("cost"),
        Column("turns\n(mean)", spare=True),
        Column("errors", spare=True),
    )
    lines = [_condition_line(one, summary, scored) for one in summary.conditions]
    lines += [_reference_line(figure, scored) for figure in figures]
    notes = list(summary.remarks)
    if scored:
        notes.insert(0, "Score is the mean reward: of 0 to 1 for each task, and 1 where it is solved.")
    if figures:
        models = " and ".join(dict.fromkeys(figure.model for figure in figures))
        papers = " and ".join(dict.fromkeys(figure.paper for figure in figures))
        notes.insert(0, f"What is marked paper was printed in {papers}, for {models}: another model, and other cases.")
    return Table("Test episodes", columns, tuple(lines), tuple(notes))


def _condition_line(one: Condition, summary: Summary, scored: bool) -> Line:
    pair = summary.pair(summary.baseline, one.name)
    cells = (
        label(one.name),
        _solved(one),
        _accuracy(one),
        *([_number(one.reward, 3)] if scored else []),
        signed(pair.points if pair else None),
        p_value(pair.p if pair and pair.n else None),
        _prompt(one),
        count(one.tokens.completion),
        cost(one.cost),
        _number(one.turns),
        str(one.errors),
    )
    compared = {key: getattr(pair, key, None) for key in ("points", "tasks", "test", "p")}
    values = {**one.model_dump(mode="json", include=_SHOWN), "score": one.reward, "turns": one.turns, **compared}
    return Line(cells, values, strong=one.name == summary.method)


def _figures(summary: Summary, which: Which) -> list[Reference]:
    names = [one.name.casefold() for one in summary.conditions]
    printed = references(summary.run.benchmark)
    sources = [figure.source for figure in printed]
    matching = [figure for name in names for figure in printed if figure.condition == name]
    matching.sort(key=lambda figure: sources.index(figure.source))
    return {"none": [], "matching": matching, "all": list(printed)}[which]


def _reference_line(figure: Reference, scored: bool) -> Line:
    digits, sign = (1, "%") if figure.unit == "%" else (3, "")
    shown = f"{figure.value:.{digits}f}{sign}"
    if figure.error is not None:
        shown += f" ± {figure.error:.{digits}f}"
    trial = "" if figure.trial is None else f" R{figure.trial}"
    rates = ((shown, "") if figure.unit == "%" else ("", shown)) if scored else (shown,)
    cells = (f"{label(figure.condition)}{trial}", "", *rates, *[""] * 7)
    keys = ("trial", "value", "unit", "error", "paper", "model", "place", "row")
    return Line(cells, {"name": figure.condition, **{key: getattr(figure, key) for key in keys}}, source=figure.source)


def pairs_table(summary: Summary) -> Table | None:
    """Every two conditions with their exact test; None where the main table has them all, each with the baseline."""
    if all(summary.baseline in (pair.a, pair.b) for pair in summary.pairs):
        return None
    columns = (
        _name("a"),
        _name("b"),
        Column("episodes"),
        Column("only a"),
        Column("only b"),
        Column("points,\nb vs a"),
        Column("exact\np"),
    )

    def line(pair: Pair) -> Line:
        test = (signed(pair.points), p_value(pair.p)) if pair.n else (UNKNOWN, UNKNOWN)
        counts = (str(pair.n), str(pair.only_a), str(pair.only_b))
        return Line((label(pair.a), label(pair.b), *counts, *test), pair.to_json())

    notes = ("Only a, only b: solved by that one alone. The p values are not corrected for the number of pairs.",)
    return Table("Pairs", columns, tuple(map(line, summary.pairs)), notes)


def phases_table(summary: Summary) -> Table | None:
    """Tokens and cost of each part, as ERL's table 4 has them; None where nothing was learned or recalled by calls."""

    def used(spent: Spent) -> bool:
        return bool(spent.tokens.total or spent.calls)

    def prompt(one: Condition) -> float:
        """Prompt tokens of the rollout for each test task."""
        tasks = one.n + one.errors
        return one.phases.rollout.tokens.prompt / tasks if tasks and one.phases else 0.0

    baseline = summary.condition(summary.baseline)
    before = prompt(baseline) if baseline else None
    lines: list[Line] = []
    beside_any = False
    for one in summary.conditions:
        if one.phases is None:
            continue
        beside = [(name, part) for name in ("learning", "recall") if used(part := getattr(one.phases, name))]
        beside_any = beside_any or bool(beside)
        more = prompt(one) / before - 1 if before and one is not baseline else None
        parts = [*beside, ("rollout", one.phases.rollout), *([("total", one.phases.total)] if beside else [])]
        for name, part in parts:
            own = more if name == "rollout" else None
            cells = (
                label(one.name),
                name,
                _prompt(part),
                ("" if name != "rollout" else UNKNOWN) if own is None else f"{signed(100 * own)}%",
                count(part.tokens.completion),
                cost(part.cost),
                f"{part.calls:,}",
            )
            values = {"name": one.name, "part": name, **part.to_json(), "input_vs_baseline": own}
            lines.append(Line(cells, values))
    if not beside_any:
        return None
    columns = (
        _name("condition"),
        _name("part"),
        Column("tokens in\n(cached)"),
        Column(f"input vs\n{label(summary.baseline)}"),
        Column("tokens\nout"),
        Column("cost"),
        Column("calls", spare=True),
    )
    notes = (
        "Learning writes the lessons; conditions that share theirs say the same, and it was paid for once. Recall ranks"
        " or chooses among them for a test task, and reflects where it is tried again. Rollout is the agent's turns.",
        "Input against the baseline's is that of the rollout alone, for each test task.",
        "Calls are those really made. Conditions that share one have its tokens and its cost in the figures of each.",
    )
    return Table("Tokens and cost by part (ERL, table 4)", columns, tuple(lines), notes)


_GOALS: dict[Literal["yes", "no"], str] = {"yes": "goal met in training", "no": "goal not met"}


def categories_table(summary: Summary) -> Table | None:
    """Solved of attempted by category, one column a condition (ExpeL, table 5), and the papers' rates beside it.

    Tasks whose goal was a training task's too stand below, apart from the others: what helps with them may have been
    remembered. Where all is of one category there is no table.
    """
    all_of = summary.conditions
    names = sorted({name for one in all_of for name in one.categories})
    goals = tuple(_GOALS) if any("yes" in one.familiar for one in all_of) else ()
    if len(names) < 2 and not goals:
        return None
    wanted = {one.name for one in all_of} | {"imitation"}
    published: dict[str, dict[str, float]] = {}
    for figure in category_references(summary.run.benchmark):
        if figure.condition in wanted and figure.category in names:
            published.setdefault(figure.condition, {})[figure.category] = figure.value

    def line(said: str, name: str, parts: Mapping[str, Solved | None]) -> Line:
        rates = [f"{by_name[name]:.0f}%" if name in by_name else "" for by_name in published.values()]
        values = {condition: part and part.to_json() for condition, part in parts.items()}
        return Line((said, *map(_solved, parts.values()), *rates), {"category": name, **values})

    lines = [
        line(one_line(name, 40) or "(none)", name, {one.name: one.categories.get(name) for one in all_of})
        for name in (names[:MAX_CATEGORIES] if len(names) > 1 else ())
    ]
    lines += [line(_GOALS[key], _GOALS[key], {one.name: one.familiar.get(key) for one in all_of}) for key in goals]
    columns = (
        _name("category"),
        *(Column(label(one.name)) for one in all_of),
        *(Column(f"{label(name)}\n(paper)", spare=True) for name in published),
    )
    notes = []
    if len(names) > MAX_CATEGORIES:
        notes.append(f"{len(names) - MAX_CATEGORIES} more categories are in summary.json.")
    if published:
        notes.append("Columns marked paper are another model's, on other tasks.")
    return Table("By category", columns, tuple(lines), tuple(notes))


# Attempts


def retried(summary: Summary) -> list[tuple[str, Sequence[Trial]]]:
    """(condition, trials) of those that tried tasks again, the training attempts last."""
    tried = [(one.name, one.trials) for one in summary.conditions]
    tried += [(gathering(name), part.trials) for name, part in summary.training.conditions.items()]
    return [(name, trials) for name, trials in tried if trials]


def trials_table(summary: Summary) -> Table | None:
    """Tasks solved in each trial or before (Reflexion, figures 2 and 3; ExpeL, table 2)."""
    ours = retried(summary)
    if not ours:
        return None
    most = max(len(trials) for _, trials in ours)
    columns = (
        _name("condition"),
        *(Column(f"R{trial}", spare=0 < trial < most - 1) for trial in range(most)),
        Column("points,\nlast vs R0"),
        Column("exact\np"),
        Column("attempts", spare=True),
    )
    lines = []
    for name, trials in ours:
        rates = [*(percent(trial.accuracy) for trial in trials), *[""] * (most - len(trials))]
        test = (signed(trials[-1].points), p_value(trials[-1].p), str(sum(trial.attempts for trial in trials)))
        values = {"name": name, "trials": [trial.to_json() for trial in trials]}
        lines.append(Line((label(name), *rates, *test), values))
    names = {name.casefold() for name, _ in ours}
    published = [one for one in trial_references(summary.run.benchmark) if one.condition in names]
    for (source, name), group in groupby(published, key=lambda one: (one.source, one.condition)):
        printed = {one.trial: one.value for one in group}
        cells = [f"{printed[trial]:.1f}%" if trial in printed else "" for trial in range(most)]
        if any(cells):
            printed_rates = {"name": name, "rates": [printed.get(trial) for trial in range(most)]}
            lines.append(Line((label(name), *cells, "", "", ""), printed_rates, source=source))
    notes = ("R0 is the first attempt. A task is tried again until it is solved, and counts from then on.",)
    return Table("Solved by trial", columns, tuple(lines), notes)


def repeats_table(summary: Summary) -> Table | None:
    """Success over several runs of the test, pass@k and pass^k (ERL, figure 3 and appendix C)."""
    repeated = [(one.name, one.reliability) for one in summary.conditions if len(one.reliability.rates) > 1]
    if not repeated:
        return None
    scored = any(_partial(found.reward, found.mean) for _, found in repeated)
    ks = range(2, 1 + max(figure.k for _, found in repeated for figure in found.figures))

    def rates(by_k: Mapping[int, AtK]) -> list[str]:
        at = [f"{percent(by_k[k].pass_at)} {interval(by_k[k].pass_at_interval)}" if k in by_k else UNKNOWN for k in ks]
        return at + [
            f"{percent(by_k[k].pass_hat)} {interval(by_k[k].pass_hat_interval)}" if k in by_k else UNKNOWN for k in ks
        ]

    lines = []
    for name, found in repeated:
        mean = f"{percent(found.mean)} ± {100 * (found.error or 0.0):.1f}"
        score = UNKNOWN if found.reward is None else f"{found.reward:.3f} ± {found.reward_error or 0.0:.3f}"
        cells = (label(name), str(len(found.rates)), mean, *([score] if scored else []))
        by_k = {figure.k: figure for figure in found.figures}
        lines.append(Line((*cells, *rates(by_k)), {"name": name, **found.to_json()}))
    columns = (
        _name("condition"),
        Column("runs"),
        Column("solved,\nmean ± error"),
        *([Column("score,\nmean ± error")] if scored else []),
        *(Column(f"{name}{k}\n[95%]", spare=k < ks[-1]) for name in ("pass@", "pass^") for k in ks),
    )
    notes = (
        "pass@k: at least one of k runs solves the task; pass^k: all of them do. The error is over the runs, and the"
        " intervals are over tasks.",
        "A task with fewer than k runs, as after an error of the server, is left out of the figures for k.",
        *(["Score is the mean reward."] if scored else []),
    )
    return Table("Over several runs", columns, tuple(lines), notes)


def steps_table(summary: Summary) -> Table | None:
    """Thoughts, actions and tokens of an attempt, on average (ExpeL, table 6)."""
    if not summary.steps:
        return None
    columns = (
        _name("condition"),
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

    def line(one: Steps) -> Line:
        tokens = (count(round(one.prompt_tokens)), count(round(one.completion_tokens)), _number(one.calls))
        parts = map(_number, (one.thought_tokens, one.action_tokens, one.observation_tokens))
        steps = map(_number, (one.thoughts, one.actions, one.invalid))
        cells = (label(one.condition), str(one.n), *steps, *tokens, *parts)
        return Line(cells, {"name": one.condition, **one.to_json()})

    lines = [line(one) for one in summary.steps]
    names = {one.condition for one in summary.steps}
    for one in step_references(summary.run.benchmark):
        if one.condition in names:
            steps = map(_number, (one.thoughts, one.actions, one.invalid))
            parts = map(_number, (one.thought_tokens, one.action_tokens, one.observation_tokens))
            cells = (label(one.condition), "", *steps, "", "", "", *parts)
            lines.append(Line(cells, {"name": one.condition, **one.model_dump()}, source=one.source))
    notes = (
        "Means over the test attempts, repeated ones too; those that a server's error ended are left out. Tokens in"
        " and out are the model's; those of thoughts, actions and observations, each counted once, are of one"
        " vocabulary for all models (Llama 2's; the paper's are tiktoken's).",
    )
    return Table("What an attempt consists of", columns, tuple(lines), notes)


# Heuristics and lessons


class SweepPoint(NamedTuple):
    """Accuracy with k heuristics, over all runs of the test, with tasks as trials of the interval."""

    k: int
    accuracy: float
    interval: Interval


_RETRIEVALS = ("erl", "erl-embedding", "erl-thought", "erl-random")
"""How heuristics are retrieved; `erl` retrieves as its recipe says."""
_OLD_NAMES = {f"{name}-k{k}": (name, k) for name in _RETRIEVALS for k in (1, 3, 5, 10, 20, 40, 60)}
"""Retrieval and k of the conditions of a run that does not tell their parameters."""


def _swept(run: Run, name: str) -> tuple[str, int] | None:
    own = run.parameters.get(name)
    if not own:
        return _OLD_NAMES.get(name)
    # Whatever else differs is no point of the same curve.
    if not name.startswith("erl") or not isinstance(own.get("k"), int) or not own.keys() <= {"k", "retrieve", "on"}:
        return None
    retrieve = "thought" if own.get("on") == "thought" else own.get("retrieve")
    return f"erl-{retrieve}" if retrieve else "erl", own["k"]


def sweep(summary: Summary) -> dict[str, list[SweepPoint]]:
    """Accuracy by how many heuristics are shown, for each retrieval, by rising k (ERL, figure 4 and table 3)."""
    points: dict[str, list[SweepPoint]] = {name: [] for name in _RETRIEVALS}
    for one in summary.conditions:
        place, figures = _swept(summary.run, one.name), one.reliability.figures
        if place and figures:
            point = SweepPoint(place[1], figures[0].pass_at, figures[0].pass_at_interval)
            points.setdefault(place[0], []).append(point)
    return {name: sorted(own) for name, own in points.items() if own}


def sweep_table(summary: Summary) -> Table | None:
    """One line for each number of heuristics, one column for each retrieval; None with fewer than two conditions."""
    curves = {name: {point.k: point for point in points} for name, points in sweep(summary).items()}
    if sum(map(len, curves.values())) < 2:
        return None
    lines = []
    for k in sorted({k for points in curves.values() for k in points}):
        own = {name: points.get(k) for name, points in curves.items()}
        cells = (f"{percent(one.accuracy)} {interval(one.interval)}" if one else "" for one in own.values())
        lines.append(Line((str(k), *cells), {"k": k, **{name: one and one._asdict() for name, one in own.items()}}))
    columns = (Column("heuristics"), *(Column(f"{label(name)}\n[95%]") for name in curves))
    notes = ["Over all runs of the test."]
    if "erl" in curves:
        notes.append("ERL retrieves as the recipe says under erl.retrieve.")
    return Table("By number of heuristics", columns, tuple(lines), tuple(notes))


def origins_table(summary: Summary) -> Table | None:
    """Heuristics from successes and from failures, and what each was worth by category (ERL, figure 2b)."""
    if not summary.origins:
        return None
    names = [name for name in summary.origins[0].conditions if name.startswith("erl")]
    lines = []
    for one in summary.origins[:MAX_CATEGORIES]:
        points = [signed(one.conditions[name].points) for name in names]
        counts = (str(one.lessons["success"]), str(one.lessons["failure"]))
        lines.append(Line((one_line(one.category, 40) or "all", *counts, *points), one.to_json()))
    heads = ("from\nsuccesses", "from\nfailures", *(f"{label(name)},\npoints" for name in names))
    notes = (f"Points are against {label(summary.baseline)}.",) if names else ()
    return Table("Heuristics by what they come from", (_name("category"), *map(Column, heads)), tuple(lines), notes)


def guidance_table(summary: Summary) -> Table | None:
    """Solved with heuristics and with trajectories, and how many tokens of each were shown (ERL, figure 5)."""
    if not summary.guidance:
        return None
    lines = []
    for one in summary.guidance:
        shown = count(None if one.guidance_tokens is None else round(one.guidance_tokens))
        cells = (label(one.condition), shown, _solved(one), _accuracy(one), signed(one.points), p_value(one.p))
        lines.append(Line(cells, one.to_json()))
    heads = ("guidance\ntokens", "solved", "accuracy\n[95%]", "points vs\ntrajectories", "exact\np")
    notes = (
        "Guidance tokens are an attempt's, on average: the text of the heuristics, or the trajectories as transcripts,"
        " a token for each four characters.",
        "erl-matched shows no more of them than few-shot-trajectories, task by task.",
        "Where the test was run several times all runs count, and a task is one observation still.",
    )
    return Table("Heuristics against trajectories", (_name("condition"), *map(Column, heads)), tuple(lines), notes)


def efficiency_table(summary: Summary) -> Table | None:
    """Points gained per lesson from solved and from failed attempts (ExpNote, equation 4)."""
    if not summary.efficiency:
        return None
    lines = []
    for one in summary.efficiency:
        source = "solved attempts" if one.type == "positive" else "failed attempts"
        figures = (f"{one.lessons:.1f}", signed(one.points), signed(one.points_per_lesson, 3))
        lines.append(Line((label(one.condition), source, *figures), one.to_json()))
    heads = map(Column, ("lessons", "points", "points per lesson"))
    return Table("What a lesson is worth", (_name("variant"), _name("learned from"), *heads), tuple(lines))


def lessons_table(summary: Summary, *, limit: int = 20, width: int = 60) -> Table | None:
    """The lessons most often recalled, and how those test tasks ended with them and without.

    Args:
        summary: Of the run.
        limit: Lines at most.
        width: Characters of a lesson's text at most.
    """
    lessons = summary.lessons
    if not lessons:
        return None
    seeds = len({one.seed for one in lessons} - {None}) > 1
    columns = (
        _name("key"),
        _name("lesson"),
        *([Column("seed", spare=True)] if seeds else []),
        Column("recalled"),
        Column("solved\nwith it"),
        Column(f"same tasks,\n{label(summary.baseline)}"),
        Column("points"),
    )

    def line(one: LessonEffect) -> Line:
        cells = (
            one_line(one.key, 24) or UNKNOWN,
            one_line(one.text, width),
            *([UNKNOWN if one.seed is None else str(one.seed)] if seeds else []),
            str(one.recalled),
            f"{one.successes}/{one.n}" if one.n else UNKNOWN,
            f"{one.baseline_successes}/{one.baseline_n}" if one.baseline_n else UNKNOWN,
            signed(one.points, 0),
        )
        return Line(cells, one.to_json())

    notes = []
    if len(lessons) > limit:
        notes.append(f"{len(lessons) - limit} more lessons are in summary.json.")
    if unused := sum(not one.recalled for one in lessons):
        notes.append(f"{unused} of {len(lessons)} lessons were never recalled in a test episode.")
    notes.append("Lessons are recalled together, so these figures show company as well as merit.")
    return Table("Lessons and what came of them", columns, tuple(map(line, lessons[:limit])), tuple(notes))


def gates_table(summary: Summary) -> Table | None:
    """The looks of each gate: tasks won by the lessons and lost to them, p and its limit, and the decision."""
    lines = []
    for gate in summary.gates:
        for number, look in enumerate(gate.looks):
            decided = {"promote": "promoted", "stop": "not promoted", "continue": "go on"}[look.verdict]
            cells = (
                label(gate.of) if not number else "",
                gate.block if not number else "",
                str(look.tasks),
                str(look.won),
                str(look.lost),
                f"{look.p:.3g}",
                f"{look.level:.3g}",
                decided,
                count(gate.tokens) if number == len(gate.looks) - 1 else "",
            )
            lines.append(Line(cells, {**gate.to_json(), "look": number}))
    if not lines:
        return None
    heads = ("tasks", "won", "lost", "p", "p at most")
    columns = (_name("lessons of"), _name("block"), *map(Column, heads), _name("decision"), Column("tokens"))
    notes = ["Lessons that do not help are promoted in at most 5 % of runs; docs/proof.md has the argument."]
    if excluded := sum(gate.excluded for gate in summary.gates):
        notes.append(f"{excluded} gate tasks had an error of the server and count as ties.")
    return Table("Gates", columns, tuple(lines), tuple(notes))


# Several runs


def comparison_table(summaries: Sequence[Summary], rows: Sequence[Sequence[Row]] | None = None) -> Table:
    """Several runs side by side: one line a run and condition.

    Args:
        summaries: One summary a run, the first is what the others are compared with.
        rows: The rows of the same runs. With them, each condition of a later run is paired with the same condition of
            the first run on their common tasks, provided that the benchmark is the same.
    """
    columns = (
        _name("run"),
        _name("model", spare=True),
        _name("condition"),
        Column("solved"),
        Column("accuracy\n[95%]"),
        Column("pairs", spare=True),
        Column("points\nvs first"),
        Column("exact\np"),
        Column("tokens", spare=True),
        Column("cost"),
    )
    tested = [final(one) for one in rows or ()]
    lines, repeated = [], False
    for i, summary in enumerate(summaries):
        alike = 0 < i < len(tested) and summary.run.benchmark == summaries[0].run.benchmark
        for one in summary.conditions:
            test = _paired(tested[0], tested[i], one.name) if alike else None
            repeated = repeated or (test is not None and test.tasks < test.n)
            lines.append(_comparison_line(summary.run, one, test))
    paired = "Pairs are the same condition, task, seed, fold and run of the test on both sides."
    notes = [paired] if rows is not None else []
    notes += ["A task that occurs several times counts once in p."] if repeated else []
    return Table("Runs", columns, tuple(lines), tuple(notes))


def _paired(first: Sequence[Row], other: Sequence[Row], condition: str) -> stats.Paired:
    """Two sides on their common tasks; under other data or options, the same id may be another task."""
    a, b = ([row for row in rows if row.condition == condition] for rows in (first, other))
    tasks = {row.key: row.task for row in a}
    return stats.paired(outcomes(a), outcomes(row for row in b if tasks.get(row.key) == row.task))


def _comparison_line(run: Run, one: Condition, test: stats.Paired | None) -> Line:
    paired = test if test is not None and test.n else None
    cells = (
        _run_name(run),
        one_line(run.model or UNKNOWN, 28),
        label(one.name),
        _solved(one),
        _accuracy(one),
        str(paired.n) if paired else UNKNOWN,
        signed(test.points if test else None),
        p_value(paired.p if paired else None),
        count(one.tokens.total),
        cost(one.cost),
    )
    values: dict[str, Any] = {"run": run.id or None, **one.model_dump(mode="json", include=_SHOWN)}
    values |= {"pairs": getattr(test, "n", None), "p": paired.p if paired else None}
    return Line(cells, values | {key: getattr(test, key, None) for key in ("points", "tasks", "test")})


def _run_name(run: Run) -> str:
    """What tells a run from others of its name, and finds it: its id without the time that it begins with."""
    name = one_line(_STAMP.sub("", run.id or run.name), 200)
    return (name if len(name) <= 32 else f"{ELLIPSIS}{name[-31:]}") or UNKNOWN


def show(summary: Summary, console: Console) -> None:
    """Print the headline, the main table, whichever of the others say something, and the lessons most recalled.

    More than `FEW` pairs are left to the report.
    """
    from rich.text import Text

    console.print(Text(clean(summary.headline), style="bold"))
    pairs = pairs_table(summary)
    few = pairs if pairs and len(pairs.lines) <= FEW else None
    made = (
        main_table(summary),
        gates_table(summary),
        few,
        trials_table(summary),
        repeats_table(summary),
        sweep_table(summary),
    )
    for table in (*made, phases_table(summary), lessons_table(summary, limit=8)):
        if table:
            console.print(to_rich(table, console.width))

"""The tables of a report.

Always holds: every figure is formatted in one place, so terminal, Markdown, JSON and HTML agree; published figures are
marked as another model's; an unknown figure is an em dash, an inapplicable one is blank; an empty table is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from seasoned.lab.report import stats
from seasoned.lab.report.attempt_tables import (
    efficiency_table,
    gates_table,
    guidance_table,
    lessons_table,
    origins_table,
    probes_table,
    repeats_table,
    steps_table,
    sweep_table,
    trials_table,
)
from seasoned.lab.report.forms import (
    MAX_CATEGORIES,
    Column,
    Line,
    Table,
    accuracy_cell,
    columns,
    cost,
    decimal,
    is_partial,
    p_value,
    prompt_cell,
    signed,
    solved_cell,
    spare,
    to_rich,
)
from seasoned.lab.report.reference import Reference, category_references, further_references, references
from seasoned.lab.report.rows import Row, final, outcomes
from seasoned.lab.report.summary import Condition, Pair, Run, Solved, Spent, Summary
from seasoned.text import ELLIPSIS, UNKNOWN, clean, count, label, one_line

if TYPE_CHECKING:
    from rich.console import Console

FEW = 10
"""The most pairs shown at once; more are folded away."""
_STAMP = re.compile(r"^\d{8}T\d{6}-(?=.)")
_SHOWN = {"name", "n", "successes", "errors", "accuracy", "interval", "tokens", "cost"}


# Test episodes


def main_table(summary: Summary, *, all_published: bool = False) -> Table:
    """One line per condition, then published figures: of the run's conditions, or `all_published` of the benchmark.

    The mean reward has its own column, score, if an attempt can succeed in part or a paper prints a score (WebShop).
    Turns are the mean over the attempts that count (ERL, table 4).
    """
    figures = references(summary.run.benchmark) if all_published else _matching(summary)
    scored = any(is_partial(one.reward, one.accuracy) for one in summary.conditions)
    scored = scored or any(figure.unit == "score" for figure in figures)
    heads = ["condition", "solved", "accuracy\n[95%]", *(["score"] if scored else [])]
    heads += [f"points vs\n{label(summary.baseline)}", "exact\np"]
    used = (spare("tokens in\n(cached)"), spare("tokens\nout"), "cost", spare("turns\n(mean)"), spare("errors"))
    lines = [_condition_line(one, summary, scored) for one in summary.conditions]
    lines += [_reference_line(figure, scored) for figure in figures]
    notes = list(summary.remarks)
    if scored:
        notes.insert(0, "Score is the mean reward, from 0 to 1 per task; 1 is solved.")
    if figures:
        models = " and ".join(dict.fromkeys(figure.model for figure in figures))
        papers = " and ".join(dict.fromkeys(figure.paper for figure in figures))
        notes.insert(
            0, f"Rows marked paper are the published figures of {papers}, for {models}: another model, other cases."
        )
    return Table("Test episodes", columns(*heads, *used), tuple(lines), tuple(notes))


def _condition_line(one: Condition, summary: Summary, scored: bool) -> Line:
    pair = summary.pair(summary.baseline, one.name)
    cells = (
        label(one.name),
        solved_cell(one),
        accuracy_cell(one),
        *([decimal(one.reward, 3)] if scored else []),
        signed(pair.points if pair else None),
        p_value(pair.p if pair and pair.n else None),
        prompt_cell(one),
        count(one.tokens.completion),
        cost(one.cost),
        decimal(one.turns),
        str(one.errors),
    )
    return Line(cells, strong=one.name == summary.method)


def _matching(summary: Summary) -> Sequence[Reference]:
    """The published figures of the run's conditions, paper by paper."""
    names = [one.name.casefold() for one in summary.conditions]
    printed = references(summary.run.benchmark)
    sources = [figure.source for figure in printed]
    matching = [figure for name in names for figure in printed if figure.condition == name]
    return sorted(matching, key=lambda figure: sources.index(figure.source))


def _reference_line(figure: Reference, scored: bool) -> Line:
    digits, sign = (1, "%") if figure.unit == "%" else (3, "")
    shown = f"{figure.value:.{digits}f}{sign}"
    if figure.error is not None:
        shown += f" ± {figure.error:.{digits}f}"
    trial = "" if figure.trial is None else f" R{figure.trial}"
    rates = ((shown, "") if figure.unit == "%" else ("", shown)) if scored else (shown,)
    cells = (f"{label(figure.condition)}{trial}", "", *rates, *[""] * 7)
    return Line(cells, figure.source)


def pairs_table(summary: Summary) -> Table | None:
    """Every two conditions with their exact test; None if the main table has all pairs."""
    if all(summary.baseline in (pair.a, pair.b) for pair in summary.pairs):
        return None

    def line(pair: Pair) -> Line:
        test = (signed(pair.points), p_value(pair.p)) if pair.n else (UNKNOWN, UNKNOWN)
        counts = (str(pair.n), str(pair.only_a), str(pair.only_b))
        return Line((label(pair.a), label(pair.b), *counts, *test))

    notes = (
        "Only a, only b: episodes solved by one of the two. The p values are not corrected for the number of pairs.",
    )
    heads = ("episodes", "only a", "only b", "points,\nb vs a", "exact\np")
    return Table("Pairs", columns("a", "b", *heads, words=2), tuple(map(line, summary.pairs)), notes)


def phases_table(summary: Summary) -> Table | None:
    """Tokens and cost by part, as in ERL's table 4; None if neither learning nor recall called a model."""

    def used(spent: Spent) -> bool:
        return bool(spent.tokens.total or spent.calls)

    def prompt(one: Condition) -> float:
        """Prompt tokens of the rollout for each test task."""
        tasks = one.n + one.errors
        return one.phases.rollout.tokens.prompt / tasks if tasks and one.phases else 0.0

    baseline = summary.condition(summary.baseline)
    before = prompt(baseline) if baseline else None
    lines: list[Line] = []
    any_extra = False
    for one in summary.conditions:
        if one.phases is None:
            continue
        extra = [(name, part) for name in ("learning", "recall") if used(part := getattr(one.phases, name))]
        any_extra = any_extra or bool(extra or one.phases.others)
        change = prompt(one) / before - 1 if before and one is not baseline else None
        parts = [*extra, ("rollout", one.phases.rollout), *([("total", one.phases.total)] if extra else [])]
        parts += [(f"the {part}, apart", spent) for part, spent in one.phases.others.items()]
        for name, part in parts:
            vs_baseline = change if name == "rollout" else None
            cells = (
                label(one.name),
                name,
                prompt_cell(part),
                ("" if name != "rollout" else UNKNOWN) if vs_baseline is None else f"{signed(100 * vs_baseline)}%",
                count(part.tokens.completion),
                cost(part.cost),
                f"{part.calls:,}",
            )
            lines.append(Line(cells))
    if not any_extra:
        return None
    lines += _printed_costs(summary)
    compared = f"input vs\n{label(summary.baseline)}"
    heads = ("condition", "part", "tokens in\n(cached)", compared, "tokens\nout", "cost", spare("calls"))
    notes = (
        "Learning writes the lessons; conditions that share lessons show the same figures, paid for once. Recall ranks"
        " or chooses lessons for a test task, and reflects before a retry. Rollout is the agent's turns.",
        "Input against the baseline's is for the rollout only, per test task.",
        "Calls are those actually made. A shared call's tokens and cost count in each condition.",
    )
    return Table("Tokens and cost by part (ERL, table 4)", columns(*heads, words=2), tuple(lines), notes)


def _printed_costs(summary: Summary) -> list[Line]:
    """The published tokens and costs: of the test attempts, and in total with learning and recall."""
    names = {one.name for one in summary.conditions}
    by_source: dict[tuple[str, str], dict[str, float]] = {}
    for one in further_references(summary.run.benchmark):
        if one.unit == "total" and one.condition.removesuffix("-total") in names:
            by_source.setdefault((one.condition, one.source), {})[one.what] = one.value
    lines = []
    for (condition, source), printed in by_source.items():
        name = condition.removesuffix("-total")
        part = "rollout" if name == condition else "total"
        read = f"{printed['input_millions']:.1f}M ({printed['cached_percent']:.0f}%)"
        written = f"{printed['output_millions']:.1f}M"
        cells = (label(name), part, read, "", written, f"${printed['dollars']:.2f}", "")
        lines.append(Line(cells, source))
    return lines


_GOALS: dict[Literal["yes", "no"], str] = {"yes": "goal met in training", "no": "goal not met"}


def categories_table(summary: Summary) -> Table | None:
    """Solved of attempted tasks by category, one column per condition (ExpeL, table 5), and the published rates.

    Tasks that share their goal with a training task have a line of their own, since their solutions may have been
    remembered. With only one category there is no table.
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

    def line(title: str, name: str, parts: Iterable[Solved | None]) -> Line:
        rates = [f"{by_name[name]:.0f}%" if name in by_name else "" for by_name in published.values()]
        return Line((title, *map(solved_cell, parts), *rates))

    lines = [
        line(one_line(name, 40) or "(none)", name, (one.categories.get(name) for one in all_of))
        for name in (names[:MAX_CATEGORIES] if len(names) > 1 else ())
    ]
    lines += [line(_GOALS[key], _GOALS[key], (one.familiar.get(key) for one in all_of)) for key in goals]
    ours, theirs = [label(one.name) for one in all_of], [spare(f"{label(name)}\n(paper)") for name in published]
    notes = []
    if len(names) > MAX_CATEGORIES:
        notes.append(f"{len(names) - MAX_CATEGORIES} more categories are in summary.json.")
    if published:
        notes.append("Columns marked paper are of another model, on other tasks.")
    return Table("By category", columns("category", *ours, *theirs), tuple(lines), tuple(notes))


# Several runs


def comparison_table(summaries: Sequence[Summary], rows: Sequence[Sequence[Row]] | None = None) -> Table:
    """Several runs side by side, one line per run and condition; the others are compared with the first.

    With the `rows` of the same runs, each condition of a later run is paired with the same condition of the first run
    on their common tasks, if the benchmark is the same.
    """
    names = ("run", Column("model", number=False, spare=True), "condition")
    heads = ("solved", "accuracy\n[95%]", spare("pairs"), "points\nvs first", "exact\np", spare("tokens"), "cost")
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
    return Table("Runs", columns(*names, *heads, words=3), tuple(lines), tuple(notes))


def _paired(first: Sequence[Row], other: Sequence[Row], condition: str) -> stats.Paired:
    """Compare two runs on their common tasks; tasks with the same id but different texts are left out."""
    a, b = ([row for row in rows if row.condition == condition] for rows in (first, other))
    tasks = {row.key: row.task for row in a}
    return stats.paired(outcomes(a), outcomes(row for row in b if tasks.get(row.key) == row.task))


def _comparison_line(run: Run, one: Condition, test: stats.Paired | None) -> Line:
    paired = test if test is not None and test.n else None
    cells = (
        _run_name(run),
        one_line(run.model or UNKNOWN, 28),
        label(one.name),
        solved_cell(one),
        accuracy_cell(one),
        str(paired.n) if paired else UNKNOWN,
        signed(test.points if test else None),
        p_value(paired.p if paired else None),
        count(one.tokens.total),
        cost(one.cost),
    )
    values: dict[str, Any] = {"run": run.id or None, **one.model_dump(mode="json", include=_SHOWN)}
    values |= {"pairs": getattr(test, "n", None), "p": paired.p if paired else None}
    values |= {key: getattr(test, key, None) for key in ("points", "tasks", "test")}
    return Line(cells, values=values)


def _run_name(run: Run) -> str:
    """A run's id without its leading time, which still distinguishes runs of the same name."""
    name = one_line(_STAMP.sub("", run.id or run.name), 200)
    return (name if len(name) <= 32 else f"{ELLIPSIS}{name[-31:]}") or UNKNOWN


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

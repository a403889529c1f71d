"""The tables of a report: test episodes, lessons, and runs side by side.

Always holds: every figure is written in one place, so terminal, Markdown, JSON and HTML agree; published figures are
marked as another model's; a figure that is unknown is an em dash, one that makes no sense in its place is blank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from seasoned.lab.report import stats
from seasoned.lab.report.format import cost, interval, p_value, percent, signed
from seasoned.lab.report.forms import Column, Line, Table, to_rich
from seasoned.lab.report.pairs import FEW, pairs_table
from seasoned.lab.report.phases import phases_table
from seasoned.lab.report.reference import Reference, references
from seasoned.lab.report.rows import Row, final, outcomes
from seasoned.lab.report.summary import pair_of
from seasoned.lab.report.sweep import sweep_table
from seasoned.lab.report.trial_tables import in_part, repeats_table, trials_table
from seasoned.text import ELLIPSIS, UNKNOWN, clean, count, label, one_line

if TYPE_CHECKING:
    from rich.console import Console

Which = Literal["matching", "all", "none"]
_STAMP = re.compile(r"^\d{8}T\d{6}-(?=.)")


def main_table(summary: Mapping[str, Any], *, which: Which = "matching") -> Table:
    """One line a condition, then the papers' figures.

    The mean reward has a column of its own, score, where an attempt can succeed in part or a paper printed a score
    (WebShop). Turns are those of the attempt that counts, on average (ERL, table 4).

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
        which: Published figures to show: those of conditions in the run, all of the benchmark, or none.
    """
    baseline = summary["baseline"]
    figures = _figures(summary, which)
    scored = any(in_part(block["reward"], block["accuracy"]) for block in summary["conditions"])
    scored = scored or any(figure.unit == "score" for figure in figures)
    columns = (
        Column("condition", number=False),
        Column("solved"),
        Column("accuracy\n[95%]"),
        *([Column("score")] if scored else []),
        Column(f"points vs\n{label(baseline)}"),
        Column("exact\np"),
        Column("tokens in\n(cached)", spare=True),
        Column("tokens\nout", spare=True),
        Column("cost"),
        Column("turns\n(mean)", spare=True),
        Column("errors", spare=True),
    )
    lines = [_condition_line(block, summary, scored) for block in summary["conditions"]]
    lines += [_reference_line(figure, scored) for figure in figures]
    notes = list(summary["remarks"])
    if scored:
        notes.insert(0, "Score is the mean reward: of 0 to 1 for each task, and 1 where it is solved.")
    if figures:
        notes.insert(0, _explanation(figures))
    return Table("Test episodes", columns, tuple(lines), tuple(notes))


def _condition_line(block: Mapping[str, Any], summary: Mapping[str, Any], scored: bool) -> Line:
    pair = pair_of(summary, summary["baseline"], block["name"]) or {}
    tokens = block["tokens"]
    prompt = count(tokens["prompt"])
    if tokens["prompt"]:
        prompt += f" ({percent(tokens['cached'] / tokens['prompt'], 0)})"
    cells = (
        label(block["name"]),
        f"{block['successes']}/{block['n']}",
        f"{percent(block['accuracy'])} {interval(block['interval'])}" if block["n"] else UNKNOWN,
        *([UNKNOWN if block["reward"] is None else f"{block['reward']:.3f}"] if scored else []),
        signed(pair.get("points")),
        p_value(pair.get("p") if pair.get("n") else None),
        prompt,
        count(tokens["completion"]),
        cost(block["cost"]),
        UNKNOWN if block["turns"] is None else f"{block['turns']:.1f}",
        str(block["errors"]),
    )
    values = {
        **{key: block[key] for key in ("name", "n", "successes", "errors", "accuracy", "interval", "tokens", "cost")},
        "score": block["reward"],
        "turns": block["turns"],
        **{key: pair.get(key) for key in ("points", "tasks", "test", "p")},
    }
    return Line(cells, values, strong=block["name"] == summary["method"])


def _figures(summary: Mapping[str, Any], which: Which) -> list[Reference]:
    names = [str(block["name"]).casefold() for block in summary["conditions"]]
    found = references(str(summary["run"].get("benchmark", "")))
    sources = [figure.source for figure in found]
    matching = [figure for name in names for figure in found if figure.condition == name]
    matching.sort(key=lambda figure: sources.index(figure.source))
    return {"none": [], "matching": matching, "all": list(found)}[which]


def _reference_line(figure: Reference, scored: bool) -> Line:
    digits = 1 if figure.unit == "%" else 3
    shown = f"{figure.value:.{digits}f}{'%' if figure.unit == '%' else ''}"
    if figure.error is not None:
        shown += f" ± {figure.error:.{digits}f}"
    trial = "" if figure.trial is None else f" R{figure.trial}"
    rates = ((shown, "") if figure.unit == "%" else ("", shown)) if scored else (shown,)
    cells = (f"{label(figure.condition)}{trial}", "", *rates, *[""] * 7)
    values = {
        "name": figure.condition,
        "trial": figure.trial,
        "value": figure.value,
        "unit": figure.unit,
        "error": figure.error,
        "paper": figure.paper,
        "model": figure.model,
    }
    return Line(cells, values, source=figure.source)


def _explanation(figures: Sequence[Reference]) -> str:
    models = " and ".join(dict.fromkeys(figure.model for figure in figures))
    papers = " and ".join(dict.fromkeys(figure.paper for figure in figures))
    return f"What is marked paper was printed in {papers}, for {models}: another model, and other cases."


def lessons_table(summary: Mapping[str, Any], *, limit: int = 20, width: int = 60) -> Table:
    """The lessons most often recalled, and how those test tasks ended with them and without.

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
        limit: Lines at most.
        width: Characters of a lesson's text at most.
    """
    lessons = summary["lessons"]
    seeds = len({one["seed"] for one in lessons} - {None}) > 1
    columns = [
        Column("key", number=False),
        Column("lesson", number=False),
        Column("recalled"),
        Column("solved\nwith it"),
        Column(f"same tasks,\n{label(summary['baseline'])}"),
        Column("points"),
    ]
    if seeds:
        columns.insert(2, Column("seed", spare=True))
    lines = [Line(_lesson_cells(one, width, seeds), one) for one in lessons[:limit]]
    notes = []
    if len(lessons) > limit:
        notes.append(f"{len(lessons) - limit} more lessons are in summary.json.")
    unused = sum(not one["recalled"] for one in lessons)
    if unused:
        notes.append(f"{unused} of {len(lessons)} lessons were never recalled in a test episode.")
    if lessons:
        notes.append("Lessons are recalled together, so these figures show company as well as merit.")
    return Table("Lessons and what came of them", tuple(columns), tuple(lines), tuple(notes))


def _lesson_cells(one: Mapping[str, Any], width: int, seeds: bool) -> tuple[str, ...]:
    return (
        one_line(one["key"], 24) or UNKNOWN,
        one_line(one["text"], width),
        *([UNKNOWN if one["seed"] is None else str(one["seed"])] if seeds else []),
        str(one["recalled"]),
        f"{one['successes']}/{one['n']}" if one["n"] else UNKNOWN,
        f"{one['baseline_successes']}/{one['baseline_n']}" if one["baseline_n"] else UNKNOWN,
        signed(one["points"], 0),
    )


def comparison_table(summaries: Sequence[Mapping[str, Any]], rows: Sequence[Sequence[Row]] | None = None) -> Table:
    """Several runs side by side: one line a run and condition.

    Args:
        summaries: One summary a run, the first is what the others are compared with.
        rows: The rows of the same runs. With them, each condition of a later run is paired with the same condition of
            the first run on their common tasks, provided that the benchmark is the same.
    """
    columns = (
        Column("run", number=False),
        Column("model", number=False, spare=True),
        Column("condition", number=False),
        Column("solved"),
        Column("accuracy\n[95%]"),
        Column("pairs", spare=True),
        Column("points\nvs first"),
        Column("exact\np"),
        Column("tokens", spare=True),
        Column("cost"),
    )
    tested = [_by_condition(one) for one in rows] if rows is not None else []
    lines, repeated = [], False
    for i, summary in enumerate(summaries):
        for block in summary["conditions"]:
            test = None
            if i and i < len(tested) and summary["run"].get("benchmark") == summaries[0]["run"].get("benchmark"):
                test = _paired(tested[0].get(block["name"], []), tested[i].get(block["name"], []))
                repeated = repeated or test.tasks < test.n
            lines.append(_comparison_line(summary, block, test))
    paired = "Pairs are the same condition, task, seed, fold and run of the test on both sides."
    notes = [paired] if rows is not None else []
    notes += ["A task that occurs several times counts once in p."] if repeated else []
    return Table("Runs", columns, tuple(lines), tuple(notes))


def _by_condition(rows: Sequence[Row]) -> dict[str, list[Row]]:
    tested = final(rows)
    return {name: [row for row in tested if row.condition == name] for name in {r.condition for r in tested}}


def _paired(first: Sequence[Row], other: Sequence[Row]) -> stats.Paired:
    """Two sides on their common tasks; under other data or options, the same id may be another task."""
    tasks = {row.key: row.task for row in first}
    return stats.paired(outcomes(first), outcomes(row for row in other if tasks.get(row.key) == row.task))


def _comparison_line(summary: Mapping[str, Any], block: Mapping[str, Any], test: stats.Paired | None) -> Line:
    run = summary["run"]
    paired = test is not None and test.n > 0
    cells = (
        _run_name(run),
        one_line(run.get("model") or UNKNOWN, 28),
        label(block["name"]),
        f"{block['successes']}/{block['n']}",
        f"{percent(block['accuracy'])} {interval(block['interval'])}" if block["n"] else UNKNOWN,
        str(test.n) if test is not None and paired else UNKNOWN,
        signed(test.points) if test is not None else UNKNOWN,
        p_value(test.p) if test is not None and paired else UNKNOWN,
        count(block["tokens"]["total"]),
        cost(block["cost"]),
    )
    values = {
        "run": run.get("id"),
        **{key: block[key] for key in ("name", "n", "successes", "errors", "accuracy", "interval", "tokens", "cost")},
        "pairs": test.n if test is not None else None,
        "points": test.points if test is not None else None,
        "tasks": test.tasks if test is not None else None,
        "test": test.test if test is not None else None,
        "p": test.p if test is not None and paired else None,
    }
    return Line(cells, values)


def _run_name(run: Mapping[str, Any]) -> str:
    """What tells a run from others of its name, and finds it: its id without the time that it begins with."""
    name = one_line(_STAMP.sub("", str(run.get("id") or run.get("name") or "")), 200)
    return (name if len(name) <= 32 else f"{ELLIPSIS}{name[-31:]}") or UNKNOWN


def show(summary: Mapping[str, Any], console: Console, *, lessons: int = 8) -> None:
    """Print the headline, the main table, whichever of the others say something, and the lessons most recalled.

    More than `FEW` pairs are left to the report.
    """
    from rich.text import Text

    console.print(Text(clean(summary["headline"]), style="bold"))
    console.print(to_rich(main_table(summary), console.width))
    pairs = pairs_table(summary)
    few = pairs if pairs and len(pairs.lines) <= FEW else None
    for table in (few, trials_table(summary), repeats_table(summary), sweep_table(summary), phases_table(summary)):
        if table:
            console.print(to_rich(table, console.width))
    if summary["lessons"] and lessons:
        console.print(to_rich(lessons_table(summary, limit=lessons), console.width))

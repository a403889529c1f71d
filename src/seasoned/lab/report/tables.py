"""The format of figures, a table as data and its two forms (for the terminal, and as JSON), and the main tables.

Always holds: every figure is formatted in one place, so terminal, Markdown, JSON and HTML agree; text from elsewhere is
never read as markup; a number is never cut to fit (columns are left out instead); published figures are marked as
another model's; an unknown figure is an em dash, never 0; an inapplicable one is blank; an empty table is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from seasoned.lab.report import stats
from seasoned.lab.report.measures import Row, final, grouped, outcomes
from seasoned.lab.report.reference import Reference, category_references, further_references, references
from seasoned.lab.report.summary import Condition, Interval, Pair, Run, Score, Solved, Spent, Summary
from seasoned.text import ELLIPSIS, UNKNOWN, clean, count, label, one_line

if TYPE_CHECKING:
    import rich.table

MAX_CATEGORIES = 40
"""The most categories in a table; summary.json has all."""
MINUS = "\N{MINUS SIGN}"
GATHERING = "gathering"
_TEXT_WIDTH, _MIN_TEXT_WIDTH = 24, 12  # characters of a text column that reads well, and of the narrowest one
_STAMP = re.compile(r"^\d{8}T\d{6}-(?=.)")
_SHOWN = {"name", "n", "successes", "errors", "accuracy", "interval", "tokens", "cost"}
_GOALS: dict[Literal["yes", "no"], str] = {"yes": "goal met in training", "no": "goal not met"}


def gathering(name: str) -> str:
    """The name for the attempts of a condition at training tasks."""
    return GATHERING if name == "training" else f"{name}, {GATHERING}"


def percent(rate: float | None, digits: int = 1) -> str:
    """A rate of 0..1 as a percentage."""
    return UNKNOWN if rate is None else f"{100 * rate:.{digits}f}%"


def rate_cell(rate: float | None, interval: Interval) -> str:
    """A rate with its interval in whole percent: 68.3% [56, 79]."""
    return f"{percent(rate)} [{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]"


def signed(value: float | None, digits: int = 1) -> str:
    """A difference with its sign, or without one if it rounds to 0."""
    if value is None:
        return UNKNOWN
    shown = f"{abs(value):.{digits}f}"
    return shown if float(shown) == 0 else ("+" if value > 0 else MINUS) + shown


def p_value(p: float | None) -> str:
    """A p value for a table cell: <0.001, 0.032, 0.41."""
    if p is None:
        return UNKNOWN
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def test_words(pair: Pair) -> str:
    """The name and p of a pair's test, in a few words: p < 0.001, p = 0.032."""
    shown = p_value(pair.p)
    p = f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"
    return f"exact McNemar {p}" if pair.test == "mcnemar" else f"exact sign-flip test over {pair.tasks} tasks, {p}"


def cost(dollars: float | None) -> str:
    """US dollars; an em dash if the price is unknown."""
    if dollars is None:
        return UNKNOWN
    if dollars == 0:
        return "$0"
    return f"${dollars:.2f}" if dollars >= 0.995 else f"${dollars:.2g}" if dollars >= 0.0001 else "<$0.0001"


def decimal(value: float | None, digits: int = 1) -> str:
    """A number with `digits` decimal places."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def solved_cell(part: Solved | None) -> str:
    """The number of solved tasks, of all: 12/20."""
    return f"{part.successes}/{part.n}" if part else UNKNOWN


def accuracy_cell(score: Score) -> str:
    """The accuracy with its interval."""
    return rate_cell(score.accuracy, score.interval) if score.n else UNKNOWN


def prompt_cell(spent: Spent) -> str:
    """Prompt tokens, with the share that came from a cache."""
    prompt, cached = spent.tokens.prompt, spent.tokens.cached
    return f"{count(prompt)} ({percent(cached / prompt, 0)})" if prompt else count(prompt)


def is_partial(reward: float | None, rate: float | None) -> bool:
    """Whether some attempt earned a reward between 0 and 1: then the mean reward differs from the success rate."""
    return reward is not None and rate is not None and abs(reward - rate) > 1e-9


def place_words(seed: int, fold: int, among: Sequence[tuple[int, int]]) -> str:
    """The seed and the fold, each only if there are several: "seed 1, fold 0", "fold 0", or ""."""
    seeds, folds = ({one[i] for one in among} for i in (0, 1))
    return ", ".join([*([f"seed {seed}"] if len(seeds) > 1 else []), *([f"fold {fold}"] if len(folds) > 1 else [])])


# A table


@dataclass(frozen=True)
class Column:
    """A heading (with newlines), whether it is a column of numbers, and whether it may be left out."""

    name: str
    number: bool = True
    spare: bool = False


def columns(*names: str | Column, words: int = 1) -> tuple[Column, ...]:
    """Columns with these headings: text in the first `words` of them, numbers in the others."""
    return tuple(
        Column(name, number=place >= words) if isinstance(name, str) else name for place, name in enumerate(names)
    )


def spare(name: str) -> Column:
    """A column of numbers that may be left out."""
    return Column(name, spare=True)


@dataclass(frozen=True)
class Line:
    """One line: its cells as shown, and whether it is the main line.

    `source` is the origin of a figure that is not ours: "gpt-3.5-turbo, paper"; `values` are for `to_json`.
    """

    cells: tuple[str, ...]
    source: str = ""
    strong: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A title, columns, lines with a cell per column, and footnotes."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def to_rich(table: Table, width: int) -> rich.table.Table:
    """The table for a terminal: numbers aligned right, another model's figures dimmed under its name.

    If `width` characters are too few, columns are left out from the right, first spare ones and then others, and a
    footnote names them.
    """
    from rich.console import Console
    from rich.text import Text

    kept = list(range(len(table.columns)))
    wide = Console(width=10_000)
    # Spare columns go before text gets narrow, other columns before it gets unreadable.
    spares = [place for place in kept if table.columns[place].spare]
    for text_width, candidates in ((_TEXT_WIDTH, spares), (_MIN_TEXT_WIDTH, kept[2:])):
        for place in reversed(candidates):
            if place in kept and wide.measure(_draw(table, kept, text_width)).maximum > width:
                kept.remove(place)
    drawn = _draw(table, kept)
    notes = list(table.notes)
    if left_out := [_flat(column.name) for place, column in enumerate(table.columns) if place not in kept]:
        notes.append(f"Not shown in this narrow terminal: {', '.join(left_out)}.")
    if notes:
        drawn.caption = Text("\n".join(map(clean, notes)))
        drawn.caption_justify = "left"
    return drawn


def _draw(table: Table, kept: Sequence[int], text_width: int | None = None) -> rich.table.Table:
    """These columns of the table, with at most `text_width` characters of text in each."""
    import rich.table
    from rich import box
    from rich.text import Text

    drawn = rich.table.Table(
        title=Text(clean(table.title), style="bold"), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False
    )
    for column in (table.columns[place] for place in kept):
        head = Text(clean(column.name))
        if column.number:
            drawn.add_column(head, justify="right", no_wrap=True, overflow="fold")
        else:
            drawn.add_column(head, overflow="fold", max_width=text_width)
    source = ""
    for line in table.lines:
        if line.source and line.source != source:
            drawn.add_row(Text(clean(line.source)), style="dim italic")
        source = line.source
        cells = [Text(clean(line.cells[place])) for place in kept]
        if source:
            cells[0] = Text("  ") + cells[0]
        drawn.add_row(*cells, style="dim" if source else "bold" if line.strong else "")
    return drawn


def _flat(text: str) -> str:
    return " ".join(clean(text).split())


def to_json(table: Table) -> dict[str, Any]:
    """The table's title, columns, notes, and the values of its lines."""
    return {
        "title": table.title,
        "columns": [_flat(column.name) for column in table.columns],
        "rows": [{**line.values, "source": line.source} for line in table.lines],
        "notes": list(table.notes),
    }


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
    test = (signed(pair.points if pair else None), p_value(pair.p if pair and pair.n else None))
    rates = (solved_cell(one), accuracy_cell(one), *([decimal(one.reward, 3)] if scored else []))
    used = (prompt_cell(one), count(one.tokens.completion), cost(one.cost), decimal(one.turns), str(one.errors))
    return Line((label(one.name), *rates, *test, *used), strong=one.name == summary.method)


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
    return Line((f"{label(figure.condition)}{trial}", "", *rates, *[""] * 7), figure.source)


def published_table(summary: Summary) -> Table | None:
    """All published figures for the benchmark, if the main table leaves some out."""
    everything = main_table(summary, all_published=True)
    shown = sum(bool(line.source) for line in main_table(summary).lines)
    lines = tuple(line for line in everything.lines if line.source)
    return Table("", everything.columns, lines) if len(lines) > shown else None


def pairs_table(summary: Summary) -> Table | None:
    """Every two conditions with their exact test; None if the main table has all pairs."""
    if all(summary.baseline in (pair.a, pair.b) for pair in summary.pairs):
        return None

    def line(pair: Pair) -> Line:
        test = (signed(pair.points), p_value(pair.p)) if pair.n else (UNKNOWN, UNKNOWN)
        return Line((label(pair.a), label(pair.b), str(pair.n), str(pair.only_a), str(pair.only_b), *test))

    notes = (
        "Only a, only b: episodes solved by one of the two. The p values are not corrected for the number of pairs.",
    )
    heads = ("episodes", "only a", "only b", "points,\nb vs a", "exact\np")
    return Table("Pairs", columns("a", "b", *heads, words=2), tuple(map(line, summary.pairs)), notes)


def phases_table(summary: Summary) -> Table | None:
    """Tokens and cost by part, as in ERL's table 4; None if neither learning nor recall called a model."""

    def prompt(one: Condition | None) -> float:
        """Prompt tokens of the rollout for each test task."""
        tasks = one.n + one.errors if one and one.phases else 0
        return one.phases.rollout.tokens.prompt / tasks if one and one.phases and tasks else 0.0

    before = prompt(summary.condition(summary.baseline))
    lines: list[Line] = []
    any_extra = False
    for one in summary.conditions:
        if one.phases is None:
            continue
        written = (("learning", one.phases.learning), ("recall", one.phases.recall))
        extra = [(name, part) for name, part in written if part.tokens.total or part.calls]
        any_extra = any_extra or bool(extra or one.phases.others)
        compared = before and one.name != summary.baseline
        change = f"{signed(100 * (prompt(one) / before - 1))}%" if compared else UNKNOWN
        parts = [*extra, ("rollout", one.phases.rollout), *([("total", one.phases.total)] if extra else [])]
        parts += [(f"the {part}, apart", spent) for part, spent in one.phases.others.items()]
        for name, part in parts:
            used = (count(part.tokens.completion), cost(part.cost), f"{part.calls:,}")
            lines.append(Line((label(one.name), name, prompt_cell(part), change if name == "rollout" else "", *used)))
    if not any_extra:
        return None
    heads = (f"input vs\n{label(summary.baseline)}", "tokens\nout", "cost", spare("calls"))
    notes = (
        "Learning writes the lessons; conditions that share lessons show the same figures, paid for once. Recall ranks"
        " or chooses lessons for a test task, and reflects before a retry. Rollout is the agent's turns.",
        "Input against the baseline's is for the rollout only, per test task.",
        "Calls are those actually made. A shared call's tokens and cost count in each condition.",
    )
    headings = columns("condition", "part", "tokens in\n(cached)", *heads, words=2)
    return Table("Tokens and cost by part (ERL, table 4)", headings, (*lines, *_printed_costs(summary)), notes)


def _printed_costs(summary: Summary) -> list[Line]:
    """The published tokens and costs: of the test attempts, and in total with learning and recall."""
    names = {one.name for one in summary.conditions}
    printed = grouped(
        ((one.condition, one.source), (one.what, one.value))
        for one in further_references(summary.run.benchmark)
        if one.unit == "total" and one.condition.removesuffix("-total") in names
    )
    lines = []
    for (condition, source), figures in printed.items():
        name, figure = condition.removesuffix("-total"), dict(figures)
        read = f"{figure['input_millions']:.1f}M ({figure['cached_percent']:.0f}%)"
        used = (read, "", f"{figure['output_millions']:.1f}M", f"${figure['dollars']:.2f}", "")
        lines.append(Line((label(name), "rollout" if name == condition else "total", *used), source))
    return lines


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
    """A condition of a run; the run's id is without its time, which still distinguishes runs of the same name."""
    paired = test if test is not None and test.n else None
    name = one_line(_STAMP.sub("", run.id or run.name), 200)
    about = ((name if len(name) <= 32 else f"{ELLIPSIS}{name[-31:]}") or UNKNOWN, one_line(run.model or UNKNOWN, 28))
    pairs = (str(paired.n) if paired else UNKNOWN, signed(test.points if test else None))
    used = (p_value(paired.p if paired else None), count(one.tokens.total), cost(one.cost))
    values: dict[str, Any] = {"run": run.id or None, **one.model_dump(mode="json", include=_SHOWN)}
    values |= {"pairs": getattr(test, "n", None), "p": paired.p if paired else None}
    values |= {key: getattr(test, key, None) for key in ("points", "tasks", "test")}
    return Line((*about, label(one.name), solved_cell(one), accuracy_cell(one), *pairs, *used), values=values)

"""report.html: one file to open, read and print, which loads nothing from elsewhere.

Always holds: text from models, benchmarks and configs is escaped, cut to a readable length, and cannot change the
direction of the text around it; the page's own policy forbids scripts and every request.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from seasoned.errors import MissingExtraError
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
from seasoned.lab.report.episodes import Call, every_call, every_episode, readable, readable_calls, views
from seasoned.lab.report.format import cost, duration, percent, signed
from seasoned.lab.report.forms import Table
from seasoned.lab.report.headline import place, test_words
from seasoned.lab.report.plots import FIGURES
from seasoned.lab.report.programs import fixes
from seasoned.lab.report.rows import Row
from seasoned.lab.report.summary import Run, Spent, Summary
from seasoned.lab.report.tables import FEW, categories_table, main_table, pairs_table, phases_table
from seasoned.text import clean, count, cut, label, one_line
from seasoned.types import Lesson, Trajectory

if TYPE_CHECKING:
    import jinja2

CONFIG_LIMIT = 20_000
LESSON_LIMIT = 100
PROBLEM_LIMIT = 1000
_MORE = (
    gates_table,
    probes_table,
    trials_table,
    repeats_table,
    sweep_table,
    phases_table,
    origins_table,
    guidance_table,
    categories_table,
    steps_table,
    efficiency_table,
)


def render(
    summary: Summary,
    rows: Sequence[Row],
    trajectories: Sequence[Trajectory] = (),
    lessons: Sequence[Lesson] = (),
    config_text: str = "",
    everything: Sequence[Trajectory] = (),
    calls: Sequence[Call] = (),
) -> str:
    """The report of a run as a page. Without matplotlib the plots are left out, and the page says so.

    Args:
        summary: The summary of the run.
        rows: The rows of the summary.
        trajectories: The episodes to read, for instance from `choose_episodes`. Two of one task, seed and fold are
            shown together.
        lessons: The lessons of the run, to show which ones an episode recalled.
        config_text: The resolved config, shown as it is.
        everything: All episodes of the run, shown complete but folded.
        calls: All model calls outside the agents' turns, shown likewise.
    """
    from markupsafe import Markup

    figures, missing = _figures(summary)
    all_episodes, all_calls = every_episode(rows, everything), every_call(calls)
    version = f"=={summary.run.version}" if summary.run.version else ""
    return _template().render(
        summary=summary,
        name=one_line(summary.run.name or summary.run.id or "run", 80),
        facts=_facts(summary.run),
        tiles=_tiles(summary),
        main=main_table(summary),
        published=_published(summary),
        pairs=pairs_table(summary),
        few_pairs=FEW,
        # Safe without escaping, since plots contain only figures and escaped names.
        figures=[(title, Markup(svg), caption) for title, svg, caption in figures],
        figures_missing=missing,
        tables=[table for make in _MORE if (table := make(summary))],
        lessons=lessons_table(summary, limit=LESSON_LIMIT, width=400),
        fixes=fixes(summary, rows, trajectories, lessons),
        episodes=views(summary, rows, trajectories, lessons),
        everything=all_episodes,
        readable=readable(all_episodes),
        calls=all_calls,
        readable_calls=readable_calls(all_calls),
        problems=_problems(summary),
        training=summary.training,
        config=cut(config_text, CONFIG_LIMIT),
        steps=[f"pip install 'seasoned[local,eval]{version}'", "seasoned run config.toml"],
    )


def _template() -> jinja2.Template:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )
    words = {"label": label, "percent": percent, "signed": signed, "count": count, "cost": cost, "duration": duration}
    return environment.get_template("report.html.j2", globals=words)


def _facts(run: Run) -> list[tuple[str, str]]:
    shown = {
        "benchmark": run.benchmark,
        "model": run.model,
        "learned by": run.learner if run.learner != run.model else "",
        "seeds": ", ".join(map(str, run.seeds)),
        "date": _date(run.started),
        "took": _took(run.started, run.finished),
        "run": run.id,
    }
    return [(name, one_line(value, 120)) for name, value in shown.items() if value]


def _date(stamp: str) -> str:
    moment = _moment(stamp)
    return moment.strftime("%Y-%m-%d %H:%M %Z").strip() if moment else one_line(stamp, 40)


def _took(started: str, finished: str) -> str:
    first, last = _moment(started), _moment(finished)
    if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None) or last < first:
        return ""
    return duration((last - first).total_seconds())


def _moment(stamp: str) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None


def _tiles(summary: Summary) -> list[tuple[str, str, str]]:
    """(figure, name, small print) of the method, the baseline, their difference, and the usage."""
    tiles = []
    for one in (summary.condition(summary.method), summary.condition(summary.baseline)):
        if one and one.n:
            low, high = (f"{100 * bound:.0f}" for bound in one.interval)
            small = f"{one.successes} of {one.n} solved, 95% interval {low} to {high}"
            tiles.append((percent(one.accuracy, 0), label(one.name), small))
    pair = summary.pair(summary.baseline, summary.method)
    if pair and pair.n:
        small = f"{pair.only_b} gained, {pair.only_a} lost, {test_words(pair)}"
        tiles.append((signed(pair.points, 0), "points of difference", small))
    used: list[Spent] = [*summary.conditions, summary.training]
    costs = [one.cost for one in used if one.cost is not None]
    price = cost(sum(costs)) if len(costs) == len(used) else "unknown"
    small = f"{sum(one.calls for one in used):,} model calls, cost {price}"
    if summary.cached_share is not None:
        small += f"; {percent(summary.cached_share, 0)} of the test prompts from cache"
    total = sum(one.tokens.total for one in used)
    return [*tiles, (count(total), "tokens in all", small)] if total else tiles


def _published(summary: Summary) -> Table | None:
    """All published figures for the benchmark, if the main table leaves some out."""
    everything = main_table(summary, which="all")
    shown = sum(bool(line.source) for line in main_table(summary).lines)
    lines = tuple(line for line in everything.lines if line.source)
    return Table("", everything.columns, lines) if len(lines) > shown else None


def _problems(summary: Summary) -> list[tuple[str, list[str]]]:
    """The problems of learning: (conditions and place, sentences) for each pool."""
    among = [(part.seed, part.fold) for one in summary.conditions for part in one.per_seed]
    listed = []
    for pool in summary.problems:
        parts = (", ".join(map(label, pool.conditions)), place(pool.seed, pool.fold, among))
        listed.append((", ".join(filter(None, parts)), [cut(text, PROBLEM_LIMIT) for text in pool.problems]))
    return listed


def _figures(summary: Summary) -> tuple[list[tuple[str, str, str]], str]:
    """(title, SVG, caption) of each non-empty plot, and the reason if there are none."""
    try:
        drawn = [(figure.heading(summary), figure.svg(summary), figure.caption) for figure in FIGURES]
    except MissingExtraError as error:
        return [], f"There are no plots: {error}."
    return [one for one in drawn if one[1]], ""

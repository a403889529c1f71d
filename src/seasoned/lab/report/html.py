"""report.html: one file a person opens, reads and prints, with nothing to fetch.

Always holds: whatever a model, a benchmark or a config says is escaped, cut to a readable length and kept from turning
the direction of the text around it; the page's own policy forbids scripts and every request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasoned.errors import MissingExtraError
from seasoned.lab.report.calls import Call, every_call, readable_calls
from seasoned.lab.report.episodes import views
from seasoned.lab.report.figures import FIGURES
from seasoned.lab.report.format import cost, duration, percent, signed
from seasoned.lab.report.forms import Table
from seasoned.lab.report.headline import tested
from seasoned.lab.report.pairs import FEW, pairs_table
from seasoned.lab.report.phases import phases_table
from seasoned.lab.report.problems import place
from seasoned.lab.report.reader import every_episode, readable
from seasoned.lab.report.rows import Row
from seasoned.lab.report.summary import condition_of, pair_of
from seasoned.lab.report.sweep import sweep_table
from seasoned.lab.report.tables import lessons_table, main_table
from seasoned.lab.report.trial_tables import (
    categories_table,
    guidance_table,
    origins_table,
    repeats_table,
    steps_table,
    trials_table,
)
from seasoned.text import clean, count, cut, label, one_line
from seasoned.types import Lesson, Trajectory

if TYPE_CHECKING:
    import jinja2

CONFIG_LIMIT = 20_000
LESSON_LIMIT = 100
PROBLEM_LIMIT = 1000


def render(
    summary: Mapping[str, Any],
    rows: Sequence[Row],
    trajectories: Sequence[Trajectory] = (),
    lessons: Sequence[Lesson] = (),
    config_text: str = "",
    everything: Sequence[Trajectory] = (),
    calls: Sequence[Call] = (),
) -> str:
    """The report of a run as a page. Without matplotlib the plots are left out, and the page says so.

    Args:
        summary: What `seasoned.lab.report.summary.build` returns. Of `run`, these are shown where they are there: name,
            id, benchmark, model, learner, seeds, started, finished (ISO 8601), version.
        rows: The rows it was built from.
        trajectories: Whole episodes to read, for instance those that `choose_episodes` names. Two of one task, seed and
            fold stand together.
        lessons: The lessons of the run, to show what an episode had recalled.
        config_text: The resolved config, shown as it is.
        everything: All episodes of the run, to be read whole and closed at first; see `seasoned.lab.report.reader`.
        calls: All model calls that are no turn of an agent, in the same manner; see `seasoned.lab.report.calls`.
    """
    from markupsafe import Markup

    figures, missing = _figures(summary)
    all_episodes, all_calls = every_episode(rows, everything), every_call(calls)
    return _template().render(
        summary=summary,
        name=_run_name(summary["run"]),
        facts=_facts(summary["run"]),
        tiles=_tiles(summary),
        main=main_table(summary),
        published=_published(summary),
        pairs=pairs_table(summary),
        few_pairs=FEW,
        # Drawn here from figures and escaped names alone: the only text that the template takes as it is.
        figures=[(title, Markup(svg), caption) for title, svg, caption in figures],
        figures_missing=missing,
        trials=trials_table(summary),
        repeats=repeats_table(summary),
        sweep=sweep_table(summary),
        phases=phases_table(summary),
        origins=origins_table(summary),
        guidance=guidance_table(summary),
        categories=categories_table(summary),
        steps_of_attempts=steps_table(summary),
        efficiency=summary["efficiency"],
        lessons=lessons_table(summary, limit=LESSON_LIMIT, width=400) if summary["lessons"] else None,
        episodes=views(summary, rows, trajectories, lessons),
        everything=all_episodes,
        readable=readable(all_episodes),
        calls=all_calls,
        readable_calls=readable_calls(all_calls),
        problems=_problems(summary),
        training=summary["training"],
        config=cut(config_text, CONFIG_LIMIT),
        steps=_steps(summary["run"]),
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


def _run_name(run: Mapping[str, Any]) -> str:
    return one_line(run.get("name") or run.get("id") or "run", 80)


def _facts(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    seeds = run.get("seeds")
    shown = {
        "benchmark": run.get("benchmark"),
        "model": run.get("model"),
        "learned by": run.get("learner") if run.get("learner") != run.get("model") else None,
        "seeds": ", ".join(str(seed) for seed in seeds) if isinstance(seeds, list | tuple) else seeds,
        "date": _date(run.get("started")),
        "took": _took(run.get("started"), run.get("finished")),
        "run": run.get("id"),
    }
    return [(name, one_line(value, 120)) for name, value in shown.items() if value not in (None, "")]


def _date(stamp: object) -> str:
    moment = _moment(stamp)
    return moment.strftime("%Y-%m-%d %H:%M %Z").strip() if moment else one_line(stamp or "", 40)


def _took(started: object, finished: object) -> str | None:
    first, last = _moment(started), _moment(finished)
    if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None) or last < first:
        return None
    return duration((last - first).total_seconds())


def _moment(stamp: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(stamp))
    except ValueError:
        return None


def _tiles(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Big figure, what it is, small print: the method, the baseline, the difference, what it took."""
    tiles = []
    method, baseline = (condition_of(summary, summary[which]) for which in ("method", "baseline"))
    for block in (method, baseline):
        if block and block["n"]:
            low, high = (f"{100 * bound:.0f}" for bound in block["interval"])
            small = f"{block['successes']} of {block['n']} solved, 95% interval {low} to {high}"
            tiles.append((percent(block["accuracy"], 0), label(block["name"]), small))
    pair = pair_of(summary, summary["baseline"], summary["method"])
    if pair and pair["n"]:
        small = f"{pair['only_b']} gained, {pair['only_a']} lost, {tested(pair)}"
        tiles.append((signed(pair["points"], 0), "points of difference", small))
    used = [*summary["conditions"], summary["training"]]
    total = sum(one["tokens"]["total"] for one in used)
    price = cost(None if any(one["cost"] is None for one in used) else sum(one["cost"] for one in used))
    cached = summary["cached_share"]
    small = f"{sum(one['calls'] for one in used):,} model calls, cost {price if price[0] != '—' else 'unknown'}"
    if cached is not None:
        small += f"; {percent(cached, 0)} of the test prompts from cache"
    return [*tiles, (count(total), "tokens in all", small)] if total else tiles


def _published(summary: Mapping[str, Any]) -> Table | None:
    """All the papers' figures for the benchmark, where the main table leaves some out."""
    everything = main_table(summary, which="all")
    own = sum(bool(line.source) for line in main_table(summary).lines)
    lines = tuple(line for line in everything.lines if line.source)
    return Table("", everything.columns, lines) if len(lines) > own else None


def _problems(summary: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """What learning could not use: (whose it was, sentences) for each pool."""
    among = [(part["seed"], part["fold"]) for block in summary["conditions"] for part in block["per_seed"]]
    found = []
    for one in summary.get("problems", ()):
        names = ", ".join(map(label, one["conditions"]))
        where = place(one["seed"], one["fold"], among)
        found.append((", ".join(filter(None, (names, where))), [cut(text, PROBLEM_LIMIT) for text in one["problems"]]))
    return found


def _figures(summary: Mapping[str, Any]) -> tuple[list[tuple[str, str, str]], str]:
    """(title, SVG, caption) of each plot that has something to show, and why there are none."""
    try:
        drawn = [(figure.heading(summary), figure.svg(summary), figure.caption) for figure in FIGURES]
    except MissingExtraError as error:
        return [], f"There are no plots: {error}."
    return [one for one in drawn if one[1]], ""


def _steps(run: Mapping[str, Any]) -> list[str]:
    version = run.get("version")
    install = f"pip install 'seasoned[local,eval]=={version}'" if version else "pip install 'seasoned[local,eval]'"
    return [install, "seasoned run config.toml"]

"""report.html: one file to open, read and print, which loads nothing from elsewhere.

Always holds: text from models, benchmarks and configs is escaped, cut to a readable length, and cannot change the
direction of the text around it; the page's own policy forbids scripts and every request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasoned.errors import MissingExtraError
from seasoned.lab.report.attempt_tables import lessons_table
from seasoned.lab.report.build import place, test_words
from seasoned.lab.report.episodes import (
    Call,
    choose_episodes,
    every_call,
    every_episode,
    views,
)
from seasoned.lab.report.figures import draw_figures
from seasoned.lab.report.forms import Table, cost, duration, percent, signed
from seasoned.lab.report.rows import EpisodeKey, Row
from seasoned.lab.report.summary import Run, Spent, Summary
from seasoned.lab.report.tables import FEW, PAGE, main_table, pairs_table
from seasoned.text import clean, count, cut, label, one_line, prompt_line
from seasoned.types import Lesson, Trajectory

if TYPE_CHECKING:
    import jinja2

CONFIG_LIMIT = 20_000
LESSON_LIMIT = 100
PROBLEM_LIMIT = 1000


def render(
    summary: Summary,
    rows: Sequence[Row],
    attempts: Sequence[Trajectory] = (),
    lessons: Sequence[Lesson] = (),
    config_text: str = "",
    calls: Sequence[Call] = (),
) -> str:
    """The report of a run as a page. Without matplotlib the plots are left out, and the page says so.

    Args:
        summary: The summary of the run.
        rows: The rows of the summary.
        attempts: All attempts of the run, shown complete but folded; those of `choose_episodes` also come first.
        lessons: The lessons of the run, to show which ones an attempt recalled.
        config_text: The resolved config, shown as it is.
        calls: All model calls outside the agents' turns, shown likewise.
    """
    try:
        drawn, missing = draw_figures(summary), ""
    except MissingExtraError as error:
        drawn, missing = [], f"There are no plots: {error}."
    chosen = set(choose_episodes(summary, rows))
    to_read = [attempt for attempt in attempts if attempt.id in chosen]
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
        figures=drawn,
        figures_missing=missing,
        tables=[table for make in PAGE if (table := make(summary))],
        lessons=lessons_table(summary, limit=LESSON_LIMIT, width=400),
        fixes=fixes(summary, rows, to_read, lessons),
        episodes=views(summary, rows, to_read, lessons),
        everything=every_episode(rows, attempts),
        calls=every_call(calls),
        problems=_problems(summary),
        training=summary.training,
        config=cut(config_text, CONFIG_LIMIT),
        steps=[f"pip install 'seasoned[local,eval]{version}'", "seasoned run config.toml"],
    )


@cache
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
    everything = main_table(summary, all_published=True)
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


# Programs

FIXES = 3
"""The most tasks whose programs are shown."""
_LINES, _LINE, _FACTS = 30, 160, 4

Marked = list[tuple[str, bool]]


def fixes(
    summary: Summary, rows: Sequence[Row], trajectories: Sequence[Trajectory], lessons: Sequence[Lesson]
) -> list[dict[str, Any]]:
    """A failed program beside one that works, with the facts it used; [] if no task asks for a program.

    Both programs are of one task, seed, fold and run: the baseline failed, and the method solved it.
    """
    attempts = {one.id: one for one in trajectories if one.agent == "coder"}
    pairs: dict[EpisodeKey, dict[str, Row]] = {}
    for row in rows:
        if row.trajectory_id in attempts:
            pairs.setdefault(row.key, {})[row.condition] = row
    texts = {lesson.id: lesson for lesson in lessons if lesson.kind == "fact"}
    shown = []
    for pair in pairs.values():
        before, after = pair.get(summary.baseline), pair.get(summary.method or "")
        if before is not None and after is not None and after.solved and not before.solved:
            shown.append(_fix(before, after, attempts, texts))
    return shown[:FIXES]


def _fix(before: Row, after: Row, attempts: Mapping[str, Trajectory], texts: Mapping[str, Lesson]) -> dict[str, Any]:
    old, new = attempts[before.trajectory_id], attempts[after.trajectory_id]
    lines = [cut(_program(one), 8000).splitlines()[:_LINES] for one in (old, new)]
    removed, added = _marked(*lines)
    known = [texts[one] for one in new.lesson_ids if one in texts]
    used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines[1])))
    facts = [lesson.text for lesson in known if used & set(lesson.key.split("."))]
    return {
        "task": cut(new.task, 600),
        "facts": [cut(text, 400) for text in dict.fromkeys(facts)][:_FACTS],
        "sides": [
            {"name": label(before.condition), "mark": "-", "lines": removed, "solved": False, "says": _fault(old)},
            {"name": label(after.condition), "mark": "+", "lines": added, "solved": True, "says": ""},
        ],
    }


def _program(attempt: Trajectory) -> str:
    """The program that was judged."""
    written = (step.action for step in reversed(attempt.steps) if not step.action.startswith((">>>", "NOTE[", "N/A")))
    return next(written, attempt.outcome.answer)


def _marked(old: Sequence[str], new: Sequence[str]) -> tuple[Marked, Marked]:
    """The lines of both programs, each with whether the other program lacks it."""
    before, after = ([line[:_LINE].rstrip() for line in side] for side in (old, new))
    same = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    in_new = {block.a + n for block in same for n in range(block.size)}
    in_old = {block.b + n for block in same for n in range(block.size)}
    return (
        [(line, place not in in_new) for place, line in enumerate(before)],
        [(line, place not in in_old) for place, line in enumerate(after)],
    )


def _fault(attempt: Trajectory) -> str:
    """The fault: the judge's verdict, or else the last observation."""
    seen = [step.observation for step in attempt.steps if step.observation]
    return prompt_line(str(attempt.meta.get("verdict") or (seen[-1] if seen else "")), 300)

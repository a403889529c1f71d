"""Runs on the page: the list, one run with its tables and figures, and two side by side.

Always holds: only files of runs directly in the runs folder are read, whatever an address or the store says; a figure
is drawn once for each state of a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from seasoned.errors import ConfigError, DataError, MissingExtraError, SeasonedError
from seasoned.lab.report.attempt_tables import lessons_table, trials_table
from seasoned.lab.report.plots import draw_figures
from seasoned.lab.report.summary import Summary, parse_summary
from seasoned.lab.report.tables import comparison_table, main_table
from seasoned.lab.run.rundir import SUMMARY, read_rows, read_summary
from seasoned.store import pages
from seasoned.store.runs import RunRow
from seasoned.web.guard import POLICY
from seasoned.web.lessons import Missing
from seasoned.web.site import asked, show, site_of

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.web.site import Site

_MAX_RUNS = 200  # in the list
# Plots have their colours in style attributes, which a page with plots allows, but no style elements or scripts.
_WITH_PLOTS = POLICY.replace("style-src 'self'", "style-src 'self'; style-src-attr 'unsafe-inline'")
_REPORT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
_drawing = threading.Lock()  # matplotlib is not thread-safe


@dataclass(frozen=True)
class Known:
    """A run: its directory if the runs folder has it, and its summary if it is complete."""

    id: str
    created: str
    status: str
    folder: Path | None
    summary: Summary | None

    @property
    def headline(self) -> str:
        """The run's result in a sentence."""
        return self.summary.headline if self.summary else f"{self.status}, no summary yet"

    @property
    def model(self) -> str:
        """The model's name; "" if it is unknown."""
        return self.summary.run.model if self.summary else ""


def run_list(request: Request) -> Response:
    """The runs, newest first."""
    site = site_of(request)
    return show(request, "runs.html.j2", runs=known_runs(site)[:_MAX_RUNS], folder=str(site.runs))


def run_page(request: Request) -> Response:
    """One run: headline, tables, links to its attempts and lessons. The page loads its figures later."""
    site, run_id = site_of(request), asked(request, "id")
    run = find(site, run_id)
    tables = []
    if run.summary is not None:
        tables = [main_table(run.summary), trials_table(run.summary), lessons_table(run.summary, limit=50, width=300)]
    answer = show(
        request,
        "run.html.j2",
        run=run,
        tables=[table for table in tables if table],
        scopes=pages.run_scopes(site.store, run.id),
        attempts=pages.attempt_page(site.store, run_id=run.id, limit=10),
        report=_report_file(site, run) is not None,
    )
    answer.headers["content-security-policy"] = _WITH_PLOTS
    return answer


def figures(request: Request) -> Response:
    """The plots of a run, as a part of its page."""
    run = find(site_of(request), asked(request, "id"))
    drawn: list[tuple[str, Markup, str]] = []
    wrong = ""
    if run.summary is None:
        wrong = "There are no figures before the run is complete."
    else:
        try:
            drawn = _drawn(_Drawing(run.id, str(run.folder), run.summary))
        except MissingExtraError as error:
            wrong = f"There are no figures: {error}."
    answer = show(request, "figures.html.j2", figures=drawn, wrong=wrong, run=run)
    answer.headers["content-security-policy"] = _WITH_PLOTS
    return answer


def report(request: Request) -> Response:
    """The report that the run wrote, unchanged, with a policy that forbids scripts."""
    from starlette.responses import FileResponse

    site = site_of(request)
    file = _report_file(site, find(site, asked(request, "id")))
    if file is None:
        raise Missing("this run has no report.html in its folder; a complete run has one")
    return FileResponse(file, media_type="text/html", headers={"content-security-policy": _REPORT})


def compare(request: Request) -> Response:
    """Two or more runs side by side, condition by condition."""
    site = site_of(request)
    runs = [find(site, name) for name in dict.fromkeys(request.query_params.getlist("run")[:8])]
    choices = [run for run in known_runs(site) if run.summary is not None][:_MAX_RUNS]
    table = None
    if len(runs) > 1:
        summaries = [run.summary for run in runs if run.summary]
        if len(summaries) < len(runs):
            raise ConfigError("only complete runs can be compared; go on with `seasoned run --resume`")
        rows = [read_rows(run.folder) for run in runs if run.folder]
        table = comparison_table(summaries, rows if len(rows) == len(runs) else None)
    return show(request, "compare.html.j2", runs=runs, choices=choices, table=table)


def known_runs(site: Site) -> list[Known]:
    """The runs in the folder and those that only the store has, newest first."""
    runs = {path.name: _from_folder(path) for path in _folders(site.runs)}
    for row in site.store.runs(_MAX_RUNS):
        if row.run_id not in runs:
            runs[row.run_id] = _from_store(row)
    return sorted(runs.values(), key=lambda run: (run.created[:19], run.id), reverse=True)


def find(site: Site, run_id: str) -> Known:
    """The run with this id, or `Missing` if neither the folder nor the store has it."""
    for path in _folders(site.runs):
        if path.name == run_id:
            return _from_folder(path)
    row = site.store.get_run(run_id)
    if row is None:
        raise Missing(f"there is no run {run_id[:80]!r} in the runs folder or the store")
    return _from_store(row)


def _from_store(row: RunRow) -> Known:
    """A run that only the store has; it may have a summary of another form from a user's program, which is ignored."""
    try:
        summary = None if row.summary is None else parse_summary(row.summary)
    except DataError:
        return Known(row.run_id, row.created, "its summary cannot be read", None, None)
    return Known(row.run_id, row.created, row.status, None, summary)


def _folders(runs: Path) -> list[Path]:
    """The run directories directly in the folder, without links that lead out of it."""
    try:
        inside = runs.resolve()
        return [p.parent for p in runs.glob("*/config.toml") if p.parent.resolve().parent == inside]
    except OSError:
        return []


def _from_folder(path: Path) -> Known:
    name = path.name
    written = f"{name[:4]}-{name[4:6]}-{name[6:11]}:{name[11:13]}:{name[13:15]}" if name[:8].isdecimal() else name
    file = path / SUMMARY
    if not file.is_file() or file.is_symlink():
        return Known(name, written, "not complete", path, None)
    try:
        summary = _read(path, file.stat().st_mtime_ns)
    except (SeasonedError, OSError):
        return Known(name, written, "its summary cannot be read", path, None)
    return Known(name, summary.run.started or written, "complete", path, summary)


@lru_cache(maxsize=_MAX_RUNS)
def _read(path: Path, _changed: int) -> Summary:
    return read_summary(path)


@dataclass(frozen=True)
class _Drawing:
    """A run as the key of the cache of figures: its id, folder, end and headline."""

    id: str
    folder: str
    summary: Summary

    def __hash__(self) -> int:
        return hash((self.id, self.folder, self.summary.run.finished, self.summary.headline))


@lru_cache(maxsize=32)
def _drawn(run: _Drawing) -> list[tuple[str, Markup, str]]:
    with _drawing:
        return draw_figures(run.summary)


def _report_file(site: Site, run: Known) -> Path | None:
    if run.folder is None:
        return None
    file = run.folder / "report.html"
    inside = file.resolve().parent == run.folder.resolve() and file.is_file()
    return file if inside else None


def routes() -> dict[str, Callable[[Request], Response]]:
    """The addresses that the laboratory adds to the page; the entry point `seasoned.pages` names this function."""
    return {"/runs": run_list, "/run": run_page, "/run/figures": figures, "/run/report": report, "/compare": compare}

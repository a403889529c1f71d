"""Runs on the page: the list, one run with its tables and figures, and two side by side.

Always holds: of files, only those of runs directly in the runs folder are read, whatever an address or the store says;
a figure is drawn once for each state of a run.
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
from seasoned.lab.report.plots import FIGURES
from seasoned.lab.report.summary import Summary, parse_summary
from seasoned.lab.report.tables import comparison_table, main_table
from seasoned.lab.run.outputs import SUMMARY, read_rows, read_summary
from seasoned.store import pages
from seasoned.store.runs import RunRow
from seasoned.web.guard import POLICY
from seasoned.web.lessons import Missing
from seasoned.web.show import show
from seasoned.web.site import asked, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.web.site import Site

_MOST = 200  # runs that the list shows
# Plots carry their colours in attributes; a page with plots allows those, and neither style elements nor scripts.
_WITH_PLOTS = POLICY.replace("style-src 'self'", "style-src 'self'; style-src-attr 'unsafe-inline'")
_REPORT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
_drawing = threading.Lock()  # matplotlib draws one thing at a time


@dataclass(frozen=True)
class Known:
    """A run: its directory where the folder has one, and its summary where it is complete."""

    id: str
    created: str
    status: str
    folder: Path | None
    summary: Summary | None

    @property
    def headline(self) -> str:
        """What it found, in a sentence."""
        return self.summary.headline if self.summary else f"{self.status}, no summary yet"

    @property
    def model(self) -> str:
        """The model's name, "" where it is not known."""
        return self.summary.run.model if self.summary else ""


def run_list(request: Request) -> Response:
    """The runs, newest first."""
    site = site_of(request)
    return show(request, "runs.html.j2", runs=known_runs(site)[:_MOST], folder=str(site.runs))


def run_page(request: Request) -> Response:
    """What one run found: headline, tables, where its attempts and lessons are. Its figures come after the page."""
    site, wanted = site_of(request), asked(request, "id")
    run = find(site, wanted)
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
    """The plots of a run, to be put into its page."""
    from markupsafe import Markup

    run = find(site_of(request), asked(request, "id"))
    drawn: list[tuple[str, str, str]] = []
    wrong = ""
    if run.summary is None:
        wrong = "There are no figures before the run is complete."
    else:
        try:
            drawn = _drawn(_Drawing(run.id, str(run.folder), run.summary))
        except MissingExtraError as error:
            wrong = f"There are no figures: {error}."
    safe = [(title, Markup(svg), caption) for title, svg, caption in drawn]  # drawn from figures and escaped names
    answer = show(request, "figures.html.j2", figures=safe, wrong=wrong, run=run)
    answer.headers["content-security-policy"] = _WITH_PLOTS
    return answer


def report(request: Request) -> Response:
    """The report that the run wrote, as it is, without any right to run scripts."""
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
    choices = [run for run in known_runs(site) if run.summary is not None][:_MOST]
    table = None
    if len(runs) > 1:
        summaries = [run.summary for run in runs if run.summary]
        if len(summaries) < len(runs):
            raise ConfigError("only complete runs can be compared; go on with `seasoned run --resume`")
        rows = [read_rows(run.folder) for run in runs if run.folder]
        table = comparison_table(summaries, rows if len(rows) == len(runs) else None)
    return show(request, "compare.html.j2", runs=runs, choices=choices, table=table)


def known_runs(site: Site) -> list[Known]:
    """The runs in the folder and those that the store alone knows, newest first."""
    runs = {path.name: _from_folder(path) for path in _folders(site.runs)}
    for row in site.store.runs(_MOST):
        if row.run_id not in runs:
            runs[row.run_id] = _from_store(row)
    return sorted(runs.values(), key=lambda run: (run.created[:19], run.id), reverse=True)


def find(site: Site, run_id: str) -> Known:
    """The run of this id.

    Raises:
        Missing: neither the folder nor the store has it.
    """
    for path in _folders(site.runs):
        if path.name == run_id:
            return _from_folder(path)
    row = site.store.get_run(run_id)
    if row is None:
        raise Missing(f"there is no run {run_id[:80]!r} in the runs folder or the store")
    return _from_store(row)


def _from_store(row: RunRow) -> Known:
    """A run that the store alone knows; a summary of another form, as a program of one's own may give it, is none."""
    try:
        summary = None if row.summary is None else parse_summary(row.summary)
    except DataError:
        return Known(row.run_id, row.created, "its summary cannot be read", None, None)
    return Known(row.run_id, row.created, row.status, None, summary)


def _folders(runs: Path) -> list[Path]:
    """Those directly in the folder; a link that leads out of it is none of them."""
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


@lru_cache(maxsize=_MOST)
def _read(path: Path, _changed: int) -> Summary:
    return read_summary(path)


@dataclass(frozen=True)
class _Drawing:
    """A run as the cache of figures knows it: by its id, its folder and when it ended."""

    id: str
    folder: str
    summary: Summary

    def __hash__(self) -> int:
        return hash((self.id, self.folder, self.summary.run.finished, self.summary.headline))


@lru_cache(maxsize=32)
def _drawn(run: _Drawing) -> list[tuple[str, str, str]]:
    with _drawing:
        drawn = [(one.heading(run.summary), one.svg(run.summary), one.caption) for one in FIGURES]
    return [one for one in drawn if one[1]]


def _report_file(site: Site, run: Known) -> Path | None:
    if run.folder is None:
        return None
    file = run.folder / "report.html"
    inside = file.resolve().parent == run.folder.resolve() and file.is_file()
    return file if inside else None


def routes() -> dict[str, Callable[[Request], Response]]:
    """The addresses that the laboratory adds to the page; the entry point `seasoned.pages` names this function."""
    return {"/runs": run_list, "/run": run_page, "/run/figures": figures, "/run/report": report, "/compare": compare}

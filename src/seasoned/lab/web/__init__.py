"""Runs on the page: the list, one run with its tables and figures, and two side by side.

Always holds: of files, only those of runs directly in the runs folder are read, whatever an address or the store says;
a figure is drawn once for each state of a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasoned.errors import ConfigError, DataError, MissingExtraError, SeasonedError
from seasoned.lab.report.figures import FIGURES
from seasoned.lab.report.tables import comparison_table, lessons_table, main_table
from seasoned.lab.report.trial_tables import trials_table
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
    summary: Mapping[str, Any] | None

    @property
    def headline(self) -> str:
        """What it found, in a sentence."""
        return str((self.summary or {}).get("headline", "")) or f"{self.status}, no summary yet"

    @property
    def model(self) -> str:
        """The model's name, "" where it is not known."""
        return str(((self.summary or {}).get("run") or {}).get("model", ""))


def run_list(request: Request) -> Response:
    """The runs, newest first."""
    site = site_of(request)
    return show(request, "runs.html.j2", runs=known_runs(site)[:_MOST], folder=str(site.runs))


def run_page(request: Request) -> Response:
    """What one run found: headline, tables, where its attempts and lessons are. Its figures come after the page."""
    site, wanted = site_of(request), asked(request, "id")
    run = find(site, wanted)
    tables, wrong = _all_made(run, [main_table, trials_table, _lessons]) if run.summary is not None else ([], "")
    answer = show(
        request,
        "run.html.j2",
        run=run,
        tables=[table for table in tables if table],
        wrong=wrong,
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
            drawn, wrong = _drawn(_Key(run))
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
        if any(run.summary is None for run in runs):
            raise ConfigError("only complete runs can be compared; go on with `seasoned run --resume`")
        rows = [read_rows(run.folder) for run in runs if run.folder]
        try:
            table = comparison_table([r.summary for r in runs if r.summary], rows if len(rows) == len(runs) else None)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _broken(runs[-1], error) from error
    return show(request, "compare.html.j2", runs=runs, choices=choices, table=table)


def known_runs(site: Site) -> list[Known]:
    """The runs in the folder and those that the store alone knows, newest first."""
    found = {path.name: _from_folder(path) for path in _folders(site.runs)}
    for row in site.store.runs(_MOST):
        if row.run_id not in found:
            found[row.run_id] = _from_store(row)
    return sorted(found.values(), key=lambda run: (run.created[:19], run.id), reverse=True)


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
    readable = isinstance((row.summary or {}).get("run", {}), dict)
    return Known(row.run_id, row.created, row.status, None, row.summary if readable else None)


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
    started = (summary.get("run") or {}).get("started")
    return Known(name, str(started or written), "complete", path, summary)


@lru_cache(maxsize=_MOST)
def _read(path: Path, _changed: int) -> dict[str, Any]:
    return read_summary(path)


class _Key:
    """A run as the cache of figures knows it: by its id and when it ended."""

    def __init__(self, run: Known) -> None:
        self.run = run
        ended = ((run.summary or {}).get("run") or {}).get("finished")
        self._key = (run.id, str(run.folder), str(ended), run.headline)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._key == other._key


@lru_cache(maxsize=32)
def _drawn(key: _Key) -> tuple[list[tuple[str, str, str]], str]:
    with _drawing:
        svgs, wrong = _all_made(key.run, [figure.svg for figure in FIGURES])
    drawn = zip(FIGURES, svgs, strict=True)
    return [(one.heading(key.run.summary or {}), svg, one.caption) for one, svg in drawn if svg], wrong


def _lessons(summary: Mapping[str, Any]) -> Any:
    return lessons_table(summary, limit=50, width=300) if summary["lessons"] else None


def _all_made(run: Known, makers: Sequence[Callable[[Mapping[str, Any]], Any]]) -> tuple[list[Any], str]:
    """What each makes of the run's summary, None where another version wrote it; and a sentence if there is a None."""
    made: list[Any] = []
    wrong = ""
    for make in makers:
        try:
            made.append(make(run.summary or {}))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            made.append(None)
            wrong = str(_broken(run, error))
    return made, wrong


def _broken(run: Known, error: Exception) -> DataError:
    return DataError(
        f"the summary of the run {run.id} does not have the form that this version writes ({type(error).__name__}: "
        f"{error}), so something is left out; `seasoned run --resume` writes it anew"
    )


def _report_file(site: Site, run: Known) -> Path | None:
    if run.folder is None:
        return None
    file = run.folder / "report.html"
    inside = file.resolve().parent == run.folder.resolve() and file.is_file()
    return file if inside else None


def routes() -> dict[str, Callable[[Request], Response]]:
    """The addresses that the laboratory adds to the page; the entry point `seasoned.pages` names this function."""
    return {"/runs": run_list, "/run": run_page, "/run/figures": figures, "/run/report": report, "/compare": compare}

"""Reads other programs' logs as trajectories, and writes trajectories as chat lines.

Formats: `react-log` (text logs of ReAct and Reflexion), `messages` (OpenAI-style conversations in JSON lines),
`inspect` (inspect-ai's logs), `otel` (OpenTelemetry spans of generative AI), `coding` (sessions of coding agents).
Always holds: a file is never run or unpickled; secrets are masked before anything is returned; unreadable parts are
reported, and the rest is returned; recording the same file twice adds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from seasoned.errors import ConfigError, DataError, SeasonedError
from seasoned.plugins import load_plugin, plugins
from seasoned.pool import ExperiencePool
from seasoned.traces.conversation import is_message
from seasoned.traces.source import Log, Problem, digest, json_values, lines, read_bytes, task_name
from seasoned.trust import mask_value
from seasoned.types import Trajectory

__all__ = ["FORMATS", "Format", "Imported", "Problem", "read", "record"]

Format = Literal["react-log", "messages", "inspect", "otel", "coding"]
FORMATS: tuple[Format, ...] = get_args(Format)
_NUMBER = re.compile(r"\d{1,18}")
_BATCH = 200  # trajectories per transaction, so that other writers do not wait long


@dataclass(frozen=True)
class Imported:
    """The content of a log.

    `repeated` counts attempts that the log repeats (Reflexion's logs print solved tasks again in each trial); they are
    in `trajectories` once.
    """

    format: str
    trajectories: tuple[Trajectory, ...]
    problems: tuple[Problem, ...]
    repeated: int = 0

    @property
    def steps(self) -> int:
        """The total number of steps."""
        return sum(len(trajectory.steps) for trajectory in self.trajectories)

    @property
    def successes(self) -> int:
        """How many attempts are known to have succeeded."""
        return sum(trajectory.outcome.success is True for trajectory in self.trajectories)


def formats() -> list[str]:
    """The names of the built-in formats, and of those that plugins add."""
    return list(dict.fromkeys([*FORMATS, *plugins("importers")]))


def read(path: Path | str, format: str | None = None) -> Imported:
    """Read a log in one of the `formats()`; None to detect a built-in format from the content.

    Raises:
        ConfigError: the format is unknown.
        DataError: the file is missing, unreadable, too large, a pickle, compressed, or not in the named format.
        MissingExtraError: an inspect-ai log needs a library that is not installed to be unpacked.
    """
    from seasoned.traces import coding, inspect_eval, messages, otel, react

    path = Path(path).expanduser()
    if format is not None and format not in formats():
        raise ConfigError(f"the format should be one of {', '.join(formats())}, but is {format!r}")
    if format is not None and format not in FORMATS:
        return _by_plugin(format, path)
    raw = read_bytes(path)
    if raw.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        if format not in (None, "inspect"):
            raise DataError(f"{path} is a zip archive, not a {format} log: unpack it first")
        return _imported("inspect", inspect_eval.read_archive(path, raw, _source("inspect", path)))
    is_json = raw.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    values, problems = json_values(raw) if format != "react-log" and (format or is_json) else ([], [])
    kind = format or _format_of(value for _, value in values)
    if kind is None and values and not problems:
        raise DataError(f"{path} is JSON, but in none of the formats {', '.join(FORMATS)}: see docs/import.md")
    if kind in (None, "react-log"):
        return _imported("react-log", react.read(lines(raw), _source("react-log", path)))
    readers = {"messages": messages.read, "inspect": inspect_eval.read_json, "otel": otel.read, "coding": coding.read}
    log = readers[kind](values, _source(kind, path))
    log.problems[:0] = problems
    return _imported(kind, log)


def record(imported: Imported, pool: ExperiencePool, scopes: Sequence[str] = ()) -> int:
    """Store the trajectories that the pool does not have yet.

    Ids follow from the content and the pool's scope, so the same file adds nothing the second time. A file that
    `seasoned export` wrote from the same pool adds nothing either. The attempts in `scopes`, by default the pool's own,
    count as the pool's.

    Returns:
        How many trajectories were new.

    Raises:
        StoreError: as the pool raises it.
    """
    added = 0
    source_ids = {trajectory.meta.get("source_id") for trajectory in imported.trajectories} - {None}
    pool_ids = (item.id for scope in scopes or [pool.experience] for item in pool.store.task_texts(scope))
    exported = source_ids.intersection(pool_ids) if source_ids else set()
    new = [trajectory for trajectory in imported.trajectories if trajectory.meta.get("source_id") not in exported]
    for start in range(0, len(new), _BATCH):
        batch = {f"tra-{digest(pool.experience, t.id)}": t for t in new[start : start + _BATCH]}
        with pool.store.transaction(*(scopes or [pool.experience])):  # a concurrent import locks in the same order
            stored = {trajectory.id for trajectory in pool.store.get_trajectories(list(batch))}
            for pool_id, trajectory in batch.items():
                if pool_id not in stored:
                    pool.record(trajectory.model_copy(update={"id": pool_id}))
                    added += 1
    return added


def _by_plugin(format: str, path: Path) -> Imported:
    """Read a file with a plugin's importer, which is a function of the path."""
    importer = load_plugin("importers", format)
    try:
        return _imported(format, Log([Trajectory.model_validate(each) for each in importer(path)]))
    except SeasonedError:
        raise
    except Exception as error:  # a plugin may raise anything
        raise DataError(f"the importer {format} cannot read {path}: {type(error).__name__}: {error}") from error


def _imported(format: str, log: Log) -> Imported:
    masked = tuple(_masked(trajectory, format) for trajectory in log.trajectories)
    return Imported(format, masked, tuple(sorted(log.problems, key=_line_number)), log.repeated)


def _line_number(problem: Problem) -> int:
    match = _NUMBER.search(problem.where)
    return int(match.group()) if match else 0


def _masked(trajectory: Trajectory, format: str) -> Trajectory:
    """Mask the secrets of a trajectory, and fill in its task id: as in `Memory`, equal texts are the same task.

    The id, a hash, stays. If a plugin names no source, the format becomes the source: without one, the trajectory
    would be trusted like an attempt of the user's own agent.
    """
    values = {**mask_value(trajectory.model_dump(exclude={"id"})), "id": trajectory.id}
    values["meta"] = {**values["meta"], "source": values["meta"].get("source") or format}
    return Trajectory.model_validate({**values, "task_id": values["task_id"] or task_name(values["task"])})


def _source(format: str, path: Path) -> dict[str, str]:
    return {"source": format, "file": path.name}


def _format_of(values: Iterable[Any]) -> Format | None:
    """The format of JSON values, detected from the first value that shows it."""
    from seasoned.traces import coding

    for value in values:
        if isinstance(value, list) and any(is_message(item) for item in value):
            return "messages"
        if not isinstance(value, dict):
            continue
        if coding.is_session(value):
            return "coding"
        if isinstance(value.get("eval"), dict):
            return "inspect"
        if is_message(value) or any(isinstance(value.get(n), list) for n in ("messages", "conversations", "turns")):
            return "messages"
        names = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "spans", "traceId", "trace_id")
        if any(name in value for name in names) or isinstance(value.get("context"), dict):
            return "otel"
    return None

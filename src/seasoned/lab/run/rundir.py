"""A run's directory: its files, how they are written and read, and its episodes as rows for pandas or as CSV.

Always holds: a file is written completely or not at all (a temporary file, then a rename); each JSONL row has
`schema_version`; `summary.json` is written last, so its presence means that the run is complete.
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import json
import os
import platform
import subprocess
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w
from pydantic import BaseModel, ValidationError

from seasoned.errors import ConfigError, DataError, MissingExtraError, StoreError
from seasoned.lab.report.measures import Row, latest
from seasoned.lab.report.summary import Summary, parse_summary
from seasoned.lab.run.recipe import Recipe, load_recipe
from seasoned.types import SCHEMA_VERSION, Trajectory

if TYPE_CHECKING:
    import pandas

_LIBRARIES = ("seasoned", "openai", "pydantic", "sqlalchemy", "numpy", "scipy", "xllamacpp", "wordllama")
MANIFEST = "manifest.json"
SUMMARY = "summary.json"
_NESTED = {"usage", "aside", "others", "lesson_ids", "schema_version"}
_PROMPT_HOMES = (
    "seasoned.llm",
    "seasoned.agents",
    "seasoned.methods",
    "seasoned.lab.benchmarks",
    "seasoned.lab.methods",
)


def make_run_dir(root: Path, recipe: Recipe) -> Path:
    """Make `<utc>-<name>-<id>` with the resolved recipe in it, or raise StoreError."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    path = root / f"{stamp}-{_plain(recipe.name)}-{os.urandom(3).hex()}"
    try:
        path.mkdir(parents=True)
    except OSError as error:
        raise StoreError(
            f"expected to make the run's folder {path}, but: {error}; choose another with --runs"
        ) from error
    write_text(path / "config.toml", tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True)))
    return path


def recipe_of(path: Path) -> Recipe:
    """The resolved recipe of a run's directory."""
    return load_recipe(path / "config.toml")


def check_resumable(path: Path, recipe: Recipe) -> None:
    """Raise ConfigError unless a recipe equals the run's own in all settings that decide results."""
    if recipe.digest != recipe_of(path).digest:
        raise ConfigError(
            f"the run {path.name} keeps its settings: only workers, run_limits, and timeout and max_retries of llm and "
            "learner can be changed when it is resumed; start a new run for anything else"
        )


def check_data(path: Path, source: str, tasks: Iterable[str]) -> None:
    """Raise ConfigError if the run's manifest has the digest of other tasks; the arguments are as in `manifest`."""
    data = _manifest_of(path).get("data")
    begun = data if isinstance(data, dict) else {}
    if begun.get("sha256", "") not in ("", digest(tasks)):
        then = begun.get("source") or "an unknown source"
        raise ConfigError(
            f"the run {path.name} was begun with other tasks: from {then} then, from {source} now; bring back the data "
            "as it was, or start a new run"
        )


def store_of(path: Path) -> str:
    """The store that a run was begun with, as its manifest says; "" if it does not say."""
    store = _manifest_of(path).get("store")
    return store if isinstance(store, str) else ""


def _manifest_of(path: Path) -> dict[str, Any]:
    """A run's manifest; empty if it is missing or damaged."""
    try:
        value = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def not_complete(path: Path) -> None:
    """Remove a run's summary, since a part of the run is to be made again."""
    try:
        (path / SUMMARY).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"expected to remove {path / SUMMARY}, but: {error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a file completely, or raise StoreError and leave it as it was."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except (OSError, UnicodeError) as error:
        with suppress(OSError):
            temporary.unlink()
        raise StoreError(f"expected to write {path}, but: {error}") from error


def write_jsonl(path: Path, rows: Iterable[BaseModel]) -> None:
    """Write models as JSON lines, `schema_version` first in each."""
    lines = []
    for row in rows:
        body = {"schema_version": SCHEMA_VERSION, **row.model_dump(mode="json")}
        lines.append(json.dumps(body, ensure_ascii=False))
    write_text(path, "".join(f"{line}\n" for line in lines))


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write indented JSON."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def manifest(recipe: Recipe, *, run_id: str, model: str, source: str, tasks: Iterable[str]) -> dict[str, Any]:
    """The origin of the results: versions, git revision, seeds, model, hashes of prompts and data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run_id,
        "recipe": recipe.digest,
        "seeds": list(recipe.seeds),
        "model": model,
        "data": {"source": source, "sha256": digest(tasks)},
        "prompts": {"sha256": prompts_digest()},
        "git": _git_revision(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": _versions(),
    }


def prompts_digest() -> str:
    """The SHA-256 of all prompts that a run may use, in hex."""
    return digest(_prompts())


def read_summary(directory: Path) -> Summary:
    """The summary of a complete run, written by this version or an earlier one.

    Raises:
        ConfigError: the run is not complete, or the file is broken or has another form.
    """
    file = directory / SUMMARY
    if not file.is_file():
        raise ConfigError(f"the run {directory.name} is not complete: go on with `seasoned run --resume {directory}`")
    try:
        return parse_summary(json.loads(file.read_text(encoding="utf-8")))
    except (DataError, OSError, ValueError, RecursionError) as error:
        wrong = error if isinstance(error, DataError) else f"cannot be read: {error}"
        raise ConfigError(f"{file} {wrong}; write it again with seasoned run --resume {directory}") from error


def read_rows(directory: Path) -> list[Row]:
    """The rows of a run's `results.jsonl`; a ConfigError if the file is missing or broken."""
    rows = []
    for line, where in _lines(directory / "results.jsonl"):
        try:
            rows.append(Row.model_validate_json(line))
        except ValidationError:
            raise ConfigError(f"{where}, is no row of results: was the file changed?") from None
    return rows


def read_trajectories(directory: Path, ids: Container[str]) -> dict[str, Trajectory]:
    """The attempts with these ids in a run's `trajectories.jsonl`, by id; errors are as in `read_rows`."""
    attempts = {}
    for line, where in _lines(directory / "trajectories.jsonl"):
        try:
            values = json.loads(line)
            del values["schema_version"]
            if values["id"] in ids:
                attempts[values["id"]] = Trajectory.model_validate(values)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ConfigError(f"{where}, is not an attempt: was the file changed?") from None
    return attempts


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file that are not empty, each with its place for an error message."""
    try:
        with file.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield line, f"{file}, line {number}"
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error


def flat_rows(directory: Path | str) -> list[dict[str, Any]]:
    """The episodes of a run, each as one flat dictionary with the same keys; errors are as in `read_rows`."""
    return [_flat(row) for row in latest(read_rows(Path(directory)))]


def to_dataframe(directory: Path | str) -> pandas.DataFrame:
    """Return the episodes of a run as a pandas DataFrame, from the directory that `seasoned.run` returns.

    Raises:
        DataError: the run's results cannot be read.
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("", "pandas", "pip install pandas") from error
    return pandas.DataFrame(flat_rows(directory))


def to_csv(rows: list[dict[str, Any]]) -> str:
    """The rows as CSV with a header line."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(row: Row) -> dict[str, Any]:
    plain = {name: value for name, value in row.model_dump().items() if name not in _NESTED}
    used, aside = row.usage, row.aside
    return {
        **plain,
        "solved": row.solved,
        "counted": row.counted,
        "calls": used.calls,
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "cost": used.cost,
        "aside_tokens": aside.tokens,
        "lessons": " ".join(row.lesson_ids),
    }


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Lock a run's directory; a ConfigError if another process works on it, a StoreError if nothing can be written."""
    try:
        file = (path / "run.lock").open("w")
    except OSError as error:
        raise StoreError(f"expected to write into the run's folder {path}, but: {error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"another process is working on the run {path.name}: wait for it, or stop it") from None
        yield


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)[:40].strip("-") or "run"


def digest(texts: Iterable[str]) -> str:
    """The SHA-256 of texts in hex."""
    return hashlib.sha256(b"".join(text.encode() + b"\0" for text in texts)).hexdigest()


def _prompts() -> Iterator[str]:
    for package in _PROMPT_HOMES:
        for file in sorted((resources.files(package) / "prompts").iterdir(), key=lambda f: f.name):
            yield file.read_text(encoding="utf-8")


@cache
def _versions() -> dict[str, str]:
    versions = {}
    for library in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[library] = metadata.version(library)
    return versions


@cache
def _git_revision() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None

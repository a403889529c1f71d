"""What the commands share: options, output as JSON, errors as sentences, and finding a run.

Always holds: nothing heavy is imported here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.errors import ConfigError

if TYPE_CHECKING:
    from seasoned.store.sql import Store

StoreOption = Annotated[
    str,
    typer.Option("--store", envvar="SEASONED_STORE", help="The store: a SQLite file, or a postgresql:// address."),
]
RunsOption = Annotated[
    Path, typer.Option("--runs", envvar="SEASONED_RUNS", help="The folder that holds the runs' directories.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table for people.")]
STORE = "seasoned.db"
RUNS = Path("runs")


def fail(error: BaseException) -> int:
    """Print an error as a sentence on standard error; returns the exit code 1. SEASONED_TRACE=1 shows the traceback."""
    if os.environ.get("SEASONED_TRACE"):
        import traceback

        traceback.print_exception(error)
    text = str(error)
    print(f"seasoned: {text[:1].lower() + text[1:] if text[1:2].islower() else text}", file=sys.stderr)
    return 1


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


@contextmanager
def open_store(address: str, *, must_exist: bool = False) -> Iterator[Store]:
    """The store, closed at the end.

    Raises:
        ConfigError: if it must exist and does not.
        StoreError: as the store raises it.
    """
    if must_exist and "://" not in address and not Path(address).exists():
        raise ConfigError(f"there is no store at {address} yet: run an experiment first, or name another with --store")
    from seasoned.store.sql import Store

    store = Store(address)
    try:
        yield store
    finally:
        store.close()


def one_scope(store: Store, scope: str | None) -> str:
    """The pool that is named, or the only one that holds lessons.

    Raises:
        ConfigError: if none is named and there are several, or none.
    """
    if scope is not None:
        return scope
    there = [name for name in store.scopes() if store.lessons(name, limit=1)]
    if len(there) != 1:
        names = ", ".join(there[:5]) or "none"
        raise ConfigError(f"name a pool with --scope: the store has {len(there)} with lessons ({names})")
    return there[0]


def find_run(name: str, runs: Path) -> Path:
    """A run's directory by path, by full name, by the end or a part of its name, or "last".

    Raises:
        ConfigError: if none or several fit.
    """
    if (Path(name) / "config.toml").is_file():
        return Path(name) if Path(name).name not in ("", "..") else Path(name).resolve()
    there = sorted(p.parent for p in runs.glob("*/config.toml")) if runs.is_dir() else []
    if name == "last" and there:
        return there[-1]
    exact = [p for p in there if p.name == name]
    fitting = exact or [p for p in there if name in p.name]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise ConfigError(f"there is no run {name!r} in {runs}; `seasoned runs list` shows what there is")
    raise ConfigError(f"{name!r} fits {len(fitting)} runs: {', '.join(p.name for p in fitting[:5])}; give more of it")

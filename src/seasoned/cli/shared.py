"""Functions that commands share: options, output, errors, and lookups of runs, pools and lessons.

All lookups and checks raise ConfigError. Always holds: nothing heavy is imported here; `tell` prints no control
characters of a terminal, whoever wrote the text; data for programs are UTF-8.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from seasoned.errors import ConfigError
from seasoned.text import clean
from seasoned.types import Lesson, Trajectory

if TYPE_CHECKING:
    from seasoned.store.sql import Store

StoreOption = Annotated[
    str, typer.Option("--store", envvar="SEASONED_STORE", help="The store: a SQLite file, or a postgresql:// address.")
]
RunsOption = Annotated[Path, typer.Option("--runs", envvar="SEASONED_RUNS", help="The folder of the runs.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run: its directory, (part of) its name, or 'last'.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
CasesOption = Annotated[int | None, typer.Option("--limit", min=1, help="At most this many training and test cases.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table for people.")]
NamespaceOption = Annotated[
    str | None, typer.Option("--namespace", help="The memory's name, as in `Memory(.., namespace=..)`.")
]
ScopeOption = Annotated[
    str | None, typer.Option("--scope", help="The pool, such as memory/default; not needed if the store has only one.")
]


def _allow_unsafe(wanted: bool) -> bool:
    if wanted:
        from seasoned.sandbox.walls import UNSAFE

        os.environ[UNSAFE] = "1"
    return wanted


UnsafeOption = Annotated[
    bool,
    typer.Option(
        "--unsafe-sandbox",
        callback=_allow_unsafe,
        help="Run code without a sandbox if none works. Only for a machine that you can throw away.",
    ),
]
STORE = "seasoned.db"
RUNS = Path("runs")
MethodOption = Annotated[
    str | None, typer.Option(help="The method. Default: the one that the memory learned with last, else erl.")
]
MEMORY, FLAGGED = "memory/", "flagged/"
"""The prefixes of a namespace's pools: the one it recalls from, and the one for flagged attempts."""
HOME = f"{MEMORY}default"
"""The default pool for lessons."""
_MAX_NAMED = 8  # pools in an error message
_SQLITE_HEADER = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-journal")  # ends of the names of SQLite's files beside a store


def fail(error: BaseException) -> int:
    """Print an error as a sentence on standard error; returns the exit code 1. SEASONED_TRACE=1 shows the traceback."""
    if os.environ.get("SEASONED_TRACE"):
        import traceback

        traceback.print_exception(error)
    text = clean(error)
    print(f"seasoned: {text[:1].lower() + text[1:] if text[1:2].islower() else text}", file=sys.stderr)
    return 1


def print_json(value: Any) -> None:
    """Print a value as JSON: models and dataclasses as their fields, other objects as text."""
    from pydantic_core import to_jsonable_python

    _utf8()
    typer.echo(json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False, indent=2))


def _utf8() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def tell(text: object, *, err: bool = False) -> None:
    """Print text of any origin, without control characters."""
    typer.echo(clean(text), err=err)


def show(as_json: bool, value: Any, lines: str | Iterable[str]) -> None:
    """Print a value as `print_json` does for programs, or else lines of any origin for people."""
    if as_json:
        print_json(value)
        return
    for line in [lines] if isinstance(lines, str) else lines:
        tell(line)


def many(count: int, one: str, several: str = "") -> str:
    """A count with its noun: "1 lesson", "2 lessons"."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def shortened(lines: Sequence[str], most: int, rest: str = "and {:,} more") -> list[str]:
    """The first lines, and a last one with the number of the others, if any."""
    return [*lines[:most], *([rest.format(len(lines) - most)] if len(lines) > most else [])]


def write_out(parts: Iterable[str], output: Path | None) -> int:
    """Write parts to standard output, or to a file, which is replaced as a whole; returns how many there were."""
    if output is None:
        _utf8()
        return _write(parts, sys.stdout)
    check_output(output)
    partial = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            count = _write(parts, stream)
        partial.replace(output)
    except OSError as error:
        raise ConfigError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return count


def _write(parts: Iterable[str], stream: IO[str]) -> int:
    count = 0
    for part in parts:
        stream.write(part)
        count += 1
    return count


def write_lines(lines: Iterable[str], output: Path | None, as_json: bool) -> int:
    """Write JSON lines as `write_out` does; with --json, print them as one list. Returns how many there were."""
    if output is not None or not as_json:
        return write_out(lines, output)
    values = [json.loads(line) for line in lines]
    print_json(values)
    return len(values)


def tell_written(count: str, output: Path | None, as_json: bool) -> None:
    """Report what was written to a file; `count` is from `many`."""
    if output is not None and as_json:
        print_json({"file": str(output), "written": count})
    elif output is not None:
        tell(f"{count} written to {output}", err=True)


def check_output(output: Path) -> None:
    """Check that an output file can be written, and is neither a store nor one of SQLite's files beside a store."""
    beside = [Path(str(output.resolve()).removesuffix(end)) for end in _BESIDE if output.name.endswith(end)]
    try:
        if not output.name or output.is_dir():
            raise ConfigError(f"expected a file to write, but {output} is a folder: name a file in it")
        if not output.parent.is_dir():
            raise ConfigError(f"{output} cannot be written: there is no folder {output.parent}")
        stores = [each for each in (output, *beside) if each.is_file() and _is_sqlite(each)]
    except OSError as error:  # such as a name that is too long for a path
        raise ConfigError(f"{output} cannot be written: {error.strerror or error}") from error
    if stores:
        use = "is a store" if stores[0] == output else f"belongs to the store {stores[0]}"
        raise ConfigError(f"{output} {use}, which is not overwritten: name another file")


def _is_sqlite(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER


def is_missing(address: str) -> bool:
    """Whether there is no file at the address yet; a server is assumed to have a store."""
    return "://" not in address and not Path(address).exists()


def begin(address: str) -> str:
    """How to begin without a store."""
    return (
        f"There is no store at {clean(address)} yet. It begins with the first attempt:\n"
        '  in Python   with Memory("seasoned.db", llm=..) as memory: ..   (docs/quickstart.md)\n'
        "  from a log  seasoned import FILE\n"
        '  by hand     seasoned lessons add "what is worth knowing"\n'
        "  to see it   seasoned demo\n"
        "Name another store with --store."
    )


def named_store(address: str) -> str:
    """The option that names the store in a suggested command; not for a URL, which may contain a password."""
    return "" if address == STORE or "://" in address else f" --store {shlex.quote(address)}"


@contextmanager
def open_store(address: str, *, must_exist: bool = False) -> Iterator[Store]:
    """Open a store for the block; ConfigError if it must exist and does not, StoreError if it cannot be opened."""
    if must_exist and is_missing(address):
        raise ConfigError(
            f"there is no store at {address} yet: a run, `seasoned import` or `Memory` makes one; name another with "
            "--store"
        )
    from seasoned.store.sql import Store

    store = Store(address)
    try:
        yield store
    finally:
        store.close()


def one_scope(store: Store, namespace: str | None, scope: str | None) -> str:
    """The pool that --namespace or --scope names, or the only one that holds lessons."""
    with_lessons = (name for name in store.scopes() if store.lessons(name, limit=1))
    return chosen_pool(store, namespace, scope) or only_pool(list(with_lessons), " with lessons")


def only_pool(pools: Sequence[str], which: str = "") -> str:
    """The only pool of these; ConfigError if there are several, or none."""
    if len(pools) != 1:
        names = ", ".join(pools[:5]) or "none"
        raise ConfigError(f"name a pool with --namespace or --scope: the store has {len(pools)}{which} ({names})")
    return pools[0]


def pool_of(namespace: str | None, scope: str | None) -> str | None:
    """The pool that --namespace or --scope names, known or not; None if neither is given."""
    if namespace is not None and scope is not None:
        raise ConfigError(
            f"give --namespace or --scope, not both: the namespace {namespace!r} is the scope {MEMORY + namespace!r}"
        )
    for name, given in (("--namespace", namespace), ("--scope", scope)):
        if given is not None and not given.strip():
            raise ConfigError(f"{name} is empty: give a name, or leave it out")
    return scope if namespace is None else MEMORY + namespace


def chosen_pool(store: Store, namespace: str | None, scope: str | None) -> str | None:
    """The pool of the store that --namespace or --scope names; None if neither is given."""
    pool, pools = pool_of(namespace, scope), store.scopes()
    if pool is None or pool in pools or (pool.startswith(MEMORY) and FLAGGED + pool.removeprefix(MEMORY) in pools):
        return pool
    near = [*difflib.get_close_matches(pool, pools, n=_MAX_NAMED), *pools]
    named = ", ".join(list(dict.fromkeys(near))[:_MAX_NAMED]) or "none"
    more = f" and {len(pools) - _MAX_NAMED} more" if len(pools) > _MAX_NAMED else ""
    raise ConfigError(f"there is no pool {pool!r} in {store.where}; it has {named}{more}")


def find_lesson(store: Store, name: str) -> Lesson:
    """The one lesson with this id, or whose id begins so."""
    if not name.strip():
        raise ConfigError("expected the id of a lesson, but it is empty: `seasoned lessons list` shows them")
    lesson = store.get_lesson(name)
    matches = [lesson] if lesson else [each for each in store.lessons() if each.id.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    count = "more than one lesson" if matches else "no lesson"
    raise ConfigError(f"expected the id of one lesson, but {count} begins with {name!r}: see `seasoned lessons list`")


def find_attempt(store: Store, name: str) -> Trajectory:
    """The one attempt with this id, or whose id begins so."""
    matches = store.find_trajectories(name, 2)
    if len(matches) != 1:
        several = "several attempts begin" if matches else "no attempt begins"
        raise ConfigError(f"{several} with {name!r} in {store.where}; `seasoned attempts` lists them")
    return matches[0]


def all_runs(runs: Path, names: str = "*") -> list[Path]:
    """The directories of the runs in a folder, latest last; empty if the folder does not exist."""
    return sorted(file.parent for file in runs.glob(f"{names}/config.toml"))


def find_run(name: str, runs: Path) -> Path:
    """The directory of the one run with this path, this name, or this part in its name; or of the "last" run."""
    if not name.strip():
        raise ConfigError("expected the name of a run, but it is empty: `seasoned runs list` shows them")
    with suppress(OSError):  # such as a name that is too long for a path
        if (Path(name) / "config.toml").is_file():
            return Path(name) if Path(name).name not in ("", "..") else Path(name).resolve()
    all_ = all_runs(runs)
    exact = all_[-1:] if name == "last" else [p for p in all_ if p.name == name]
    matches = exact or [p for p in all_ if name in p.name]
    if len(matches) == 1:
        return matches[0]
    if not all_:
        raise ConfigError(f"there is no run {name!r}, and {runs} has no other yet; `seasoned run emoji` makes one")
    if not matches:
        raise ConfigError(f"there is no run {name!r} in {runs}; `seasoned runs list` lists them")
    raise ConfigError(f"{name!r} matches {len(matches)} runs: {', '.join(p.name for p in matches[:5])}; add more of it")

"""What the commands share: options, output, errors as sentences, and finding a run, a pool or a lesson.

Always holds: nothing heavy is imported here; what `tell` prints cannot lead a terminal astray, whoever wrote it; data
for programs are UTF-8 wherever they go.
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
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.errors import ConfigError
from seasoned.text import clean

if TYPE_CHECKING:
    from seasoned.store.sql import Store
    from seasoned.types import Lesson, Trajectory

StoreOption = Annotated[
    str,
    typer.Option("--store", envvar="SEASONED_STORE", help="The store: a SQLite file, or a postgresql:// address."),
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
STORE = "seasoned.db"
RUNS = Path("runs")
MethodOption = Annotated[
    str | None, typer.Option(help="The method. Default: the one that the memory learned with last, else erl.")
]
MEMORY, FLAGGED = "memory/", "flagged/"
"""What the pools of a namespace begin with: all that it recalls from, and attempts that were set apart."""
HOME = f"{MEMORY}default"
"""Where lessons go that name no other pool."""
_NAMED = 8  # pools that an error names
_SQLITE = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a file of its own


def fail(error: BaseException) -> int:
    """Print an error as a sentence on standard error; returns the exit code 1. SEASONED_TRACE=1 shows the traceback."""
    if os.environ.get("SEASONED_TRACE"):
        import traceback

        traceback.print_exception(error)
    text = clean(error)
    print(f"seasoned: {text[:1].lower() + text[1:] if text[1:2].islower() else text}", file=sys.stderr)
    return 1


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    _utf8()
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def _utf8() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def tell(text: object, *, err: bool = False) -> None:
    """Print text of any origin."""
    typer.echo(clean(text), err=err)


def show(as_json: bool, value: Any, lines: str | Iterable[str]) -> None:
    """Print a value as JSON for programs, or else lines for people, which may be of any origin."""
    if as_json:
        print_json(value)
        return
    for line in [lines] if isinstance(lines, str) else lines:
        tell(line)


def many(count: int, one: str, several: str = "") -> str:
    """A number of things: "1 lesson", "2 lessons"."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def write_out(parts: Iterable[str], output: Path | None) -> int:
    """Write the parts, to standard output or to a file by way of another one beside it; returns how many there were.

    Raises:
        ConfigError: if the file is a store, or cannot be written.
    """
    if output is not None:
        check_output(output)
    count = 0

    def counted() -> Iterator[str]:
        nonlocal count
        for part in parts:
            count += 1
            yield part

    if output is None:
        _utf8()
        sys.stdout.writelines(counted())
        return count
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(counted())
        beside.replace(output)
    except OSError as error:
        raise ConfigError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            beside.unlink()
    return count


def write_lines(lines: Iterable[str], output: Path | None, as_json: bool) -> int:
    """Write JSON lines as `write_out` does; with --json, print them as one list. Returns how many there were."""
    if output is not None or not as_json:
        return write_out(lines, output)
    values = [json.loads(line) for line in lines]
    print_json(values)
    return len(values)


def tell_written(count: str, output: Path | None, as_json: bool) -> None:
    """Say what was written to a file; `count` is a number of things."""
    if output is not None and as_json:
        print_json({"file": str(output), "written": count})
    elif output is not None:
        tell(f"{count} written to {output}", err=True)


def check_output(output: Path) -> None:
    """Refuse what cannot be written, and to write over a store or a file that SQLite keeps beside it.

    Raises:
        ConfigError: if the output is one, or a folder, or is to be in a folder that there is not.
    """
    with suppress(OSError):  # a name that is too long for a path
        if not output.name or output.is_dir():
            raise ConfigError(f"expected a file to write, but {output} is a folder: name a file in it")
        if not output.parent.is_dir():
            raise ConfigError(f"{output} cannot be written: there is no folder {output.parent}")
    names = [str(output), *(str(output.resolve()).removesuffix(end) for end in _BESIDE if output.name.endswith(end))]
    try:
        stores = [name for name in names if Path(name).is_file() and _begins(name) == _SQLITE]
    except OSError as error:
        raise ConfigError(f"{output} cannot be written: {error.strerror or error}") from error
    if stores:
        whose = "is a store" if stores[0] == names[0] else f"belongs to the store {stores[0]}"
        raise ConfigError(f"{output} {whose}, and nothing is written over it: name another file")


def _begins(name: str) -> bytes:
    with Path(name).open("rb") as stream:
        return stream.read(len(_SQLITE))


def is_missing(address: str) -> bool:
    """Whether there is no store at the address yet; a server is taken to have one."""
    return "://" not in address and not Path(address).exists()


def begin(address: str) -> str:
    """What to do where there is nothing yet."""
    return (
        f"There is no store at {clean(address)} yet. It begins with the first attempt:\n"
        '  in Python   with Memory("seasoned.db", llm=..) as memory: ..   (docs/quickstart.md)\n'
        "  from a log  seasoned import FILE\n"
        '  by hand     seasoned lessons add "what is worth knowing"\n'
        "  to see it   seasoned demo\n"
        "Name another store with --store."
    )


def named_store(address: str) -> str:
    """How a further command names the store. An address may hold a password, so it is not repeated."""
    return "" if address == STORE or "://" in address else f" --store {shlex.quote(address)}"


@contextmanager
def open_store(address: str, *, must_exist: bool = False) -> Iterator[Store]:
    """The store, closed at the end.

    Raises:
        ConfigError: if it must exist and does not.
        StoreError: as the store raises it.
    """
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
    """The pool that --namespace or --scope names, or the only one that holds lessons.

    Raises:
        ConfigError: as `chosen_pool`; if none is named and there are several, or none.
    """
    chosen = chosen_pool(store, namespace, scope)
    if chosen is not None:
        return chosen
    return only_pool([name for name in store.scopes() if store.lessons(name, limit=1)], " with lessons")


def only_pool(pools: Sequence[str], which: str = "") -> str:
    """The only one of the pools.

    Raises:
        ConfigError: if there are several, or none.
    """
    if len(pools) != 1:
        names = ", ".join(pools[:5]) or "none"
        raise ConfigError(f"name a pool with --namespace or --scope: the store has {len(pools)}{which} ({names})")
    return pools[0]


def pool_of(namespace: str | None, scope: str | None) -> str | None:
    """The pool that --namespace or --scope names; None where neither is given.

    Raises:
        ConfigError: if both are given, or what is given is empty.
    """
    if namespace is not None and scope is not None:
        raise ConfigError(
            f"give --namespace or --scope, not both: the namespace {namespace!r} is the scope {MEMORY + namespace!r}"
        )
    for name, given in (("--namespace", namespace), ("--scope", scope)):
        if given is not None and not given.strip():
            raise ConfigError(f"{name} is empty: give a name, or leave it out")
    return scope if namespace is None else MEMORY + namespace


def chosen_pool(store: Store, namespace: str | None, scope: str | None) -> str | None:
    """The pool that --namespace or --scope names; None where neither is given.

    Raises:
        ConfigError: as `pool_of` and `known_pool`.
    """
    pool = pool_of(namespace, scope)
    return None if pool is None else known_pool(store, pool)


def known_pool(store: Store, pool: str) -> str:
    """The pool, if the store has it.

    Raises:
        ConfigError: if it has not; the message names those that it has.
    """
    there = store.scopes()
    if pool in there or (pool.startswith(MEMORY) and FLAGGED + pool.removeprefix(MEMORY) in there):
        return pool
    near = [*difflib.get_close_matches(pool, there, n=_NAMED), *there]
    named = ", ".join(list(dict.fromkeys(near))[:_NAMED]) or "none"
    more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
    raise ConfigError(f"there is no pool {pool!r} in {store.where}; it has {named}{more}")


def find_lesson(store: Store, name: str) -> Lesson:
    """A lesson by its id, or the beginning of it.

    Raises:
        ConfigError: if none or several fit, or the name is empty.
    """
    if not name.strip():
        raise ConfigError("expected the id of a lesson, but it is empty: `seasoned lessons list` shows them")
    lesson = store.get_lesson(name)
    if lesson is not None:
        return lesson
    fitting = [lesson for lesson in store.lessons() if lesson.id.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    count = "more than one lesson" if fitting else "no lesson"
    raise ConfigError(f"expected the id of one lesson, but {count} begins with {name!r}: see `seasoned lessons list`")


def find_attempt(store: Store, name: str) -> Trajectory:
    """An attempt by its id, or the beginning of it.

    Raises:
        ConfigError: if none or several fit.
    """
    fitting = store.find_trajectories(name, 2)
    if len(fitting) != 1:
        several = "several attempts begin" if fitting else "no attempt begins"
        raise ConfigError(f"{several} with {name!r} in {store.where}; `seasoned attempts` lists them")
    return fitting[0]


def all_runs(runs: Path, names: str = "*") -> list[Path]:
    """The directories of the runs in a folder, the latest last, if it is there."""
    return sorted(file.parent for file in runs.glob(f"{names}/config.toml"))


def find_run(name: str, runs: Path) -> Path:
    """A run's directory by path, by full name, by the end or a part of its name, or "last".

    Raises:
        ConfigError: if none or several fit, or the name is empty.
    """
    if not name.strip():
        raise ConfigError("expected the name of a run, but it is empty: `seasoned runs list` shows them")
    with suppress(OSError):  # a name that is too long for a path
        if (Path(name) / "config.toml").is_file():
            return Path(name) if Path(name).name not in ("", "..") else Path(name).resolve()
    there = all_runs(runs)
    if name == "last" and there:
        return there[-1]
    exact = [p for p in there if p.name == name]
    fitting = exact or [p for p in there if name in p.name]
    if len(fitting) == 1:
        return fitting[0]
    if not there:
        raise ConfigError(f"there is no run {name!r}, and no other in {runs} yet; `seasoned run emoji` makes one")
    if not fitting:
        raise ConfigError(f"there is no run {name!r} in {runs}; `seasoned runs list` shows what there is")
    raise ConfigError(f"{name!r} fits {len(fitting)} runs: {', '.join(p.name for p in fitting[:5])}; give more of it")

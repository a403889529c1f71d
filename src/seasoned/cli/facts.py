"""`seasoned lessons verify|facts`: run facts again, and read facts from doctests and pytest reports.

Always holds: a fact that no longer holds is disabled with its new result, never deleted; a library runs in the sandbox,
and only if a person or a fact names it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import (
    HOME,
    STORE,
    JsonOption,
    NamespaceOption,
    StoreOption,
    chosen_pool,
    many,
    open_store,
    pool_of,
    show,
    tell,
)
from seasoned.errors import ConfigError
from seasoned.files import read_text

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

_MAX_SHOWN = 20


def _allow(wanted: bool) -> bool:
    if wanted:
        from seasoned.sandbox.walls import UNSAFE

        os.environ[UNSAFE] = "1"
    return wanted


UnsafeOption = Annotated[
    bool,
    typer.Option(
        "--unsafe-sandbox",
        callback=_allow,
        help="Run code without a sandbox if none works. Only for a machine that you can throw away.",
    ),
]
LibraryOption = Annotated[str, typer.Option("--library", help="The library's import name.")]


def verify(
    library: LibraryOption = "",
    namespace: NamespaceOption = None,
    scope: Annotated[str | None, typer.Option(help="Only this pool, such as memory/default.")] = None,
    store: StoreOption = STORE,
    unsafe: UnsafeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run facts again. Those that no longer hold are disabled, and the new results are stored."""
    from seasoned.pool import ExperiencePool

    del unsafe
    held, skipped, stale, problems = 0, 0, list[dict[str, str]](), list[str]()
    with open_store(store, must_exist=True) as opened:
        chosen = chosen_pool(opened, namespace, scope)
        for name in opened.scopes() if chosen is None else [chosen]:
            pool = ExperiencePool(opened, name)
            named = [str(lesson.data.get("library") or "") for lesson in pool.lessons("fact")]
            for one in dict.fromkeys(library or each for each in named):
                held_here, skipped_here, rows = _verified(pool, one, problems)
                held, skipped = held + held_here, skipped + skipped_here
                stale += [{**row, "scope": name} for row in rows]
    lines = [f"{row['id']}  {row['fact']}\n  now: {row['instead']}" for row in stale[:_MAX_SHOWN]]
    lines += [f"and {len(stale) - _MAX_SHOWN:,} more"] if len(stale) > _MAX_SHOWN else []
    rest = f", {skipped:,} could not be run" if skipped else ""
    lines.append(f"{many(held, 'fact holds', 'facts hold')}, {len(stale):,} no longer do and are disabled{rest}")
    show(as_json, {"held": held, "stale": stale, "skipped": skipped, "problems": problems}, lines)
    for problem in problems if not as_json else ():
        tell(problem, err=True)


def _verified(pool: ExperiencePool, library: str, problems: list[str]) -> tuple[int, int, list[dict[str, str]]]:
    """The number of a library's facts that hold, the number that could not be run, and those that no longer hold."""
    from seasoned.methods.facts import Facts

    of_library = [lesson for lesson in pool.lessons("fact") if lesson.data.get("library") in (library, "", None)]
    if not library:
        problems.append(f"{many(len(of_library), 'fact names', 'facts name')} no library: give it with --library")
        return 0, len(of_library), []
    try:
        verdict = Facts(library=library).verify(pool)
    except ConfigError as error:
        problems.append(str(error))
        return 0, len(of_library), []
    rows = [{"id": lesson.id, "fact": lesson.text, "instead": instead} for lesson, instead in verdict.stale]
    return verdict.held, max(len(of_library) - verdict.held - len(rows), 0), rows


def take(
    file: Annotated[Path, typer.Argument(help="A module or text with doctests, or output of pytest.")],
    library: LibraryOption = "",
    namespace: NamespaceOption = None,
    scope: Annotated[str | None, typer.Option(help="The pool for the facts, such as memory/default.")] = None,
    store: StoreOption = STORE,
    unsafe: UnsafeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read facts from doctests or a pytest report. With --library, run each and store its current result."""
    from seasoned.methods.facts import Facts, read_facts
    from seasoned.pool import ExperiencePool

    del unsafe
    facts = read_facts(read_text(file))
    with open_store(store) as opened:
        pool = ExperiencePool(opened, pool_of(namespace, scope) or HOME)
        kept = [lesson.text for lesson in Facts(library=library).keep_facts(facts, pool)]
    lines = [*kept[:_MAX_SHOWN], f"{many(len(facts), 'fact')} in {file}, {len(kept):,} kept"]
    show(as_json, {"file": str(file), "found": len(facts), "kept": len(kept), "facts": kept}, lines)

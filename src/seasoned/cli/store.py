"""`seasoned store copy` and `grant`: copies a store between a file and a server, and sets the rights of roles."""

from __future__ import annotations

from typing import Annotated

import typer

from seasoned.cli.shared import JsonOption, many, open_store, show
from seasoned.errors import StoreError

app = typer.Typer(name="store", help="Copy a store, and set which memories a role may see.", no_args_is_help=True)


@app.command("copy")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A store: a SQLite file, or a postgresql:// address.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The target: a new file, or an empty database.")],
    as_json: JsonOption = False,
) -> None:
    """Copy a store into an empty one, and verify the copy."""
    from seasoned.store.copying import copy as copy_all

    with open_store(source, must_exist=True) as opened, open_store(target) as fresh:
        counts, digest = copy_all(opened, fresh)
        where = fresh.where
    parts = f"{many(counts['lessons'], 'lesson')}, {many(counts['trajectories'], 'attempt')}"
    rows = many(sum(counts.values()), "row")
    line = f"copied to {where}: {parts}, {rows} in all; the digest of both is {digest[:16]}"
    show(as_json, {"rows": counts, "digest": digest}, line)


@app.command("grant")
def grant(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="An existing role of the Postgres server.")],
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", help="A memory that the role may read and change. Repeatable.")
    ] = None,
    store: Annotated[str, typer.Option("--store", envvar="SEASONED_STORE", help="A postgresql:// address.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Limit a Postgres role to some memories.

    Uses row-level security. Without --namespace, the role sees no memory.
    """
    from seasoned.store.access import allow

    if "://" not in store:
        raise StoreError(
            "roles need Postgres: give --store postgresql://..; whoever can read a file can read all of it"
        )
    with open_store(store, must_exist=True) as opened:
        allow(opened, role, namespace or [])
    line = f"{role} sees {', '.join(namespace) if namespace else 'no memory'} in this store, and nothing else"
    show(as_json, {"role": role, "namespaces": namespace or []}, line)

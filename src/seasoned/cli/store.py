"""`seasoned prune|backup|restore|token|store`: commands for operators of a store.

Always holds: a token is shown once; a replaced store is kept.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from seasoned.cli.shared import (
    FLAGGED,
    MEMORY,
    STORE,
    JsonOption,
    NamespaceOption,
    StoreOption,
    chosen_pool,
    many,
    open_store,
    show,
    tell,
)
from seasoned.errors import ConfigError, StoreError
from seasoned.store.tokens import Role, add_token, remove_token
from seasoned.store.tokens import tokens as stored_tokens

_DAYS = {"d": 1, "w": 7, "y": 365}
tokens = typer.Typer(name="token", help="Set who may use this store on the page and over MCP.", no_args_is_help=True)
app = typer.Typer(name="store", help="Copy a store, and set which memories a role may see.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Whose token: a person or a program.")]


def prune(
    older: Annotated[
        str, typer.Option("--older", metavar="AGE", help="Delete what is older than this: 90d, 12w or 1y.")
    ],
    namespace: NamespaceOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be deleted.")] = False,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Delete old attempts of memories for good.

    Lessons that were deleted that long ago go too. All other lessons stay.
    """
    from seasoned.store.prune import prune as prune_all

    age = re.fullmatch(r"(\d{1,5})([dwy])", older.strip().lower())
    if not age:
        raise ConfigError(f"--older should be a number of days, weeks or years, such as 90d, but was {older!r}")
    before = (datetime.now(UTC) - timedelta(days=int(age[1]) * _DAYS[age[2]])).isoformat()
    with open_store(store, must_exist=True) as opened:
        if namespace is None:
            scopes = [name for name in opened.scopes() if name.startswith((MEMORY, FLAGGED))]
        else:
            chosen_pool(opened, namespace, None)
            scopes = [MEMORY + namespace, FLAGGED + namespace]
        pruned = prune_all(opened, before, scopes, dry_run=dry_run)
    lines = [f"{one.scope}: {many(one.attempts, 'attempt')}, {many(one.lessons, 'deleted lesson')}" for one in pruned]
    attempts, lessons = sum(one.attempts for one in pruned), sum(one.lessons for one in pruned)
    verb = "would be deleted" if dry_run else "deleted"
    both = f"{many(attempts, 'attempt')} and {many(lessons, 'deleted lesson')}"
    lines.append(f"{both} older than {before[:10]} {verb} for good")
    show(as_json, {"before": before, "dry_run": dry_run, "pools": pruned}, lines)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Copy the whole store into one file. Programs may keep using it."""
    from seasoned.store.backup import backup as copy

    with open_store(store, must_exist=True) as opened:
        size = copy(opened, file)
    show(as_json, {"file": file, "bytes": size}, f"{file}: {size:,} bytes, verified")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup that `seasoned backup` wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an existing store; it is kept beside the new one.")
    ] = False,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Restore a store from a backup. Stop the programs that use it first."""
    from seasoned.store.backup import restore as restore_store

    previous = restore_store(file, store, replace=replace)
    note = f"; the previous store is in {previous}" if previous else ""
    show(as_json, {"file": file, "kept": previous}, f"restored from {file}{note}")


@tokens.command("add")
def add(
    name: NameArgument,
    role: Annotated[Role, typer.Option(help="A reader sees everything; an editor may change it.")] = "reader",
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Make a token, and print it once. The store keeps only its hash."""
    with open_store(store) as opened:
        token = add_token(opened, name, role)
    show(as_json, {"name": name, "role": role, "token": token}, token)
    if not as_json:
        tell(f"{name} adds ?token=.. to the page's address, and sends it to MCP as the bearer token", err=True)


@tokens.command("list")
def list_all(store: StoreOption = STORE, as_json: JsonOption = False) -> None:
    """List the names and roles of all tokens. The tokens are not stored."""
    with open_store(store, must_exist=True) as opened:
        owners = stored_tokens(opened)
    lines = [f"{one.name}  {one.role}" for one in owners] or "no tokens: `seasoned token add NAME` makes one"
    show(as_json, owners, lines)


@tokens.command("rm")
def remove(name: NameArgument, store: StoreOption = STORE, as_json: JsonOption = False) -> None:
    """Remove a token. It stops working at once."""
    with open_store(store, must_exist=True) as opened:
        remove_token(opened, name)
    show(as_json, {"name": name, "removed": True}, f"the token of {name} was removed")


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
    names = namespace or []
    with open_store(store, must_exist=True) as opened:
        allow(opened, role, names)
    line = f"{role} sees {', '.join(names) or 'no memory'} in this store, and nothing else"
    show(as_json, {"role": role, "namespaces": names}, line)

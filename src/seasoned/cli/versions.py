"""`seasoned lessons snapshot|snapshots|diff|rollback`: states of a whole pool.

Always holds: a rollback deletes nothing; without --namespace or --scope, the store must have only one pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.cli.shared import (
    STORE,
    JsonOption,
    NamespaceOption,
    ScopeOption,
    StoreOption,
    chosen_pool,
    many,
    one_scope,
    open_store,
    show,
)

if TYPE_CHECKING:
    from seasoned.store.sql import Difference
    from seasoned.types import Lesson

WHEN = "A snapshot's name, a time such as 2026-05-31T12:00 (UTC), or now."


def snapshot(
    name: Annotated[str, typer.Argument(help="The name for the current state.")],
    why: Annotated[str, typer.Option("--why", help="The reason, kept with the snapshot.")] = "",
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Name the current state of a pool."""
    from seasoned.memory.editing import checked_snapshot_name
    from seasoned.trust import mask

    with open_store(store, must_exist=True) as opened:
        pool = one_scope(opened, namespace, scope)
        saved = opened.add_snapshot(pool, checked_snapshot_name(name), who="person", why=mask(why))
        count = len(opened.lessons_at(pool, "now"))
    line = f"{saved.name} is the state of {pool} at {saved.at}: {many(count, 'lesson')}"
    show(as_json, {**vars(saved), "lessons": count}, line)


def snapshots(
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """List the snapshots, the oldest first."""
    with open_store(store, must_exist=True) as opened:
        saved = opened.snapshots(chosen_pool(opened, namespace, scope))
    lines = [f"{each.name}  {each.scope}  {each.at}  {each.who}: {each.why}" for each in saved]
    show(as_json, [vars(each) for each in saved], lines or "no snapshots")


def diff(
    before: Annotated[str, typer.Argument(help=WHEN)],
    after: Annotated[str, typer.Argument(help=WHEN)] = "now",
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show how the lessons of a pool changed between two states."""
    from seasoned.store.versions import difference

    with open_store(store, must_exist=True) as opened:
        pool = one_scope(opened, namespace, scope)
        changes = difference(opened.lessons_at(pool, before), opened.lessons_at(pool, after))
    show_changes(changes, as_json)


def rollback(
    when: Annotated[str, typer.Argument(metavar="STATE", help=WHEN)],
    why: Annotated[str, typer.Option("--why", help="The reason, kept in the history of each lesson.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Restore an earlier state of a pool. The history stays."""
    from seasoned.store.versions import difference
    from seasoned.trust import mask

    with open_store(store, must_exist=True) as opened:
        pool = one_scope(opened, namespace, scope)
        if dry_run:
            done = difference(opened.lessons_at(pool, "now"), opened.lessons_at(pool, when))
        else:
            done = opened.rollback(pool, when, who="person", why=mask(why) or f"rolled back to {when}")
    show_changes(done, as_json)


def show_changes(changes: Difference, as_json: bool) -> None:
    """Print a difference: one line for an added or removed lesson, two for a changed one."""
    changed = [{"before": _plain(old), "after": _plain(new)} for old, new in changes.changed]
    both = {"added": [_plain(x) for x in changes.added], "removed": [_plain(x) for x in changes.removed]}
    lines = [f"+ {_line(lesson)}" for lesson in changes.added] + [f"- {_line(lesson)}" for lesson in changes.removed]
    lines += [f"< {_line(old)}\n> {_line(new)}" for old, new in changes.changed]
    lines.append(f"{len(changes.added)} added, {len(changes.removed)} removed, {len(changes.changed)} changed")
    show(as_json, {**both, "changed": changed}, lines)


def _line(lesson: Lesson) -> str:
    marks = [f"{lesson.importance:g}", *([lesson.status] if lesson.status != "active" else [])]
    marks += ["pinned"] if lesson.pinned else []
    key = f"{lesson.key}: " if lesson.key else ""
    return f"{lesson.id}  {key}{' '.join(lesson.text.split())}  ({', '.join(marks)})"


def _plain(lesson: Lesson) -> dict[str, Any]:
    return lesson.model_dump(mode="json")

"""Snapshots on the page: names for states of a pool, the differences between two states, and rollback.

Always holds: a rollback asks first, writes new versions, and is signed by "person" with the token's name.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from seasoned.errors import ConfigError
from seasoned.memory.editing import checked_snapshot_name
from seasoned.store import pages
from seasoned.store.versions import NOW, difference
from seasoned.types import Lesson
from seasoned.web.site import HOME, asked, form, reason, redirect, show, site_of, visitor

_MAX_SHOWN = 100  # lessons of each part of a difference
_MAX_COMPARED = 2000  # lessons of a difference


def snapshot_list(request: Request) -> Response:
    """The snapshots of all pools, and a form for a new one."""
    store = site_of(request).store
    scopes = store.scopes()
    scope = asked(request, "scope") or next((s for s in scopes if s.startswith(HOME)), "")
    return show(request, "snapshots.html.j2", snapshots=store.snapshots()[::-1], scopes=scopes, scope=scope)


def add_snapshot(request: Request) -> Response:
    """Name the present state of a pool."""
    store, fields = site_of(request).store, form(request)
    scope = fields.get("scope", "")
    if scope not in store.scopes():
        raise ConfigError(f"there is no pool {scope[:80]!r} in this store; choose one from the list")
    name, who = checked_snapshot_name(fields.get("name", "")), visitor(request).signed
    store.add_snapshot(scope, name, who=who, why=reason(fields))
    return redirect("/snapshots", scope=scope, done="snapshot")


def diff_page(request: Request) -> Response:
    """The difference between two states of a pool."""
    store = site_of(request).store
    scope, before, after = asked(request, "scope"), asked(request, "before"), asked(request, "after") or NOW
    snapshots = {one.name: one.change for one in store.snapshots(scope)}
    written = []
    if after == NOW and before in snapshots:  # the usual case, which reads only changed lessons
        written = pages.changed_since(store, scope, snapshots[before], _MAX_COMPARED + 1)
        changes = difference(_existing(old for old, _ in written), _existing(new for _, new in written))
    else:
        changes = difference(store.lessons_at(scope, before), store.lessons_at(scope, after))
    return show(
        request,
        "diff.html.j2",
        scope=scope,
        before=before,
        after=after,
        now=NOW,
        names=list(snapshots),
        more=len(written) > _MAX_COMPARED,
        compared=_MAX_COMPARED,
        added=changes.added[:_MAX_SHOWN],
        removed=changes.removed[:_MAX_SHOWN],
        changed=changes.changed[:_MAX_SHOWN],
        totals=(len(changes.added), len(changes.removed), len(changes.changed)),
        shown=_MAX_SHOWN,
    )


def _existing(lessons: Iterable[Lesson | None]) -> list[Lesson]:
    return [lesson for lesson in lessons if lesson is not None and lesson.status != "deleted"]


def rollback(request: Request) -> Response:
    """Restore an earlier state of a pool."""
    store, fields = site_of(request).store, form(request)
    if fields.get("sure") != "on":
        raise ConfigError("a rollback changes many lessons at once: tick the box to confirm it")
    scope, when = fields.get("scope", ""), fields.get("when", "")
    store.rollback(scope, when, who=visitor(request).signed, why=f"rolled back to {when} on the page")
    return redirect("/lessons", scope=scope, done="rolled")

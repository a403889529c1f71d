"""Snapshots on the page: names for states of a pool, what changed between two, and the way back.

Always holds: going back writes new versions, asks first, and is made by "person", with the name of the token.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from seasoned.errors import ConfigError
from seasoned.memory.editing import checked_snapshot_name
from seasoned.store import pages
from seasoned.store.versions import NOW, difference
from seasoned.trust import mask
from seasoned.web.show import redirect, show
from seasoned.web.site import asked, form, site_of, visitor

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.types import Lesson

_SHOWN = 100  # lessons of each part of a difference
_COMPARED = 2000  # lessons that are looked at for one


def snapshot_list(request: Request) -> Response:
    """The snapshots of all pools, and a form for a new one."""
    store = site_of(request).store
    scopes = store.scopes()
    scope = asked(request, "scope") or next((s for s in scopes if s.startswith("memory/")), "")
    return show(request, "snapshots.html.j2", snapshots=store.snapshots()[::-1], scopes=scopes, scope=scope)


def add_snapshot(request: Request) -> Response:
    """Name the present state of a pool."""
    store, given = site_of(request).store, form(request)
    scope = given.get("scope", "")
    if scope not in store.scopes():
        raise ConfigError(f"there is no pool {scope[:80]!r} in this store; choose one of the list")
    why = mask(" ".join(given.get("why", "").split()))[:500]
    store.add_snapshot(scope, checked_snapshot_name(given.get("name", "")), who=visitor(request).signed, why=why)
    return redirect("/snapshots", scope=scope, done="snapshot")


def diff_page(request: Request) -> Response:
    """What led from one state of a pool to another."""
    store = site_of(request).store
    scope, before, after = asked(request, "scope"), asked(request, "before"), asked(request, "after") or NOW
    snapshots = {one.name: one.change for one in store.snapshots(scope)}
    more = False
    if after == NOW and before in snapshots:  # the usual case, and quick however many lessons there are
        written = pages.changed_since(store, scope, snapshots[before], _COMPARED + 1)
        more = len(written) > _COMPARED
        changes = difference(_there(old for old, _ in written), _there(new for _, new in written))
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
        more=more,
        compared=_COMPARED,
        added=changes.added[:_SHOWN],
        removed=changes.removed[:_SHOWN],
        changed=changes.changed[:_SHOWN],
        totals=(len(changes.added), len(changes.removed), len(changes.changed)),
        shown=_SHOWN,
    )


def _there(lessons: Iterable[Lesson | None]) -> list[Lesson]:
    return [lesson for lesson in lessons if lesson is not None and lesson.status != "deleted"]


def rollback(request: Request) -> Response:
    """Bring back a state of a pool."""
    store, given = site_of(request).store, form(request)
    if given.get("sure") != "on":
        raise ConfigError("going back changes many lessons at once: tick the box that says so")
    scope, when = given.get("scope", ""), given.get("when", "")
    store.rollback(scope, when, who=visitor(request).signed, why=f"rolled back to {when} on the page")
    return redirect("/lessons", scope=scope, done="rolled")

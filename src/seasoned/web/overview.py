"""The overview page: tasks for a person, this week's lessons and attempts, and whether guidance helps.

Always holds: nothing is written; a number links to what it counts; for an empty store, the page says how to begin.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from seasoned.errors import ConfigError
from seasoned.memory.holdout import EffectReport, read_effect
from seasoned.store import pages
from seasoned.store.overview import brought, without_outcome
from seasoned.web.show import show
from seasoned.web.site import HOME, namespaces, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.store.sql import Store

_NEWEST = 5  # lessons
_MAX_NAMESPACES = 20


def overview(request: Request) -> Response:
    """The overview."""
    site = site_of(request)
    store, end = site.store, datetime.now(UTC)
    now, week, before = ((end - timedelta(days=days)).isoformat(timespec="milliseconds") for days in (0, 7, 14))
    names = namespaces(store)[:_MAX_NAMESPACES]
    reports = [(name, _report(store, name)) for name in names]
    newest = [line for name in names for line in pages.lesson_page(store, scope=HOME + name, limit=_NEWEST)]
    return show(
        request,
        "overview.html.j2",
        empty=not store.scopes(),
        where=store.where,
        week=brought(store, week, now),
        before=brought(store, before, week),
        newest=sorted((one for one in newest if one.lesson.created >= week), key=lambda one: -one.seq)[:_NEWEST],
        waiting=pages.lesson_counts(store).get("quarantined", 0),
        unknown=without_outcome(store),
        off=[(name, report.off) for name, report in reports if report and report.off],
        reports=[(name, report) for name, report in reports if report],
        names=names,
    )


def _report(store: Store, namespace: str) -> EffectReport | None:
    try:
        return read_effect(store, namespace)
    except ConfigError:  # it has no holdout
        return None

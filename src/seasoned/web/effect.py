"""Is it helping? The overview of all memories, and the effect of guidance in one with its interval, on the page.

Always holds: a number links to what it counts; an effect is that of one namespace; without a holdout, the page says how
to begin; switches are signed by "person".
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from seasoned.errors import ConfigError
from seasoned.memory.holdout import EffectReport, read_effect, resume_guidance
from seasoned.proof.effect import Effect
from seasoned.store import pages
from seasoned.store.overview import brought, without_outcome
from seasoned.store.sql import Store
from seasoned.web.site import HOME, form, namespace_of, namespaces, redirect, show, site_of, with_name

_SHOWN = 100  # lessons and categories
_NEWEST = 5  # lessons of the overview
_MAX_NAMESPACES = 20


def effect_page(request: Request) -> Response:
    """The effect over all attempts, by category and by month, and lesson by lesson."""
    store = site_of(request).store
    names = namespaces(store)
    namespace = namespace_of(request, names)
    report = _report(store, namespace)
    categories, months = (report.categories, report.months) if report else ({}, {})
    return show(
        request,
        "effect.html.j2",
        namespace=namespace,
        names=names[:200],
        report=report,
        lessons=report.lessons[:_SHOWN] if report else (),
        tables=[("By category", list(categories.items())[:_SHOWN]), ("By month", list(months.items()))],
        bar=_bar,
    )


def resume(request: Request) -> Response:
    """Switch guidance on again."""
    namespace, why = (form(request).get(name, "") for name in ("namespace", "why"))
    resume_guidance(site_of(request).store, namespace, with_name(request, why))
    return redirect("/effect", namespace=namespace, done="resumed")


def _bar(effect: Effect) -> dict[str, float]:
    """The places of an interval and its estimate on an axis from -100 to +100 points, 200 units long."""
    low, high, value = (100 + 100 * each for each in (effect.low, effect.high, effect.value))
    return {"low": low, "wide": max(high - low, 1.0), "value": value}


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

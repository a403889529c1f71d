"""Is it helping? On the page: the effect of guidance, drawn with its interval, and what was switched off.

Always holds: figures come from one namespace alone, and where nothing was held back the page says how to begin; a
verdict and a switch are made by "person".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seasoned.errors import ConfigError
from seasoned.memory import Memory
from seasoned.memory.holdout import read_effect, resume_guidance
from seasoned.web.attempts import scope_of
from seasoned.web.show import redirect, show
from seasoned.web.site import form, namespace_of, namespaces, site_of, visitor

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.proof.effect import Effect

_SHOWN = 100  # lessons and categories


def effect_page(request: Request) -> Response:
    """The effect over all attempts, by category and by month, and lesson by lesson."""
    store = site_of(request).store
    names = namespaces(store)
    namespace = namespace_of(request, names)
    try:
        report = read_effect(store, namespace)
    except ConfigError:
        report = None
    parts = []
    if report is not None:
        parts = [("By category", list(report.categories.items())[:_SHOWN]), ("By month", list(report.months.items()))]
    return show(
        request,
        "effect.html.j2",
        namespace=namespace,
        names=names[:200],
        report=report,
        lessons=report.lessons[:_SHOWN] if report else (),
        parts=parts,
        bar=_bar,
    )


def resume(request: Request) -> Response:
    """Show guidance again."""
    given = form(request)
    namespace = given.get("namespace", "")
    resume_guidance(site_of(request).store, namespace, _because(request, given.get("why", "")))
    return redirect("/effect", namespace=namespace, done="resumed")


def outcome(request: Request) -> Response:
    """Give an attempt of a memory a later verdict."""
    store, given = site_of(request).store, form(request)
    wanted, ended = given.get("id", ""), given.get("ended", "")
    side, _, namespace = scope_of(store, wanted).partition("/")
    if ended not in ("yes", "no") or side not in ("memory", "flagged"):
        raise ConfigError("an attempt of a memory worked or failed: use the buttons on its page")
    with Memory(store, namespace=namespace, method="nearest", embedder=None) as memory:
        memory.outcome(wanted, ended == "yes", why=_because(request, given.get("why", "")))
    return redirect("/attempt", id=wanted, done="outcome")


def _because(request: Request, why: str) -> str:
    """The reason, with the name of the token."""
    name = visitor(request).name
    return " ".join(why.split())[:500] + (f" ({name})" if name else "")


def _bar(effect: Effect) -> dict[str, float]:
    """Where an interval and its estimate stand on a line from -100 to +100 points that is 200 units long."""
    low, high, value = (100 + 100 * each for each in (effect.low, effect.high, effect.value))
    return {"low": low, "wide": max(high - low, 1.0), "value": value}

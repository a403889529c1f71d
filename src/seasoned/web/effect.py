"""Is it helping? The effect of guidance with its interval, and switches, on the page.

Always holds: figures come from one namespace; without a holdout, the page says how to begin; verdicts and switches are
signed by "person".
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
    """Switch guidance on again."""
    fields = form(request)
    namespace = fields.get("namespace", "")
    resume_guidance(site_of(request).store, namespace, _signed(request, fields.get("why", "")))
    return redirect("/effect", namespace=namespace, done="resumed")


def outcome(request: Request) -> Response:
    """Set the outcome of a memory's attempt."""
    store, fields = site_of(request).store, form(request)
    attempt_id, ended = fields.get("id", ""), fields.get("ended", "")
    side, _, namespace = scope_of(store, attempt_id).partition("/")
    if ended not in ("yes", "no") or side not in ("memory", "flagged"):
        raise ConfigError("the outcome of a memory's attempt is yes or no: use the buttons on its page")
    with Memory(store, namespace=namespace, method="nearest", embedder=None) as memory:
        memory.outcome(attempt_id, ended == "yes", why=_signed(request, fields.get("why", "")))
    return redirect("/attempt", id=attempt_id, done="outcome")


def _signed(request: Request, why: str) -> str:
    """The reason, with the token's name."""
    name = visitor(request).name
    return " ".join(why.split())[:500] + (f" ({name})" if name else "")


def _bar(effect: Effect) -> dict[str, float]:
    """The places of an interval and its estimate on an axis from -100 to +100 points, 200 units long."""
    low, high, value = (100 + 100 * each for each in (effect.low, effect.high, effect.value))
    return {"low": low, "wide": max(high - low, 1.0), "value": value}

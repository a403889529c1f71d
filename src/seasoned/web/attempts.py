"""Attempts on the page: the list of trajectories, and one trajectory in full.

Always holds: nothing is written; a cut conversation says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seasoned.store import pages
from seasoned.traces.conversation import conversation
from seasoned.web.lessons import Missing, chosen
from seasoned.web.show import show
from seasoned.web.site import PAGE, asked, partial, place, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.store.sql import Store

ENDED = ("yes", "no", "unknown")
_MAX_MESSAGES = 80  # of a conversation, unless the visitor asks for all


def attempt_list(request: Request) -> Response:
    """The attempts, newest first."""
    store = site_of(request).store
    filters = {name: asked(request, name) for name in ("q", "scope", "run")}
    filters["ended"] = chosen(request, "ended", ENDED)
    page = pages.attempt_page(
        store,
        scope=filters["scope"] or None,
        run_id=filters["run"] or None,
        success=filters["ended"],
        query=filters["q"],
        before=place(request),
        limit=PAGE + 1,
    )
    values = {"lines": page[:PAGE], "more": len(page) > PAGE, "asked": filters}
    if partial(request):
        return show(request, "attempt_rows.html.j2", **values)
    return show(request, "attempts.html.j2", **values, scopes=store.scopes(), ended=ENDED)


def attempt_page(request: Request) -> Response:
    """One attempt: its task, conversation and outcome, and the lessons that it was shown or taught."""
    store = site_of(request).store
    attempt_id = asked(request, "id")
    attempt = store.get_trajectory(attempt_id)
    if attempt is None:
        raise Missing(f"there is no attempt {attempt_id[:80]!r} in this store; it may be in another, or deleted")
    show_all = asked(request, "all") == "1"
    messages = conversation(attempt)
    line = pages.attempt_lines(store, [attempt.id])[attempt.id]
    return show(
        request,
        "attempt.html.j2",
        attempt=attempt,
        line=line,
        show_all=show_all,
        messages=messages if show_all else messages[:_MAX_MESSAGES],
        left_out=0 if show_all else max(0, len(messages) - _MAX_MESSAGES),
        verdicts=[one for one in attempt.meta.get("verdicts", ()) if isinstance(one, dict)],
        flags=[str(flag) for flag in attempt.meta.get("flags", ())],
        shown=store.get_lessons(attempt.lesson_ids[:50]),
        made=pages.lessons_of(store, attempt.id),
    )


def scope_of(store: Store, attempt_id: str) -> str:
    """The pool of an attempt.

    Raises:
        Missing: there is no such attempt.
    """
    line = pages.attempt_lines(store, [attempt_id]).get(attempt_id)
    if line is None:
        raise Missing(f"there is no attempt {attempt_id[:80]!r} in this store; it may have been deleted")
    return line.scope

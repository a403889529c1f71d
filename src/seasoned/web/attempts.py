"""Attempts on the page: the list of trajectories, and one of them read from beginning to end.

Always holds: nothing is written here; a long conversation is cut, and says so.
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
_MESSAGES = 80  # of a conversation, shown before somebody asks for all


def attempt_list(request: Request) -> Response:
    """The attempts, newest first."""
    store = site_of(request).store
    wanted = {name: asked(request, name) for name in ("q", "scope", "run")}
    wanted["ended"] = chosen(request, "ended", ENDED)
    page = pages.attempt_page(
        store,
        scope=wanted["scope"] or None,
        run_id=wanted["run"] or None,
        success=wanted["ended"],
        query=wanted["q"],
        before=place(request),
        limit=PAGE + 1,
    )
    same = {"lines": page[:PAGE], "more": len(page) > PAGE, "asked": wanted}
    if partial(request):
        return show(request, "attempt_rows.html.j2", **same)
    return show(request, "attempts.html.j2", **same, scopes=store.scopes(), ended=ENDED)


def attempt_page(request: Request) -> Response:
    """One attempt: the task, what was said and done, how it ended, and the lessons before and after it."""
    store = site_of(request).store
    wanted = asked(request, "id")
    attempt = store.get_trajectory(wanted)
    if attempt is None:
        raise Missing(f"there is no attempt {wanted[:80]!r} in this store; it may have been made elsewhere, or deleted")
    whole = asked(request, "all") == "1"
    messages = conversation(attempt)
    line = pages.attempt_lines(store, [attempt.id])[attempt.id]
    return show(
        request,
        "attempt.html.j2",
        attempt=attempt,
        line=line,
        whole=whole,
        messages=messages if whole else messages[:_MESSAGES],
        left_out=0 if whole else max(0, len(messages) - _MESSAGES),
        verdicts=[one for one in attempt.meta.get("verdicts", ()) if isinstance(one, dict)],
        flags=[str(flag) for flag in attempt.meta.get("flags", ())],
        shown=store.get_lessons(attempt.lesson_ids[:50]),
        made=pages.lessons_of(store, attempt.id),
    )


def scope_of(store: Store, attempt_id: str) -> str:
    """The pool that an attempt lies in.

    Raises:
        Missing: there is no such attempt.
    """
    line = pages.attempt_lines(store, [attempt_id]).get(attempt_id)
    if line is None:
        raise Missing(f"there is no attempt {attempt_id[:80]!r} in this store; it may have been deleted")
    return line.scope

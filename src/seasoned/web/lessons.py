"""Lessons on the page: the list with its search, and one lesson with all that is known of it.

Always holds: no lesson is changed here (a search by meaning may store vectors, which can be made anew).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

from seasoned.errors import ConfigError
from seasoned.memory.holdout import read_effect
from seasoned.pool.lineage import trust_in
from seasoned.proof.standing import standing
from seasoned.store import pages
from seasoned.types import LessonKind, LessonStatus
from seasoned.web.show import show
from seasoned.web.site import HOME, PAGE, asked, partial, place, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.proof.effect import Effect
    from seasoned.store.sql import Change
    from seasoned.types import Lesson
    from seasoned.web.site import Site

KINDS: tuple[str, ...] = get_args(LessonKind)
SORTS = ("use", "effect")
STATES: tuple[str, ...] = get_args(LessonStatus)
_VERSIONS = 30  # of a lesson's history, shown before somebody asks for all
_SOURCES = 30
_ESTIMATED = 200  # lessons with an estimate of their effect, in a list by that


def lesson_list(request: Request) -> Response:
    """The lessons, newest first or in another order, or those that a search found."""
    site = site_of(request)
    query, scope = asked(request, "q"), asked(request, "scope")
    kind, status = chosen(request, "kind", KINDS), chosen(request, "status", STATES)
    sort, begun = chosen(request, "sort", SORTS), place(request)
    wanted = bool(asked(request, "by") == "meaning" and query.strip() and site.embedder)
    by_meaning = wanted and not site.warming
    if by_meaning:
        lines, more = site.nearest(query, scope or None, kind or None), False
    elif sort == "effect":
        lines, more = _by_effect(site, scope, kind, status, query), False
    else:
        filters: dict[str, Any] = {"scope": scope or None, "kind": kind or None, "status": status or None}
        by_use = sort == "use"
        page = pages.lesson_page(site.store, query=query, **filters, before=begun, limit=PAGE + 1, by_use=by_use)
        lines, more = page[:PAGE], len(page) > PAGE
    after = (begun or 0) + PAGE if sort == "use" else lines[-1].seq if lines else 0
    asked_for = {"q": query, "scope": scope, "kind": kind, "status": status, "sort": sort, "by": asked(request, "by")}
    same = {
        "lines": lines,
        "more": more,
        "after": after,
        "asked": asked_for,
        "by_meaning": by_meaning,
        "early": wanted and not by_meaning,
    }
    if partial(request):
        return show(request, "lesson_rows.html.j2", **same)
    return show(
        request,
        "lessons.html.j2",
        **same,
        scopes=site.store.scopes(),
        kinds=KINDS,
        states=STATES,
        counts=None if query else pages.lesson_counts(site.store, scope or None),
        meaning=site.embedder is not None,
        proof=standing(site.store, scope) if scope else None,
    )


def lesson_page(request: Request) -> Response:
    """One lesson: its text, where it came from, where it was shown and how that ended, its history."""
    site = site_of(request)
    lesson = find(site, asked(request, "id"))
    whole = asked(request, "all") == "1"
    history = site.store.history(lesson.id)
    sources = lesson.sources if whole else lesson.sources[:_SOURCES]
    known = pages.attempt_lines(site.store, sources)
    return show(
        request,
        "lesson.html.j2",
        lesson=lesson,
        scope=site.store.scope_of(lesson.id) or "",
        whole=whole,
        trust=trust_in(site.store, [lesson])[lesson.id],
        proof=standing(site.store, site.store.scope_of(lesson.id) or ""),
        sources=[(source, known.get(source)) for source in sources],
        uses=pages.uses(site.store, lesson.id),
        history=pairs(history) if whole else pairs(history)[:_VERSIONS],
        versions=len(history),
        flags=[str(flag) for flag in lesson.data.get("flags", ())] if isinstance(lesson.data, dict) else [],
    )


def _by_effect(site: Site, scope: str, kind: str, status: str, query: str) -> list[pages.LessonLine]:
    """The lessons whose effect is estimated, the best first."""
    effects: dict[str, tuple[Effect, str]] = {}
    for name in [scope] if scope else site.store.scopes():
        if name.startswith(HOME):
            with suppress(ConfigError):  # nothing was held back there
                report = read_effect(site.store, name.removeprefix(HOME))
                effects |= {one.lesson_id: (one.effect, name) for one in report.lessons if one.effect}
    best = sorted(effects, key=lambda one: -effects[one][0].value)[:_ESTIMATED]
    lines = []
    for lesson in site.store.get_lessons(best):
        there = status == lesson.status if status else lesson.status != "deleted"
        words = f"{lesson.key}\n{lesson.text}".casefold()
        if there and kind in ("", lesson.kind) and all(word in words for word in query.casefold().split()):
            effect, name = effects[lesson.id]
            lines.append(pages.LessonLine(0, name, lesson, f"{100 * effect.value:+.0f} points"))
    return lines


def pairs(history: Sequence[Change]) -> list[tuple[Change, Change | None]]:
    """Each change with the one before it (None for the first), newest first."""
    return list(zip(history, [None, *history[:-1]], strict=True))[::-1]


def find(site: Site, lesson_id: str) -> Lesson:
    """The lesson of this id.

    Raises:
        Missing: there is none.
    """
    lesson = site.store.get_lesson(lesson_id)
    if lesson is None:
        raise Missing(f"there is no lesson {lesson_id[:80]!r} in this store; it may have been deleted for good")
    return lesson


def chosen(request: Request, name: str, known: tuple[str, ...]) -> str:
    """A part of the address that is one of these, or "".

    Raises:
        ConfigError: it is something else.
    """
    value = asked(request, name)
    if value and value not in known:
        raise ConfigError(f"{name} is one of {', '.join(known)}, and was {value[:40]!r}")
    return value


class Missing(ConfigError):  # noqa: N818 - shown as "not found"
    """What was asked for is not there."""

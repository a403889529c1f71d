"""Lessons on the page: the list with its search, and one lesson in full.

Always holds: nothing is written, except vectors that a search by meaning computes.
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
_MAX_VERSIONS = 30  # of a lesson's history, unless the visitor asks for all
_MAX_SOURCES = 30
_MAX_BY_EFFECT = 200  # lessons in a list sorted by effect


def lesson_list(request: Request) -> Response:
    """The lessons that match the filters and the search, in the chosen order."""
    site = site_of(request)
    query, scope = asked(request, "q"), asked(request, "scope")
    kind, status = chosen(request, "kind", KINDS), chosen(request, "status", STATES)
    sort, before = chosen(request, "sort", SORTS), place(request)
    asked_by_meaning = bool(asked(request, "by") == "meaning" and query.strip() and site.embedder)
    by_meaning = asked_by_meaning and not site.warming
    if by_meaning:
        lines, more = site.nearest(query, scope or None, kind or None), False
    elif sort == "effect":
        lines, more = _by_effect(site, scope, kind, status, query), False
    else:
        filters: dict[str, Any] = {"scope": scope or None, "kind": kind or None, "status": status or None}
        by_use = sort == "use"
        page = pages.lesson_page(site.store, query=query, **filters, before=before, limit=PAGE + 1, by_use=by_use)
        lines, more = page[:PAGE], len(page) > PAGE
    after = (before or 0) + PAGE if sort == "use" else lines[-1].seq if lines else 0
    asked_for = {"q": query, "scope": scope, "kind": kind, "status": status, "sort": sort, "by": asked(request, "by")}
    values = {
        "lines": lines,
        "more": more,
        "after": after,
        "asked": asked_for,
        "by_meaning": by_meaning,
        "early": asked_by_meaning and not by_meaning,
    }
    if partial(request):
        return show(request, "lesson_rows.html.j2", **values)
    return show(
        request,
        "lessons.html.j2",
        **values,
        scopes=site.store.scopes(),
        kinds=KINDS,
        states=STATES,
        counts=None if query else pages.lesson_counts(site.store, scope or None),
        meaning=site.embedder is not None,
        proof=standing(site.store, scope) if scope else None,
    )


def lesson_page(request: Request) -> Response:
    """One lesson: its text, sources, uses with their outcomes, and history."""
    site = site_of(request)
    lesson = find(site, asked(request, "id"))
    show_all = asked(request, "all") == "1"
    history = site.store.history(lesson.id)
    sources = lesson.sources if show_all else lesson.sources[:_MAX_SOURCES]
    known = pages.attempt_lines(site.store, sources)
    return show(
        request,
        "lesson.html.j2",
        lesson=lesson,
        scope=site.store.scope_of(lesson.id) or "",
        show_all=show_all,
        trust=trust_in(site.store, [lesson])[lesson.id],
        proof=standing(site.store, site.store.scope_of(lesson.id) or ""),
        sources=[(source, known.get(source)) for source in sources],
        uses=pages.uses(site.store, lesson.id),
        history=pairs(history) if show_all else pairs(history)[:_MAX_VERSIONS],
        versions=len(history),
        flags=[str(flag) for flag in lesson.data.get("flags", ())] if isinstance(lesson.data, dict) else [],
    )


def _by_effect(site: Site, scope: str, kind: str, status: str, query: str) -> list[pages.LessonLine]:
    """The lessons with an estimated effect, best first."""
    effects: dict[str, tuple[Effect, str]] = {}
    for name in [scope] if scope else site.store.scopes():
        if name.startswith(HOME):
            with suppress(ConfigError):  # that pool has no holdout
                report = read_effect(site.store, name.removeprefix(HOME))
                effects |= {one.lesson_id: (one.effect, name) for one in report.lessons if one.effect}
    best = sorted(effects, key=lambda one: -effects[one][0].value)[:_MAX_BY_EFFECT]
    lines = []
    for lesson in site.store.get_lessons(best):
        has_status = status == lesson.status if status else lesson.status != "deleted"
        text = f"{lesson.key}\n{lesson.text}".casefold()
        if has_status and kind in ("", lesson.kind) and all(word in text for word in query.casefold().split()):
            effect, name = effects[lesson.id]
            lines.append(pages.LessonLine(0, name, lesson, f"{100 * effect.value:+.0f} points"))
    return lines


def pairs(history: Sequence[Change]) -> list[tuple[Change, Change | None]]:
    """Each change with the one before it (None for the first), newest first."""
    return list(zip(history, [None, *history[:-1]], strict=True))[::-1]


def find(site: Site, lesson_id: str) -> Lesson:
    """The lesson with this id.

    Raises:
        Missing: the store has no such lesson.
    """
    lesson = site.store.get_lesson(lesson_id)
    if lesson is None:
        raise Missing(f"there is no lesson {lesson_id[:80]!r} in this store; it may be in another, or purged")
    return lesson


def chosen(request: Request, name: str, known: tuple[str, ...]) -> str:
    """A parameter of the address, which is one of `known` or "".

    Raises:
        ConfigError: it is something else.
    """
    value = asked(request, name)
    if value and value not in known:
        raise ConfigError(f"{name} should be one of {', '.join(known)}, but was {value[:40]!r}")
    return value


class Missing(ConfigError):  # noqa: N818 - shown as "not found"
    """The page shows something that the store does not have."""

"""Lessons on the page: the list with its search, one lesson in full, and the forms and buttons that change it.

Always holds: reading writes nothing, except vectors that a search by meaning computes; each change is a version signed
by "person", with the token's name and a reason; each form has the version that it was made from, and if the lesson was
changed meanwhile, nothing is overwritten and both texts are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast, get_args

from seasoned.errors import ConfigError, ConflictError
from seasoned.memory.editing import Switch, edited, switched, written
from seasoned.memory.holdout import read_effect
from seasoned.pool.lineage import trust_in
from seasoned.proof.certificate import standing
from seasoned.store import pages
from seasoned.text import clean
from seasoned.trust import mask
from seasoned.types import LessonKind, LessonStatus
from seasoned.web.site import HOME, PAGE, asked, form, partial, place, redirect, show, site_of, visitor

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


_EMPTY_FORM = dict.fromkeys(("scope", "kind", "key", "category", "text", "pinned", "why"), "")
_PINS = {"pin": (True, "pinned"), "unpin": (False, "no longer pinned")}
_SWITCHES: Mapping[str, str] = {
    "disable": "disabled",
    "enable": "enabled",
    "release": "released from quarantine",
    "delete": "deleted",
    "restore": "restored",
}


def add_form(request: Request) -> Response:
    """An empty form for a new lesson."""
    scopes = site_of(request).store.scopes()
    scope = asked(request, "scope") or next((s for s in scopes if s.startswith("memory/")), "memory/default")
    return _add_page(request, {**_EMPTY_FORM, "scope": scope, "kind": "heuristic", "pinned": "on"})


def add(request: Request) -> Response:
    """Store a new lesson."""
    fields = {**_EMPTY_FORM, **form(request)}
    try:
        scope = fields["scope"].strip()
        if not scope or fields["kind"] not in KINDS:
            raise ConfigError(f"a lesson needs a pool, such as memory/default, and a kind: {', '.join(KINDS)}")
        texts = {name: fields[name] for name in ("text", "key", "category")}
        lesson = written(fields["kind"], **texts, pinned=bool(fields["pinned"]))
    except ConfigError as error:
        return _add_page(request, fields, str(error), 422)
    store, why = site_of(request).store, _why(fields, "added on the page")
    (stored,) = store.add_lessons(scope, [lesson], who=visitor(request).signed, why=why)
    return redirect("/lesson", id=stored.id, done="waits" if stored.status == "quarantined" else "added")


def edit_form(request: Request) -> Response:
    """The form of a lesson, with its present version."""
    lesson = edited(find(site_of(request), asked(request, "id")))  # raises if it is deleted
    fields = {"text": lesson.text, "key": lesson.key, "category": lesson.category, "why": "", "pinned": "on"}
    return _edit_page(request, lesson, fields)


def edit(request: Request) -> Response:
    """Store an edited lesson, unless it was changed since the form was made."""
    site, fields = site_of(request), {**_EMPTY_FORM, **form(request)}
    lesson = find(site, fields.get("id", ""))
    version = _version(fields)
    try:
        changed = _edited(lesson, fields)
    except ConfigError as error:
        return _edit_page(request, lesson, fields, str(error), 422, version=version)
    if version == lesson.version and changed == lesson:
        return redirect("/lesson", id=lesson.id, done="same")
    try:
        site.store.update_lesson(
            changed.model_copy(update={"version": version}),
            who=visitor(request).signed,
            why=_why(fields, "edited on the page"),
        )
    except ConflictError:
        stored = find(site, lesson.id)
        last = site.store.history(stored.id)[-1]
        return show(request, "conflict.html.j2", 409, lesson=stored, last=last, fields=fields)
    return redirect("/lesson", id=lesson.id, done="edited")


def do(request: Request) -> Response:
    """A button of a lesson: a switch, a rollback to an earlier version, or permanent deletion."""
    site, fields = site_of(request), form(request)
    lesson = find(site, fields.get("id", ""))
    action, version = fields.get("action", ""), _version(fields)
    if action == "purge":
        return _purge(site, lesson, version, fields)
    if action == "rollback":
        target = fields.get("to", "")
        old = next((change.lesson for change in site.store.history(lesson.id) if str(change.version) == target), None)
        if old is None:
            raise ConfigError(f"the lesson {lesson.id} has no version {target[:20]!r}; see its history")
        changed, why = old, f"rolled back to version {target}"
    elif action in _PINS:
        pinned, why = _PINS[action]
        changed = lesson.model_copy(update={"pinned": pinned})
    elif action in _SWITCHES:
        why = _SWITCHES[action]
        states = [change.lesson.status for change in site.store.history(lesson.id)]
        # For an outdated form, `update_lesson` below raises the ConflictError.
        changed = switched(lesson, cast(Switch, action), states) if version == lesson.version else lesson
    else:
        raise ConfigError(f"there is no button {action[:40]!r}")
    changed = changed.model_copy(update={"version": version})
    site.store.update_lesson(changed, who=visitor(request).signed, why=_why(fields, why))
    return redirect("/lesson", id=lesson.id, done=action)


def bulk(request: Request) -> Response:
    """Switch all ticked lessons whose state allows it, as one change of the store."""
    store, versions = site_of(request).store, dict(form(request))
    action = versions.pop("action", "")
    if action not in _SWITCHES:
        raise ConfigError(f"there is no button {action[:40]!r}")
    ticked = {lesson.id: lesson for lesson in store.get_lessons(list(versions))}
    if not ticked:
        raise ConfigError("no lesson is ticked: tick at least one")
    changed = []
    for lesson in ticked.values():
        states = [change.lesson.status for change in store.history(lesson.id)]
        with suppress(ConfigError):  # its state does not allow the switch, or it was changed meanwhile
            if _version({"version": versions[lesson.id]}) == lesson.version:
                changed.append(switched(lesson, cast(Switch, action), states))
    store.update_lessons(changed, who=visitor(request).signed, why=f"{_SWITCHES[action]}, with others")
    return redirect("/lessons", done=f"bulk-{len(changed)}-{len(versions) - len(changed)}")


def _purge(site: Site, lesson: Lesson, version: int, fields: Mapping[str, str]) -> Response:
    if fields.get("sure") != "on":
        raise ConfigError("permanent deletion includes the history: tick the box to confirm it")
    with site.store.transaction():
        if find(site, lesson.id).version != version:
            raise ConflictError(f"the lesson {lesson.id} was changed meanwhile; read it again before you delete it")
        site.store.remove_lesson(lesson.id, who="person", purge=True)
    done = "purge" if site.store.scrub() else "purge-later"
    return redirect("/lessons", done=done)


def _edited(lesson: Lesson, fields: Mapping[str, str]) -> Lesson:
    """The lesson with the form's changes; characters that the browser could not show are no change."""
    names = ("text", "key", "category")
    changes: dict[str, Any] = {name: fields[name] for name in names if fields[name] != clean(getattr(lesson, name))}
    return edited(lesson, **changes, pinned=bool(fields["pinned"]))


def _why(fields: Mapping[str, str], default: str) -> str:
    return mask(" ".join(fields.get("why", "").split()))[:500] or default


def _version(fields: Mapping[str, str]) -> int:
    text = fields.get("version", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise ConfigError("the form does not say which version it was made from; open the lesson again")
    return int(text)


def _add_page(request: Request, fields: Mapping[str, str], problem: str = "", status: int = 200) -> Response:
    scopes = site_of(request).store.scopes()
    return show(request, "add.html.j2", status, fields=fields, problem=problem, kinds=KINDS, scopes=scopes[:200])


def _edit_page(
    request: Request,
    lesson: Lesson,
    fields: Mapping[str, str],
    problem: str = "",
    status: int = 200,
    *,
    version: int | None = None,
) -> Response:
    hidden = len(lesson.text) - len(clean(lesson.text)) + clean(lesson.text).count("\ufffd")
    return show(
        request,
        "edit.html.j2",
        status,
        lesson=lesson,
        fields=fields,
        problem=problem,
        version=version or lesson.version,
        hidden=hidden,
    )

"""Lessons on the page: the list with its search, one lesson in full, and the forms and buttons that change it.

Always holds: reading writes nothing, except vectors that a search by meaning computes; each change is a version signed
by "person", with the token's name and a reason; each form has the version that it was made from, and if the lesson was
changed meanwhile, nothing is overwritten and both texts are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast, get_args

from starlette.requests import Request
from starlette.responses import Response

from seasoned.errors import ConfigError, ConflictError
from seasoned.memory.editing import Switch, edited, switched, written
from seasoned.memory.holdout import read_effect
from seasoned.pool.lineage import trust_in
from seasoned.proof.certificate import standing
from seasoned.proof.effect import Effect
from seasoned.store import pages
from seasoned.text import clean
from seasoned.types import Lesson, LessonKind, LessonStatus
from seasoned.web.site import HOME, PAGE, Site, asked, form, partial, place, reason, redirect, show, site_of, visitor

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
    by, by_use = asked(request, "by"), sort == "use"
    asked_by_meaning = bool(by == "meaning" and query.strip() and site.embedder)
    by_meaning, more = asked_by_meaning and not site.warming, False
    if by_meaning:
        lines = site.nearest(query, scope or None, kind or None)
    elif sort == "effect":
        lines = _by_effect(site, scope, kind, status, query)
    else:
        filters: dict[str, Any] = {"scope": scope or None, "kind": kind or None, "status": status or None}
        page = pages.lesson_page(site.store, query=query, **filters, before=before, limit=PAGE + 1, by_use=by_use)
        lines, more = page[:PAGE], len(page) > PAGE
    values = {
        "lines": lines,
        "more": more,
        "after": (before or 0) + PAGE if by_use else lines[-1].seq if lines else 0,
        "asked": {"q": query, "scope": scope, "kind": kind, "status": status, "sort": sort, "by": by},
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
    show_all, scope = asked(request, "all") == "1", site.store.scope_of(lesson.id) or ""
    history = site.store.history(lesson.id)
    versions = list(zip(history, [None, *history[:-1]], strict=True))[::-1]
    sources = lesson.sources if show_all else lesson.sources[:_MAX_SOURCES]
    known = pages.attempt_lines(site.store, sources)
    return show(
        request,
        "lesson.html.j2",
        lesson=lesson,
        scope=scope,
        show_all=show_all,
        trust=trust_in(site.store, [lesson])[lesson.id],
        proof=standing(site.store, scope),
        sources=[(source, known.get(source)) for source in sources],
        uses=pages.uses(site.store, lesson.id),
        history=versions if show_all else versions[:_MAX_VERSIONS],  # each change with the one before it
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


def find(site: Site, lesson_id: str) -> Lesson:
    """The lesson with this id; raises `Missing` if the store has none."""
    lesson = site.store.get_lesson(lesson_id)
    if lesson is None:
        raise Missing(f"there is no lesson {lesson_id[:80]!r} in this store; it may be in another, or purged")
    return lesson


def chosen(request: Request, name: str, known: tuple[str, ...]) -> str:
    """A parameter of the address, "" if it is missing; ConfigError if it is not one of `known`."""
    value = asked(request, name)
    if value and value not in known:
        raise ConfigError(f"{name} should be one of {', '.join(known)}, but was {value[:40]!r}")
    return value


class Missing(ConfigError):  # noqa: N818 - shown as "not found"
    """The page shows something that the store does not have."""


_EMPTY_FORM = dict.fromkeys(("scope", "kind", "key", "category", "text", "pinned", "why"), "")
_SWITCHES = {
    "disable": "disabled",
    "enable": "enabled",
    "release": "released from quarantine",
    "delete": "deleted",
    "restore": "restored",
}


def add_form(request: Request) -> Response:
    """An empty form for a new lesson."""
    scopes = site_of(request).store.scopes()
    scope = asked(request, "scope") or next((s for s in scopes if s.startswith(HOME)), f"{HOME}default")
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
    store, who = site_of(request).store, visitor(request).signed
    (stored,) = store.add_lessons(scope, [lesson], who=who, why=reason(fields, "added on the page"))
    return redirect("/lesson", id=stored.id, done="waits" if stored.status == "quarantined" else "added")


def edit_form(request: Request) -> Response:
    """The form of a lesson, with its present version."""
    lesson = edited(find(site_of(request), asked(request, "id")))  # raises if it is deleted
    fields = {"text": lesson.text, "key": lesson.key, "category": lesson.category, "why": "", "pinned": "on"}
    return _edit_page(request, lesson, lesson.version, fields)


def edit(request: Request) -> Response:
    """Store an edited lesson, unless it was changed since the form was made."""
    site, fields = site_of(request), {**_EMPTY_FORM, **form(request)}
    lesson = find(site, fields.get("id", ""))
    version = _version(fields)
    try:
        changed = _edited(lesson, fields)
    except ConfigError as error:
        return _edit_page(request, lesson, version, fields, str(error), 422)
    if version == lesson.version and changed == lesson:
        return redirect("/lesson", id=lesson.id, done="same")
    try:
        _store(request, changed, version, "edited on the page")
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
    elif action in ("pin", "unpin"):
        changed = lesson.model_copy(update={"pinned": action == "pin"})
        why = "pinned" if changed.pinned else "no longer pinned"
    elif action in _SWITCHES:
        why = _SWITCHES[action]
        states = [change.lesson.status for change in site.store.history(lesson.id)]
        # For an outdated form, `update_lesson` below raises the ConflictError.
        changed = switched(lesson, cast(Switch, action), states) if version == lesson.version else lesson
    else:
        raise ConfigError(f"there is no button {action[:40]!r}")
    _store(request, changed, version, why)
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
    return redirect("/lessons", done="purge" if site.store.scrub() else "purge-later")


def _edited(lesson: Lesson, fields: Mapping[str, str]) -> Lesson:
    """The lesson with the form's changes; characters that the browser could not show are no change."""
    names = ("text", "key", "category")
    changes: dict[str, Any] = {name: fields[name] for name in names if fields[name] != clean(getattr(lesson, name))}
    return edited(lesson, **changes, pinned=bool(fields["pinned"]))


def _store(request: Request, changed: Lesson, version: int, why: str) -> None:
    """Store a lesson that was changed in a form; ConflictError if it is no longer in the form's version."""
    changed, who = changed.model_copy(update={"version": version}), visitor(request).signed
    site_of(request).store.update_lesson(changed, who=who, why=reason(form(request), why))


def _version(fields: Mapping[str, str]) -> int:
    text = fields.get("version", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise ConfigError("the form does not say which version it was made from; open the lesson again")
    return int(text)


def _add_page(request: Request, fields: Mapping[str, str], problem: str = "", status: int = 200) -> Response:
    scopes = site_of(request).store.scopes()
    return show(request, "add.html.j2", status, fields=fields, problem=problem, kinds=KINDS, scopes=scopes[:200])


def _edit_page(
    request: Request, lesson: Lesson, version: int, fields: Mapping[str, str], problem: str = "", status: int = 200
) -> Response:
    shown = clean(lesson.text)
    values = {"lesson": lesson, "version": version, "fields": fields, "problem": problem}
    hidden = len(lesson.text) - len(shown) + shown.count("\ufffd")
    return show(request, "edit.html.j2", status, **values, hidden=hidden)

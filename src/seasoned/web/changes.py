"""What a person changes on the page: adding, editing, and the buttons of a lesson.

Always holds: each change is made by "person" and is a version with a reason; each form carries the version it was made
from, and where somebody else was quicker nothing is overwritten: both texts are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seasoned.errors import ConfigError, ConflictError
from seasoned.memory.screened import MAX_LESSON
from seasoned.report.text import clean
from seasoned.retrieve.words import fold
from seasoned.store.body import clean_text
from seasoned.trust import flags, mask
from seasoned.types import Lesson
from seasoned.web.lessons import KINDS, find
from seasoned.web.show import link, show
from seasoned.web.site import asked, form, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.web.site import Site

_SWITCHES: Mapping[str, tuple[dict[str, Any], str]] = {
    "pin": ({"pinned": True}, "pinned"),
    "unpin": ({"pinned": False}, "no longer pinned"),
    "disable": ({"status": "disabled"}, "disabled"),
    "enable": ({"status": "active"}, "enabled"),
    "release": ({"status": "active"}, "released from quarantine"),
    "delete": ({"status": "deleted"}, "deleted"),
}


def add_form(request: Request) -> Response:
    """An empty form for a new lesson."""
    scopes = site_of(request).store.scopes()
    scope = asked(request, "scope") or next((s for s in scopes if s.startswith("memory/")), "memory/default")
    empty = {"scope": scope, "kind": "heuristic", "key": "", "category": "", "text": "", "pinned": "on", "why": ""}
    return _add_page(request, empty)


def add(request: Request) -> Response:
    """Store a new lesson."""
    given = {"scope": "", "kind": "", "key": "", "category": "", "text": "", "pinned": "", "why": "", **form(request)}
    try:
        scope = given["scope"].strip()
        if not scope or given["kind"] not in KINDS:
            raise ConfigError(f"a lesson needs a pool, such as memory/default, and a kind: {', '.join(KINDS)}")
        made = Lesson(
            kind=_kind(given["kind"]),
            text=_text(given["text"], MAX_LESSON),
            key=_key(given["key"]),
            category=mask(given["category"].strip())[:200],
            pinned=bool(given["pinned"]),
            origin="person",
        )
    except ConfigError as error:
        return _add_page(request, given, str(error), 422)
    made = _flagged(made)
    if made.data:
        made = made.model_copy(update={"status": "quarantined"})
    (kept,) = site_of(request).store.add_lessons(scope, [made], who="person", why=_why(given, "added on the page"))
    return _go(kept.id, "waits" if kept.status == "quarantined" else "added")


def edit_form(request: Request) -> Response:
    """The form of a lesson, with the version that is read."""
    lesson = find(site_of(request), asked(request, "id"))
    fields = {"text": lesson.text, "key": lesson.key, "category": lesson.category, "why": "", "pinned": "on"}
    return _edit_page(request, lesson, fields)


def edit(request: Request) -> Response:
    """Store an edited lesson, unless somebody else has changed it since it was read."""
    site, given = site_of(request), {"text": "", "key": "", "category": "", "why": "", "pinned": "", **form(request)}
    lesson = find(site, given.get("id", ""))
    version = _version(given)
    try:
        changed = _edited(lesson, given)
    except ConfigError as error:
        return _edit_page(request, lesson, given, str(error), 422, version=version)
    if version == lesson.version and changed == lesson:
        return _go(lesson.id, "same")
    try:
        site.store.update_lesson(
            changed.model_copy(update={"version": version}), who="person", why=_why(given, "edited on the page")
        )
    except ConflictError:
        stored = find(site, lesson.id)
        last = site.store.history(stored.id)[-1]
        return show(request, "conflict.html.j2", 409, lesson=stored, last=last, given=given)
    return _go(lesson.id, "edited")


def do(request: Request) -> Response:
    """A button of a lesson: a switch, the way back to an earlier version, or deletion for good."""
    site, given = site_of(request), form(request)
    lesson = find(site, given.get("id", ""))
    action, version = given.get("action", ""), _version(given)
    if action == "purge":
        return _purge(site, lesson, version, given)
    if action == "rollback":
        wanted = given.get("to", "")
        old = next((change.lesson for change in site.store.history(lesson.id) if str(change.version) == wanted), None)
        if old is None:
            raise ConfigError(f"the lesson {lesson.id} has no version {wanted[:20]!r}; its history names those it has")
        changed, why = old, f"rolled back to version {wanted}"
    elif action == "restore":
        states = [change.lesson.status for change in site.store.history(lesson.id)]
        before = next((status for status in reversed(states) if status != "deleted"), "active")
        changed, why = lesson.model_copy(update={"status": before}), "restored"
    elif action in _SWITCHES:
        update, why = _SWITCHES[action]
        if action == "release" and lesson.status != "quarantined":
            raise ConfigError(f"the lesson {lesson.id} is not in quarantine, so there is nothing to release")
        changed = lesson.model_copy(update=update)
    else:
        raise ConfigError(f"there is no button {action[:40]!r}")
    site.store.update_lesson(changed.model_copy(update={"version": version}), who="person", why=_why(given, why))
    return _go(lesson.id, action)


def _purge(site: Site, lesson: Lesson, version: int, given: Mapping[str, str]) -> Response:
    from starlette.responses import RedirectResponse

    if given.get("sure") != "on":
        raise ConfigError("deleting for good takes the history too: tick the box that says so")
    with site.store.transaction():
        if find(site, lesson.id).version != version:
            raise ConflictError(f"the lesson {lesson.id} was changed meanwhile; read it again before it is deleted")
        site.store.remove_lesson(lesson.id, who="person", purge=True)
    site.store.scrub()
    return RedirectResponse(link("/lessons", done="purge"), 303)


def _edited(lesson: Lesson, given: Mapping[str, str]) -> Lesson:
    """The lesson with what the form says. What the browser could not show is no edit where the rest is the same."""
    changes: dict[str, Any] = {"pinned": bool(given["pinned"])}
    for name in ("text", "key", "category"):
        stored = getattr(lesson, name)
        if given[name] != clean(stored):
            changes[name] = given[name]
    if "text" in changes:
        changes |= {"text": _text(changes["text"], max(MAX_LESSON, len(lesson.text))), "origin": "person"}
    if "key" in changes:
        changes["key"] = _key(changes["key"])
    if "category" in changes:
        changes["category"] = mask(changes["category"].strip())[:200]
    if set(changes) == {"pinned"}:
        return lesson.model_copy(update=changes)
    return _flagged(lesson.model_copy(update=changes))


def _flagged(lesson: Lesson) -> Lesson:
    """The lesson, with what in it seems aimed at the model in `data["flags"]`."""
    found = flags(f"{lesson.key}\n\n{lesson.text}")
    if not found:
        return lesson
    before = lesson.data.get("flags", ())
    return lesson.model_copy(update={"data": {**lesson.data, "flags": list(dict.fromkeys((*before, *found)))}})


def _text(text: str, limit: int) -> str:
    if not text.strip() or len(text) > limit:
        raise ConfigError(f"a lesson has 1 to {limit:,} characters, and this has {len(text.strip()):,}")
    return mask(clean_text(text))


def _key(key: str) -> str:
    folded = mask(" ".join(fold(key).split()))
    if len(folded) > 1000:
        raise ConfigError(f"a key has at most 1,000 characters, and this has {len(folded):,}")
    return folded


def _kind(kind: str) -> Any:
    return kind


def _why(given: Mapping[str, str], otherwise: str) -> str:
    return mask(" ".join(given.get("why", "").split())[:500]) or otherwise


def _version(given: Mapping[str, str]) -> int:
    text = given.get("version", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise ConfigError("the form does not say which version it was made from; open the lesson again")
    return int(text)


def _go(lesson_id: str, done: str) -> Response:
    from starlette.responses import RedirectResponse

    return RedirectResponse(link("/lesson", id=lesson_id, done=done), 303)


def _add_page(request: Request, given: Mapping[str, str], wrong: str = "", status: int = 200) -> Response:
    scopes = site_of(request).store.scopes()
    return show(request, "add.html.j2", status, given=given, wrong=wrong, kinds=KINDS, scopes=scopes[:200])


def _edit_page(
    request: Request,
    lesson: Lesson,
    given: Mapping[str, str],
    wrong: str = "",
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
        given=given,
        wrong=wrong,
        version=version or lesson.version,
        hidden=hidden,
    )

"""The forms of a lesson: adding, editing, and its buttons.

Always holds: each change is made by "person", with the name of the token, and is a version with a reason; each form
carries the version it was made from, and where the lesson was changed meanwhile nothing is overwritten: both texts are
shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from seasoned.errors import ConfigError, ConflictError
from seasoned.memory.editing import Switch, edited, switched, written
from seasoned.text import clean
from seasoned.trust import mask
from seasoned.web.lessons import KINDS, find
from seasoned.web.show import redirect, show
from seasoned.web.site import asked, form, site_of, visitor

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.types import Lesson
    from seasoned.web.site import Site

_EMPTY = dict.fromkeys(("scope", "kind", "key", "category", "text", "pinned", "why"), "")
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
    return _add_page(request, {**_EMPTY, "scope": scope, "kind": "heuristic", "pinned": "on"})


def add(request: Request) -> Response:
    """Store a new lesson."""
    given = {**_EMPTY, **form(request)}
    try:
        scope = given["scope"].strip()
        if not scope or given["kind"] not in KINDS:
            raise ConfigError(f"a lesson needs a pool, such as memory/default, and a kind: {', '.join(KINDS)}")
        fields = {name: given[name] for name in ("text", "key", "category")}
        made = written(given["kind"], **fields, pinned=bool(given["pinned"]))
    except ConfigError as error:
        return _add_page(request, given, str(error), 422)
    store, why = site_of(request).store, _why(given, "added on the page")
    (kept,) = store.add_lessons(scope, [made], who=visitor(request).signed, why=why)
    return redirect("/lesson", id=kept.id, done="waits" if kept.status == "quarantined" else "added")


def edit_form(request: Request) -> Response:
    """The form of a lesson, with the version that is read."""
    lesson = edited(find(site_of(request), asked(request, "id")))  # not if it is deleted
    fields = {"text": lesson.text, "key": lesson.key, "category": lesson.category, "why": "", "pinned": "on"}
    return _edit_page(request, lesson, fields)


def edit(request: Request) -> Response:
    """Store an edited lesson, unless somebody else has changed it since it was read."""
    site, given = site_of(request), {**_EMPTY, **form(request)}
    lesson = find(site, given.get("id", ""))
    version = _version(given)
    try:
        changed = _edited(lesson, given)
    except ConfigError as error:
        return _edit_page(request, lesson, given, str(error), 422, version=version)
    if version == lesson.version and changed == lesson:
        return redirect("/lesson", id=lesson.id, done="same")
    try:
        site.store.update_lesson(
            changed.model_copy(update={"version": version}),
            who=visitor(request).signed,
            why=_why(given, "edited on the page"),
        )
    except ConflictError:
        stored = find(site, lesson.id)
        last = site.store.history(stored.id)[-1]
        return show(request, "conflict.html.j2", 409, lesson=stored, last=last, given=given)
    return redirect("/lesson", id=lesson.id, done="edited")


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
    elif action in _PINS:
        pinned, why = _PINS[action]
        changed = lesson.model_copy(update={"pinned": pinned})
    elif action in _SWITCHES:
        why = _SWITCHES[action]
        states = [change.lesson.status for change in site.store.history(lesson.id)]
        # What is out of date is told below, whatever it was for.
        changed = switched(lesson, cast(Switch, action), states) if version == lesson.version else lesson
    else:
        raise ConfigError(f"there is no button {action[:40]!r}")
    changed = changed.model_copy(update={"version": version})
    site.store.update_lesson(changed, who=visitor(request).signed, why=_why(given, why))
    return redirect("/lesson", id=lesson.id, done=action)


def bulk(request: Request) -> Response:
    """A switch for all ticked lessons that are in the state for it, as one change of the store."""
    store, given = site_of(request).store, dict(form(request))
    action = given.pop("action", "")
    if action not in _SWITCHES:
        raise ConfigError(f"there is no button {action[:40]!r}")
    ticked = {lesson.id: lesson for lesson in store.get_lessons(list(given))}
    if not ticked:
        raise ConfigError("no lesson is ticked: tick those that are meant")
    changed = []
    for lesson in ticked.values():
        states = [change.lesson.status for change in store.history(lesson.id)]
        with suppress(ConfigError):  # in another state, or changed since it was read
            if _version({"version": given[lesson.id]}) == lesson.version:
                changed.append(switched(lesson, cast(Switch, action), states))
    store.update_lessons(changed, who=visitor(request).signed, why=f"{_SWITCHES[action]}, with others")
    return redirect("/lessons", done=f"bulk-{len(changed)}-{len(given) - len(changed)}")


def _purge(site: Site, lesson: Lesson, version: int, given: Mapping[str, str]) -> Response:
    if given.get("sure") != "on":
        raise ConfigError("deleting for good takes the history too: tick the box that says so")
    with site.store.transaction():
        if find(site, lesson.id).version != version:
            raise ConflictError(f"the lesson {lesson.id} was changed meanwhile; read it again before it is deleted")
        site.store.remove_lesson(lesson.id, who="person", purge=True)
    done = "purge" if site.store.scrub() else "purge-later"
    return redirect("/lessons", done=done)


def _edited(lesson: Lesson, given: Mapping[str, str]) -> Lesson:
    """The lesson with what the form says. What the browser could not show is no edit where the rest is the same."""
    names = ("text", "key", "category")
    changes: dict[str, Any] = {name: given[name] for name in names if given[name] != clean(getattr(lesson, name))}
    return edited(lesson, **changes, pinned=bool(given["pinned"]))


def _why(given: Mapping[str, str], otherwise: str) -> str:
    return mask(" ".join(given.get("why", "").split()))[:500] or otherwise


def _version(given: Mapping[str, str]) -> int:
    text = given.get("version", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise ConfigError("the form does not say which version it was made from; open the lesson again")
    return int(text)


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

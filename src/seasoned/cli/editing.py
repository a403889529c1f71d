"""`seasoned lessons add|edit|enable|disable|release|rm`: changes by a person.

Always holds: each change is a version signed by "person" with a reason, under the same rules as on the page
(`memory.editing`); without a change, no version is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import (
    HOME,
    STORE,
    JsonOption,
    NamespaceOption,
    ScopeOption,
    StoreOption,
    find_lesson,
    open_store,
    pool_of,
    show,
    tell,
)
from seasoned.errors import ConfigError
from seasoned.trust import mask
from seasoned.types import Lesson, LessonKind

if TYPE_CHECKING:
    from seasoned.memory.editing import Switch

IdArgument = Annotated[str, typer.Argument(metavar="LESSON", help="A lesson's id, or a prefix of it.")]
IdsArgument = Annotated[list[str], typer.Argument(metavar="LESSON...", help="Lessons: ids, or prefixes of ids.")]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, kept in the lesson's history.")]


def add(
    text: Annotated[str, typer.Argument(help="The lesson, in a sentence or two.")],
    kind: Annotated[LessonKind, typer.Option(help="The kind; every memory recalls heuristics.")] = "heuristic",
    key: Annotated[str, typer.Option(help="The key of a note, or the id of a reflection's task.")] = "",
    category: Annotated[str, typer.Option(help="The category of tasks it is for.")] = "",
    pin: Annotated[bool, typer.Option("--pin/--no-pin", help="Pin it: learning will not change it.")] = True,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    why: WhyOption = "added by hand",
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Add a lesson in your own words. A suspected prompt injection is quarantined."""
    from seasoned.memory.editing import written

    pool = pool_of(namespace, scope) or HOME
    lesson = written(kind, text, key=key, category=category, pinned=pin)
    with open_store(store) as opened:
        (stored,) = opened.add_lessons(pool, [lesson], who="person", why=mask(why))
    show(as_json, {**stored.model_dump(), "scope": pool}, f"{stored.id} was added to {pool}: {stored.text}")
    _tell_if_quarantined(stored)


def edit(
    lesson: IdArgument,
    text: Annotated[str | None, typer.Option(help="The new text.")] = None,
    key: Annotated[str | None, typer.Option(help="The new key of a note.")] = None,
    pin: Annotated[bool | None, typer.Option("--pin/--no-pin", help="Pin it: learning will not change it.")] = None,
    why: WhyOption = "edited by hand",
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Change a lesson. Unless --no-pin, it is pinned: learning does not overwrite it.

    If the new text looks like a prompt injection, the lesson is quarantined until you release it.
    """
    from seasoned.memory.editing import edited

    if text is None and key is None and pin is None:
        raise ConfigError("nothing to change: give --text, --key, --pin or --no-pin")
    pinned = True if pin is None and text is not None else pin
    with open_store(store, must_exist=True) as opened:
        stored = find_lesson(opened, lesson)
        changed = edited(stored, text=text, key=key, pinned=pinned)
        same = changed == stored
        changed = stored if same else opened.update_lesson(changed, who="person", why=mask(why))
    if same and not as_json:
        tell(f"{stored.id} is like that already; nothing was changed")
    else:
        _tell([changed], as_json)


def enable(
    lesson: IdsArgument, why: WhyOption = "enabled", store: StoreOption = STORE, as_json: JsonOption = False
) -> None:
    """Enable disabled lessons, so that they are recalled again."""
    _switch(lesson, "enable", why, store, as_json)


def disable(
    lesson: IdsArgument, why: WhyOption = "disabled", store: StoreOption = STORE, as_json: JsonOption = False
) -> None:
    """Disable lessons: they are kept but not recalled."""
    _switch(lesson, "disable", why, store, as_json)


def release(
    lesson: IdsArgument,
    why: WhyOption = "released from quarantine",
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Release lessons from quarantine. Read them first: `lessons list --status quarantined`."""
    _switch(lesson, "release", why, store, as_json)


def remove(
    lesson: IdArgument,
    purge: Annotated[bool, typer.Option("--purge", help="Delete it for good, with its history.")] = False,
    why: WhyOption = "removed by hand",
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Remove a lesson. Its history stays, unless --purge."""
    with open_store(store, must_exist=True) as opened:
        stored = find_lesson(opened, lesson)
        already = stored.status == "deleted" and not purge
        if not already:
            opened.remove_lesson(stored.id, who="person", why=mask(why), purge=purge)
        erased = not purge or opened.scrub()
    done = "was removed before; nothing was changed" if already else "purged" if purge else "removed"
    show(as_json, {"id": stored.id, "removed": not already, "purged": purge}, f"{stored.id} {done}")
    if not erased:
        tell("Another program reads the store: until it ends, the log beside the file contains the text", err=True)


def _switch(names: Sequence[str], switch: Switch, why: str, store: str, as_json: bool) -> None:
    """Switch all lessons, or none if the state of one does not allow it."""
    from seasoned.memory.editing import switched

    with open_store(store, must_exist=True) as opened:
        changed = {}
        for each in (find_lesson(opened, name) for name in names):
            states = [change.lesson.status for change in opened.history(each.id)]
            changed[each.id] = switched(each, switch, states)
        stored = opened.update_lessons(list(changed.values()), who="person", why=mask(why))
    _tell(stored, as_json)


def _tell(lessons: Sequence[Lesson], as_json: bool) -> None:
    lines = [
        f"{each.id} is now version {each.version} ({each.status}{', pinned' if each.pinned else ''}): {each.text}"
        for each in lessons
    ]
    show(as_json, lessons, lines)
    for lesson in lessons:
        _tell_if_quarantined(lesson)


def _tell_if_quarantined(lesson: Lesson) -> None:
    from seasoned.memory.editing import reasons

    if lesson.status == "quarantined":
        why = "; it ".join(reasons(lesson)) or "seems aimed at the model"
        tell(f"It is quarantined, as its text {why}: `seasoned lessons release {lesson.id}` releases it", err=True)

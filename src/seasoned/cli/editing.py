"""`seasoned lessons add|edit|disable|release|rm`: what a person changes by hand.

Always holds: each change is made by "person" and is a version with a reason; it obeys the same rule as on the page
(`memory.editing`); what changes nothing makes no version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import HOME, STORE, NamespaceOption, StoreOption, find_lesson, open_store, pool_of, tell
from seasoned.errors import ConfigError
from seasoned.types import LessonKind

if TYPE_CHECKING:
    from seasoned.store.sql import Store
    from seasoned.types import Lesson

IdArgument = Annotated[str, typer.Argument(metavar="LESSON", help="A lesson's id, or the beginning of it.")]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, kept in the lesson's history.")]


def add(
    text: Annotated[str, typer.Argument(help="The lesson, in a sentence or two.")],
    kind: Annotated[LessonKind, typer.Option(help="A heuristic is recalled by every memory.")] = "heuristic",
    key: Annotated[
        str, typer.Option(help="The words that a note is looked up by, or the id of a reflection's task.")
    ] = "",
    category: Annotated[str, typer.Option(help="The family of tasks it is for.")] = "",
    pin: Annotated[bool, typer.Option("--pin/--no-pin", help="Whether learning must leave it alone.")] = True,
    namespace: NamespaceOption = None,
    scope: Annotated[
        str | None, typer.Option(help="The pool; without it and --namespace, that of the memory `default`.")
    ] = None,
    why: WhyOption = "added by hand",
    store: StoreOption = STORE,
) -> None:
    """Add a lesson in your own words; one that seems aimed at the model waits in quarantine."""
    from seasoned.memory.editing import written
    from seasoned.trust import mask

    pool = pool_of(namespace, scope) or HOME
    made = written(kind, text, key=key, category=category, pinned=pin)
    with open_store(store) as opened:
        (kept,) = opened.add_lessons(pool, [made], who="person", why=mask(why))
    tell(f"{kept.id} was added to {pool}: {kept.text}")
    _told_if_waiting(kept)


def edit(
    lesson: IdArgument,
    text: Annotated[str | None, typer.Option(help="The new text.")] = None,
    key: Annotated[str | None, typer.Option(help="The new key of a note.")] = None,
    pin: Annotated[bool | None, typer.Option("--pin/--no-pin", help="Whether learning must leave it alone.")] = None,
    why: WhyOption = "edited by hand",
    store: StoreOption = STORE,
) -> None:
    """Change a lesson. An edited text is pinned, unless --no-pin: learning does not write over a person's words.

    New words that seem aimed at the model put the lesson into quarantine, until it is released.
    """
    from seasoned.memory.editing import edited

    if text is None and key is None and pin is None:
        raise ConfigError("nothing to change: give --text, --key, --pin or --no-pin")
    pinned = True if pin is None and text is not None else pin
    with open_store(store, must_exist=True) as opened:
        stored = find_lesson(opened, lesson)
        _put(opened, stored, edited(stored, text=text, key=key, pinned=pinned), why)


def disable(
    lesson: IdArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Enable it again.")] = False,
    why: WhyOption = "",
    store: StoreOption = STORE,
) -> None:
    """Disable a lesson: it is kept but not recalled."""
    from seasoned.memory.editing import switched

    with open_store(store, must_exist=True) as opened:
        stored = find_lesson(opened, lesson)
        states = [change.lesson.status for change in opened.history(stored.id)]
        changed = switched(stored, "enable" if undo else "disable", states)
        _put(opened, stored, changed, why or ("enabled" if undo else "disabled"))


def release(
    lesson: Annotated[
        list[str], typer.Argument(metavar="LESSON...", help="Lessons in quarantine: ids, or beginnings.")
    ],
    why: WhyOption = "released from quarantine",
    store: StoreOption = STORE,
) -> None:
    """Let lessons be recalled that wait in quarantine; read them first: `lessons list --status quarantined`."""
    from seasoned.trust import mask

    with open_store(store, must_exist=True) as opened:
        stored = {each.id: each for each in (find_lesson(opened, name) for name in lesson)}
        for each in stored.values():
            if each.status != "quarantined":
                raise ConfigError(f"the lesson {each.id} is {each.status}, not in quarantine; nothing was released")
        free = [each.model_copy(update={"status": "active"}) for each in stored.values()]
        for changed in opened.update_lessons(free, who="person", why=mask(why)):
            tell(f"{changed.id} is active: {changed.text}")


def remove(
    lesson: IdArgument,
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete its text and history from the store for good.")
    ] = False,
    why: WhyOption = "removed by hand",
    store: StoreOption = STORE,
) -> None:
    """Remove a lesson; its history stays unless --purge."""
    from seasoned.trust import mask

    with open_store(store, must_exist=True) as opened:
        stored = find_lesson(opened, lesson)
        if stored.status == "deleted" and not purge:
            tell(f"{stored.id} was removed before; nothing was changed")
            return
        opened.remove_lesson(stored.id, who="person", why=mask(why), purge=purge)
        erased = not purge or opened.scrub()
        tell(f"{stored.id} {'purged' if purge else 'removed'}")
    if not erased:
        tell("Another program reads the store: until it ends, the log beside the file holds the text", err=True)


def _put(store: Store, stored: Lesson, changed: Lesson, why: str) -> None:
    from seasoned.trust import mask

    if changed == stored:
        tell(f"{stored.id} is so already; nothing was changed")
        return
    kept = store.update_lesson(changed, who="person", why=mask(why))
    tell(f"{kept.id} is now version {kept.version} ({kept.status}{', pinned' if kept.pinned else ''}): {kept.text}")
    _told_if_waiting(kept)


def _told_if_waiting(kept: Lesson) -> None:
    from seasoned.memory.editing import reasons

    if kept.status == "quarantined":
        why = "; it ".join(reasons(kept)) or "seems aimed at the model"
        tell(f"It waits in quarantine, as its text {why}: `seasoned lessons release {kept.id}` lets it go", err=True)

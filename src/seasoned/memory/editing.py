"""Rules for writing and editing lessons, shared by the page, the command line and `Memory.add`.

Always holds: a text that seems aimed at the model is quarantined, whoever wrote it, until it is released; each switch
applies only to lessons in the matching state; nothing is stored here.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from typing import Any, Literal, get_args

from seasoned.errors import ConfigError
from seasoned.memory.screened import FROM_FLAGGED, MAX_LESSON
from seasoned.store.body import clean_text
from seasoned.text import fold
from seasoned.trust import Mask, flags, mask
from seasoned.types import Lesson, LessonKind, LessonStatus, Task

Switch = Literal["disable", "enable", "release", "delete", "restore"]

MAX_KEY = 1000
EARLIER = "was flagged in an earlier version"  # the reason for a flagged lesson whose words changed since
_KINDS: tuple[LessonKind, ...] = get_args(LessonKind)
_APPLIES: dict[Switch, tuple[tuple[LessonStatus, ...], str]] = {
    "disable": (("active",), "an active one can be disabled"),
    "enable": (("disabled",), "a disabled one can be enabled"),
    "release": (("quarantined",), "one in quarantine can be released"),
    "delete": (("active", "disabled", "quarantined"), "one that is there can be deleted"),
    "restore": (("deleted",), "a deleted one can be restored"),
}


def as_task(task: str | Task, category: str, masking: Mask) -> Task:
    """A task without secrets; equal texts are the same task. Raises ConfigError if it is neither a text nor a task."""
    if isinstance(task, Task):
        masked = {"id": masking(task.id), "text": masking(task.text)}
        return task.model_copy(update={**masked, "category": category or task.category})
    if not isinstance(task, str):
        raise ConfigError(f"a task must be a text or a seasoned.Task, not {task!r:.80}")
    text = masking(task)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return Task(id=f"task-{digest}", text=text, category=category)


def checked_text(text: object, limit: int = MAX_LESSON) -> str:
    """Check a lesson's text. Raises ConfigError if it is not a text, is empty, or is longer than the limit."""
    if not isinstance(text, str):
        raise ConfigError(f"a lesson must be a text, not {text!r:.80}")
    if not text.strip() or len(text) > limit:
        raise ConfigError(f"a lesson must have 1 to {limit:,} characters, not {len(text.strip()):,}")
    return text


def checked_kind(kind: object) -> LessonKind:
    """Check a kind of lesson. Raises ConfigError if there is no such kind."""
    if kind in _KINDS:
        return kind
    matches = difflib.get_close_matches(str(kind), _KINDS, n=1)
    hint = f"did you mean {matches[0]!r}?" if matches else f"there are {', '.join(_KINDS)}"
    raise ConfigError(f"there is no kind of lesson {kind!r:.80}; {hint}")


def checked_key(kind: LessonKind, key: object) -> str:
    """A key as it is stored: with single spaces, and folded for a note.

    Raises ConfigError if it is not a text or too long, or is empty for a note or a reflection, which are found only by
    it: a note by its words, a reflection by the id of its task.
    """
    if not isinstance(key, str):
        raise ConfigError(f"a key must be a text, not {key!r:.80}")
    stored = " ".join((fold(key) if kind == "note" else key).split())
    if len(stored) > MAX_KEY:
        raise ConfigError(f"a key must have at most {MAX_KEY:,} characters, not {len(stored):,}")
    if kind in ("note", "reflection") and not stored:
        what = "the id of its task as its key" if kind == "reflection" else "its key"
        raise ConfigError(f"a {kind} is found by {what} alone, and this has none: give it one, or make it a heuristic")
    return stored


def checked_category(category: object) -> str:
    """Check a category. Raises ConfigError if it is not a text."""
    if not isinstance(category, str):
        raise ConfigError(f"a category must be a text, not {category!r:.80}")
    return category


def written(kind: str, text: str, *, key: str = "", category: str = "", pinned: bool = False) -> Lesson:
    """A new lesson in a person's words, as checked above: masked, and quarantined if it seems aimed at the model."""
    known = checked_kind(kind)
    fields = {"key": mask(checked_key(known, key)), "category": _category(category)}
    fields["text"] = mask(clean_text(checked_text(text)))
    return _screened(Lesson(kind=known, pinned=pinned, origin="person", **fields))


def edited(
    lesson: Lesson,
    *,
    text: str | None = None,
    key: str | None = None,
    category: str | None = None,
    pinned: bool | None = None,
) -> Lesson:
    """A lesson with a person's changes; None leaves a field as it is.

    New words are masked, and if they seem aimed at the model, the lesson is quarantined. A text over the limit can be
    edited as long as it does not grow. Raises ConfigError as in the checks above, or if the lesson is deleted.
    """
    if lesson.status == "deleted":
        raise ConfigError(f"the lesson {lesson.id} is deleted: restore it first: `seasoned lessons rollback`")
    fresh: dict[str, Any] = {} if pinned is None else {"pinned": pinned}
    if text is not None:
        data = {name: value for name, value in lesson.data.items() if name != "imported"}
        new_text = checked_text(text, max(MAX_LESSON, len(lesson.text)))
        fresh |= {"text": mask(clean_text(new_text)), "origin": "person", "data": data}
    if key is not None:
        fresh["key"] = mask(checked_key(lesson.kind, key))
    if category is not None:
        fresh["category"] = _category(category)
    changed = lesson.model_copy(update=fresh)
    return changed if (changed.text, changed.key) == (lesson.text, lesson.key) else _screened(changed)


def switched(lesson: Lesson, switch: Switch, states: Sequence[LessonStatus]) -> Lesson:
    """A lesson in another state. Raises ConfigError if the switch does not apply to its state.

    `states` are its earlier ones, oldest first: one that was in quarantine before it was disabled or deleted returns to
    quarantine.
    """
    before, only = _APPLIES[switch]
    if lesson.status not in before:
        raise ConfigError(f"the lesson {lesson.id} is {lesson.status}, and only {only}; nothing was changed")
    status: LessonStatus = "active"
    if switch in ("disable", "delete"):
        status = "disabled" if switch == "disable" else "deleted"
    elif switch != "release":
        passed = ("disabled", "deleted") if switch == "enable" else ("deleted",)
        default: LessonStatus = "quarantined" if flags(_words(lesson)) else "active"
        status = next((state for state in reversed(states) if state not in passed), default)
    return lesson.model_copy(update={"status": status})


def reasons(lesson: Lesson) -> list[str]:
    """Why a lesson was flagged, each the end of a sentence that begins with "the text"."""
    flags = lesson.data.get("flags", ())
    return [str(each) for each in flags] if isinstance(flags, list | tuple) else []


def _screened(lesson: Lesson) -> Lesson:
    """A lesson with new words: quarantined if these are flagged; old reasons stay only if they still apply."""
    new, before = flags(_words(lesson)), reasons(lesson)
    kept = [reason for reason in before if reason in (*new, FROM_FLAGGED, EARLIER)]
    kept += [EARLIER] if len(kept) < len(before) and EARLIER not in kept else []
    kept += [reason for reason in new if reason not in kept]
    data = {**lesson.data, "flags": kept} if kept else lesson.data
    return lesson.model_copy(update={"data": data, "status": "quarantined" if new else lesson.status})


def _words(lesson: Lesson) -> str:
    return f"{lesson.key}\n\n{lesson.text}"


def checked_snapshot_name(name: str, masking: Mask = mask) -> str:
    """Check a snapshot's name. Raises ConfigError if it holds a secret: a rollback needs the exact name, unmasked."""
    if masking(name) != name:
        raise ConfigError(f"the name of a snapshot seems to hold a secret ({masking(name)[:80]}): give another name")
    return name


def _category(category: str) -> str:
    return mask(checked_category(category).strip())[:200]

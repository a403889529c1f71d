"""`seasoned lessons` and `seasoned recall`: read, correct and move what was learned."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.cli import upkeep, versions
from seasoned.cli.shared import STORE, JsonOption, StoreOption, open_store, print_json
from seasoned.errors import ConfigError, DataError
from seasoned.trust import mask
from seasoned.types import LessonKind, LessonStatus

if TYPE_CHECKING:
    from seasoned.store.sql import Store
    from seasoned.types import Lesson

app = typer.Typer(help="Read, correct and move what was learned.", no_args_is_help=True)
IdArgument = Annotated[str, typer.Argument(metavar="LESSON", help="A lesson's id, or the beginning of it.")]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, kept in the lesson's history.")]
ScopeOption = Annotated[str | None, typer.Option("--scope", help="Only lessons of this pool (see `lessons show`).")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="At most this many.")]


app.command("snapshot")(versions.snapshot)
app.command("snapshots")(versions.snapshots)
app.command("diff")(versions.diff)
app.command("rollback")(versions.rollback)
app.command("duplicates")(upkeep.duplicates)
app.command("cap")(upkeep.cap)


@app.command("list")
def list_lessons(
    kind: Annotated[LessonKind | None, typer.Option(help="Only this kind.")] = None,
    status: Annotated[LessonStatus | None, typer.Option(help="Only in this state.")] = None,
    scope: ScopeOption = None,
    limit: LimitOption = 1000,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """List lessons."""
    with open_store(store, must_exist=True) as opened:
        _print(opened, opened.lessons(scope, kind=kind, status=status, limit=limit), as_json)


@app.command("search")
def search(
    words: Annotated[str, typer.Argument(help="Text to look for in keys and lessons.")],
    scope: ScopeOption = None,
    limit: LimitOption = 50,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Find lessons that contain a text."""
    with open_store(store, must_exist=True) as opened:
        _print(opened, opened.lessons(scope, query=words, limit=limit), as_json)


@app.command("show")
def show(lesson: IdArgument, store: StoreOption = STORE, as_json: JsonOption = False) -> None:
    """Show a lesson: its text, where it came from, its history, and how the attempts that used it ended."""
    with open_store(store, must_exist=True) as opened:
        found = _find(opened, lesson)
        history = opened.history(found.id)
        uses = opened.lesson_uses(found.id)
        scope = opened.scope_of(found.id)
    changes = [{"version": c.version, "at": c.at, "who": c.who, "why": c.why, "text": c.lesson.text} for c in history]
    ended = {"right": sum(s is True for _, s in uses), "wrong": sum(s is False for _, s in uses), "all": len(uses)}
    if as_json:
        print_json({**found.model_dump(mode="json"), "scope": scope, "history": changes, "uses": ended})
        return
    typer.echo(f"{found.id}  {found.kind}  {found.status}{'  pinned' if found.pinned else ''}  version {found.version}")
    typer.echo(f"pool     {scope}\nkey      {found.key}\ntext     {found.text}")
    typer.echo(f"sources  {', '.join(found.sources) or 'none'}")
    if found.data.get("flags"):
        typer.echo(f"flagged  the text {'; it '.join(map(str, found.data['flags']))}")
    typer.echo(f"used     {ended['all']} times: {ended['right']} right, {ended['wrong']} wrong")
    for change in changes:
        typer.echo(f"  v{change['version']} {change['at']} {change['who']}: {change['why']}\n     {change['text']}")


@app.command("edit")
def edit(
    lesson: IdArgument,
    text: Annotated[str | None, typer.Option(help="The new text.")] = None,
    key: Annotated[str | None, typer.Option(help="The new key of a note.")] = None,
    pin: Annotated[bool | None, typer.Option("--pin/--no-pin", help="Whether learning must leave it alone.")] = None,
    why: WhyOption = "edited by hand",
    store: StoreOption = STORE,
) -> None:
    """Change a lesson. An edited text is pinned, unless --no-pin: learning does not write over a person's words."""
    changes: dict[str, Any] = {}
    if text is not None:
        changes |= {"text": mask(text), "origin": "person", "pinned": True}
    if key is not None:
        from seasoned.retrieve.words import fold

        changes["key"] = " ".join(fold(mask(key)).split())
    if pin is not None:
        changes["pinned"] = pin
    if not changes:
        raise ConfigError("nothing to change: give --text, --key, --pin or --no-pin")
    _change(store, lesson, changes, why)


@app.command("disable")
def disable(
    lesson: IdArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Enable it again.")] = False,
    why: WhyOption = "",
    store: StoreOption = STORE,
) -> None:
    """Keep a lesson but recall it no more."""
    _change(store, lesson, {"status": "active" if undo else "disabled"}, why or ("enabled" if undo else "disabled"))


@app.command("release")
def release(
    lesson: Annotated[
        list[str], typer.Argument(metavar="LESSON...", help="Lessons in quarantine: ids, or beginnings.")
    ],
    why: WhyOption = "released from quarantine",
    store: StoreOption = STORE,
) -> None:
    """Let lessons be recalled that wait in quarantine; read them first: `lessons list --status quarantined`."""
    with open_store(store, must_exist=True) as opened:
        found = [_find(opened, name) for name in lesson]
        for each in found:
            if each.status != "quarantined":
                raise ConfigError(f"the lesson {each.id} is {each.status}, not in quarantine; nothing was released")
        free = [each.model_copy(update={"status": "active"}) for each in found]
        for changed in opened.update_lessons(free, who="person", why=why):
            typer.echo(f"{changed.id} is active: {changed.text}")


@app.command("rm")
def remove(
    lesson: IdArgument,
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete its text and history from the store for good.")
    ] = False,
    why: WhyOption = "removed by hand",
    store: StoreOption = STORE,
) -> None:
    """Remove a lesson; its history stays unless --purge."""
    with open_store(store, must_exist=True) as opened:
        found = _find(opened, lesson)
        opened.remove_lesson(found.id, who="person", why=why, purge=purge)
        if purge:
            opened.scrub()
        typer.echo(f"{found.id} {'purged' if purge else 'removed'}")


@app.command("export")
def export(
    scope: ScopeOption = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; without it, standard output.")] = None,
    store: StoreOption = STORE,
) -> None:
    """Write lessons as JSON lines that `lessons import` reads."""
    with open_store(store, must_exist=True) as opened:
        lines = "".join(
            json.dumps({"schema_version": 1, **found.model_dump(mode="json")}, ensure_ascii=False) + "\n"
            for found in opened.lessons(scope)
            if found.status != "deleted"
        )
    if out is None:
        sys.stdout.write(lines)
        return
    from seasoned.runner.rundir import write_text

    write_text(out, lines)
    typer.echo(f"{lines.count(chr(10))} lessons written to {out}", err=True)


@app.command("import")
def import_lessons(
    file: Annotated[Path, typer.Argument(help="JSON lines as `lessons export` writes them.")],
    scope: Annotated[str, typer.Option(help="The pool to put them into.")] = "default",
    store: StoreOption = STORE,
) -> None:
    """Read lessons from a file into a pool, each as a new lesson; broken lines are named and passed over.

    Secrets in them are masked, and what seems aimed at the model waits in quarantine.
    """
    from pydantic import ValidationError

    from seasoned.memory.screened import screen_lesson
    from seasoned.types import Lesson, new_id

    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from error
    good: list[Lesson] = []
    broken: list[int] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                raw = json.loads(line)
                raw.pop("schema_version", None)
                fresh = Lesson.model_validate({**raw, "id": new_id("les"), "version": 1, "sources": ()})
                good.append(screen_lesson(fresh))
            except (ValueError, AttributeError, TypeError, RecursionError, ValidationError):
                broken.append(number)
    with open_store(store) as opened:
        opened.add_lessons(scope, good, who="person", why=f"imported from {file.name}")
    typer.echo(f"{len(good)} lessons imported into {scope}, {len(broken)} broken lines")
    waiting = sum(lesson.status == "quarantined" for lesson in good)
    if waiting:
        typer.echo(f"{waiting} of them wait in quarantine: see `seasoned lessons list --status quarantined`", err=True)
    if broken:
        typer.echo(f"broken lines of {file}: {', '.join(map(str, broken[:20]))}", err=True)


def recall(
    text: Annotated[str, typer.Argument(help="The text of a task.")],
    scope: Annotated[str, typer.Option(help="The pool to recall from.")] = "default",
    k: Annotated[int, typer.Option(min=1, help="At most this many notes.")] = 5,
    share: Annotated[float, typer.Option(min=0.01, max=1, help="The part of a key's words that must occur.")] = 1.0,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show what would be recalled for a task, as an agent would read it."""
    from seasoned.methods.expnote import ExpNote
    from seasoned.pool import ExperiencePool
    from seasoned.types import Task

    with open_store(store, must_exist=True) as opened:
        pool = ExperiencePool(opened, scope, read_only=True)
        guidance = ExpNote(k=k, share=share).recall(Task(id="recall", text=text), pool)
    if as_json:
        print_json(guidance.model_dump(mode="json"))
    else:
        typer.echo(guidance.text or f"nothing in {scope} fits this task")


def _find(store: Store, name: str) -> Lesson:
    found = store.get_lesson(name)
    if found is not None:
        return found
    fitting = [lesson for lesson in store.lessons() if lesson.id.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    raise ConfigError(
        f"expected the id of one lesson, but {len(fitting)} lessons begin with {name!r}: see `seasoned lessons list`"
    )


def _change(address: str, name: str, changes: dict[str, Any], why: str) -> None:
    with open_store(address, must_exist=True) as opened:
        found = _find(opened, name)
        changed = opened.update_lesson(found.model_copy(update=changes), who="person", why=why)
        typer.echo(f"{changed.id} is now version {changed.version}: {changed.text}")


def _print(store: Store, found: list[Lesson], as_json: bool) -> None:
    if as_json:
        print_json([{**lesson.model_dump(mode="json"), "scope": store.scope_of(lesson.id)} for lesson in found])
        return
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(Column("id", min_width=16), "kind", "key", "lesson", "noted", "status", box=None, pad_edge=False)
    for lesson in found:
        table.add_row(
            lesson.id,
            lesson.kind,
            lesson.key,
            lesson.text if len(lesson.text) <= 100 else lesson.text[:99] + "…",
            f"{lesson.importance:g}",
            lesson.status + (" pinned" if lesson.pinned else ""),
        )
    Console().print(table if found else "no lessons")

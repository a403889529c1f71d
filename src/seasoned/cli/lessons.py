"""`seasoned lessons` and `seasoned recall`: read and move what was learned, and see what a task would be told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.cli import changes, upkeep, versions
from seasoned.cli.changes import IdArgument
from seasoned.cli.listing import show_lessons
from seasoned.cli.shared import (
    MEMORY,
    STORE,
    JsonOption,
    NamespaceOption,
    StoreOption,
    chosen_pool,
    find_lesson,
    known_pool,
    many,
    open_store,
    pool_of,
    print_json,
    tell,
    write_out,
)
from seasoned.errors import ConfigError, DataError
from seasoned.files import read_text
from seasoned.types import LessonKind, LessonStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seasoned.store.sql import Store
    from seasoned.types import Guidance, Lesson

app = typer.Typer(help="Read, correct and move what was learned.", no_args_is_help=True)
ScopeOption = Annotated[str | None, typer.Option("--scope", help="Only lessons of this pool (see `lessons show`).")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="At most this many.")]


@app.command("list")
def list_lessons(
    kind: Annotated[LessonKind | None, typer.Option(help="Only this kind.")] = None,
    status: Annotated[LessonStatus | None, typer.Option(help="Only in this state.")] = None,
    scope: ScopeOption = None,
    limit: LimitOption = 1000,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """List lessons, the oldest first; insights alone by their votes."""
    with open_store(store, must_exist=True) as opened:
        pool = chosen_pool(opened, None, scope)
        _print(opened, opened.lessons(pool, kind=kind, status=status, limit=limit + 1), limit, as_json)


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
        pool = chosen_pool(opened, None, scope)
        _print(opened, opened.lessons(pool, query=words, limit=limit + 1), limit, as_json)


@app.command("show")
def show(lesson: IdArgument, store: StoreOption = STORE, as_json: JsonOption = False) -> None:
    """Show a lesson: its text, where it came from, its history, and how the attempts that used it ended."""
    from seasoned.memory.changes import reasons

    with open_store(store, must_exist=True) as opened:
        found = find_lesson(opened, lesson)
        history = opened.history(found.id)
        uses = opened.lesson_uses(found.id)
        scope = opened.scope_of(found.id)
    changes = [{"version": c.version, "at": c.at, "who": c.who, "why": c.why, "text": c.lesson.text} for c in history]
    ended = {"right": sum(s is True for _, s in uses), "wrong": sum(s is False for _, s in uses), "all": len(uses)}
    if as_json:
        print_json({**found.model_dump(mode="json"), "scope": scope, "history": changes, "uses": ended})
        return
    tell(f"{found.id}  {found.kind}  {found.status}{'  pinned' if found.pinned else ''}  version {found.version}")
    tell(f"pool     {scope}\nkey      {found.key}\ntext     {found.text}")
    tell(f"sources  {', '.join(found.sources) or 'none'}")
    if flagged := reasons(found):
        tell(f"flagged  the text {'; it '.join(flagged)}")
    if uses:
        unknown = len(uses) - ended["right"] - ended["wrong"]
        rest = f", {unknown} unknown" if unknown else ""
        tell(f"used     {many(len(uses), 'time')}: {ended['right']} right, {ended['wrong']} wrong{rest}")
    else:
        tell("used     never")
    for change in history:
        tell(f"  v{change.version} {change.at} {change.who}: {change.why}\n     {change.lesson.text}")


@app.command("export")
def export(
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; without it, standard output.")] = None,
    store: StoreOption = STORE,
) -> None:
    """Write lessons as JSON lines that `lessons import` reads."""
    with open_store(store, must_exist=True) as opened:
        lines = (
            json.dumps({"schema_version": 1, **found.model_dump(mode="json")}, ensure_ascii=False) + "\n"
            for found in opened.lessons(chosen_pool(opened, namespace, scope))
            if found.status != "deleted"
        )
        count = write_out(lines, out)
    if out is not None:
        tell(f"{many(count, 'lesson')} written to {out}", err=True)


@app.command("import")
def import_lessons(
    file: Annotated[Path, typer.Argument(help="JSON lines as `lessons export` writes them.")],
    namespace: NamespaceOption = None,
    scope: Annotated[
        str | None, typer.Option(help="The pool; without it and --namespace, that of the memory `default`.")
    ] = None,
    store: StoreOption = STORE,
) -> None:
    """Read lessons from a file into a pool, each as a new lesson; broken lines are named and passed over.

    A file that holds nothing else is refused. Secrets in lessons are masked, and what seems aimed at the model waits in
    quarantine.
    """
    pool = pool_of(namespace, scope) or f"{MEMORY}default"
    good, broken = _read(read_text(file).split("\n"))
    bad = many(len(broken), "broken line")
    if broken and not good:
        raise DataError(
            f"no line of {file} is a lesson ({bad}): expected JSON lines as `seasoned lessons export` writes them"
        )
    if good:
        with open_store(store) as opened:
            opened.add_lessons(pool, good, who="person", why=f"imported from {file.name}")
    tell(f"{many(len(good), 'lesson')} imported into {pool}, {bad}")
    waiting = sum(lesson.status == "quarantined" for lesson in good)
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        tell(f"{waiting:,} of them {verb} in quarantine: see `seasoned lessons list --status quarantined`", err=True)
    if broken:
        tell(f"{bad} of {file}: {', '.join(map(str, broken[:20]))}", err=True)


def _read(lines: Sequence[str]) -> tuple[list[Lesson], list[int]]:
    """The lessons of JSON lines, each with a new id, and the numbers of the lines that hold none."""
    from seasoned.memory.screened import screen_lesson
    from seasoned.types import Lesson, new_id

    good: list[Lesson] = []
    broken: list[int] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                raw = json.loads(line)
                raw.pop("schema_version", None)
                fresh = Lesson.model_validate({**raw, "id": new_id("les"), "version": 1, "sources": ()})
                good.append(screen_lesson(fresh))
            except (ValueError, AttributeError, TypeError, RecursionError):
                broken.append(number)
    return good, broken


def recall(
    text: Annotated[str, typer.Argument(help="The text of a task.")],
    namespace: NamespaceOption = None,
    scope: Annotated[str | None, typer.Option(help="The pool to recall from.")] = None,
    method: Annotated[
        str | None, typer.Option(help="How a memory's lessons are recalled: the name of a method; erl without it.")
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="At most this many; without it, what the method says.")] = None,
    share: Annotated[
        float | None, typer.Option(min=0.01, max=1, help="The part of a note's key whose words must occur; 1 is all.")
    ] = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show what would be recalled for a task, as an agent would read it.

    From a memory (--namespace), as `Memory.recall` gives it; from another pool (--scope), its notes, as ExpNote does.
    """
    options: dict[str, Any] = {name: value for name, value in (("k", k), ("share", share)) if value is not None}
    with open_store(store, must_exist=True) as opened:
        pool = chosen_pool(opened, namespace, scope) or _usual(opened)
        guidance = _recalled(opened, pool, text, method, options)
    if as_json:
        print_json(guidance.model_dump(mode="json"))
    else:
        tell(guidance.text or f"nothing in {pool} fits this task")


def _usual(store: Store) -> str:
    """The pool that is meant where none is named: `default`, else the memory `default`, else the only one there is."""
    there = [pool for pool in store.scopes() if not pool.startswith("flagged/")]
    named = next((pool for pool in ("default", f"{MEMORY}default") if pool in there), None)
    if named is None and len(there) != 1:
        return known_pool(store, "default")
    return named or there[0]


def _recalled(store: Store, pool: str, text: str, method: str | None, options: dict[str, Any]) -> Guidance:
    if pool.startswith(MEMORY):
        from seasoned.embed import default_embedder
        from seasoned.memory import Memory

        name, method = pool.removeprefix(MEMORY), method or "erl"
        with Memory(store, method=method, namespace=name, embedder=default_embedder(), **options) as memory:
            return memory.recall(text)
    if method is not None:
        raise ConfigError(f"--method says how a memory recalls, and {pool} is none: give --namespace")
    from seasoned.methods.expnote import ExpNote
    from seasoned.pool import ExperiencePool
    from seasoned.types import Task

    notes = ExpNote(**{"k": 5, **options})
    return notes.recall(Task(id="recall", text=text), ExperiencePool(store, pool, read_only=True))


def _print(store: Store, found: list[Lesson], limit: int, as_json: bool) -> None:
    shown = found[:limit]
    if len(found) > limit:
        typer.echo(f"These are the first {limit:,}, the oldest; --limit gives more.", err=True)
    if all(lesson.kind == "insight" for lesson in shown):
        shown.sort(key=lambda lesson: -lesson.importance)
    scopes = {lesson.id: store.scope_of(lesson.id) or "" for lesson in shown}
    if as_json:
        print_json([{**lesson.model_dump(mode="json"), "scope": scopes[lesson.id]} for lesson in shown])
    else:
        show_lessons(shown, scopes)


app.command("add")(changes.add)
app.command("edit")(changes.edit)
app.command("disable")(changes.disable)
app.command("release")(changes.release)
app.command("rm")(changes.remove)
app.command("snapshot")(versions.snapshot)
app.command("snapshots")(versions.snapshots)
app.command("diff")(versions.diff)
app.command("rollback")(versions.rollback)
app.command("duplicates")(upkeep.duplicates)
app.command("cap")(upkeep.cap)

"""`seasoned lessons` and `seasoned recall`: read, export and import lessons, and show a task's guidance."""

from __future__ import annotations

from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from seasoned.cli import editing, upkeep
from seasoned.cli.editing import IdArgument
from seasoned.cli.exchange import by_pool, lesson_line
from seasoned.cli.listing import RUN, show_lessons
from seasoned.cli.shared import (
    FLAGGED,
    HOME,
    MEMORY,
    STORE,
    JsonOption,
    MethodOption,
    NamespaceOption,
    ScopeOption,
    StoreOption,
    begin,
    chosen_pool,
    find_lesson,
    is_missing,
    many,
    only_pool,
    open_store,
    pool_of,
    print_json,
    shortened,
    show,
    tell,
    tell_written,
    write_lines,
)
from seasoned.embed import default_embedder
from seasoned.errors import ConfigError, DataError
from seasoned.files import read_text
from seasoned.proof.certificate import standing
from seasoned.types import Guidance, Lesson, LessonKind, LessonStatus, Task, new_id

if TYPE_CHECKING:
    from seasoned.store.sql import Store

app = typer.Typer(help="Read, correct and move lessons. Without a command, list them.", invoke_without_command=True)
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="At most this many, the newest.")]
StatusOption = Annotated[LessonStatus | None, typer.Option(help="Only with this status.")]
_MAX_NAMED = 20  # broken lines that are printed


@app.callback()
def _default(context: typer.Context, store: StoreOption = STORE) -> None:
    if context.invoked_subcommand is None:
        list_lessons(store=store)
    elif getattr(context.get_parameter_source("store"), "name", "") == "COMMANDLINE":
        raise ConfigError(f"put --store after the command: seasoned lessons {context.invoked_subcommand} --store ..")


@app.command("list")
def list_lessons(
    kind: Annotated[LessonKind | None, typer.Option(help="Only this kind.")] = None,
    status: StatusOption = None,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    limit: LimitOption = 50,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """List lessons, the newest last (insights by their votes). Deleted ones need --status deleted."""
    _list("", kind, status, namespace, scope, limit, store, as_json)


@app.command("search")
def search(
    words: Annotated[str, typer.Argument(help="Words to look for in keys and lessons.")],
    status: StatusOption = None,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    limit: LimitOption = 50,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Find lessons that contain all given words. Deleted ones need --status deleted."""
    _list(words, None, status, namespace, scope, limit, store, as_json)


def _list(
    words: str,
    kind: LessonKind | None,
    status: LessonStatus | None,
    namespace: str | None,
    scope: str | None,
    limit: int,
    store: str,
    as_json: bool,
) -> None:
    from seasoned.pool.lineage import trust_in
    from seasoned.store.pages import lesson_page

    if is_missing(store):
        show(as_json, [], begin(store))
        return
    with open_store(store) as opened:
        chosen = chosen_pool(opened, namespace, scope)
        page = lesson_page(opened, scope=chosen, kind=kind, status=status, query=words, limit=limit + 1)
        lessons = [line.lesson for line in page[:limit][::-1]]
        if all(lesson.kind == "insight" for lesson in lessons):
            lessons.sort(key=lambda lesson: -lesson.importance)
        scopes = {line.lesson.id: line.scope for line in page}
        trust = trust_in(opened, lessons) if as_json else {}
        proofs = {scope: standing(opened, scope) for scope in dict.fromkeys(scopes[lesson.id] for lesson in lessons)}
    if len(page) > limit:
        typer.echo(f"These are the newest {limit:,}; --limit gives more.", err=True)
    if as_json:
        print_json([{**one.model_dump(), "scope": scopes[one.id], "trust": trust[one.id].name_} for one in lessons])
        return
    show_lessons(lessons, scopes)
    for scope, proof in proofs.items():
        if proof:
            tell(f"{scope}: {proof}")


@app.command("show")
def show_lesson(lesson: IdArgument, store: StoreOption = STORE, as_json: JsonOption = False) -> None:
    """Show a lesson with its history.

    Also shows its sources, and the outcomes of attempts that used it.
    """
    from seasoned.memory.editing import reasons
    from seasoned.pool.lineage import trust_in

    with open_store(store, must_exist=True) as opened:
        stored = find_lesson(opened, lesson)
        history, uses = opened.history(stored.id), [success for _, success in opened.lesson_uses(stored.id)]
        scope, trust = opened.scope_of(stored.id), trust_in(opened, [stored])[stored.id]
        proof = str(standing(opened, scope or "") or "")
    changes = [{"version": c.version, "at": c.at, "who": c.who, "why": c.why, "text": c.lesson.text} for c in history]
    ended = {"right": uses.count(True), "wrong": uses.count(False), "all": len(uses)}
    lines = [
        f"{stored.id}  {stored.kind}  {stored.status}{'  pinned' if stored.pinned else ''}  version {stored.version}",
        f"pool     {scope}\nkey      {stored.key}\ntext     {stored.text}",
        f"sources  {', '.join(stored.sources) or 'none'}\ntrust    {trust.name_}: {trust.words}",
    ]
    if proof:
        lines.append(f"proof    the pool is {proof}" if proof.startswith("cert") else f"proof    {proof}")
    if flagged := reasons(stored):
        lines.append(f"flagged  the text {'; it '.join(flagged)}")
    rest = f", {uses.count(None)} unknown" if None in uses else ""
    times = f"{many(len(uses), 'time')}: {ended['right']} right, {ended['wrong']} wrong{rest}" if uses else "never"
    lines.append(f"used     {times}")
    lines += [f"  v{each.version} {each.at} {each.who}: {each.why}\n     {each.lesson.text}" for each in history]
    beside = {"scope": scope, "trust": trust.name_, "certificate": proof, "history": changes, "uses": ended}
    show(as_json, {**stored.model_dump(), **beside}, lines)


@app.command("export")
def export(
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    out: Annotated[Path | None, typer.Option(help="The file to write. Default: standard output.")] = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Write lessons as JSON lines that `lessons import` reads.

    With --json, standard output has a list instead of lines, or what was written to the file.
    """
    with open_store(store, must_exist=True) as opened:
        lines = starmap(lesson_line, by_pool(opened, chosen_pool(opened, namespace, scope)))
        count = write_lines(lines, out, as_json)
    tell_written(many(count, "lesson"), out, as_json)


@app.command("import")
def import_lessons(
    file: Annotated[Path, typer.Argument(help="JSON lines as `lessons export` writes them.")],
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Import lessons from a file. Broken lines are skipped, and the reason is named.

    Without a given pool, each lesson goes back into the pool it was exported from. Lessons without a pool, or from the
    pool of a run, go into the memory `default`.

    A file without any lesson is refused. Secrets are masked, and suspected prompt injections are quarantined.
    """
    given = pool_of(namespace, scope)
    good, broken = _read(read_text(file))
    for line in shortened([f"line {number}: {why}" for number, why in broken], _MAX_NAMED):
        tell(line, err=True)
    bad = many(len(broken), "broken line")
    if broken and not good:
        raise DataError(
            f"no line of {file} is a lesson ({bad}): expected JSON lines as `seasoned lessons export` writes them"
        )
    pools: dict[str, list[Lesson]] = {} if good else {given or HOME: []}
    for named, lesson in good:
        pools.setdefault(given or (HOME if RUN.match(named) else named) or HOME, []).append(lesson)
    if good:
        with open_store(store) as opened, opened.transaction(*pools):
            for pool, lessons in pools.items():
                opened.add_lessons(pool, lessons, who="person", why=f"imported from {file.name}")
    if as_json:
        added = {pool: [lesson.id for lesson in lessons] for pool, lessons in pools.items()}
        print_json({"added": added, "broken": [{"line": number, "why": why} for number, why in broken]})
        return
    each = f" ({', '.join(f'{len(lessons):,}' for lessons in pools.values())})" if len(pools) > 1 else ""
    tell(f"{many(len(good), 'lesson')} imported into {', '.join(pools)}{each}, {bad}")
    runs = sum(bool(RUN.match(named)) for named, _ in good)
    if runs and given is None:
        moved = many(runs, "of them was", "of them were")
        tell(f"{moved} from a run, and went into {HOME}: name another pool with --scope", err=True)
    if waiting := sum(lesson.status == "quarantined" for _, lesson in good):
        held = many(waiting, "of them is", "of them are")
        tell(f"{held} in quarantine: see `seasoned lessons list --status quarantined`", err=True)


def _read(text: str) -> tuple[list[tuple[str, Lesson]], list[tuple[int, str]]]:
    """Read JSON lines: the lessons, each with the pool that it names or "", and the broken lines with the reasons.

    Each lesson gets a new id, and passes the checks of `Memory.add`, except that a long text is cut.
    """
    from seasoned.traces.source import load

    good: list[tuple[str, Lesson]] = []
    broken: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        raw, why = load(line)
        try:
            if why or not isinstance(raw, dict):
                raise DataError(why or "not an object")
            good.append(_lesson_from(raw))
        except ValidationError as error:
            fault = error.errors()[0]
            broken.append((number, f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].lower()}"))
        except (ConfigError, DataError) as error:
            broken.append((number, str(error)))
        except RecursionError:
            broken.append((number, "nested too deeply"))
    return good, broken


def _lesson_from(raw: dict[str, Any]) -> tuple[str, Lesson]:
    """The pool that a line names, and its lesson."""
    from seasoned.memory.editing import checked_key, checked_text
    from seasoned.memory.screened import MAX_LESSON, screen_lesson

    fields = {name: value for name, value in raw.items() if name != "schema_version"}
    lesson = Lesson.model_validate({**fields, "id": new_id("les"), "version": 1, "sources": ()})
    checked_text(lesson.text[:MAX_LESSON])
    # The author, and the trust of the other store, cannot be verified here.
    data = {name: value for name, value in lesson.data.items() if name not in ("scope", "trust")} | {"imported": True}
    imported = lesson.model_copy(update={"key": checked_key(lesson.kind, lesson.key), "data": data})
    named = lesson.data.get("scope")
    return named.strip() if isinstance(named, str) else "", screen_lesson(imported)


def recall(
    text: Annotated[str, typer.Argument(help="The text of a task.")],
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    method: MethodOption = None,
    k: Annotated[int | None, typer.Option(min=1, help="At most this many. Default: the method's.")] = None,
    share: Annotated[
        float | None, typer.Option(min=0.01, max=1, help="The share of a note's key words that must occur; 1 is all.")
    ] = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show the guidance that an agent would get for a task.

    From a memory (--namespace), it is what `Memory.recall` returns with this --method. From another pool (--scope), it
    is the notes that ExpNote recalls.
    """
    options: dict[str, Any] = {name: value for name, value in (("k", k), ("share", share)) if value is not None}
    with open_store(store, must_exist=True) as opened:
        pool = chosen_pool(opened, namespace, scope) or _default_pool(opened)
        guidance = _recalled(opened, pool, text, method, options)
    show(as_json, guidance, guidance.text or f"nothing in {pool} fits this task")


def _default_pool(store: Store) -> str:
    """The pool if none is named: `default`, else the memory `default`, else the only one."""
    pools = [pool for pool in store.scopes() if not pool.startswith(FLAGGED)]
    return next((pool for pool in ("default", HOME) if pool in pools), None) or only_pool(pools)


def _recalled(store: Store, pool: str, text: str, method: str | None, options: dict[str, Any]) -> Guidance:
    if pool.startswith(MEMORY):
        from seasoned.memory import Memory
        from seasoned.memory.opening import usual_method

        name = pool.removeprefix(MEMORY)
        method = method or usual_method(store, name)
        with Memory(store, method=method, namespace=name, embedder=default_embedder(), **options) as memory:
            return memory.recall(text)
    if method is not None:
        raise ConfigError(f"--method is for memories, but {pool} is not a memory: give --namespace")
    from seasoned.methods.expnote import ExpNote
    from seasoned.pool import ExperiencePool

    notes = ExpNote(**{"k": 5, **options})
    return notes.recall(Task(id="recall", text=text), ExperiencePool(store, pool, read_only=True))


app.command("add")(editing.add)
app.command("edit")(editing.edit)
app.command("enable")(editing.enable)
app.command("disable")(editing.disable)
app.command("release")(editing.release)
app.command("rm")(editing.remove)
app.command("snapshot")(upkeep.snapshot)
app.command("snapshots")(upkeep.snapshots)
app.command("diff")(upkeep.diff)
app.command("rollback")(upkeep.rollback)
app.command("duplicates")(upkeep.duplicates)
app.command("contradicted")(upkeep.contradicted)
app.command("cap")(upkeep.cap)
app.command("verify")(upkeep.verify)
app.command("facts")(upkeep.take_facts)

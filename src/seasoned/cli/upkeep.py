"""`seasoned lessons snapshot|snapshots|diff|rollback|duplicates|cap|contradicted|verify|facts`: upkeep of a pool.

Always holds: lessons are merged, disabled or rolled back only on request, and none is deleted permanently; a fact that
no longer holds is disabled with its new result; a library runs in the sandbox, and only if a person or a fact names it.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.cli.shared import (
    HOME,
    STORE,
    JsonOption,
    NamespaceOption,
    ScopeOption,
    StoreOption,
    UnsafeOption,
    chosen_pool,
    many,
    one_scope,
    open_store,
    pool_of,
    shortened,
    show,
    tell,
)
from seasoned.errors import ConfigError
from seasoned.files import read_text
from seasoned.proof.record import Way, against_record
from seasoned.text import one_line
from seasoned.trust import mask
from seasoned.types import Lesson, LessonKind, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool
    from seasoned.store.sql import Difference, Store
WHEN = "A snapshot's name, a time such as 2026-05-31T12:00 (UTC), or now."
MOST = 5000
"""The most attempts that `contradicted` reads."""
_MAX_SHOWN = 20
LibraryOption = Annotated[str, typer.Option("--library", help="The library's import name.")]


def snapshot(
    name: Annotated[str, typer.Argument(help="The name for the current state.")],
    why: Annotated[str, typer.Option("--why", help="The reason, kept with the snapshot.")] = "",
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Name the current state of a pool."""
    from seasoned.memory.editing import checked_snapshot_name

    with open_store(store, must_exist=True) as opened:
        pool = one_scope(opened, namespace, scope)
        saved = opened.add_snapshot(pool, checked_snapshot_name(name), who="person", why=mask(why))
        count = len(opened.lessons_at(pool, "now"))
    line = f"{saved.name} is the state of {pool} at {saved.at}: {many(count, 'lesson')}"
    show(as_json, {**vars(saved), "lessons": count}, line)


def snapshots(
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """List the snapshots, the oldest first."""
    with open_store(store, must_exist=True) as opened:
        saved = opened.snapshots(chosen_pool(opened, namespace, scope))
    lines = [f"{each.name}  {each.scope}  {each.at}  {each.who}: {each.why}" for each in saved]
    show(as_json, saved, lines or "no snapshots")


def diff(
    before: Annotated[str, typer.Argument(help=WHEN)],
    after: Annotated[str, typer.Argument(help=WHEN)] = "now",
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show how the lessons of a pool changed between two states."""
    from seasoned.store.versions import difference

    with open_store(store, must_exist=True) as opened:
        pool = one_scope(opened, namespace, scope)
        changes = difference(opened.lessons_at(pool, before), opened.lessons_at(pool, after))
    show_changes(changes, as_json)


def rollback(
    when: Annotated[str, typer.Argument(metavar="STATE", help=WHEN)],
    why: Annotated[str, typer.Option("--why", help="The reason, kept in the history of each lesson.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Restore an earlier state of a pool. The history stays."""
    from seasoned.store.versions import difference

    with open_store(store, must_exist=True) as opened:
        pool = one_scope(opened, namespace, scope)
        if dry_run:
            done = difference(opened.lessons_at(pool, "now"), opened.lessons_at(pool, when))
        else:
            done = opened.rollback(pool, when, who="person", why=mask(why) or f"rolled back to {when}")
    show_changes(done, as_json)


def show_changes(changes: Difference, as_json: bool) -> None:
    """Print a difference: one line for an added or removed lesson, two for a changed one."""
    changed = [{"before": before, "after": after} for before, after in changes.changed]
    lines = [f"+ {_line(lesson)}" for lesson in changes.added] + [f"- {_line(lesson)}" for lesson in changes.removed]
    lines += [f"< {_line(old)}\n> {_line(new)}" for old, new in changes.changed]
    lines.append(f"{len(changes.added)} added, {len(changes.removed)} removed, {len(changes.changed)} changed")
    show(as_json, {**vars(changes), "changed": changed}, lines)


def _line(lesson: Lesson) -> str:
    marks = [f"{lesson.importance:g}"]
    marks += [lesson.status] if lesson.status != "active" else []
    marks += ["pinned"] if lesson.pinned else []
    key = f"{lesson.key}: " if lesson.key else ""
    return f"{lesson.id}  {key}{' '.join(lesson.text.split())}  ({', '.join(marks)})"


def duplicates(
    merge: Annotated[bool, typer.Option("--merge", help="Keep one of each group, and delete the others.")] = False,
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="The least cosine of two duplicates.")] = 0.95,
    kind: Annotated[LessonKind | None, typer.Option(help="Only this kind.")] = None,
    embedder: Annotated[str, typer.Option(help="The embedder: static, minilm, hashing, ..")] = "static",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most this many groups.")] = 20,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show near-duplicate lessons side by side, or merge them."""
    from seasoned.embed import embedder as make_embedder
    from seasoned.memory import upkeep
    from seasoned.pool import ExperiencePool

    with open_store(store, must_exist=True) as opened:
        pool = ExperiencePool(opened, one_scope(opened, namespace, scope), embedder=make_embedder(embedder))
        groups = upkeep.near_duplicates(pool, threshold=threshold, kind=kind)
        kept = upkeep.merge(pool, groups, why="seasoned lessons duplicates --merge") if merge else []
    count, lines, plain = sum(len(group.others) for group in groups), list[str](), list[dict[str, Any]]()
    for number, group in enumerate(groups):
        others = [{**lesson.model_dump(), "cosine": cosine} for lesson, cosine in group.others]
        plain.append({"keep": group.keep, "others": others})
        if number < limit:
            lines.append(f"{group.keep.id}        {group.keep.text}")
            told = [f"  {lesson.id}  {cosine:.3f}  {lesson.text}" for lesson, cosine in group.others]
            lines += shortened(told, 10, "  and {:,} more")
    lines += [f"and {len(groups) - limit:,} more groups"] if len(groups) > limit else []
    done = f"; {many(len(kept), 'was', 'were')} kept" if merge else ""
    other_lessons = f"one of {len(groups):,} others" if len(groups) > 1 else "another"
    lines.append(f"{many(count, 'lesson says', 'lessons say')} what {other_lessons} says{done}")
    show(as_json, {"groups": plain, "lessons": count, "merged": len(kept)}, lines)


def cap(
    lessons: Annotated[int | None, typer.Option("--lessons", min=0, help="Keep at most this many active.")] = None,
    tokens: Annotated[
        int | None, typer.Option("--tokens", min=0, help="Keep at most this many tokens (4 characters each).")
    ] = None,
    kind: Annotated[LessonKind | None, typer.Option(help="Only this kind.")] = None,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Disable the least valuable lessons above a limit. Pinned ones stay."""
    from seasoned.memory import upkeep
    from seasoned.pool import ExperiencePool

    with open_store(store, must_exist=True) as opened:
        pool = ExperiencePool(opened, one_scope(opened, namespace, scope))
        disabled = upkeep.cap(pool, lessons=lessons, tokens=tokens, kind=kind)
        left = len(pool.lessons(kind))
    lines = [f"{lesson.id}  {lesson.text}" for lesson in disabled[:20]]
    lines.append(f"{many(len(disabled), 'lesson')} disabled, {left:,} active")
    show(as_json, {"disabled": disabled, "active": left}, lines)


def contradicted(
    by: Annotated[
        Way, typer.Option(help="Compare by words (free), a model's judgement, or the model's odds.")
    ] = "words",
    llm: Annotated[str, typer.Option(help="The model that judges: local, or a server's model.")] = "local",
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most this many.")] = 20,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Compare lessons with recorded attempts.

    Lists first the lessons that successes contradict.

    A score below 0 means that the record contradicts a lesson; 0 means that it says nothing. Scores choose what to read
    first; a gate or a holdout shows whether a lesson helps.
    """
    from seasoned.llm import opening

    with open_store(store, must_exist=True) as opened:
        pool = one_scope(opened, namespace, scope)
        lessons = opened.lessons(pool, status="active")
        attempts = _record(opened, pool, [source for lesson in lessons for source in lesson.sources])
        model = nullcontext(None) if by == "words" else opening.open_llm(opening.ModelSettings(model=llm))
        with model as judge:
            scores = against_record(lessons, attempts, by, judge)
    texts = {lesson.id: lesson.text for lesson in lessons}
    scores.sort(key=lambda one: one.score)
    rows = [f"{one.score:+6.2f}  {one.lesson_id}  {one_line(texts[one.lesson_id], 80)}" for one in scores]
    against = f"{sum(one.score < 0 for one in scores):,} of {many(len(scores), 'lesson')}"
    verb = "contradicts" if len(attempts) == 1 else "contradict"
    lines = [*shortened(rows, limit), f"{many(len(attempts), 'attempt')} with a known outcome {verb} {against}"]
    plain = [{"lesson": one.lesson_id, "score": one.score, "text": texts[one.lesson_id]} for one in scores]
    show(as_json, {"by": by, "attempts": len(attempts), "lessons": plain}, lines)


def _record(store: Store, pool: str, sources: list[str]) -> list[Trajectory]:
    """A pool's attempts with a known outcome; for a run's pool of lessons, those of its sources' pools."""
    from seasoned.store.pages import attempt_lines

    attempts = store.trajectories(pool, limit=MOST)
    if not attempts and sources:
        lines = attempt_lines(store, list(dict.fromkeys(sources))[:50])
        for scope in {line.scope for line in lines.values()}:
            attempts += store.trajectories(scope, limit=MOST)
    return [attempt for attempt in attempts if attempt.outcome.success is not None]


def verify(
    library: LibraryOption = "",
    namespace: NamespaceOption = None,
    scope: Annotated[str | None, typer.Option(help="Only this pool, such as memory/default.")] = None,
    store: StoreOption = STORE,
    unsafe: UnsafeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run facts again. Those that no longer hold are disabled, and the new results are stored."""
    from seasoned.pool import ExperiencePool

    held, skipped, stale, problems = 0, 0, list[dict[str, str]](), list[str]()
    with open_store(store, must_exist=True) as opened:
        chosen = chosen_pool(opened, namespace, scope)
        for name in opened.scopes() if chosen is None else [chosen]:
            pool = ExperiencePool(opened, name)
            named = [str(lesson.data.get("library") or "") for lesson in pool.lessons("fact")]
            for one in dict.fromkeys(library or each for each in named):
                held_here, skipped_here, rows = _verified(pool, one, problems)
                held, skipped = held + held_here, skipped + skipped_here
                stale += [{**row, "scope": name} for row in rows]
    lines = shortened([f"{row['id']}  {row['fact']}\n  now: {row['instead']}" for row in stale], _MAX_SHOWN)
    rest = f", {skipped:,} could not be run" if skipped else ""
    lines.append(f"{many(held, 'fact holds', 'facts hold')}, {len(stale):,} no longer do and are disabled{rest}")
    show(as_json, {"held": held, "stale": stale, "skipped": skipped, "problems": problems}, lines)
    for problem in problems if not as_json else ():
        tell(problem, err=True)


def _verified(pool: ExperiencePool, library: str, problems: list[str]) -> tuple[int, int, list[dict[str, str]]]:
    """The number of a library's facts that hold, the number that could not be run, and those that no longer hold."""
    from seasoned.methods.facts import Facts

    of_library = [lesson for lesson in pool.lessons("fact") if lesson.data.get("library") in (library, "", None)]
    if not library:
        problems.append(f"{many(len(of_library), 'fact names', 'facts name')} no library: give it with --library")
        return 0, len(of_library), []
    try:
        verdict = Facts(library=library).verify(pool)
    except ConfigError as error:
        problems.append(str(error))
        return 0, len(of_library), []
    rows = [{"id": lesson.id, "fact": lesson.text, "instead": instead} for lesson, instead in verdict.stale]
    return verdict.held, max(len(of_library) - verdict.held - len(rows), 0), rows


def take_facts(
    file: Annotated[Path, typer.Argument(help="A module or text with doctests, or output of pytest.")],
    library: LibraryOption = "",
    namespace: NamespaceOption = None,
    scope: Annotated[str | None, typer.Option(help="The pool for the facts, such as memory/default.")] = None,
    store: StoreOption = STORE,
    unsafe: UnsafeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read facts from doctests or a pytest report. With --library, run each and store its current result."""
    from seasoned.methods.facts import Facts, read_facts
    from seasoned.pool import ExperiencePool

    facts = read_facts(read_text(file))
    with open_store(store) as opened:
        pool = ExperiencePool(opened, pool_of(namespace, scope) or HOME)
        kept = [lesson.text for lesson in Facts(library=library).keep_facts(facts, pool)]
    lines = [*kept[:_MAX_SHOWN], f"{many(len(facts), 'fact')} in {file}, {len(kept):,} kept"]
    show(as_json, {"file": file, "found": len(facts), "kept": len(kept), "facts": kept}, lines)

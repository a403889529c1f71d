"""`seasoned import` and `seasoned export`: reads other programs' logs, and writes lessons and conversations.

Always holds: an import counts what it read and names what it could not read; an export writes a complete file or none.
"""

from __future__ import annotations

import difflib
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from seasoned.cli.coding import first_sources, ranked, write_block, write_skills
from seasoned.cli.shared import (
    FLAGGED,
    MEMORY,
    STORE,
    JsonOption,
    NamespaceOption,
    StoreOption,
    chosen_pool,
    many,
    open_store,
    pool_of,
    print_json,
    shortened,
    tell,
    tell_written,
    write_lines,
    write_out,
)
from seasoned.errors import ConfigError, DataError
from seasoned.text import prompt_line
from seasoned.types import Lesson

if TYPE_CHECKING:
    from seasoned.store.sql import Store
    from seasoned.traces import Imported
    from seasoned.trust.lineage import Trust

_FORMATS = "react-log|messages|inspect|otel|coding"  # those of `seasoned.traces`, without its import
_MAX_NAMED = 20  # problems that are printed
_MAX_NAMED_JSON = 1000
_PAGE = 500
_MAX_SOURCES = 5  # printed sources of a lesson, and pools
_KINDS = ("insight", "heuristic", "guideline", "fact", "reflection", "note")  # in the order of the Markdown page


def _format(name: str) -> str:
    """A known name of a format; the error for an unknown one suggests the nearest."""
    from seasoned.traces import formats

    known = formats()
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? There" if near else "there"
    raise typer.BadParameter(f"{name!r} is not a format; {hint} are {', '.join(known)}.")


def import_(
    file: Annotated[Path, typer.Argument(help="The log.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            parser=_format,
            metavar=f"<{_FORMATS}>",
            help="The format, or a plugin's name. Default: detected from the content.",
        ),
    ] = None,
    namespace: Annotated[str, typer.Option(help="The memory to put the attempts into.")] = "default",
    fixes: Annotated[
        bool, typer.Option(help="For sessions of coding agents: write a lesson for each fixed error.")
    ] = True,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Import another program's log as attempts. Unreadable lines are counted and named."""
    from seasoned.memory.screened import ScreenedPool
    from seasoned.traces import read, record
    from seasoned.traces.fixes import keep_fixes

    pool_of(namespace, None)
    log = read(file, form)
    added = flagged = learned = 0
    if log.trajectories:
        with open_store(store) as opened:
            pool = ScreenedPool(opened, namespace)
            before = opened.count_trajectories([pool.scopes[1]])
            added = record(log, pool, pool.scopes)
            flagged = opened.count_trajectories([pool.scopes[1]]) - before
            learned = len(keep_fixes(pool, log.trajectories)) if fixes and log.format == "coding" else 0
    _report(log, file, namespace, {"added": added, "flagged": flagged, "fixes": learned}, as_json)
    if not log.trajectories:
        raise DataError(f"nothing in {file} is an attempt in the format {log.format}: give another with --format")


def _report(log: Imported, file: Path, namespace: str, stored: dict[str, int], as_json: bool) -> None:
    counts = {
        "trajectories": len(log.trajectories),
        "steps": log.steps,
        "successes": log.successes,
        "bad_lines": len(log.problems),
        "tasks": len({trajectory.task_id for trajectory in log.trajectories}),
        "repeated": log.repeated,
        **stored,
    }
    if as_json:
        named = log.problems[:_MAX_NAMED_JSON]
        print_json({"file": file, "format": log.format, "namespace": namespace, **counts, "problems": named})
        return
    tell(
        f"{many(counts['trajectories'], 'trajectory', 'trajectories')} of {many(counts['tasks'], 'task')} "
        f"({log.format}): {many(log.steps, 'step')}, {many(log.successes, 'success', 'successes')}, "
        f"{many(len(log.problems), 'bad line')}; {stored['added']:,} new in the memory {namespace!r}"
    )
    if stored["fixes"]:
        tell(f"{many(stored['fixes'], 'lesson')} of errors and what fixed them: see `seasoned lessons list`")
    if log.repeated:
        repeated = many(log.repeated, "attempt is", "attempts are")
        tell(f"{repeated} repeated in the log and count{'s' * (log.repeated == 1)} once", err=True)
    if stored["flagged"]:
        flagged = many(stored["flagged"], "attempt was", "attempts were")
        tell(
            f"{flagged} flagged (suspected prompt injection); lessons from flagged attempts are quarantined: see "
            f"`seasoned attempts --scope flagged/{namespace}`",
            err=True,
        )
    for line in shortened([f"{problem.where}: {problem.why}" for problem in log.problems], _MAX_NAMED):
        tell(line, err=True)


def export(
    form: Annotated[
        Literal["markdown", "jsonl", "agents-md", "skills"] | None,
        typer.Option("--format", help="The format; agents-md and skills are for coding agents."),
    ] = None,
    what: Annotated[Literal["lessons", "trajectories"], typer.Option(help="What to write.")] = "lessons",
    namespace: NamespaceOption = None,
    scope: Annotated[str | None, typer.Option(help="Only this pool, such as memory/default.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write. Default: standard output.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include disabled and quarantined lessons.")] = False,
    successes: Annotated[bool, typer.Option("--successes", help="Only attempts that succeeded.")] = False,
    cap: Annotated[int, typer.Option(min=100, help="For agents-md: the maximum number of tokens.")] = 2000,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Write lessons or attempts into a file.

    Lessons become Markdown or JSON lines; attempts become chat JSON lines for fine-tuning.

    agents-md updates a block in a file such as AGENTS.md or CLAUDE.md and keeps the rest; skills writes a folder with a
    SKILL.md for each kind of task.

    Flagged attempts (suspected prompt injections) are left out and counted; to export them, name their pool with
    --scope. With --json, standard output has a list instead of lines, or what was written to the file.
    """
    if what == "trajectories" and form == "markdown":
        raise ConfigError("trajectories are written as chat JSON lines: give --format jsonl, or leave it out")
    if what == "trajectories" and everything:
        raise ConfigError(
            "--all is for lessons; of trajectories, only flagged ones are left out: write them with "
            "--scope flagged/NAMESPACE"
        )
    if what == "lessons" and successes:
        raise ConfigError("--successes is about attempts: give --what trajectories as well, or leave it out")
    if as_json and form == "markdown" and output is None:
        raise ConfigError("--json prints a list, not Markdown: leave --format out, or name a file with --output")
    with open_store(store, must_exist=True) as opened:
        pool = chosen_pool(opened, namespace, scope)
        if what == "trajectories":
            # Flagged attempts are left out of training data unless their pool is named.
            scopes = [pool] if pool else [each for each in opened.scopes() if not each.startswith(FLAGGED)]
            count = write_lines((chat for each in scopes for chat in _chats(opened, each, successes)), output, as_json)
            _tell_left_out(opened, pool, successes)
        elif form in ("agents-md", "skills"):
            count = _for_agents(opened, pool, form, output, cap)
        else:
            lessons = [each for each in by_pool(opened, pool) if each[1].status == "active" or everything]
            count = len(lessons)
            if form == "jsonl" or (as_json and output is None):
                write_lines(starmap(lesson_line, lessons), output, as_json)
            else:
                write_out([markdown(lessons)], output)
    written = many(count, "lesson") if what == "lessons" else many(count, "trajectory", "trajectories")
    tell_written(written, output, as_json)


def _for_agents(store: Store, pool: str | None, form: str, output: Path | None, cap: int) -> int:
    """Write active lessons for a coding agent; return how many."""
    from seasoned.store.pages import uses

    if output is None:
        example = "AGENTS.md" if form == "agents-md" else "skills/"
        raise ConfigError(f"name the output: --format {form} --output {example}")
    active = [(lesson, proof) for _, lesson, _, proof in by_pool(store, pool) if lesson.status == "active"]
    counts = {lesson.id: uses(store, lesson.id, 1) for lesson, _ in active}
    lessons = ranked([lesson for lesson, _ in active], counts)
    if form == "agents-md":
        return write_block(output, lessons, cap)
    proofs = {proof for _, proof in active}
    write_skills(output, lessons, counts, proofs.pop() if len(proofs) == 1 else "")
    return len(lessons)


def _tell_left_out(store: Store, pool: str | None, successes: bool) -> None:
    """Report how many flagged attempts of a pool's memory, or of all, were left out."""
    flagged = [each for each in store.scopes() if each.startswith(FLAGGED)]
    if pool is not None:
        flagged = [each for each in flagged if pool == MEMORY + each.removeprefix(FLAGGED)]
    outcomes = {each: [line.success for line in store.task_texts(each)] for each in flagged}
    counts = {each: known.count(True) if successes else len(known) for each, known in outcomes.items()}
    names = " or ".join([f"--scope {each}" for each, count in counts.items() if count][:_MAX_SOURCES])
    if names:
        count = many(sum(counts.values()), "flagged attempt")
        tell(f"{count} left out (suspected prompt injection): {names} writes what is there", err=True)


def _chats(store: Store, scope: str | None, successes: bool) -> Iterator[str]:
    from seasoned.traces.messages import chat_line

    offset = 0
    while page := store.trajectories(scope, success=successes or None, limit=_PAGE, offset=offset):
        yield from map(chat_line, page)
        offset += len(page)


def by_pool(store: Store, pool: str | None) -> Iterator[tuple[str, Lesson, Trust, str]]:
    """Tuples (pool, lesson, trust, certificate's standing) of one pool or all, without deleted lessons."""
    from seasoned.pool.lineage import trust_in
    from seasoned.proof.certificate import standing

    for scope in store.scopes() if pool is None else [pool]:
        lessons = [lesson for lesson in store.lessons(scope) if lesson.status != "deleted"]
        trust, proof = trust_in(store, lessons), standing(store, scope) if lessons else None
        yield from ((scope, lesson, trust[lesson.id], str(proof or "")) for lesson in lessons)


def lesson_line(pool: str, lesson: Lesson, trust: Trust, proof: str = "") -> str:
    """A lesson as a JSON line for `lessons import`; `data` has its pool ("scope"), trust and certificate."""
    known = {"scope": pool, "trust": trust.name_} | ({"certificate": proof} if proof else {})
    placed = lesson.model_copy(update={"data": {**lesson.data, **known}})
    return json.dumps({"schema_version": 1, **placed.model_dump(mode="json")}, ensure_ascii=False) + "\n"


def markdown(lessons: Sequence[tuple[str, Lesson, Trust, str]]) -> str:
    """Lessons as a Markdown page: by pool, by kind, and the most important first.

    Each lesson is one item; HTML and links in its text are escaped.
    """
    pools: dict[str, dict[str, list[Lesson]]] = defaultdict(lambda: defaultdict(list))
    trusted = {lesson.id: trust for _, lesson, trust, _ in lessons}
    proofs = {pool: proof for pool, _, _, proof in lessons}
    for pool, lesson, _, _ in sorted(lessons, key=lambda one: -one[1].importance):
        pools[pool][lesson.kind].append(lesson)
    lines = ["# Lessons", "", *([] if lessons else ["No lessons."])]
    for pool, proof in proofs.items():
        kinds = pools[pool]
        lines += [f"## {_plain(pool)}", "", *([f"{_plain(proof).capitalize()}.", ""] if proof else [])]
        for kind in (kind for kind in _KINDS if kind in kinds):
            items = [_item(lesson, trusted[lesson.id]) for lesson in kinds[kind]]
            lines += [f"### {kind.capitalize()}s ({len(items)})", "", *items, ""]
    return "\n".join(lines).rstrip() + "\n"


def _item(lesson: Lesson, trust: Trust) -> str:
    key = f"**{_plain(lesson.key)}**: " if lesson.key else ""
    remarks = [f"importance {lesson.importance:g}", f"trust {trust.name_}"]
    remarks += [f"category {_plain(lesson.category)}"] if lesson.category else []
    remarks += ["pinned"] if lesson.pinned else []
    remarks += [lesson.status] if lesson.status != "active" else []
    remarks += [f"from {_plain(first_sources(lesson, _MAX_SOURCES))}"] if lesson.sources else []
    return f"- {key}{_plain(lesson.text)} ({'; '.join(remarks)}; `{_plain(lesson.id)}`)"


def _plain(text: str) -> str:
    return re.sub(r"([\[\]!])", r"\\\1", html.escape(prompt_line(text, 10_000), quote=False))

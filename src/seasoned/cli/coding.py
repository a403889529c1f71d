"""Coding agents: lessons in AGENTS.md or CLAUDE.md and as skills, and `seasoned hook`, which recalls and records.

Hooks recall at the start of a session and with each request; at the end, the session is imported, and with --llm a
separate process learns from it. Always holds: a person's text around the block of lessons stays unchanged; a lesson is
one line, and can neither end the block nor begin a heading; only active lessons are written, the most useful first;
`hook recall` and `hook record` never stop the agent: an error is one line on standard error, and the exit code is 0.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from seasoned.cli.shared import STORE, JsonOption, StoreOption, open_store, show, tell
from seasoned.errors import ConfigError, DataError, SeasonedError
from seasoned.files import read_text
from seasoned.text import clean, one_line, tokens, words_of
from seasoned.types import Lesson

if TYPE_CHECKING:
    from seasoned.store.pages import Uses

BEGIN = "<!-- seasoned: begin (written by `seasoned export`; changes in here are lost) -->"
END = "<!-- seasoned: end -->"
_BLOCK = re.compile(r"<!-- seasoned: begin\b[^\n]*-->.*?<!-- seasoned: end -->\n?", re.DOTALL)
_MAX_CHARS = 600  # of a lesson
app = typer.Typer(help="Give a coding agent a memory by hooks.", no_args_is_help=True)
NamespaceHere = Annotated[str, typer.Option(help="The memory's name.")]
LearnsWith = Annotated[
    str | None, typer.Option("--llm", help="The model that learns from a session after its end, such as local.")
]
_EVENTS = {"SessionStart": "recall", "UserPromptSubmit": "recall", "SessionEnd": "record"}
_MAX_LESSONS = 40


def ranked(lessons: Iterable[Lesson], uses: Mapping[str, Uses]) -> list[Lesson]:
    """Active lessons, most useful first: by pin, then by solved minus failed attempts that used them, then by votes."""

    def worth(lesson: Lesson) -> tuple[bool, int, float]:
        used = uses.get(lesson.id)
        return (lesson.pinned, used.right - used.wrong if used else 0, lesson.importance)

    return sorted((one for one in lessons if one.status == "active"), key=worth, reverse=True)


def write_block(file: Path, lessons: Sequence[Lesson], cap: int) -> int:
    """Write as many lessons as fit into `cap` tokens; return their number.

    They replace the block of a file, or are added at its end; DataError if its block begins and does not end.
    """
    text = read_text(file) if file.is_file() else ""
    if "<!-- seasoned: begin" in text and not _BLOCK.search(text):
        raise DataError(
            f"{file} has '<!-- seasoned: begin', but no '{END}' after it: add the end, or remove the beginning"
        )
    lines, room = list[str](), cap - tokens(BEGIN + END) - 20
    for line in (f"- {_line(lesson)}" for lesson in lessons):
        room -= tokens(line) + 1
        if room < 0:
            break
        lines.append(line)
    body = "\n".join(["## What earlier sessions taught", "", *lines]) if lines else "Nothing was learned yet."
    block = f"{BEGIN}\n{body}\n{END}\n"
    if _BLOCK.search(text):
        text = _BLOCK.sub(lambda _: block, text, count=1)
    else:
        text = f"{text.rstrip()}\n\n{block}" if text.strip() else block
    file.write_text(text, encoding="utf-8")
    return len(lines)


def write_skills(folder: Path, lessons: Sequence[Lesson], uses: Mapping[str, Uses], proof: str) -> None:
    """Write a folder with a SKILL.md for each kind of task."""
    groups: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        kind = clean(lesson.category or lesson.method or lesson.kind).casefold()
        name = re.sub(r"[^a-z0-9]+", "-", kind).strip("-")[:60] or "lessons"
        groups.setdefault(name, []).append(lesson)
    for name, group in groups.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "SKILL.md").write_text(_skill(name, group, uses, proof), encoding="utf-8")


def first_sources(lesson: Lesson, most: int) -> str:
    """The ids of a lesson's first sources, and the number of the others; "" without sources."""
    more = len(lesson.sources) - most
    return ", ".join(lesson.sources[:most]) + (f" and {more} more" if more > 0 else "")


def _line(lesson: Lesson) -> str:
    """A lesson as one line, which can neither open nor close an HTML comment."""
    words = one_line(lesson.text, _MAX_CHARS)
    key_is_new = lesson.key and lesson.key.casefold() not in words.casefold()
    text = f"{one_line(lesson.key, 80)}: {words}" if key_is_new else words
    return text.replace("<!--", "< !--").replace("-->", "-- >")


def _skill(name: str, lessons: Sequence[Lesson], uses: Mapping[str, Uses], proof: str) -> str:
    about = one_line("; ".join(_line(lesson) for lesson in lessons[:3]), 300).replace('"', "'")
    lines = ["---", f"name: {name}", f'description: "Learned from earlier attempts: {about}"', "---", ""]
    lines += [f"# {name.replace('-', ' ').capitalize()}", ""]
    if proof:
        sentence = f"The lessons are {proof}" if proof.startswith("certified") else f"{proof[:1].upper()}{proof[1:]}"
        lines += [f"{sentence}.", ""]
    for lesson in lessons:
        right, wrong = uses[lesson.id].right, uses[lesson.id].wrong
        used = f"used {right + wrong} times: {right} right, {wrong} wrong" if right + wrong else "not used yet"
        sources = first_sources(lesson, 3) or f"a {lesson.origin}"
        lines.append(f"- {_line(lesson)} (from {sources}; {used}; `{lesson.id}`)")
    return "\n".join(lines) + "\n"


@app.command("install")
def install(
    agent: Annotated[Literal["claude-code"], typer.Option(help="The agent to configure.")] = "claude-code",
    project: Annotated[Path, typer.Option(help="The project's folder.")] = Path(),
    namespace: NamespaceHere = "default",
    llm: LearnsWith = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Add the hooks to the project's settings. All other settings stay."""
    file = project / ".claude" / "settings.json"
    settings = _settings(file)
    address = store if "://" in store else str(Path(store).resolve())
    options = f"--store {shlex.quote(address)} --namespace {shlex.quote(namespace)}"
    hooks = settings.setdefault("hooks", {})
    for event, command in _EVENTS.items():
        llm_option = f" --llm {shlex.quote(llm)}" if llm and command == "record" else ""
        hook = {"hooks": [{"type": "command", "command": f"seasoned hook {command} {options}{llm_option}"}]}
        hooks[event] = [*(each for each in hooks.get(event, []) if "seasoned hook" not in json.dumps(each)), hook]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    line = f"{file}: {agent} recalls at SessionStart, UserPromptSubmit and records at SessionEnd"
    show(as_json, {"file": file, "agent": agent, "events": list(_EVENTS)}, line)


@contextmanager
def _errors_told() -> Iterator[None]:
    """Print an error on one line, and go on."""
    try:
        yield
    except (SeasonedError, OSError) as error:
        tell(f"seasoned: {error}", err=True)


@app.command("recall")
@_errors_told()
def recall(namespace: NamespaceHere = "default", store: StoreOption = STORE) -> None:
    """Print the lessons for a request.

    Reads JSON from standard input. With a `prompt`, prints the relevant lessons, otherwise the most useful ones.
    """
    from seasoned.memory import Memory

    prompt = _input().get("prompt")
    with open_store(store) as opened, Memory(opened, namespace=namespace, method="nearest", embedder=None) as memory:
        lessons = ranked(memory.lessons(), {})
    if isinstance(prompt, str) and prompt.strip():
        words = {word for word in words_of(prompt) if len(word) > 3}
        shared = {each.id: len(words.intersection(words_of(f"{each.key} {each.text}"))) for each in lessons}
        near = [each for each in lessons if shared[each.id]]
        chosen = sorted(near, key=lambda each: -shared[each.id])[:5]
    else:
        chosen = lessons[:_MAX_LESSONS]
    if chosen:
        print("What earlier sessions taught (advice, not orders):", *(f"- {_line(each)}" for each in chosen), sep="\n")


@app.command("record")
@_errors_told()
def record(namespace: NamespaceHere = "default", llm: LearnsWith = None, store: StoreOption = STORE) -> None:
    """Import a session. Reads JSON with a `transcript_path` from standard input."""
    from seasoned.memory.screened import ScreenedPool
    from seasoned.traces import read
    from seasoned.traces import record as keep
    from seasoned.traces.fixes import keep_fixes

    transcript = _input().get("transcript_path")
    if not isinstance(transcript, str) or not transcript:
        raise DataError("standard input should be JSON with a transcript_path, as the agent's hooks write it")
    log = read(Path(transcript), "coding")
    with open_store(store) as opened:
        pool = ScreenedPool(opened, namespace)
        added = keep(log, pool, pool.scopes)
        fixes = keep_fixes(pool, log.trajectories)
    tell(f"seasoned: {added} attempts recorded, {len(fixes)} fixes learned", err=True)
    if llm and added:
        arguments = ["learn", "--store", store, "--namespace", namespace, "--llm", llm]
        command, nowhere = [sys.executable, "-m", "seasoned", *arguments], subprocess.DEVNULL
        learning = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
        learning.returncode = 0  # prevents a warning: it runs on after this process


def _input() -> dict[str, Any]:
    try:
        value = json.loads(sys.stdin.read() or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _settings(file: Path) -> dict[str, Any]:
    """The settings in a file; {} if it does not exist."""
    if not file.is_file():
        return {}
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read as JSON, so it was not changed: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("hooks", {}), dict):
        raise ConfigError(f"{file} should be a JSON object whose `hooks` is an object; it was not changed")
    return value

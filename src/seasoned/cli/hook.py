"""`seasoned hook`: a memory for coding agents that run commands at the start and end of a session.

Lessons are recalled at the start and with each request; at the end, the session is imported, and with --llm a separate
process learns from it. Always holds: `recall` and `record` never stop the agent: an error is one line on standard
error, and the exit code is 0.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from seasoned.cli.shared import STORE, JsonOption, StoreOption, open_store, print_json, tell
from seasoned.errors import ConfigError, DataError, SeasonedError

app = typer.Typer(help="Give a coding agent a memory by hooks.", no_args_is_help=True)
NamespaceHere = Annotated[str, typer.Option(help="The memory's name.")]
LearnsWith = Annotated[
    str | None, typer.Option("--llm", help="The model that learns from a session after its end, such as local.")
]
_EVENTS = {"SessionStart": "recall", "UserPromptSubmit": "recall", "SessionEnd": "record"}
_MAX_LESSONS = 40


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
    if as_json:
        print_json({"file": str(file), "agent": agent, "events": list(_EVENTS)})
        return
    tell(f"{file}: {agent} recalls at {', '.join(_EVENTS)[: -len(', SessionEnd')]} and records at SessionEnd")


@app.command("recall")
def recall(namespace: NamespaceHere = "default", store: StoreOption = STORE) -> None:
    """Print the lessons for a request.

    Reads JSON from standard input. With a `prompt`, prints the relevant lessons, otherwise the most useful ones.
    """
    _without_errors(lambda: _print_recalled(namespace, store, _input()))


@app.command("record")
def record(namespace: NamespaceHere = "default", llm: LearnsWith = None, store: StoreOption = STORE) -> None:
    """Import a session. Reads JSON with a `transcript_path` from standard input."""
    _without_errors(lambda: _record_session(namespace, store, llm, _input()))


def _print_recalled(namespace: str, store: str, event: dict[str, Any]) -> None:
    from seasoned.cli.agents_md import line_of, ranked
    from seasoned.memory import Memory
    from seasoned.text import words_of

    prompt = event.get("prompt")
    with open_store(store) as opened, Memory(opened, namespace=namespace, method="nearest", embedder=None) as memory:
        lessons = memory.lessons()
        if not lessons:
            return
        if isinstance(prompt, str) and prompt.strip():
            words = {word for word in words_of(prompt) if len(word) > 3}
            shared = {each.id: len(words.intersection(words_of(f"{each.key} {each.text}"))) for each in lessons}
            near = [each for each in ranked(lessons, {}) if shared[each.id]]
            chosen = sorted(near, key=lambda each: -shared[each.id])[:5]
        else:
            chosen = ranked(lessons, {})[:_MAX_LESSONS]
    if chosen:
        print(
            "\n".join(
                ["What earlier sessions taught (advice, not orders):", *(f"- {line_of(each)}" for each in chosen)]
            )
        )


def _record_session(namespace: str, store: str, llm: str | None, event: dict[str, Any]) -> None:
    from seasoned.memory.screened import ScreenedPool
    from seasoned.traces import read
    from seasoned.traces import record as keep
    from seasoned.traces.fixes import keep_fixes

    transcript = event.get("transcript_path")
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


def _without_errors(work: Any) -> None:
    try:
        work()
    except (SeasonedError, OSError) as error:
        tell(f"seasoned: {error}", err=True)


def _settings(file: Path) -> dict[str, Any]:
    """The settings in a file; {} if it does not exist.

    Raises:
        ConfigError: the file has another format.
    """
    if not file.is_file():
        return {}
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read as JSON, so it was not changed: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("hooks", {}), dict):
        raise ConfigError(f"{file} should be a JSON object whose `hooks` is an object; it was not changed")
    return value

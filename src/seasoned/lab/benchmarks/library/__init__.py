"""Library: programs for a private library, whose functions have made-up names and quirks that nobody could guess.

The library is our own and generated from a seed, so a model can know it only from experience. A task describes a
program in plain words and names the one to three pieces of the library to use; the program is run on inputs that the
task does not show. Always holds: no text names a quirk; the right answers are computed without the library.

Options: `tasks` (the number of generated tasks, 400), `train_share`, `version` (1 or 2: the same names and meanings
with other quirks), `probes` and `drafts` (limits of an attempt, see `seasoned.lab.benchmarks.code`), `unsafe` (run
programs without a sandbox if none works).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import Benchmark, Check, check_options, split
from seasoned.lab.benchmarks.code import CODE_OPTIONS, code_benchmark, judged
from seasoned.lab.benchmarks.library.pieces import Piece, made_up_names, make_pieces
from seasoned.lab.benchmarks.library.tasks import make_tasks
from seasoned.sandbox import Library, Sandbox
from seasoned.types import Task

OPTIONS = {"tasks": 400, "train_share": 0.5, "version": 1, **CODE_OPTIONS}
_VERSIONS = (1, 2)


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load the library of a seed; see `load_benchmark`."""
    settings = _options(options)
    library, tasks = generate(seed, settings["version"], settings["tasks"])
    train, test = split(tasks, name="library", seed=seed, share=settings["train_share"])
    return code_benchmark("library", (train, test), (library,), settings, f"{len(tasks)} tasks for {library.name}")


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Run every task's reference solution, and its solution for a library without quirks."""
    settings = _options(options)
    library, tasks = generate(seed, settings["version"], settings["tasks"])
    return check_tasks(library, tasks, settings["unsafe"])


def check_tasks(library: Library, tasks: Sequence[Task], unsafe: bool) -> Check:
    """Run the tasks' reference solutions, and their solutions for a library without quirks, with a library."""
    with Sandbox(library, unsafe=unsafe) as sandbox:
        wrong = [task.id for task in tasks if not judged(sandbox, task, task.data["answer"]).right]
        passed = sum(judged(sandbox, task, task.data["naive"]).right for task in tasks)
        public = len(sandbox.public)
    problems = tuple(f"the reference solution of {name} fails" for name in wrong[:5])
    failed = len(tasks) - passed
    facts = (
        f"the library {library.name} has {public} public functions, classes and methods",
        f"solutions for a library without quirks fail at {failed} of {len(tasks)} tasks ({failed / len(tasks):.1%})",
    )
    return Check(len(tasks) - len(wrong), len(tasks), problems, f"{len(tasks)} generated tasks", 0, facts)


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    settings = check_options("library", options, OPTIONS)
    if settings["version"] not in _VERSIONS:
        raise ConfigError(f"benchmark.version should be 1 or 2, but is {settings['version']}")
    if not 10 <= settings["tasks"] <= 1000:
        raise ConfigError(f"benchmark.tasks should be 10 to 1000 tasks of a library, but is {settings['tasks']}")
    return settings


@cache
def generate(seed: int, version: int, count: int) -> tuple[Library, tuple[Task, ...]]:
    """The library of a seed, as source text, and `count` tasks."""
    draw = random.Random(f"library-{seed}")
    names = made_up_names(draw)
    package = next(names)
    pieces = make_pieces(draw, names, version)
    tasks = make_tasks(pieces, random.Random(f"tasks-{seed}"), seed, count, version)
    return Library(package, source=source_of(pieces, version), version=f"{version}.0"), tuple(tasks)


def source_of(pieces: list[Piece], version: int) -> str:
    """The library's source; only the pieces are public, and their docstrings add nothing to the tasks."""
    parts = [f"__version__ = '{version}.0'\nunit = 'std'\n", *map(_documented, pieces)]
    names = [piece.name for piece in pieces]
    return "\n\n".join([*parts, f"__all__ = {names!r}\n"])


def _documented(piece: Piece) -> str:
    """A piece's source with a docstring."""
    head, line, rest = re.split(r"(?<=:)(\n)(?=    )", piece.source, maxsplit=1)
    return f'{head}{line}    """{piece.says.partition(":")[0].capitalize()}."""\n{rest}'

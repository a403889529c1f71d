"""Library: programs for a private library, whose functions have made-up names and quirks that nobody could guess.

Our own, generated from a seed: nothing of it was ever published, so a model can know it from experience alone. A task
asks in plain words for one, two or three pieces of the library and names them; it is checked by running the program
on inputs that it does not show. Always holds: no text names a quirk; what is right is computed without the library.

Options: `tasks` (how many are generated, 400), `train_share`, `version` (1 or 2: the same names and meanings with other
quirks), `probes` and `drafts` (what an attempt may do, see `seasoned.lab.benchmarks.code`), `unsafe` (run programs
without a sandbox where none works).
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
    """Loads the library of a seed; see `load_benchmark`."""
    set_to = _options(options)
    library, tasks = generate(seed, set_to["version"], set_to["tasks"])
    train, test = split(tasks, name="library", seed=seed, share=set_to["train_share"])
    return code_benchmark("library", (train, test), (library,), set_to, f"{len(tasks)} tasks for {library.name}")


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Runs the reference solution of every task, and the one that would be right if the library had no quirks."""
    set_to = _options(options)
    library, tasks = generate(seed, set_to["version"], set_to["tasks"])
    return check_tasks(library, tasks, set_to["unsafe"])


def check_tasks(library: Library, tasks: Sequence[Task], unsafe: bool) -> Check:
    """Runs the tasks' reference solutions, and those for a library without quirks, with a library."""
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
    set_to = check_options("library", options, OPTIONS)
    if set_to["version"] not in _VERSIONS:
        raise ConfigError(f"benchmark.version should be 1 or 2, but is {set_to['version']}")
    if not 10 <= set_to["tasks"] <= 1000:
        raise ConfigError(f"benchmark.tasks should be 10 to 1000 tasks of a library, but is {set_to['tasks']}")
    return set_to


@cache
def generate(seed: int, version: int, wanted: int) -> tuple[Library, tuple[Task, ...]]:
    """The library of a seed, as text, and its tasks."""
    draw = random.Random(f"library-{seed}")
    names = made_up_names(draw)
    package = next(names)
    pieces = make_pieces(draw, names, version)
    tasks = make_tasks(pieces, random.Random(f"tasks-{seed}"), seed, wanted, version)
    return Library(package, source=source_of(pieces, version), version=f"{version}.0"), tuple(tasks)


def source_of(pieces: list[Piece], version: int) -> str:
    """The module's text; its classes and functions are all that is public, and their texts say what the tasks say."""
    parts = [f"__version__ = '{version}.0'\nunit = 'std'\n", *map(_documented, pieces)]
    listed = [piece.name for piece in pieces]
    return "\n\n".join([*parts, f"__all__ = {listed!r}\n"])


def _documented(piece: Piece) -> str:
    """A piece's source with a docstring below its head."""
    head, line, rest = re.split(r"(?<=:)(\n)(?=    )", piece.source, maxsplit=1)
    return f'{head}{line}    """{piece.says.partition(":")[0].capitalize()}."""\n{rest}'

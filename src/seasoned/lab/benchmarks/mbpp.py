"""MBPP: short Python functions described in a sentence, each with three tests (Austin et al., 2021).

The tasks come from a file of the user's with the rows of Reflexion's typed version: name, prompt, entry_point and test.
Always holds: all tests are hidden; visible is the first one, and only where an attempt may write a second draft.

Options: `data` (a file of JSON lines; else $SEASONED_DATA/mbpp), `train_share`, `drafts` (1 is pass@1), `probes`,
`unsafe`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from seasoned.errors import DataError
from seasoned.lab.benchmarks.base import Benchmark, Check, check_options, find_data, named, split
from seasoned.lab.benchmarks.code import CODE_OPTIONS, check_references, code_benchmark, program_task
from seasoned.lab.benchmarks.humaneval import read_rows
from seasoned.types import Task

OPTIONS = {"data": "", "train_share": 0.5, **CODE_OPTIONS, "drafts": 1, "probes": 0}
_ASSERT = re.compile(r"^[ \t]*(assert .+)$", re.MULTILINE)


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Loads MBPP; see `load_benchmark`."""
    set_to = check_options("mbpp", options, OPTIONS)
    tasks, source = _open(set_to)
    pools = split(tasks, name="mbpp", seed=seed, share=set_to["train_share"])
    return code_benchmark("mbpp", pools, (), set_to, source)


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Runs the tests of every task against a function that gives nothing, which must fail: they can be run.

    The data has no reference solutions.
    """
    del seed
    set_to = check_options("mbpp", options, OPTIONS)
    tasks, source = _open(set_to)
    return check_references(tasks, source, unsafe=set_to["unsafe"])


def _open(set_to: Mapping[str, Any]) -> tuple[list[Task], str]:
    paths = find_data("mbpp", set_to["data"], (".jsonl", ".gz"))
    if not paths:
        raise DataError(
            "MBPP needs a file of its tasks: -c benchmark.data=FILE, or a folder mbpp in $SEASONED_DATA; rows are "
            "JSON objects with name, prompt, entry_point and test"
        )
    rows = [row for path in paths for row in read_rows(path)]
    return [_task(row) for row in rows], f"{len(rows)} tasks of {named(paths)}"


def _task(row: Mapping[str, str]) -> Task:
    entry = row["entry_point"]
    tests = [text.replace("candidate(", f"{entry}(") for text in _ASSERT.findall(row["test"])]
    name = str(row.get("name", entry))
    return program_task(
        f"mbpp-{name.removeprefix('mbpp_')}", row["prompt"], entry, hidden=[row["test"]], visible=tests[:1]
    )

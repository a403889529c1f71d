"""MBPP: short Python functions described in a sentence, each with three tests (Austin et al., 2021).

The tasks come from a user's file with rows as in Reflexion's typed version: name, prompt, entry_point and test. Always
holds: all tests are hidden; only the first one becomes visible, if an attempt may write a second draft.

Options: `data` (a file of JSON lines; else $SEASONED_DATA/mbpp), `train_share`, `drafts` (1 is pass@1), `probes`,
`unsafe`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from seasoned.errors import DataError
from seasoned.lab.benchmarks.code import program_task
from seasoned.lab.benchmarks.humaneval import OPTIONS as OPTIONS
from seasoned.lab.benchmarks.humaneval import ProgramFile
from seasoned.types import Task

_ASSERT = re.compile(r"^[ \t]*(assert .+)$", re.MULTILINE)


def _task(row: Mapping[str, str]) -> Task:
    entry = row["entry_point"]
    tests = [text.replace("candidate(", f"{entry}(") for text in _ASSERT.findall(row["test"])]
    name = str(row.get("name", entry))
    return program_task(
        f"mbpp-{name.removeprefix('mbpp_')}", row["prompt"], entry, hidden=[row["test"]], visible=tests[:1]
    )


def _missing() -> Path:
    raise DataError(
        "MBPP needs a file of its tasks: -c benchmark.data=FILE, or a folder mbpp in $SEASONED_DATA; rows are "
        "JSON objects with name, prompt, entry_point and test"
    )


KIND = ProgramFile("mbpp", _task, _missing)
load, check = KIND.load, KIND.check

"""HotpotQA and FEVER as benchmarks: what both do, from their files to the pools and the prompts.

Always holds: what sets the two apart stands in a `Kind`, and no name of either stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seasoned.lab.benchmarks.base import Benchmark, find_data, named, split
from seasoned.lab.benchmarks.checks import Check
from seasoned.lab.benchmarks.search.data import MakeCase, check_material, environments, read_material
from seasoned.lab.benchmarks.search.env import Judge
from seasoned.lab.benchmarks.search.worked import worked
from seasoned.lab.benchmarks.worked import acting
from seasoned.types import Task

Select = Callable[[list[Task]], list[Task]]


@dataclass(frozen=True)
class Kind:
    """What sets a benchmark apart.

    A row with the field `case_field` is a case, which `make_case` reads; `own` are the files that come with Seasoned;
    `judge` says what an answer is worth.
    """

    name: str
    case_field: str
    own: tuple[Path, ...]
    make_case: MakeCase
    judge: Judge

    def files(self, data: str) -> tuple[Path, ...]:
        """The user's files, if there are any; see `find_data`."""
        return find_data(self.name, data, (".jsonl",))


def make_benchmark(kind: Kind, set_to: Mapping[str, Any], seed: int, select: Select = list) -> Benchmark:
    """Makes the benchmark of the tasks that `select` takes.

    Args:
        kind: Which benchmark.
        set_to: Its options, all of them.
        seed: Decides the pools.
        select: Is given all tasks, in the order of the files.

    Raises:
        ConfigError: An option is wrong.
        DataError: A file is missing or broken, or there are no pages.
    """
    paths = kind.files(set_to["data"])
    material = read_material(paths or kind.own, kind.case_field, kind.make_case)
    tasks = select([case.task for case in material.cases])
    return acting(
        kind.name,
        worked(kind.name, kind.judge),
        pools=split(tasks, name=kind.name, seed=seed, share=set_to["train_share"]),
        max_turns=set_to["max_steps"],
        make_env=environments(set_to, material, kind.judge),
        source=f"{_source(kind, paths)}; docstore: {set_to['docstore']}",
    )


def check_kind(kind: Kind, data: str) -> Check:
    """Checks the files that the option `data` names, row by row.

    Raises:
        DataError: A file is missing or cannot be read.
    """
    paths = kind.files(data)
    found = check_material(paths or kind.own, kind.case_field, kind.make_case, kind.judge)
    return replace(found, source=_source(kind, paths))


def _source(kind: Kind, paths: Sequence[Path]) -> str:
    return named(paths) or f"own {kind.case_field}s"

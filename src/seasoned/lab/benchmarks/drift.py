"""Drift: a private library that changes its behaviour during training, so that earlier lessons become wrong.

The first training tasks are for version 1 of a library of the benchmark `library`; later ones and the test tasks are
for version 2, with the same names and meanings but other quirks. A condition at the point of its curve where the change
happens (`curve = [60]`) shows the value of a memory right after it, and one at 85 its value 25 tasks later. With
`version=1` the test tasks are for version 1, which shows the level before the change.

Options: `before` (training tasks for version 1, 60), `version` of the test tasks, and those of `library`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import Benchmark, Check, check_choice, check_options, split
from seasoned.lab.benchmarks.code import code_benchmark
from seasoned.lab.benchmarks.library import OPTIONS as LIBRARY
from seasoned.lab.benchmarks.library import check_tasks, generate

OPTIONS = {**LIBRARY, "before": 60, "version": 2}


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load both versions of a seed's library; see `load_benchmark`."""
    settings = _options(options)
    old, new = (generate(seed, version, settings["tasks"]) for version in (1, 2))
    pools = [split(tasks, name="drift", seed=seed, share=settings["train_share"]) for _, tasks in (old, new)]
    before = settings["before"]
    train = (*pools[0][0][:before], *pools[1][0][before:])
    source = f"{len(old[1])} tasks for {old[0].name}, which changes after {before} training tasks"
    return code_benchmark("drift", (train, pools[settings["version"] - 1][1]), (old[0], new[0]), settings, source)


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Run the reference solutions of both versions, and those of version 1 with version 2, which should fail."""
    settings = _options(options)
    (old, first), (new, second) = (generate(seed, version, settings["tasks"]) for version in (1, 2))
    both = [check_tasks(library, tasks, settings["unsafe"]) for library, tasks in ((old, first), (new, second))]
    after = check_tasks(new, first, settings["unsafe"])
    facts = (f"solutions for version 1 fail with version 2 at {after.total - after.good} of {after.total} tasks",)
    problems = (*both[0].problems, *both[1].problems)
    return Check(both[0].good + both[1].good, both[0].total + both[1].total, problems, both[0].source, 0, facts)


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    settings = check_options("drift", options, OPTIONS)
    check_choice(settings, "version", (1, 2))
    if settings["before"] < 0:
        raise ConfigError(f"benchmark.before should be 0 or more training tasks, but is {settings['before']}")
    return settings

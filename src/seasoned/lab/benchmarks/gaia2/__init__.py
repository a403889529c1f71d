"""Gaia2: requests of a user with twelve apps (mail, calendar, shop, files ..), on Meta's ARE in worker processes.

Without data, scenarios of our own in ten universes: the same apps, and in each other people, mails, events and files.
Always holds: training and test share no universe, so no person, mail or event; a scenario of ours is judged without a
model; and tasks are made without starting the engine.

Options: `data` (a folder of Gaia2's scenarios, DIR/<config>/<split>/*.json; else $SEASONED_DATA/gaia2; else our own),
`configs` and `split` (its folders), `families` (of our own scenarios; by default all 24), `test_universes` (the others
are for training), `max_steps` (calls of an attempt), `observation` (characters that are shown of one), `told` (an
attempt that is learned from is told what it missed), `python` (the interpreter of an environment that has ARE; else the
one that `bench install` made), `timeout` (seconds of one answer of the engine). The seed decides the order.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError, InfrastructureError
from seasoned.lab.benchmarks.act import act_benchmark
from seasoned.lab.benchmarks.base import DATA_VARIABLE, Benchmark, Check, check_options, in_turns
from seasoned.lab.benchmarks.gaia2 import executions, searches
from seasoned.lab.benchmarks.gaia2.env import TO_USER, Gaia2Environment
from seasoned.lab.benchmarks.gaia2.folder import read_folder
from seasoned.lab.benchmarks.gaia2.scenario import DONE, Family, Kind, Scenario, make, text_of
from seasoned.lab.benchmarks.gaia2.universe import MOST
from seasoned.lab.benchmarks.gaia2.words import read_words
from seasoned.lab.benchmarks.worker import Workers, at_once, engine_workers
from seasoned.protocols import LLM, Environment
from seasoned.replies.calls import write_call
from seasoned.types import Task, ToolCall

TEST = (9, 10)
"""The universes of ours that are for testing."""
FAMILIES = (*searches.FAMILIES, *executions.FAMILIES)
"""The families of our own scenarios."""
OPTIONS: dict[str, Any] = {
    "data": "",
    "configs": ("execution", "search"),
    "split": "validation",
    "families": FAMILIES,
    "test_universes": TEST,
    "max_steps": 80,
    "observation": 20_000,
    "told": False,
    "python": "",
    "timeout": 120.0,
}
PAPERS = (22, 25)
"""The test universes of ERL's paper (appendix B)."""
ENGINE = Path(__file__).parent / "engine.py"


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Loads Gaia2; see `load_benchmark`."""
    set_to = _options(options)
    engine = workers(set_to["python"], set_to["timeout"])
    tasks, source = _tasks(set_to)

    def with_models(reveal: bool, models: Mapping[str, LLM]) -> Environment:
        told = reveal and set_to["told"]
        return Gaia2Environment(
            engine, text, set_to["max_steps"], set_to["observation"], judge=models.get("judge"), told=told
        )

    made = act_benchmark(
        "gaia2",
        read_words(),
        pools=_pools(tasks, set_to, seed),
        max_turns=set_to["max_steps"],
        make_env=lambda reveal: with_models(reveal, {}),
        source=source,
    )
    judged = frozenset(task.id for task in tasks if _judged(task))
    return replace(made, judged=judged, with_models=with_models)


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Plays every scenario twice, whatever the seed: as its oracle does, and as an agent that only says "Done."."""
    del seed
    set_to = _options(options)
    tasks, source = _tasks(set_to)
    engine = workers(set_to["python"], set_to["timeout"])
    results = at_once(partial(_proved, engine), tasks)
    engine.close()
    failed = sum(lazy for _, lazy in results)
    easy = [task for task, (wrong, lazy) in zip(tasks, results, strict=True) if not (wrong or lazy or _judged(task))]
    problems = tuple(wrong for wrong, _ in results if wrong)
    problems += tuple(f"{task.id}: an agent that does nothing succeeds" for task in easy)
    facts: tuple[str, ...] = (f'{failed}/{len(tasks)} tasks are failed by an agent that only says "{DONE}"',)
    if any(map(_judged, tasks)):
        facts += ("texts were not compared, which takes a judge; the calls and their other arguments were",)
    return Check(sum(not wrong for wrong, _ in results), len(tasks), problems, source, facts=facts)


def workers(python: str, timeout: float) -> Workers:
    """The engine's processes; none is started yet."""
    files = os.environ.get("DEMO_FS_PATH")  # where Gaia2's own files lie, as ARE calls it
    environ = {"DEMO_FS_PATH": files} if files else None
    return engine_workers("gaia2", python, ENGINE, name="ARE", timeout=timeout, environ=environ)


@cache
def scenarios() -> dict[str, Scenario]:
    """Our own scenarios by id: one of every family in every universe."""
    kinds: tuple[tuple[Kind, Mapping[str, Family]], ...] = (
        ("search", searches.FAMILIES),
        ("execution", executions.FAMILIES),
    )
    made = [
        make(number, kind, name, family)
        for number in range(1, MOST + 1)
        for kind, families in kinds
        for name, family in families.items()
    ]
    return {scenario.id: scenario for scenario in made}


def text(task: Task) -> str:
    """The text of a task's scenario; DataError if there is none."""
    file = task.data.get("file")
    if file:
        try:
            return Path(str(file)).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"the scenario {file} cannot be read: {error}") from error
    if task.id not in scenarios():
        raise DataError(f"no scenario is called {task.id!r}, and the task names no file")
    return text_of(scenarios()[task.id])


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    set_to = check_options("gaia2", options, OPTIONS)
    if set_to["max_steps"] < 1 or set_to["timeout"] <= 0 or set_to["observation"] < 1:
        raise ConfigError("benchmark.max_steps, benchmark.observation and benchmark.timeout should be above 0")
    if unknown := [name for name in set_to["families"] if name not in FAMILIES]:
        raise ConfigError(f"benchmark.families should be among {', '.join(FAMILIES)}, but has {unknown[0]!r}")
    return set_to


def _tasks(set_to: Mapping[str, Any]) -> tuple[list[Task], str]:
    """The tasks, and what they come from."""
    root = _root(set_to["data"])
    if root is None:
        tasks = [
            Task(
                id=scenario.id,
                text=scenario.draft.task,
                category=scenario.kind,
                data={"universe": scenario.universe, "family": scenario.family},
            )
            for scenario in scenarios().values()
            if scenario.kind in set_to["configs"] and scenario.family in set_to["families"]
        ]
        return tasks, f"{len(tasks)} scenarios of Seasoned in {MOST} universes"
    tasks, broken = read_folder(root, set_to["configs"], set_to["split"])
    note = f" ({len(broken)} left out, which cannot be read; the first: {broken[0]})" if broken else ""
    return tasks, f"{root}{note}"


def _root(given: str) -> Path | None:
    """The folder of the data: the given one, else $SEASONED_DATA/gaia2 if it exists."""
    if given:
        path = Path(given).expanduser()
        if not path.is_dir():
            raise DataError(f"benchmark.data names {path}, but there is no such folder")
        return path
    shared = os.environ.get(DATA_VARIABLE, "")
    path = Path(shared).expanduser() / "gaia2"
    return path if shared and path.is_dir() else None


def _pools(tasks: Sequence[Task], set_to: Mapping[str, Any], seed: int) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Training and test, by universes; each in an order in which kinds and families take turns."""
    there = sorted({int(task.data["universe"]) for task in tasks})
    wanted = set(set_to["test_universes"])
    if not wanted & set(there) and wanted == set(TEST):
        wanted = set(PAPERS) if set(PAPERS) <= set(there) else set(there[-2:])
    test = [task for task in tasks if task.data["universe"] in wanted]
    train = [task for task in tasks if task.data["universe"] not in wanted]
    if not train or not test:
        raise ConfigError(
            f"benchmark.test_universes are {', '.join(map(str, sorted(wanted)))}, and there are universes "
            f"{', '.join(map(str, there))}: both pools need at least one"
        )
    return _dealt(train, seed), _dealt(test, seed)


def _dealt(tasks: Sequence[Task], seed: int) -> tuple[Task, ...]:
    rng = random.Random(f"gaia2-{seed}")
    kinds: dict[str, dict[str, list[Task]]] = defaultdict(lambda: defaultdict(list))
    for task in sorted(tasks, key=lambda task: task.id):
        kinds[task.category][str(task.data.get("family", ""))].append(task)
    orders = []
    for _, families in sorted(kinds.items()):
        groups = list(families.values())
        rng.shuffle(groups)
        for group in groups:
            rng.shuffle(group)
        orders.append(list(in_turns(groups)))
    return tuple(in_turns(orders))


def _judged(task: Task) -> bool:
    """Whether a model has to compare texts."""
    return bool(task.data.get("judged"))


def _proved(engine: Workers, task: Task) -> tuple[str, bool]:
    """How a scenario's oracle fails, "" where it succeeds; and whether a lazy agent fails."""
    try:
        with closing(Gaia2Environment(engine, text, 10_000, OPTIONS["observation"], told=True)) as env:
            env.reset(task)
            own = scenarios().get(task.id) if "file" not in task.data else None
            actions = list(own.solution) if own else [write_call(call) for call in env.oracle()]
            wrong = _played(env, actions)
            env.reset(task)
            lazy = _played(env, [write_call(ToolCall(name=TO_USER, arguments={"content": DONE}))])
    except (DataError, InfrastructureError) as error:
        return f"{task.id}: {error}", False
    return f"{task.id}: its oracle does not succeed: {wrong}" if wrong else "", bool(lazy)


def _played(env: Gaia2Environment, actions: Sequence[str]) -> str:
    """Why these actions do not succeed; "" where they do."""
    observation = "there is nothing to do"
    for action in actions:
        observation, _, over, _, info = env.step(action)
        if over:
            return "" if info["success"] else observation
    return observation

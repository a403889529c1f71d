"""Gaia2: requests of a user with twelve apps (mail, calendar, shop, files ..), on Meta's ARE in worker processes.

Without data, it uses our own scenarios in ten universes, which share the apps but no people, mails, events or files.
Always holds: training and test share no universe; our own scenarios are judged without a model; making tasks does not
start the engine; files are untrusted, and one that is not a scenario is named and left out.

Options: `data` (a folder of Gaia2's scenarios, DIR/<config>/<split>/*.json; else $SEASONED_DATA/gaia2; else our own),
`configs` and `split` (its folders), `families` (of our own scenarios; default: all 24), `test_universes` (the others
are for training), `max_steps` (calls of an attempt), `observation` (shown characters of an observation), `told`
(training attempts see what the judge missed), `python` (the interpreter of an environment that has ARE; else the one
that `bench install` made), `timeout` (seconds to wait for a reply of the engine). The seed decides the order.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError, InfrastructureError
from seasoned.jobs import run_jobs
from seasoned.lab.benchmarks.act import act_benchmark, recorded_words
from seasoned.lab.benchmarks.base import Benchmark, Check, check_options, check_positive, find_place, in_turns
from seasoned.lab.benchmarks.gaia2.env import TO_USER, Gaia2Environment
from seasoned.lab.benchmarks.gaia2.families import FAMILIES
from seasoned.lab.benchmarks.gaia2.scenario import DONE, Scenario, make, text_of
from seasoned.lab.benchmarks.gaia2.universe import MOST
from seasoned.lab.benchmarks.worker import AT_ONCE, Episode, Workers, engine_workers
from seasoned.protocols import LLM, Environment
from seasoned.replies.calls import write_call
from seasoned.types import Task, ToolCall

TEST = (9, 10)
"""Our universes for testing."""
OPTIONS: dict[str, Any] = {
    "data": "",
    "configs": ("execution", "search"),
    "split": "validation",
    "families": tuple(name for families in FAMILIES.values() for name in families),
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
_UNIVERSE = re.compile(r"universe_(\d+)", re.ASCII)
_TEXTS = {
    *("send_message_to_user", "send_email", "reply_to_email", "send_message", "send_message_to_group_conversation"),
    *("create_group_conversation", "change_conversation_title", "add_calendar_event", "edit_contact", "order_ride"),
}
"""Functions with a text argument that ARE's judge compares with a model."""


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load Gaia2; see `load_benchmark`."""
    settings = _options(options)
    engine = workers(settings["python"], settings["timeout"])
    tasks, source = _tasks(settings)

    def with_models(reveal: bool, models: Mapping[str, LLM]) -> Environment:
        told, judge = reveal and settings["told"], models.get("judge")
        return Gaia2Environment(Episode(engine), text, settings["max_steps"], settings["observation"], judge, told)

    return act_benchmark(
        "gaia2",
        recorded_words("gaia2", reason="answered", kinds=False),
        pools=_pools(tasks, settings, seed),
        max_turns=settings["max_steps"],
        make_env=lambda reveal: with_models(reveal, {}),
        source=source,
        judged=frozenset(task.id for task in tasks if _judged(task)),
        with_models=with_models,
    )


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Play every scenario twice, for any seed: as its oracle does, and as an agent that only says "Done."."""
    del seed
    settings = _options(options)
    tasks, source = _tasks(settings)
    with closing(workers(settings["python"], settings["timeout"])) as engine:
        results = run_jobs(partial(_check_scenario, engine), tasks, AT_ONCE)
    faults = [fault for fault, _ in results if fault]
    easy = [task for task, (fault, fails) in zip(tasks, results, strict=True) if not (fault or fails or _judged(task))]
    problems = [*faults, *(f"{task.id}: an agent that does nothing succeeds" for task in easy)]
    failed = sum(fails for _, fails in results)
    facts = [f'{failed}/{len(tasks)} tasks are failed by an agent that only says "{DONE}"']
    if any(map(_judged, tasks)):
        facts.append("the calls were compared without their texts, because comparing texts takes a judge")
    return Check(len(tasks) - len(faults), len(tasks), tuple(problems), source, facts=tuple(facts))


def workers(python: str, timeout: float) -> Workers:
    """The engine's worker processes; none is started yet."""
    files = os.environ.get("DEMO_FS_PATH")  # ARE's variable for the folder of Gaia2's own files
    environ = {"DEMO_FS_PATH": files} if files else None
    return engine_workers("gaia2", python, ENGINE, name="ARE", timeout=timeout, environ=environ)


@cache
def scenarios() -> dict[str, Scenario]:
    """Our own scenarios by id, one per family and universe."""
    families = [(kind, name, family) for kind, named in FAMILIES.items() for name, family in named.items()]
    made = (make(number, *family) for number in range(1, MOST + 1) for family in families)
    return {scenario.id: scenario for scenario in made}


def text(task: Task) -> str:
    """The text of a task's scenario; DataError if it cannot be read."""
    file = task.data.get("file")
    if file:
        try:
            return Path(str(file)).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"the scenario {file} cannot be read: {error}") from error
    if task.id not in scenarios():
        raise DataError(f"there is no scenario {task.id!r}, and the task names no file")
    return text_of(scenarios()[task.id])


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    settings = check_options("gaia2", options, OPTIONS)
    check_positive(settings, "max_steps", "observation", "timeout")
    known = OPTIONS["families"]
    if unknown := [name for name in settings["families"] if name not in known]:
        raise ConfigError(f"benchmark.families should be among {', '.join(known)}, but has {unknown[0]!r}")
    return settings


def _tasks(settings: Mapping[str, Any]) -> tuple[list[Task], str]:
    """The tasks, and their source as a sentence."""
    root = find_place("gaia2", settings["data"])
    if root is None:
        wanted = (one for one in scenarios().values() if one.kind in settings["configs"])
        tasks = [_own_task(one) for one in wanted if one.family in settings["families"]]
        return tasks, f"{len(tasks)} scenarios of Seasoned in {MOST} universes"
    tasks, broken = read_folder(root, settings["configs"], settings["split"])
    note = f" ({len(broken)} left out, which cannot be read; the first: {broken[0]})" if broken else ""
    return tasks, f"{root}{note}"


def _own_task(scenario: Scenario) -> Task:
    data = {"universe": scenario.universe, "family": scenario.family}
    return Task(id=scenario.id, text=scenario.draft.task, category=scenario.kind, data=data)


def _pools(tasks: Sequence[Task], settings: Mapping[str, Any], seed: int) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Training and test tasks, split by universe; in each, kinds and families take turns."""
    universes = sorted({int(task.data["universe"]) for task in tasks})
    for_test = set(settings["test_universes"])
    if for_test == set(TEST) and not for_test & set(universes):
        for_test = set(PAPERS if set(PAPERS) <= set(universes) else universes[-2:])
    test = [task for task in tasks if task.data["universe"] in for_test]
    train = [task for task in tasks if task.data["universe"] not in for_test]
    if not train or not test:
        raise ConfigError(
            f"both pools need at least one universe: the tasks have {', '.join(map(str, universes)) or 'none'}, and "
            f"benchmark.test_universes are {', '.join(map(str, sorted(for_test)))}"
        )
    return _shuffled(train, seed), _shuffled(test, seed)


def _shuffled(tasks: Sequence[Task], seed: int) -> tuple[Task, ...]:
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
        orders.append(in_turns(groups))
    return tuple(in_turns(orders))


def _judged(task: Task) -> bool:
    """Whether judging the task takes a model that compares texts."""
    return bool(task.data.get("judged"))


def _check_scenario(engine: Workers, task: Task) -> tuple[str, bool]:
    """Why a scenario's oracle fails, or ""; and whether an agent that does nothing fails."""
    try:
        with closing(Gaia2Environment(Episode(engine), text, 10_000, OPTIONS["observation"], told=True)) as env:
            env.reset(task)
            scenario = scenarios().get(task.id) if "file" not in task.data else None
            actions = list(scenario.solution) if scenario else [write_call(call) for call in env.oracle()]
            fault = _play(env, actions)
            env.reset(task)
            lazy_fault = _play(env, [write_call(ToolCall(name=TO_USER, arguments={"content": DONE}))])
    except (DataError, InfrastructureError) as error:
        return f"{task.id}: {error}", False
    return f"{task.id}: its oracle does not succeed: {fault}" if fault else "", bool(lazy_fault)


def _play(env: Gaia2Environment, actions: Sequence[str]) -> str:
    """Why these actions do not succeed, or ""."""
    observation = "there is nothing to do"
    for action in actions:
        observation, _, over, _, info = env.step(action)
        if over:
            return "" if info["success"] else observation
    return observation


def read_folder(root: Path, configs: Sequence[str], split: str) -> tuple[list[Task], list[str]]:
    """The scenarios of these configs (the tasks' categories), and the faults of the files that cannot be read.

    A task's data has `judged`: whether its oracle writes a text, which a model has to compare. DataError if no file can
    be read.
    """
    files = [(config, path) for config in configs for path in sorted((root / config / split).glob("*.json"))]
    if not files:
        patterns = " and ".join(f"{config}/{split}/*.json" for config in configs)
        raise DataError(f"{root} should hold {patterns}, as Gaia2's data does, but has none of them")
    tasks: list[Task] = []
    broken: list[str] = []
    for config, path in files:
        try:
            tasks.append(_file_task(config, path))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            broken.append(f"{path}: {type(error).__name__}: {error}")
    if not tasks:
        raise DataError(f"none of the {len(files)} scenarios can be read; the first: {broken[0]}")
    return tasks, broken


def _file_task(config: str, path: Path) -> Task:
    raw = json.loads(path.read_text(encoding="utf-8"))
    name = str(raw["metadata"]["definition"]["scenario_id"])
    match = _UNIVERSE.search(name)
    if match is None:
        raise ValueError(f"its id, {name!r}, does not say which universe it belongs to")
    events = list(raw["events"])
    first = [event for event in events if _function(event) == "send_message_to_agent" and not event["dependencies"]]
    text = "\n".join(_content(event) for event in first).strip()
    if not text:
        raise ValueError("it has no first message of the user")
    oracle = {_function(event) for event in events if event.get("class_name") == "OracleEvent"}
    if not oracle:
        raise ValueError("it has no oracle")
    data = {"file": str(path.resolve()), "universe": int(match[1]), "judged": bool(oracle & _TEXTS)}
    return Task(id=name, text=text, category=config, data=data)


def _function(event: dict[str, Any]) -> str:
    action = event.get("action")
    return str(action.get("function")) if isinstance(action, dict) else ""


def _content(event: dict[str, Any]) -> str:
    return next((str(arg["value"]) for arg in event["action"]["args"] or [] if arg["name"] == "content"), "")

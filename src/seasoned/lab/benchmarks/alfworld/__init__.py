"""ALFWorld: household tasks in text, played on the real engine in worker processes.

The games are files of the user's: those of ALFWorld's own data, or generated ones. Always holds: training and test
share no game and no first observation; any first part of either is balanced over the six categories; and tasks are made
from the files alone, without starting the engine.

Options: `data` (a folder with games anywhere below it; else $SEASONED_DATA/alfworld, else $ALFWORLD_DATA), `python`
(the interpreter of an environment that has the engine; else the one that `bench install` made), `train_split` and
`test_split` (names of folders; a place without either is cut in two, `train_share` of each category for training),
`max_steps` (H), `notebook` (each observation ends with the task and what is held, and no place is offered twice until
that changes), `focus` (the notebook leaves out taking what the task does not name), `timeout` (seconds of one answer of
the engine). The seed decides the order, and what is for training where the place has no such folders.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError, InfrastructureError
from seasoned.lab.benchmarks.act import act_benchmark
from seasoned.lab.benchmarks.alfworld.choices import NOTHING
from seasoned.lab.benchmarks.alfworld.env import CALLS, AlfworldEnvironment
from seasoned.lab.benchmarks.alfworld.game import CATEGORIES, FILE, goal_of, read_game
from seasoned.lab.benchmarks.alfworld.sightings import sightings, where_next
from seasoned.lab.benchmarks.alfworld.words import read_words
from seasoned.lab.benchmarks.base import (
    DATA_VARIABLE,
    Benchmark,
    Check,
    Observed,
    balanced,
    check_options,
    check_share,
)
from seasoned.lab.benchmarks.worker import Workers, at_once, engine_workers
from seasoned.protocols import Environment
from seasoned.types import Task

OPTIONS = {
    "data": "",
    "python": "",
    "train_split": "valid_train",
    "test_split": "valid_seen",
    "train_share": 0.5,
    "max_steps": 20,
    "notebook": False,
    "focus": False,
    "timeout": 120.0,
}
OWN_VARIABLE = "ALFWORLD_DATA"
ENGINE = Path(__file__).parent / "engine.py"
SEEN = "From earlier games, where such a thing may be:"
LEFT_OUT = ("movable", "Sliced")
"""Kinds of games that ALFWorld itself leaves out, as their folders are named."""


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Loads ALFWorld; see `load_benchmark`."""
    set_to = check_options("alfworld", options, OPTIONS)
    if set_to["max_steps"] < 1 or set_to["timeout"] <= 0:
        raise ConfigError("benchmark.max_steps and benchmark.timeout should be above 0")
    if set_to["focus"] and not set_to["notebook"]:
        raise ConfigError("benchmark.focus is the notebook's: set benchmark.notebook = true as well")
    engine = workers(set_to["python"], set_to["timeout"])
    root = find_root(set_to["data"])
    tasks, source = _tasks(root, (set_to["train_split"], set_to["test_split"]))
    pools = _pools(tasks, set_to, seed)

    def make_env(reveal: bool) -> Environment:
        del reveal
        return AlfworldEnvironment(engine, set_to["max_steps"], set_to["notebook"], set_to["focus"])

    return act_benchmark(
        "alfworld",
        read_words(set_to["notebook"], set_to["focus"]),
        pools=pools,
        max_turns=set_to["max_steps"],
        make_env=make_env,
        goal=goal_of,
        source=source,
        calls=CALLS,
        observed=Observed(sightings, where_next, SEEN),
    )


def stand_in(options: Mapping[str, Any], count: int) -> Benchmark:
    """The benchmark without its games and its engine, with so many tasks of each pool, to count what a run would "
    "take."""
    set_to = check_options("alfworld", options, OPTIONS)
    room = "You are in the middle of a room. Looking quickly around you, you see nothing.\nYour task is to: "

    def tasks(pool: str) -> tuple[Task, ...]:
        kinds = cycle(CATEGORIES)
        return tuple(Task(id=f"{pool}-{n}", text=f"{room}{pool} {n}.", category=next(kinds)) for n in range(count))

    def make_env(reveal: bool) -> Environment:
        raise DataError("a stand-in for ALFWorld has no games to play")

    words = read_words(set_to["notebook"], set_to["focus"])
    limits = {"max_turns": set_to["max_steps"], "make_env": make_env, "goal": goal_of}
    return act_benchmark("alfworld", words, pools=(tasks("train"), tasks("test")), source="not there", **limits)


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Plays the walkthrough of every game through the environment, whatever the seed."""
    del seed
    set_to = check_options("alfworld", options, OPTIONS)
    engine = workers(set_to["python"], set_to["timeout"])
    root = find_root(set_to["data"])
    files = [path for path in game_files(root) if not _left_out(path, root)]
    problems = tuple(problem for problem in at_once(partial(_problem, engine), files) if problem)
    engine.close()
    return Check(len(files) - len(problems), len(files), problems, source=str(root))


def _problem(engine: Workers, path: Path) -> str:
    """What is wrong with a game; "" when its walkthrough wins."""
    try:
        game = read_game(path)
        if not game.solvable or not game.walkthrough:
            return f"{path} {'has no walkthrough' if game.solvable else 'says that it cannot be solved'}"
        env = AlfworldEnvironment(engine, len(game.walkthrough))
        with closing(env):
            env.reset(Task(id="check", text=game.text, data={"game": str(path)}))
            for number, command in enumerate(game.walkthrough, 1):
                observation, _, won, _, _ = env.step(command)
                if won:
                    return ""
                if observation == NOTHING:
                    return f"{path}: command {number} of its walkthrough, {command!r}, does nothing"
    except (DataError, InfrastructureError) as error:
        return str(error) if str(path) in str(error) else f"{path}: {error}"
    return f"{path}: its walkthrough does not win"


def _left_out(path: Path, root: Path) -> bool:
    return any(word in part for part in path.relative_to(root).parts for word in LEFT_OUT)


def workers(python: str, timeout: float) -> Workers:
    """The engine's processes; none is started yet."""
    # Imported, the package makes the folder that this names; the user's home is not the place for it.
    homes = {OWN_VARIABLE: str(ENGINE.parent)}
    return engine_workers("alfworld", python, ENGINE, name="ALFWorld's engine", timeout=timeout, environ=homes)


def find_root(given: str) -> Path:
    """The folder of the games: the one given, else $SEASONED_DATA/alfworld, else $ALFWORLD_DATA; else a DataError."""
    where = f"{DATA_VARIABLE}/alfworld"
    shared = Path(os.environ[DATA_VARIABLE]).expanduser() / "alfworld" if os.environ.get(DATA_VARIABLE) else None
    own = os.environ.get(OWN_VARIABLE, "")
    if given:
        where, path = "benchmark.data", Path(given).expanduser()
    elif shared and shared.is_dir():
        path = shared
    elif own:
        where, path = OWN_VARIABLE, Path(own).expanduser()
    else:
        raise DataError(
            f"ALFWorld needs games: name the folder of its data (json_2.1.1) with benchmark.data, {OWN_VARIABLE} or "
            f"{where}, or make some with `seasoned bench generate alfworld --games 60 --out DIR`"
        )
    if not path.is_dir():
        raise DataError(f"{where} names {path}, but there is no such folder")
    return path


def game_files(root: Path) -> list[Path]:
    """The game files below a folder, in a fixed order; DataError where there are none."""
    files = sorted(root.rglob(FILE))
    if not files:
        raise DataError(f"{root} should have files called {FILE} somewhere below it, but has none")
    return files


def _tasks(root: Path, groups: Sequence[str]) -> tuple[list[Task], str]:
    """The tasks of a folder, and what they come from: the folder, and how many games were left out, and why."""
    tasks: dict[str, Task] = {}
    left_out, broken = 0, []
    for path in game_files(root):
        inside = path.relative_to(root).parts
        try:
            game = None if _left_out(path, root) else read_game(path)
        except DataError as error:
            broken.append(str(error))
            continue
        if game is None or not game.solvable:
            left_out += 1
            continue
        data = {
            "game": str(path.resolve()),
            "goal": game.goal,
            "group": next((part for part in inside if part in groups), ""),
        }
        task_id = f"alfworld-{game.category}-{game.digest[:10]}"
        tasks.setdefault(game.digest, Task(id=task_id, text=game.text, category=game.category, data=data))
    if broken and not tasks:
        raise DataError(f"none of the {len(broken)} games can be read; the first: {broken[0]}")
    unused = [f"{left_out} games left out, which ALFWorld does not use"] if left_out else []
    unread = [f"{len(broken)} left out, which cannot be read; the first: {broken[0]}"] if broken else []
    note = f" ({'; '.join([*unused, *unread])})" if unused or unread else ""
    return [tasks[digest] for digest in sorted(tasks)], f"{root}{note}"


def _pools(tasks: Sequence[Task], options: Mapping[str, Any], seed: int) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Training and test: two groups by the names of folders, or one that is cut in two."""
    wanted = (options["train_split"], options["test_split"])
    there = {task.data["group"] for task in tasks} - {""}
    if len(there) == 1 and len(set(wanted)) == 2:
        missing = next(group for group in wanted if group not in there)
        raise ConfigError(
            f"there are games of {there.pop()}, but none of {missing}: set the other split of the benchmark"
        )
    if not there and wanted != (OPTIONS["train_split"], OPTIONS["test_split"]):
        raise ConfigError(
            f"no folder is called {' or '.join(sorted(set(wanted)))}: leave both out to cut the games in two"
        )
    if len(there) == 2:
        test = [task for task in tasks if task.data["group"] == wanted[1]]
        train = [task for task in tasks if task.data["group"] == wanted[0]]
    else:
        train, test = _halves([task for task in tasks if task.data["group"] or not there], options["train_share"], seed)
    shown = {task.text for task in test}
    train = [task for task in train if task.text not in shown]
    if not train or not test:
        raise DataError(f"ALFWorld needs at least 2 different games, but of {len(tasks)} some pool got none")
    name = f"alfworld-{seed}"
    return balanced(train, name, CATEGORIES), balanced(test, name, CATEGORIES)


def _halves(tasks: Sequence[Task], share: float, seed: int) -> tuple[list[Task], list[Task]]:
    """Two parts of every category, as near to the share as the categories together allow."""
    check_share(share)
    train: list[Task] = []
    test: list[Task] = []
    due = 0.0
    for category in CATEGORIES:
        group = [task for task in balanced(tasks, f"alfworld-{seed}", CATEGORIES) if task.category == category]
        due += len(group) * share
        middle = int(due + 1e-9)
        due -= middle
        train += group[:middle]
        test += group[middle:]
    return train, test

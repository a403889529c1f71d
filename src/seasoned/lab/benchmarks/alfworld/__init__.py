"""ALFWorld: household tasks in text, played on the real engine in worker processes.

The games are the user's files: ALFWorld's own data or generated games. Always holds: training and test share no game
and no first observation; any first part of a pool is balanced over the six categories; making tasks reads the files and
does not start the engine.

Options: `data` (a folder with games anywhere below it; else $SEASONED_DATA/alfworld, else $ALFWORLD_DATA), `python`
(the interpreter of an environment that has the engine; else the one that `bench install` made), `train_split` and
`test_split` (names of folders; without such folders the games are split, `train_share` of each category for training),
`max_steps` (H), `notebook` (each observation ends with the task and the held object, and no place is offered again
until that object changes), `focus` (the notebook offers only commands that serve the task), `timeout` (seconds to wait
for a reply of the engine). The seed decides the order, and which games are for training if there are no such folders.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError, InfrastructureError
from seasoned.jobs import run_jobs
from seasoned.lab.benchmarks.act import Words, act_benchmark, recorded_words
from seasoned.lab.benchmarks.alfworld.choices import NOTHING, noted, sightings, where_next
from seasoned.lab.benchmarks.alfworld.env import CALLS, AlfworldEnvironment
from seasoned.lab.benchmarks.alfworld.game import CATEGORIES, FILE, ROOM, goal_of, read_game
from seasoned.lab.benchmarks.base import (
    DATA_VARIABLE,
    PROMPTS,
    Benchmark,
    Check,
    Observed,
    balanced,
    check_options,
    check_positive,
    check_share,
    find_place,
    read_toml,
)
from seasoned.lab.benchmarks.worker import AT_ONCE, Episode, Workers, engine_workers
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
"""Parts of folder names whose games ALFWorld itself leaves out."""


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load ALFWorld; see `load_benchmark`."""
    settings = _settings(options)
    engine = workers(settings["python"], settings["timeout"])
    root = find_root(settings["data"])
    tasks, source = _tasks(root, (settings["train_split"], settings["test_split"]))
    pools = _pools(tasks, settings, seed)

    def make_env(reveal: bool) -> Environment:
        del reveal
        return AlfworldEnvironment(Episode(engine), settings["max_steps"], settings["notebook"], settings["focus"])

    return act_benchmark(
        "alfworld",
        read_words(settings["notebook"], settings["focus"]),
        pools=pools,
        max_turns=settings["max_steps"],
        make_env=make_env,
        goal=goal_of,
        source=source,
        calls=CALLS,
        observed=Observed(sightings, where_next, SEEN),
    )


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    settings = check_options("alfworld", options, OPTIONS)
    check_positive(settings, "max_steps", "timeout")
    if settings["focus"] and not settings["notebook"]:
        raise ConfigError("benchmark.focus needs the notebook: also set benchmark.notebook = true")
    return settings


def stand_in(options: Mapping[str, Any], count: int) -> Benchmark:
    """The benchmark without games and engine, with `count` tasks in each pool, to estimate the cost of a run."""
    settings = _settings(options)
    room = f"{ROOM}nothing.\nYour task is to: "

    def tasks(pool: str) -> tuple[Task, ...]:
        kinds = zip(range(count), cycle(CATEGORIES), strict=False)
        return tuple(Task(id=f"{pool}-{n}", text=f"{room}{pool} {n}.", category=kind) for n, kind in kinds)

    def make_env(reveal: bool) -> Environment:
        raise DataError("a stand-in for ALFWorld has no games to play")

    words = read_words(settings["notebook"], settings["focus"])
    limits = {"max_turns": settings["max_steps"], "make_env": make_env, "goal": goal_of}
    return act_benchmark("alfworld", words, pools=(tasks("train"), tasks("test")), source="not there", **limits)


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Play the walkthrough of every game through the environment, for any seed."""
    del seed
    settings = check_options("alfworld", options, OPTIONS)
    with closing(workers(settings["python"], settings["timeout"])) as engine:
        root = find_root(settings["data"])
        files = [path for path in game_files(root) if not _left_out(path, root)]
        problems = tuple(problem for problem in run_jobs(partial(_problem, engine), files, AT_ONCE) if problem)
    return Check(len(files) - len(problems), len(files), problems, source=str(root))


def _problem(engine: Workers, path: Path) -> str:
    """Why a game's walkthrough does not win, or ""."""
    try:
        game = read_game(path)
        if not game.solvable or not game.walkthrough:
            return f"{path} {'has no walkthrough' if game.solvable else 'says that it cannot be solved'}"
        env = AlfworldEnvironment(Episode(engine), len(game.walkthrough))
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
    """The engine's worker processes; none is started yet."""
    # On import, the package creates the folder in this variable, by default in the user's home.
    environ = {OWN_VARIABLE: str(ENGINE.parent)}
    return engine_workers("alfworld", python, ENGINE, name="ALFWorld's engine", timeout=timeout, environ=environ)


def find_root(given: str) -> Path:
    """The folder of the games: `given`, else $SEASONED_DATA/alfworld, else $ALFWORLD_DATA; else a DataError."""
    if root := find_place("alfworld", given):
        return root
    if own := os.environ.get(OWN_VARIABLE):
        return Path(own).expanduser()
    raise DataError(
        f"ALFWorld needs games: name the folder of its data (json_2.1.1) with benchmark.data, {OWN_VARIABLE} or "
        f"{DATA_VARIABLE}/alfworld, or make some with `seasoned bench generate alfworld --games 60 --out DIR`"
    )


def game_files(root: Path) -> list[Path]:
    """The game files below a folder, in a fixed order; DataError if there are none."""
    files = sorted(root.rglob(FILE))
    if not files:
        raise DataError(f"{root} should be a folder with files called {FILE} somewhere below it, but has none")
    return files


def _tasks(root: Path, groups: Sequence[str]) -> tuple[list[Task], str]:
    """The tasks of a folder, and their source: the folder, and how many games were left out for which reason."""
    tasks: dict[str, Task] = {}
    left_out, broken = 0, []
    for path in game_files(root):
        try:
            game = None if _left_out(path, root) else read_game(path)
        except DataError as error:
            broken.append(str(error))
            continue
        if game is None or not game.solvable:
            left_out += 1
            continue
        group = next((part for part in path.relative_to(root).parts if part in groups), "")
        data = {"game": str(path.resolve()), "goal": game.goal, "group": group}
        task_id = f"alfworld-{game.category}-{game.digest[:10]}"
        tasks.setdefault(game.digest, Task(id=task_id, text=game.text, category=game.category, data=data))
    if broken and not tasks:
        raise DataError(f"none of the {len(broken)} games can be read; the first: {broken[0]}")
    notes = [f"{left_out} games left out, which ALFWorld does not use"] if left_out else []
    if broken:
        notes.append(f"{len(broken)} left out, which cannot be read; the first: {broken[0]}")
    note = f" ({'; '.join(notes)})" if notes else ""
    return [tasks[digest] for digest in sorted(tasks)], f"{root}{note}"


def _pools(tasks: Sequence[Task], options: Mapping[str, Any], seed: int) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Training and test tasks, by the names of folders; without these folders, every category is split."""
    splits = (options["train_split"], options["test_split"])
    by_group = {group: [task for task in tasks if task.data["group"] == group] for group in splits}
    missing = [group for group, games in by_group.items() if not games]
    if len(missing) == 1 and len(by_group) == 2:
        (found,) = by_group.keys() - set(missing)
        raise ConfigError(f"there are games of {found}, but none of {missing[0]}: set the other split of the benchmark")
    if not any(by_group.values()) and splits != (OPTIONS["train_split"], OPTIONS["test_split"]):
        raise ConfigError(
            f"no folder is called {' or '.join(sorted(by_group))}: leave both out to split every category"
        )
    if len(by_group) == 2 and not missing:
        train, test = by_group.values()
    else:
        train, test = _halves(by_group[splits[0]] or tasks, options["train_share"], seed)
    test_texts = {task.text for task in test}
    train = [task for task in train if task.text not in test_texts]
    if not train or not test:
        raise DataError(f"ALFWorld needs at least 2 different games, but one pool got none of the {len(tasks)} games")
    name = f"alfworld-{seed}"
    return balanced(train, name, CATEGORIES), balanced(test, name, CATEGORIES)


def _halves(tasks: Sequence[Task], share: float, seed: int) -> tuple[list[Task], list[Task]]:
    """Two parts of every category; over all categories, the first is as close to `share` as possible."""
    check_share(share)
    train: list[Task] = []
    test: list[Task] = []
    order, due = balanced(tasks, f"alfworld-{seed}", CATEGORIES), 0.0
    for category in CATEGORIES:
        group = [task for task in order if task.category == category]
        due += len(group) * share
        middle = int(due + 1e-9)
        due -= middle
        train += group[:middle]
        test += group[middle:]
    return train, test


@cache
def read_words(notebook: bool, focus: bool = False) -> Words:
    """The words of the prompts; with `notebook`, the worked attempts show its lines."""
    words = recorded_words("alfworld")
    won = tuple(noted(one, focus) if notebook else one for one in words.trajectories)
    # The instruction is a list, so its line breaks stay.
    instruction = read_toml(PROMPTS / "alfworld.toml")["instruction"].strip()
    return words._replace(instruction=instruction, trajectories=won)

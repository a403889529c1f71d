"""The base of all benchmarks: their class, options, data files, the two pools, and the texts of the prompts.

Always holds: the training and the test pool have no text in common; the seed alone draws both; an unknown option is an
error that names the nearest known one.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import random
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.rows import is_dataset
from seasoned.protocols import LLM, Environment
from seasoned.sandbox import Library
from seasoned.types import Example, Step, Task, Trajectory

T = TypeVar("T")

PROMPTS = Path(__file__).parent / "prompts"
DATA = Path(__file__).parent / "data"
"""Files that come with Seasoned: the texts of the prompts, and our own small data sets."""

DATA_VARIABLE = "SEASONED_DATA"
MAX_TURNS = 10
"""The most turns of a case; without an answer by then, it counts as wrong (ExpNote, methods section 5)."""


@dataclass(frozen=True)
class Retrieval:
    """The retrieval of notes for a task: at most `k`, each with at least `share` of its key's words in the task.

    `on`: recall before the first turn ("question"), as in the paper, or after the first "thought".
    """

    k: int = 3
    share: float = 1.0
    on: Literal["question", "thought"] = "question"


class Observed(NamedTuple):
    """Rules for notes that are read off observations.

    `read` returns an attempt's notes as (key, text) pairs. `line` makes the line for a note ("" for none) from the
    task's text, the steps so far, the note's key and its counted values; `heading` is shown above the lines.
    """

    read: Callable[[Trajectory], Iterable[tuple[str, str]]]
    line: Callable[[str, Sequence[Step], str, Mapping[str, int]], str]
    heading: str


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Tasks, an environment, and the prompts and limits of the paper. It knows no agent and no method.

    `train` and `test` are complete, disjoint pools in a seeded order: a run takes the first tasks of each (`take`).
    `make_env(reveal)` makes a fresh environment; with `reveal`, for training, its feedback names the right answer.
    `source` names the origin of the tasks. `think_hint` and `note_hint` say in one sentence what to think of, and what
    to note under which key. `heuristic`, if any, is the lesson of the first worked case with a wrong answer, or of the
    first of `reflections`, as a trigger and an action that recur; every such action begins with `rule_begins`. `goal`
    returns the part of a task's text that states the goal, by which tasks are compared. `observed` reads notes off
    observations.

    `models` are the partners ("user", "judge"), and `judged` the ids of tasks whose success a judge decides.
    `with_models(reveal, models)` makes an environment with the models that a recipe names.

    `manner` is "act" if an agent acts in several steps. Then `trajectories` are worked attempts in our own words, by
    category; `reflections` are failed attempts with a good reflection on each, and `retried` is a success at the task
    of one of these; `about` describes the family of tasks in a few sentences, for transfer; and `max_turns` counts
    steps. With `programs`, tasks ask for a program, which uses `libraries`: one, or one for each of its versions.
    """

    name: str
    instruction: str
    train: tuple[Task, ...]
    test: tuple[Task, ...]
    examples: tuple[Example, ...] = ()
    retrieval: Retrieval = Retrieval()
    max_turns: int
    think_hint: str = ""
    note_hint: str = ""
    make_env: Callable[[bool], Environment]
    source: str
    manner: Literal["answer", "act"] = "answer"
    trajectories: tuple[Trajectory, ...] = ()
    reflections: tuple[tuple[Trajectory, str], ...] = ()
    about: str = ""
    heuristic: tuple[str, str] | None = None
    retried: Trajectory | None = None
    rule_begins: str = ""
    goal: Callable[[str], str] | None = None
    observed: Observed | None = None
    models: tuple[str, ...] = ()
    judged: frozenset[str] = frozenset()
    with_models: Callable[[bool, Mapping[str, LLM]], Environment] | None = None
    programs: bool = False
    libraries: tuple[Library, ...] = ()


@dataclass(frozen=True)
class Check:
    """The result of a benchmark's own check: `good` of `total` tasks were solved by their known solutions.

    `problems` has a sentence on each other task; `unwinnable` of these cannot be solved with the given options, as
    documented. `source` names the data, `facts` has other measurements.
    """

    good: int
    total: int
    problems: tuple[str, ...] = ()
    source: str = ""
    unwinnable: int = 0
    facts: tuple[str, ...] = ()


def take(tasks: Sequence[Task], n: int, what: str) -> tuple[Task, ...]:
    """The first `n` tasks of the pool that `what` names; DataError if it has fewer."""
    if n < 0:
        raise DataError(f"the number of {what} tasks cannot be negative, but is {n}")
    if n > len(tasks):
        raise DataError(f"{n} {what} tasks were asked for, but there are {len(tasks)}: ask for at most {len(tasks)}")
    return tuple(tasks[:n])


def check_options(benchmark: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a benchmark, with the defaults of `known` for missing ones and for None.

    ConfigError if one is unknown, or has not the type of its default (an int may stand for a float).
    """
    filled = dict(known)
    for name, value in options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it knows {', '.join(known)}"
            raise ConfigError(f"the benchmark {benchmark} has no option {name!r}; {hint}")
        if value is not None:
            filled[name] = _typed(f"benchmark.{name}", value, known[name])
    return filled


def _typed(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, str) and isinstance(value, Path):
        return str(value)
    if isinstance(default, tuple) and isinstance(value, (list, tuple)):
        return tuple(_typed(name, v, default[0]) for v in value)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        words = {str: "text", int: "a whole number", float: "a number", tuple: "a list", bool: "true or false"}
        raise ConfigError(f"{name} should be {words[type(default)]}, but is {value!r}")
    return value


def check_choice(settings: Mapping[str, Any], name: str, known: Sequence[Any]) -> None:
    """Raise ConfigError if the option `name` is none of the known values."""
    if settings[name] not in known:
        values = " or ".join(map(str, known)) if len(known) == 2 else f"one of {', '.join(map(str, known))}"
        raise ConfigError(f"benchmark.{name} should be {values}, but is {settings[name]!r}")


def check_range(settings: Mapping[str, Any], name: str, least: float, most: float) -> None:
    """Raise ConfigError if the option `name` is below `least` or above `most`."""
    if not least <= settings[name] <= most:
        raise ConfigError(f"benchmark.{name} should be from {least} to {most}, but is {settings[name]}")


def check_positive(settings: Mapping[str, Any], *names: str) -> None:
    """Raise ConfigError if one of the options is not above 0."""
    for name in names:
        if settings[name] <= 0:
            raise ConfigError(f"benchmark.{name} should be above 0, but is {settings[name]}")


def find_data(benchmark: str, given: str, suffixes: Sequence[str]) -> tuple[Path, ...]:
    """The data files of a benchmark at `find_place`; none if it is None.

    A folder stands for all its files with one of the suffixes, such as ".csv", and "hf:NAME:SPLIT" for a file of rows.
    DataError as in `find_place`; if a folder has no such file; or if a dataset is named, but the data has no rows.
    """
    if is_dataset(given):
        if not {".csv", ".jsonl"} & set(suffixes):
            raise DataError(f"the data of {benchmark} are no rows, so {given} cannot hold them: give a file or folder")
        return (Path(given),)
    place = find_place(benchmark, given)
    if place is None:
        return ()
    return _files_in(place, suffixes) if place.is_dir() else (place,)


def find_place(benchmark: str, given: str) -> Path | None:
    """The place of a benchmark's data: the option `data`, else $SEASONED_DATA/<benchmark> if it exists.

    DataError if `given` does not exist, or $SEASONED_DATA is not a folder.
    """
    if given:
        path = Path(given).expanduser()
        if not path.exists():
            raise DataError(f"benchmark.data names {path}, but there is no such file or folder")
        return path
    root = os.environ.get(DATA_VARIABLE, "")
    if not root:
        return None
    folder = Path(root).expanduser() / benchmark
    if not folder.parent.is_dir():
        raise DataError(f"{DATA_VARIABLE} names {root}, which is not a folder: correct it, or unset it")
    return folder if folder.is_dir() else None


def _files_in(folder: Path, suffixes: Sequence[str]) -> tuple[Path, ...]:
    entries = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    files = tuple(p for p in entries if p.suffix.lower() in suffixes)
    if files:
        return files
    names = ", ".join(p.name for p in entries[:5]) or "nothing"
    pickles = any(p.suffix.lower() in (".pickle", ".pkl") for p in entries)
    hint = " (a pickle is never read, as it could run any code)" if pickles else ""
    raise DataError(f"{folder} should hold a file that ends in {' or '.join(suffixes)}, but holds {names}{hint}")


def named(paths: Sequence[Path]) -> str:
    """The names of the files in one line."""
    return ", ".join(map(str, paths))


def fresh_id(benchmark: str, given: object, text: str) -> str:
    """A task's id: the row's id if it has one, else a hash of the text."""
    row_id = str(given).strip() if given is not None else ""
    return f"{benchmark}-{row_id or hashlib.sha256(text.encode('utf-8')).hexdigest()[:12]}"


def distinct(items: Iterable[T], text_of: Callable[[T], str]) -> list[T]:
    """The items without repeated texts; case and white space are ignored."""
    seen: dict[str, T] = {}
    for item in items:
        seen.setdefault(" ".join(text_of(item).split()).casefold(), item)
    return list(seen.values())


def split(
    tasks: Sequence[Task], *, name: str, seed: int, share: float = 0.5
) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Two disjoint pools, training and test, in an order drawn from the benchmark's name and the seed.

    Tasks with equal texts are one task; if two with other texts have one id, the second gets a new id.

    Raises:
        ConfigError: `share`, the share of tasks for training, is not at least 0 and below 1.
        DataError: There are fewer than two tasks.
    """
    check_share(share)
    by_id: dict[str, Task] = {}
    for task in distinct(tasks, lambda t: t.text):
        unique = task if task.id not in by_id else task.model_copy(update={"id": fresh_id(name, None, task.text)})
        by_id[unique.id] = unique
    pool = list(by_id.values())
    if len(pool) < 2:
        raise DataError(f"the benchmark {name} needs at least 2 different tasks, but has {len(pool)}")
    random.Random(f"{name}-{seed}").shuffle(pool)
    middle = middle_of(pool, share)
    return tuple(pool[:middle]), tuple(pool[middle:])


def check_share(share: float) -> None:
    """Raise ConfigError if the option `train_share` leaves no test tasks; with 0 there are no training tasks."""
    if not 0.0 <= share < 1.0:
        raise ConfigError(f"benchmark.train_share should be at least 0 and below 1, but is {share}")


def middle_of(items: Sequence[object], share: float) -> int:
    """The place to cut two or more items so that neither part is empty; 0 without training."""
    return 0 if share == 0 else min(max(round(len(items) * share), 1), len(items) - 1)


def in_turns(groups: Iterable[Iterable[T]]) -> Iterator[T]:
    """The first item of each group, then the second of each, and so on."""
    return (item for turn in zip_longest(*groups) for item in turn if item is not None)


def balanced(tasks: Iterable[Task], seed: str, categories: Iterable[str] = ()) -> tuple[Task, ...]:
    """A seeded order in which the categories take turns, in the order of `categories`, else of the tasks' ids."""
    groups: defaultdict[str, list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task.id):
        groups[task.category].append(task)
    rng = random.Random(seed)
    for group in groups.values():
        rng.shuffle(group)
    return tuple(in_turns(groups[category] for category in categories or tuple(groups)))


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file that comes with Seasoned."""
    return tomllib.loads(path.read_text(encoding="utf-8"))

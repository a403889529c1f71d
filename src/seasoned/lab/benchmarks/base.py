"""What a benchmark is, and what all of them share: options, where data lies, the two pools, the words of the prompts.

Always holds: the training and the test pool have no text in common, both are drawn by the seed alone, and a setting
nobody knows is refused with the nearest one that is known.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import random
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from seasoned.errors import ConfigError, DataError
from seasoned.protocols import Environment
from seasoned.types import Example, Task, Trajectory

T = TypeVar("T")

PROMPTS = Path(__file__).parent / "prompts"
DATA = Path(__file__).parent / "data"
"""What comes with Seasoned: the words of the prompts, and small data sets of our own."""

DATA_VARIABLE = "SEASONED_DATA"
MAX_TURNS = 10
"""Turns a case may take to its answer; one without an answer by then is wrong (ExpNote, methods section 5)."""


@dataclass(frozen=True)
class Retrieval:
    """How notes are found for a task: at most `k`; at least `share` of the words of a note's key occur in the task.

    `on` says when: for the question, before the first turn as in the paper, or once the agent has had a first thought.
    """

    k: int = 3
    share: float = 1.0
    on: Literal["question", "thought"] = "question"


@dataclass(frozen=True)
class Benchmark:
    """Tasks, an environment, and what the paper fixes. It knows no agent and no method.

    `train` and `test` are whole, disjoint pools in a seeded order: a run takes the first tasks of each (`take`).
    `make_env(reveal)` makes a fresh environment; with `reveal`, for training, its feedback names the right answer.
    `source` says where the tasks came from. `think_hint` and `note_hint` are one sentence each: what to think of, and
    what is worth noting under which key. `heuristic`, where there is one, is what the first worked case with a wrong
    answer teaches, or the first of `reflections`, as a trigger and an action: it shows what comes again in these tasks;
    `rule_begins`, what every such action begins with. `goal` gives of a task's text the part that says what is wanted,
    where most of it is something else: by that, tasks are compared.

    `manner` is "act" where an agent acts in several steps. Then `trajectories` are worked attempts in our own words, by
    category; `reflections` are failed attempts with what one should have made of them, and `retried` is a success at
    the task of one of these; `about` describes the family of tasks in a few sentences, for transfer; and `max_turns`
    counts steps.
    """

    name: str
    instruction: str
    train: tuple[Task, ...]
    test: tuple[Task, ...]
    examples: tuple[Example, ...]
    retrieval: Retrieval
    max_turns: int
    think_hint: str
    note_hint: str
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


@dataclass(frozen=True)
class Prompts:
    """The words of a benchmark's prompts, as its TOML file holds them."""

    instruction: str
    think_hint: str
    note_hint: str
    examples: tuple[Example, ...]
    heuristic: tuple[str, str] | None
    rule_begins: str


def take(tasks: Sequence[Task], n: int, what: str) -> tuple[Task, ...]:
    """The first `n` tasks of a pool.

    Raises:
        DataError: `n` is negative, or the pool has fewer tasks; the sentence has both counts. `what` names the pool.
    """
    if n < 0:
        raise DataError(f"the number of {what} tasks cannot be negative, but is {n}")
    if n > len(tasks):
        raise DataError(f"{n} {what} tasks were asked for, but there are {len(tasks)}: ask for at most {len(tasks)}")
    return tuple(tasks[:n])


def check_options(benchmark: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Fills a benchmark's options with their defaults and checks their names and types.

    Args:
        benchmark: The benchmark's name, for the error.
        options: What the user set; None stands for the default.
        known: Every option and its default, whose type is the type expected (an int will do for a float).

    Raises:
        ConfigError: An option is unknown (the nearest known one is named) or of the wrong type.
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


def find_data(benchmark: str, given: str, suffixes: Sequence[str]) -> tuple[Path, ...]:
    """The data files of a benchmark: those the user gives, else those under $SEASONED_DATA/<benchmark>, else none.

    Args:
        benchmark: The benchmark's name; also the name of its folder.
        given: The option `data`: a file, a folder whose files with these suffixes are all read, or "".
        suffixes: The suffixes a data file may have inside a folder, such as ".csv".

    Raises:
        DataError: The place named does not exist, or is a folder without a file that could be read.
    """
    if given:
        path = Path(given).expanduser()
        if not path.exists():
            raise DataError(f"benchmark.data names {path}, but there is no such file or folder")
        return _files_in(path, suffixes) if path.is_dir() else (path,)
    root = os.environ.get(DATA_VARIABLE, "")
    if not root:
        return ()
    if not Path(root).expanduser().is_dir():
        raise DataError(f"{DATA_VARIABLE} names {root}, which is not a folder: correct it, or unset it")
    folder = Path(root).expanduser() / benchmark
    return _files_in(folder, suffixes) if folder.is_dir() else ()


def _files_in(folder: Path, suffixes: Sequence[str]) -> tuple[Path, ...]:
    entries = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    files = tuple(p for p in entries if p.suffix.lower() in suffixes)
    if not files:
        there = ", ".join(p.name for p in entries[:5]) or "nothing"
        pickles = any(p.suffix.lower() in (".pickle", ".pkl") for p in entries)
        why = " (a pickle is never read, as it could run any code)" if pickles else ""
        raise DataError(f"{folder} should hold a file that ends in {' or '.join(suffixes)}, but holds {there}{why}")
    return files


def named(paths: Sequence[Path]) -> str:
    """The files as a person would name them in a report."""
    return ", ".join(str(p) for p in paths)


def fresh_id(benchmark: str, given: object, text: str) -> str:
    """A task's id: the row's own where it has one, else one made from the text."""
    own = str(given).strip() if given is not None else ""
    return f"{benchmark}-{own or hashlib.sha256(text.encode('utf-8')).hexdigest()[:12]}"


def distinct(items: Iterable[T], text_of: Callable[[T], str]) -> list[T]:
    """The items without those whose text came before; case and white space make no difference."""
    seen: dict[str, T] = {}
    for item in items:
        seen.setdefault(" ".join(text_of(item).split()).casefold(), item)
    return list(seen.values())


def split(
    tasks: Sequence[Task], *, name: str, seed: int, share: float = 0.5
) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Two disjoint pools, training and test, in an order drawn by the seed.

    Tasks of the same text are one task; of two tasks with the same id and different texts, the second gets a new id.

    Args:
        tasks: All there are, in a fixed order.
        name: The benchmark's name: with the seed, what the order is drawn from.
        seed: The seed.
        share: The part of the tasks that is for training, above 0 and below 1.

    Raises:
        ConfigError: `share` is not between 0 and 1.
        DataError: There are fewer than two tasks.
    """
    if not 0.0 < share < 1.0:
        raise ConfigError(f"benchmark.train_share should be above 0 and below 1, but is {share}")
    own = _own_ids(distinct(tasks, lambda t: t.text), name)
    if len(own) < 2:
        raise DataError(f"the benchmark {name} needs at least 2 different tasks, but has {len(own)}")
    random.Random(f"{name}-{seed}").shuffle(own)
    middle = min(max(round(len(own) * share), 1), len(own) - 1)
    return tuple(own[:middle]), tuple(own[middle:])


def _own_ids(tasks: Sequence[Task], name: str) -> list[Task]:
    taken: set[str] = set()
    own: list[Task] = []
    for task in tasks:
        kept = task if task.id not in taken else task.model_copy(update={"id": fresh_id(name, None, task.text)})
        taken.add(kept.id)
        own.append(kept)
    return own


@cache
def prompts(benchmark: str) -> Prompts:
    """The words of the prompts, from `prompts/<benchmark>.toml`."""
    raw = tomllib.loads((PROMPTS / f"{benchmark}.toml").read_text(encoding="utf-8"))
    examples = tuple(Example.model_validate(example) for example in raw["example"])
    instruction, think_hint, note_hint = (
        " ".join(raw[key].split()) for key in ("instruction", "think_hint", "note_hint")
    )
    trigger, action = raw.get("heuristic", ("", ""))
    heuristic = (trigger, action) if trigger else None
    return Prompts(instruction, think_hint, note_hint, examples, heuristic, raw.get("rule_begins", ""))

"""The plan of an experiment: which tasks are trained on and judged, for which seeds and folds, under which conditions.

Always holds: a plan is made from the recipe alone and runs nothing; training and test tasks of a block are disjoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.base import Benchmark, take
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.conditions import conditions, renamed
from seasoned.lab.run.folds import stratified_folds
from seasoned.lab.run.recipe import Recipe
from seasoned.types import Task

TRAINING = "training"


@dataclass(frozen=True)
class Block:
    """One seed and fold: the benchmark as the seed draws it, what is trained on and what is judged."""

    seed: int
    fold: int
    benchmark: Benchmark
    train: tuple[Task, ...]
    test: tuple[Task, ...]

    @property
    def name(self) -> str:
        """Such as `s0f1`."""
        return f"s{self.seed}f{self.fold}"


@dataclass(frozen=True)
class Plan:
    """What a recipe comes to: its conditions and blocks, and how many episodes and model calls that is."""

    recipe: Recipe
    conditions: tuple[Condition, ...]
    blocks: tuple[Block, ...]

    @property
    def baseline(self) -> str:
        """The name of the condition that the others are compared with."""
        return conditions([self.recipe.baseline])[0].name

    @property
    def acts(self) -> bool:
        """Whether an agent acts in several steps, and may try a task again."""
        return self.blocks[0].benchmark.manner == "act"

    @property
    def workers(self) -> int:
        """How many episodes are made at once."""
        return self.recipe.at_once

    @property
    def trains(self) -> bool:
        """Whether any condition learns."""
        return any(condition.learns for condition in self.conditions)

    def points(self, condition: Condition, block: Block) -> list[int]:
        """After how many training cases the condition is evaluated: the full count, last.

        The first condition that learns is evaluated at the recipe's `curve` as well.
        """
        if not condition.learns:
            return [0]
        earlier = [n for n in self.recipe.curve if 0 < n < len(block.train)] if condition is self._curved else []
        return [*sorted(set(earlier)), len(block.train)]

    @property
    def source(self) -> str:
        """Where the tasks come from."""
        return self.blocks[0].benchmark.source

    @property
    def tasks(self) -> Iterator[str]:
        """Every task with its block and its right answer, in order: what a run's manifest has the hash of."""
        return (
            " ".join((block.name, task.id, task.text, *([str(task.data["answer"])] if "answer" in task.data else [])))
            for block in self.blocks
            for task in (*block.train, *block.test)
        )

    @property
    def _curved(self) -> Condition | None:
        """The condition that is evaluated at the recipe's `curve`."""
        return next((c for c in self.conditions if c.learns and c.own_pool), None)

    @property
    def idle(self) -> list[str]:
        """What of the recipe does nothing here, or is written otherwise now, in sentences."""
        recipe, most = self.recipe, max(len(block.train) for block in self.blocks)
        older = renamed([*recipe.conditions, recipe.baseline])
        found = [older] if older else []
        outside = [n for n in recipe.curve if not 0 < n <= most]
        if recipe.curve and self._curved is None:
            found.append("curve does nothing: none of the conditions learns lessons of its own from training cases")
        elif outside:
            named = ", ".join(map(str, outside))
            found.append(f"curve leaves out {named}: there are {most} training cases to stop at")
        if recipe.folds == 1:
            found.append("folds=1 is the same as none: 2 or more cut the cases into parts")
        return found

    def label(self, condition: Condition, block: Block, trained_on: int) -> str:
        """The name of a condition at a point of its curve: `expnote`, or `expnote@20` before the end."""
        return condition.name if trained_on in (0, len(block.train)) else f"{condition.name}@{trained_on}"

    def repeats(self, block: Block, trained_on: int) -> int:
        """How often each test task is run: earlier points of a curve once."""
        return self.recipe.repeats if trained_on in (0, len(block.train)) else 1

    def _test_runs(self, block: Block) -> Iterator[Condition]:
        """A condition once for each of its runs over the test tasks of a block."""
        for condition in self.conditions:
            for trained_on in self.points(condition, block):
                yield from repeat(condition, self.repeats(block, trained_on))

    def pool(self, condition: Condition, block: Block, trained_on: int) -> str:
        """Where a condition's lessons lie within the run; conditions that name the same pool share it."""
        label = self.label(condition, block, trained_on)
        return f"{block.name}/{label.replace(condition.name, condition.pool or condition.name, 1)}"

    @property
    def episodes(self) -> int:
        """Training and test episodes of all blocks; attempts after a failure are not in it."""
        tests = sum(len(b.test) for b in self.blocks for _ in self._test_runs(b))
        return tests + (sum(len(b.train) for b in self.blocks) if self.trains else 0)

    @property
    def calls(self) -> int:
        """Model calls of the attempts at most, with no task tried again: a call a step, or three an answer.

        What conditions ask with the same words is asked once: then there are fewer. Learning and ranking come on top.
        """
        return self.episodes * (self.blocks[0].benchmark.max_turns if self.acts else 3)


def make_plan(recipe: Recipe) -> Plan:
    """Load the data and draw the blocks; nothing is run.

    Args:
        recipe: the experiment.

    Raises:
        ConfigError, DataError: if a condition, option, file or number is wrong.
    """
    limit = recipe.limit
    conditions([recipe.baseline])
    if len(set(recipe.seeds)) < len(recipe.seeds):
        raise ConfigError(f"expected every seed once, but got {', '.join(map(str, recipe.seeds))}")
    if recipe.repeats > 1 and recipe.llm.temperature == 0:
        raise ConfigError(
            "repeats above 1 need a temperature above 0, because at 0 every run of a task is the same: "
            "set llm.temperature (ERL's figures are for 0.7) or leave repeats at 1"
        )
    blocks: list[Block] = []
    for seed in recipe.seeds:
        benchmark = load_benchmark(recipe.benchmark.name, recipe.benchmark.options, seed=seed)
        train = _first(benchmark.train, recipe.train, limit, "training")
        test = _first(benchmark.test, recipe.test, limit, "test")
        if recipe.folds >= 2:
            parts = stratified_folds([*train, *test], recipe.folds, seed)
            for number, part in enumerate(parts):
                rest = [task for other in parts if other is not part for task in other]
                blocks.append(Block(seed, number, benchmark, tuple(rest)[:limit], tuple(part)[:limit]))
        else:
            blocks.append(Block(seed, 0, benchmark, train[:limit], test[:limit]))
    for task in (task for block in blocks for task in (*block.train, *block.test)):
        if re.search(r"#\d+$", task.id):
            raise DataError(
                f"the task id {task.id!r} ends in # and a number, as the record of a further attempt at a task does: "
                "rename it in the data"
            )
    chosen = conditions(recipe.conditions, blocks[0].benchmark.manner)
    return Plan(recipe, tuple(chosen), tuple(blocks))


def _first(tasks: Sequence[Task], n: int, limit: int | None, what: str) -> tuple[Task, ...]:
    """The first n; under a limit, which asks for a part anyway, a pool may have fewer than the recipe names."""
    return take(tasks, n if limit is None else min(n, len(tasks)), what)

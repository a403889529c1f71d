"""The plan of an experiment: which tasks are trained on and judged, for which seeds and folds, under which conditions.

Always holds: a plan is made from the recipe alone and runs nothing; training and test tasks of a block are disjoint.
"""

from __future__ import annotations

from dataclasses import dataclass

from seasoned.benchmarks import load_benchmark
from seasoned.benchmarks.base import Benchmark, take
from seasoned.runner.conditions import Condition, conditions
from seasoned.runner.folds import stratified_folds
from seasoned.runner.recipe import Recipe
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
    def trains(self) -> bool:
        """Whether any condition learns."""
        return any(condition.learns for condition in self.conditions)

    def points(self, condition: Condition, block: Block) -> list[int]:
        """After how many training cases the condition is evaluated: the curve's points, the full count last."""
        if not condition.learns:
            return [0]
        earlier = [n for n in self.recipe.curve if 0 < n < len(block.train)] if condition.own_pool else []
        return [*sorted(set(earlier)), len(block.train)]

    @property
    def episodes(self) -> int:
        """Training and test episodes of all blocks."""
        tests = sum(len(self.points(c, b)) * len(b.test) for c in self.conditions for b in self.blocks)
        return tests + (sum(len(b.train) for b in self.blocks) if self.trains else 0)

    @property
    def calls(self) -> int:
        """Model calls if nothing goes wrong: three for a training case (THINK, ANSWER, NOTE)."""
        tests = sum(c.calls * len(self.points(c, b)) * len(b.test) for c in self.conditions for b in self.blocks)
        return tests + (sum(3 * len(b.train) for b in self.blocks) if self.trains else 0)


def make_plan(recipe: Recipe, limit: int | None = None) -> Plan:
    """Load the data and draw the blocks; nothing is run.

    Args:
        recipe: the experiment.
        limit: at most this many training and test cases a block.

    Raises:
        ConfigError, DataError: if a condition, option, file or number is wrong.
    """
    chosen = conditions(recipe.conditions)
    blocks: list[Block] = []
    for seed in recipe.seeds:
        benchmark = load_benchmark(recipe.benchmark.name, recipe.benchmark.options, seed=seed)
        train = take(benchmark.train, recipe.train, "training")
        test = take(benchmark.test, recipe.test, "test")
        if recipe.folds >= 2:
            parts = stratified_folds([*train, *test], recipe.folds, seed)
            for number, part in enumerate(parts):
                rest = [task for other in parts if other is not part for task in other]
                blocks.append(Block(seed, number, benchmark, tuple(rest)[:limit], tuple(part)[:limit]))
        else:
            blocks.append(Block(seed, 0, benchmark, train[:limit], test[:limit]))
    return Plan(recipe, tuple(chosen), tuple(blocks))

"""The plan of an experiment: its conditions, and for each seed and fold the training and test tasks.

Always holds: a plan is made from the recipe alone and runs nothing; training and test tasks of a block are disjoint.
Every task is in exactly one fold; the seed alone draws the folds, over which each category is spread as equally as
possible.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle
from pathlib import Path

from seasoned.errors import ConfigError, DataError, LeakError
from seasoned.lab.benchmarks import load_benchmark, stand_in
from seasoned.lab.benchmarks.base import Benchmark, take
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.conditions import conditions, renamed
from seasoned.lab.run.keys import label
from seasoned.lab.run.partners import for_recipe
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.rundir import read_rows
from seasoned.llm.scripted import ScriptedModel
from seasoned.proof.gate import check_gate
from seasoned.types import TEXT_REPEATS, Task


@dataclass(frozen=True)
class Block:
    """One seed and fold: the benchmark as the seed draws it, and its tasks for training, test, gates and probes."""

    seed: int
    fold: int
    benchmark: Benchmark
    train: tuple[Task, ...]
    test: tuple[Task, ...]
    gate: tuple[Task, ...] = ()
    probe: tuple[Task, ...] = ()

    @property
    def name(self) -> str:
        """The block's name, such as `s0f1`."""
        return f"s{self.seed}f{self.fold}"

    @cached_property
    def test_ids(self) -> frozenset[str]:
        """The ids of the test tasks."""
        return frozenset(task.id for task in self.test)


@dataclass(frozen=True)
class Plan:
    """A recipe's conditions and blocks, with the number of episodes and model calls they take."""

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
    def retries(self) -> int:
        """The most attempts at a training task after the first."""
        return self.recipe.gather.retries if self.acts or self.recipe.gather.answers else 0

    @property
    def trains(self) -> bool:
        """Whether any condition learns."""
        return any(condition.learns for condition in self.conditions)

    def points(self, condition: Condition, block: Block) -> list[int]:
        """The numbers of training cases after which the condition is evaluated, the full number last.

        Only the first condition that learns is also evaluated at the recipe's `curve`.
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
        """Every task with its block and right answer, in order; a run's manifest has the hash of them."""
        return (
            " ".join((block.name, task.id, task.text, *([str(task.data["answer"])] if "answer" in task.data else [])))
            for block in self.blocks
            for task in (*block.train, *(() if self.recipe.gate.crossfit else block.gate), *block.probe, *block.test)
        )

    @property
    def _curved(self) -> Condition | None:
        """The condition that is evaluated at the recipe's `curve`."""
        return next((c for c in self.conditions if c.learns and c.own_pool and not c.of), None)

    @property
    def gated(self) -> list[Condition]:
        """The conditions that a gate decides on, which are the candidates of the run."""
        return [condition for condition in self.conditions if condition.gated]

    @property
    def probed(self) -> list[Condition]:
        """The conditions whose lessons are probed, each set of lessons once."""
        return list({condition.probed_as: condition for condition in self.conditions if condition.probed}.values())

    @property
    def idle(self) -> list[str]:
        """Sentences about settings that have no effect here, and about older names of conditions."""
        recipe, most = self.recipe, max(len(block.train) for block in self.blocks)
        renames = renamed([*recipe.conditions, recipe.baseline])
        sentences = [renames] if renames else []
        outside = [n for n in recipe.curve if not 0 < n <= most]
        if recipe.curve and self._curved is None:
            sentences.append("curve does nothing: none of the conditions learns lessons of its own from training cases")
        elif outside:
            numbers = ", ".join(map(str, outside))
            sentences.append(f"curve leaves out {numbers}: there are {most} training cases to stop at")
        if recipe.folds == 1:
            sentences.append("folds=1 is the same as none: 2 or more cut the cases into parts")
        return sentences

    def label(self, condition: Condition, block: Block, trained_on: int) -> str:
        """The name of a condition at a point of its curve: `expnote`, or `expnote@20` before the end."""
        return label(condition.name, self.earlier(block, trained_on))

    def earlier(self, block: Block, trained_on: int) -> int:
        """The number of training cases at an earlier point of a learning curve; 0 at the last point."""
        return trained_on if trained_on != len(block.train) else 0

    def repeats(self, block: Block, trained_on: int) -> int:
        """How often each test task is run; at earlier points of a curve, once."""
        return 1 if self.earlier(block, trained_on) else self.recipe.repeats

    def pool(self, condition: Condition, block: Block, trained_on: int) -> str:
        """The name of a condition's pool within the run; conditions that name the same pool share it."""
        return f"{block.name}/{label(condition.pool or condition.name, self.earlier(block, trained_on))}"

    @property
    def episodes(self) -> int:
        """The number of training, gate, probe and test episodes of all blocks, without attempts after a failure."""
        training = sum(len(block.train) for block in self.blocks) if self.trains else 0
        gates = sum(2 * len(block.gate) * len(self.gated) for block in self.blocks) * self.recipe.repeats
        probes = sum(2 * len(block.probe) * len(self.probed) for block in self.blocks)
        tests = sum(
            len(block.test) * self.repeats(block, trained_on)
            for block in self.blocks
            for condition in self.conditions
            for trained_on in self.points(condition, block)
        )
        return training + gates + probes + tests

    @property
    def most_calls(self) -> int:
        """The most model calls, not counting calls that repeat an unusable reply.

        The count assumes that every attempt takes all its turns, and every task all its attempts. A method with a model
        writes a lesson from each training attempt and, for each test task, asks about each lesson or at each turn.
        """
        return sum(self._most_calls(block) for block in self.blocks)

    def _most_calls(self, block: Block) -> int:
        recipe, benchmark, pools = self.recipe, block.benchmark, dict[str, int]()
        guided = not self.acts and recipe.agent.style == "guided"
        turns = 3 if guided else benchmark.max_turns + 1  # THINK, ANSWER, NOTE; or with a reflection on the failure
        tries = 1 + self.retries
        attempts = len(block.train) * tries if self.trains else 0
        rankings = sum(range(len(block.train))) if self.trains and recipe.gather.iterate else 0
        calls = attempts * turns + rankings
        calls += 2 * len(block.probe) * len(self.probed) * turns
        for condition in self.conditions:
            calls += 2 * len(block.gate) * recipe.repeats * turns if condition.gated else 0
            method = condition.method and condition.method(recipe, benchmark, ScriptedModel([]))
            for trained_on in self.points(condition, block):
                tests = len(block.test) * self.repeats(block, trained_on)
                calls += tests * turns * (1 + (recipe.method.trials if condition.retries else 0))
                if hasattr(method, "llm") and condition.own_pool:
                    seen = len(benchmark.trajectories) if condition.worked else trained_on * tries
                    pools[self.pool(condition, block, trained_on)] = seen
                    calls += tests * max(seen, turns)
        return calls + sum(pools.values())


def make_plan(recipe: Recipe, *, dry: bool = False) -> Plan:
    """Load the data and draw the blocks; nothing is run. If it is `dry` and the data is missing, a stand-in is counted.

    Raises:
        ConfigError, DataError: a condition, option, file or number is wrong.
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
    held, probed = _held_back(recipe)
    ended = outcomes_of(recipe.fold_outcomes) if recipe.fold_outcomes else {}
    blocks: list[Block] = []
    for seed in recipe.seeds:
        benchmark = for_recipe(_loaded(recipe, seed, dry), recipe)
        train = _first(benchmark.train, recipe.train, limit, "training")
        test = _first(benchmark.test, recipe.test, limit, "test")
        if recipe.folds >= 2:
            parts = stratified_folds([*train, *test], recipe.folds, seed, ended)
            for number, part in enumerate(parts):
                rest = [task for other in parts if other is not part for task in other]
                end = len(rest) - held - probed
                blocks.append(_block(recipe, seed, number, benchmark, rest[:end], part, rest[end:], held))
        else:
            after = benchmark.train[len(train) : len(train) + held + probed]
            blocks.append(_block(recipe, seed, 0, benchmark, train, test, after, held))
        _check_held_back(recipe, blocks[-1], held, probed)
    first = blocks[0].benchmark
    chosen = conditions(recipe.conditions, "code" if first.programs else first.manner)
    return Plan(recipe, tuple(chosen), tuple(blocks))


def _loaded(recipe: Recipe, seed: int, dry: bool) -> Benchmark:
    name, options = recipe.benchmark.name, recipe.benchmark.options
    try:
        return load_benchmark(name, options, seed=seed)
    except (ConfigError, DataError) as error:
        counted = stand_in(name, options, max(recipe.train, recipe.test, 1)) if dry else None
        if counted is None:
            raise
        return replace(counted, source=f"missing, so the recipe's own numbers are counted: {error}")


def _block(
    recipe: Recipe,
    seed: int,
    fold: int,
    benchmark: Benchmark,
    train: Sequence[Task],
    test: Sequence[Task],
    after: Sequence[Task],
    held: int,
) -> Block:
    """A block; of the tasks `after` the training tasks, the first `held` are for the gate, the others for the probe."""
    limit, gated = recipe.limit, any(condition.gated for condition in conditions(recipe.conditions))
    gate_tasks = (train if recipe.gate.crossfit else after[:held]) if gated else ()
    return Block(seed, fold, benchmark, *(tuple(tasks[:limit]) for tasks in (train, test, gate_tasks, after[held:])))


def _held_back(recipe: Recipe) -> tuple[int, int]:
    """The numbers of training tasks that are held back for a gate, which must be able to promote, and for a probe."""
    chosen, crossed = conditions(recipe.conditions), recipe.gate.crossfit
    candidates = sum(condition.gated for condition in chosen)
    if candidates and (crossed == 1 or crossed > recipe.train):
        raise ConfigError(
            f"gate.crossfit cuts the training tasks into parts, 2 or more and at most {recipe.train}; it was {crossed}"
        )
    if candidates:
        check_gate(recipe.train if crossed else recipe.gate.tasks, candidates)
    probed = any(condition.probed for condition in chosen)
    if probed and crossed:
        raise ConfigError("gate.crossfit learns anew for each part, which cannot be probed: set it to 0 beside +probed")
    return recipe.gate.tasks if candidates and not crossed else 0, recipe.probe.tasks if probed else 0


def _check_held_back(recipe: Recipe, block: Block, held: int, probed: int) -> None:
    """Raise ConfigError if the gate or the probe has too few tasks, LeakError if one of these is also a test task."""
    if held and len(block.gate) < min(held, recipe.limit or held):
        raise ConfigError(
            f"the gate needs {held} training tasks beside the {len(block.train)} that are learned from, and "
            f"{block.benchmark.name} has {len(block.gate)} more: lower train or gate.tasks, or set gate.crossfit=4"
        )
    if probed and len(block.probe) < min(probed, recipe.limit or probed):
        raise ConfigError(
            f"the probe needs {probed} training tasks beside the {len(block.train) + len(block.gate)} for learning and "
            f"the gate, and {block.benchmark.name} has {len(block.probe)} more: lower train, gate.tasks or probe.tasks"
        )
    judged = {task.id for task in block.test} | {task.text for task in block.test}
    for what, tasks in (("gate", block.gate), ("probe", block.probe)):
        for task in tasks:
            if task.id in judged or (task.text in judged and not task.data.get(TEXT_REPEATS)):
                where = f"(seed {block.seed}, fold {block.fold})"
                raise LeakError(f"the {what} task {task.id} is a test task as well {where}")


def _first(tasks: Sequence[Task], n: int, limit: int | None, what: str) -> tuple[Task, ...]:
    """The first n tasks; under a limit, a pool may have fewer tasks than the recipe asks for."""
    return take(tasks, n if limit is None else min(n, len(tasks)), what)


def stratified_folds(
    tasks: Sequence[Task], folds: int, seed: int, ended: Mapping[str, str] | None = None
) -> list[list[Task]]:
    """Deal tasks with distinct ids into folds, category by category, in an order drawn by the seed.

    `ended` says how gathering ended, by task id (see `outcomes_of`); folds are then balanced by category and outcome.

    Raises:
        ConfigError: there are fewer than 2 folds or more folds than tasks, or a task has no outcome in `ended`.
    """
    if not 2 <= folds <= len(tasks):
        raise ConfigError(f"expected between 2 and {len(tasks)} folds, as many as there are tasks, but got {folds}")
    if ended and (unknown := [task.id for task in tasks if task.id not in ended]):
        raise ConfigError(
            f"fold_outcomes: that run gathered nothing at {len(unknown)} of the {len(tasks)} tasks, such as "
            f"{unknown[0]}: gather all of them with the same benchmark, seeds and folds first"
        )
    by_category: dict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task.id):
        by_category[task.category, (ended or {}).get(task.id, "")].append(task)
    rng = random.Random(f"folds-{seed}")
    dealt: list[list[Task]] = [[] for _ in range(folds)]
    turns = cycle(dealt)
    for _, group in sorted(by_category.items()):
        rng.shuffle(group)
        for task in group:
            next(turns).append(task)
    for fold in dealt:
        # The first cases of a fold would otherwise all be of one category.
        rng.shuffle(fold)
    return dealt


def outcomes_of(run: str) -> dict[str, str]:
    """How gathering ended at each task of a complete run, given its folder: solved, solved after failing, or never.

    ExpeL's code folds by these outcomes. They tell which tasks are easy before the folds are drawn, so each fold gets
    equally many of them. No lesson crosses folds, but the folds are more alike than random ones, and the error over
    folds is too small. Only attempts without lessons may give the outcomes.

    Raises:
        ConfigError: there are no such results, or folding by them would leak, as they come from attempts with lessons
            or only from test attempts.
    """
    if not (Path(run) / "results.jsonl").is_file():
        raise ConfigError(f"fold_outcomes names {run}, which has no results.jsonl: name the folder of a complete run")
    training = [row for row in read_rows(Path(run)) if row.split == "train"]
    if not training:
        raise ConfigError(
            f"folding by the outcomes of {run} would leak: it has test attempts alone, and how a condition ended at "
            "a test task may not decide which tasks it learns from; name a run that gathered attempts at all tasks"
        )
    guided = sum(bool(row.lesson_ids) for row in training if not row.trial)
    if guided:
        raise ConfigError(
            f"folding by the outcomes of {run} would leak: lessons guided {guided} of its first training attempts, "
            "so what was learned at some tasks decides the folds of others; gather without gather.iterate first"
        )
    solved = {row.task_id: row.trial for row in training if row.success}
    names = {row.task_id: "never" for row in training}
    return names | {task: "solved after failing" if trial else "solved" for task, trial in solved.items()}

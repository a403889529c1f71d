"""What a condition is: which agent, which method, whether it learns, and whether it may try again.

Always holds: a condition is a value; nothing is opened or read when one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.recipe import Recipe
from seasoned.methods.expel.extraction import plan_calls
from seasoned.methods.reflexion import Strategy
from seasoned.protocols import LLM, Agent, Method
from seasoned.types import Task, Trajectory

MakeAgent = Callable[[Recipe, Benchmark, LLM, Sequence[Task]], Agent]
MakeMethod = Callable[[Recipe, Benchmark, LLM], Method]
CountCalls = Callable[[Recipe, int], int]
CountRecalls = Callable[[Recipe, Benchmark, int], Mapping[str, int]]


def no_calls(recipe: Recipe, attempts: int) -> int:
    """Learning that calls no model, as long as nothing goes wrong."""
    del recipe, attempts
    return 0


def no_recalls(recipe: Recipe, benchmark: Benchmark, lessons: int) -> Mapping[str, int]:
    """Recall that calls no model."""
    del recipe, benchmark, lessons
    return {}


@dataclass(frozen=True)
class Condition:
    """One column of a comparison.

    `calls` are the model calls of a test episode where nothing goes wrong; without `own_pool` it recalls from the pool
    of the training attempts themselves; conditions that name the same `pool` share what they learned. `acts` says that
    it is for benchmarks whose agent acts in several steps (None: for all). With `retries`, a test task that was failed
    is tried again, with what that strategy of Reflexion says. With `worked` it learns from the benchmark's worked
    attempts, and `learns` from none of its own. `learning` counts the model calls of learning from so many attempts, if
    each of them solved its task, and `comparing` those of comparing so many failures with a success; `recalling` those
    of recalling from so many lessons for one test task in all its repeats, by what is asked: conditions of one pool
    that ask the same share them.
    """

    name: str
    says: str
    agent: MakeAgent
    method: MakeMethod | None = None
    _: KW_ONLY
    learns: bool = False
    calls: int = 1
    own_pool: bool = True
    pool: str = ""
    acts: bool | None = False
    retries: Strategy | Literal[""] = ""
    worked: bool = False
    learning: CountCalls = no_calls
    comparing: CountCalls | None = None
    recalling: CountRecalls = no_recalls

    def calls_of(self, recipe: Recipe, attempts: Sequence[Trajectory]) -> int:
        """The model calls of learning from these attempts, as long as nothing goes wrong."""
        if self.comparing is None:
            return self.learning(recipe, len(attempts))
        solved = {attempt.task_id for attempt in attempts if attempt.outcome.success}
        pairs = plan_calls(attempts, chunk=1, seed=0, successes=False)
        return self.learning(recipe, len(solved)) + self.comparing(recipe, len(pairs))

    @property
    def writes(self) -> bool:
        """Whether it writes lessons, into a pool of its own."""
        return self.own_pool and (self.learns or self.worked)

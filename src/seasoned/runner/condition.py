"""What a condition is: which agent, which method, whether it learns, and whether it may try again.

Always holds: a condition is a value; nothing is opened or read when one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from seasoned.benchmarks.base import Benchmark
from seasoned.protocols import LLM, Agent, Method
from seasoned.runner.recipe import Recipe
from seasoned.types import Task

MakeAgent = Callable[[Recipe, Benchmark, LLM, Sequence[Task]], Agent]
MakeMethod = Callable[[Recipe, Benchmark, LLM], Method]


@dataclass(frozen=True)
class Condition:
    """One column of a comparison.

    `calls` are the model calls of a test episode where nothing goes wrong; without `own_pool` it recalls from the pool
    of the training attempts themselves; conditions that name the same `pool` share what they learned. `acts` says that
    it is for benchmarks whose agent acts in several steps (None: for all). With `retries`, a test task that was failed
    is tried again, with what that strategy of Reflexion says.
    """

    name: str
    says: str
    agent: MakeAgent
    method: MakeMethod | None = None
    learns: bool = False
    calls: int = 1
    own_pool: bool = True
    pool: str = ""
    acts: bool | None = False
    retries: Literal["", "none", "last", "reflexion", "last+reflexion"] = ""

"""A condition: its agent, its method, whether it learns, and whether it may retry a test task.

Always holds: a condition is a value; making one opens and reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.altered import Alteration
from seasoned.lab.run.recipe import PROFILES, Profile, Recipe
from seasoned.methods.reflexion import Strategy
from seasoned.protocols import LLM, Agent, Method
from seasoned.types import Task

MakeAgent = Callable[[Recipe, Benchmark, LLM, Sequence[Task]], Agent]
MakeMethod = Callable[[Recipe, Benchmark, LLM], Method]


@dataclass(frozen=True)
class Condition:
    """One column of a comparison.

    `agent` and `method` are called for each episode, each recall and each learning, with the model that is journalled
    and counted there. Without `own_pool`, the condition recalls from the pool of the training attempts; conditions that
    name the same `pool` share their lessons. `acts`: for benchmarks whose agent acts in several steps (None: for all).
    `codes`: also for benchmarks whose tasks ask for programs. `retries`: a failed test task is tried again with this
    strategy of Reflexion. `worked`: learns from the benchmark's worked attempts instead of training attempts. `knows`:
    its guidance is not learned, but looked up in a knowledge base. `parameters` come from its text in a recipe:
    {"k": 10} of `erl(k=10)`. `of` names the condition whose lessons it has: only if a gate promotes them (`gated`),
    only those that a probe found helpful (`probed`), or with other texts (`altered`). `ranks`: its recall calls the
    recipe's `ranker`. `profiles` are the profiles that it knows.
    """

    name: str
    says: str
    agent: MakeAgent
    method: MakeMethod | None = None
    _: KW_ONLY
    learns: bool = False
    knows: bool = False
    codes: bool = False
    own_pool: bool = True
    pool: str = ""
    acts: bool | None = False
    retries: Strategy | Literal[""] = ""
    worked: bool = False
    parameters: Mapping[str, object] = field(default_factory=dict, hash=False)
    of: str = ""
    gated: bool = False
    probed: bool = False
    altered: Alteration | Literal[""] = ""
    ranks: bool = False
    profiles: tuple[Profile, ...] = PROFILES

    @property
    def probed_as(self) -> str:
        """The name of the condition whose probe chose the lessons: `of` for a gated condition, else its own."""
        return self.of if self.gated else self.name

    @property
    def writes(self) -> bool:
        """Whether it writes lessons, into its own pool."""
        return self.own_pool and (self.learns or self.worked)

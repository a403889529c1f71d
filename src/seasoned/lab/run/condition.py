"""What a condition is: which agent, which method, whether it learns, and whether it may try again.

Always holds: a condition is a value; nothing is opened or read when one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.altered import Alteration
from seasoned.lab.run.profiles import PROFILES, Profile
from seasoned.lab.run.recipe import Recipe
from seasoned.methods.reflexion import Strategy
from seasoned.protocols import LLM, Agent, Method
from seasoned.types import Task

MakeAgent = Callable[[Recipe, Benchmark, LLM, Sequence[Task]], Agent]
MakeMethod = Callable[[Recipe, Benchmark, LLM], Method]


@dataclass(frozen=True)
class Condition:
    """One column of a comparison.

    Without `own_pool` it recalls from the pool of the training attempts themselves; conditions that name the same
    `pool` share what they learned. `acts` says that it is for benchmarks whose agent acts in several steps (None: for
    all), and `codes` that it is for those whose tasks take a program, whatever that says. With `retries`, a test task
    that was failed is tried again, with what that strategy of Reflexion says. With `worked` it learns from the
    benchmark's worked attempts, and `learns` from none of its own. `parameters` are what its text in a recipe sets:
    {"k": 10} of `erl(k=10)`. `agent` and `method` are called for each episode, each recall and each learning, with the
    model that is journalled and counted there. `of` names the condition whose lessons it has: deployed only where a
    gate promotes them (`gated`), those that a probe found helpful (`probed`), or with other words (`altered`). `ranks`
    says that its recall asks the recipe's `ranker`; `profiles` are those that it knows. `knows` says that what it tells
    is not learned, but looked up in a knowledge base.
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
        """The name of the condition whose probe chose its lessons: its own, or what a gate then tries."""
        return self.of if self.gated else self.name

    @property
    def writes(self) -> bool:
        """Whether it writes lessons, into a pool of its own."""
        return self.own_pool and (self.learns or self.worked)

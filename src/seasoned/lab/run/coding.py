"""The agent of benchmarks whose tasks take a program, and the method that goes with it.

Always holds: every condition of such a benchmark has the same agent under the same limits, so that they differ in the
guidance alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seasoned.agents.coder import Coder
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.methods.both import Both
from seasoned.lab.run.condition import Condition, MakeMethod
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.settings import ROOMY
from seasoned.methods.facts import Facts
from seasoned.protocols import LLM, Method

FACTS = "facts"
"""The ending of a condition that has facts beside its own lessons."""

PROGRAM = 220
"""Tokens of a program, where a bundled model writes it."""


def coder(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Coder:
    """The agent that writes programs; it notes what is to be remembered where ExpNote is to learn from that."""
    return Coder(
        llm=llm,
        instruction=benchmark.instruction,
        examples=benchmark.trajectories,
        max_steps=benchmark.max_turns + bool(recipe.agent.tests),
        program_tokens=recipe.agent.action_tokens or (PROGRAM if recipe.llm.bundled else ROOMY.action),
        temperature=recipe.llm.temperature,
        shots=recipe.agent.examples,
        notes=any(name.startswith("expnote") for name in recipe.conditions),
        prompt_tokens=recipe.agent.prompt_tokens,
        tests=recipe.agent.tests,
        native=recipe.agent.policy == "tools",
        system=recipe.agent.guidance == "system",
    )


def with_facts(base: Condition) -> Condition:
    """A condition with facts beside what it recalls itself: `expel+facts`."""
    own, fresh = base.method, facts()

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        methods = [make(recipe, benchmark, llm) for make in (own, fresh) if make is not None]
        return Both(tuple(methods))

    return replace(
        base,
        name=f"{base.name}+{FACTS}",
        says=f"{base.says}, and facts",
        method=make,
        learns=True,
        own_pool=True,
        pool="",
        acts=True,
    )


def facts(**own: Any) -> MakeMethod:
    """Facts as the recipe has them, but for what a condition sets."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        return Facts(llm, library=benchmark.libraries, **{**recipe.facts.model_dump(), **own})

    return make

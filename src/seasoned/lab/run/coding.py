"""The agent of benchmarks whose tasks take a program.

Always holds: every condition of such a benchmark has the same agent under the same limits, so that they differ in the
guidance alone.
"""

from __future__ import annotations

from seasoned.agents.coder import Coder
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.settings import ROOMY
from seasoned.protocols import LLM

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

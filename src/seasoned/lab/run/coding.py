"""The agent of benchmarks whose tasks ask for a program.

Always holds: every condition of such a benchmark has the same agent with the same limits, so conditions differ only in
the guidance.
"""

from __future__ import annotations

from seasoned.agents.coder import Coder
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.settings import ROOMY
from seasoned.protocols import LLM

PROGRAM = 220
"""The tokens of a program that a bundled model writes."""


def coder(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Coder:
    """The agent that writes programs; if the recipe compares ExpNote, it also writes notes for ExpNote to learn."""
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

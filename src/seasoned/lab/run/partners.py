"""Other models that take part in an attempt, beside the agent's: a simulated user, and a judge of success.

Always holds: a recipe names those that its benchmark needs and no others; tasks that a judge decides are left out where
there is none; what such a model uses counts against the run's limits, is journalled with the agent's turns, and is no
part of an attempt's own usage.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.episode import Session
from seasoned.lab.run.recipe import Recipe
from seasoned.llm import opening
from seasoned.llm.budget import Metered
from seasoned.llm.opening import ModelSettings
from seasoned.protocols import LLM, Environment
from seasoned.types import Usage

META = "others"
"""Where a trajectory's meta has what the other models used, by their part."""
NAMED = 5
"""Tasks that are left out and named; all are counted."""


def partners_of(recipe: Recipe) -> dict[str, ModelSettings]:
    """The settings of the other models of a recipe, by their part."""
    named = {"user": recipe.user, "judge": recipe.judge}
    return {part: settings for part, settings in named.items() if settings is not None}


def for_recipe(benchmark: Benchmark, recipe: Recipe) -> Benchmark:
    """The benchmark with the tasks that can be judged, and no others.

    Raises:
        ConfigError: the recipe lacks a model that takes part, or names one that has no part.
    """
    named = partners_of(recipe)
    for part in benchmark.models:
        if part not in named:
            raise ConfigError(
                f"in {benchmark.name} a model plays the {part}: name it in a section {part} of the recipe, such as "
                f"-c {part}.model=gpt-4.1"
            )
    if "user" in named and "user" not in benchmark.models:
        raise ConfigError(f"the recipe names a user, and {benchmark.name} as it is set up has none: leave it out")
    if "judge" in named and not benchmark.judged:
        raise ConfigError(f"the recipe names a judge, and no task of {benchmark.name} needs one: leave it out")
    if not benchmark.judged or "judge" in named:
        return benchmark
    left = sorted(benchmark.judged)
    names = ", ".join(left[:NAMED]) + (", .." if len(left) > NAMED else "")
    note = f"{len(left)} tasks that need a judge are left out, as the recipe names none: {names}"
    train, test = (
        tuple(task for task in pool if task.id not in benchmark.judged) for pool in (benchmark.train, benchmark.test)
    )
    return replace(benchmark, train=train, test=test, source=f"{benchmark.source} ({note})")


def open_partners(recipe: Recipe, model: LLM, stack: ExitStack) -> dict[str, LLM]:
    """The other models, open until the stack is closed; one that is the agent's own is not opened twice."""
    own = ModelSettings(**recipe.llm.model_dump(exclude={"temperature"}))
    return {
        part: model if settings == own else stack.enter_context(opening.open_llm(settings))
        for part, settings in partners_of(recipe).items()
    }


def partners_in(session: Session, journal: str) -> dict[str, Metered]:
    """The other models for one attempt: journalled with its turns, and each counted on its own."""
    return {part: Metered(session.kept(llm, journal)) for part, llm in session.others.items()}


def environment(benchmark: Benchmark, training: bool, partners: Mapping[str, LLM]) -> Environment:
    """An environment in which they take part."""
    if benchmark.with_models is None:
        return benchmark.make_env(training)
    return benchmark.with_models(training, partners)


def used(partners: Mapping[str, Metered]) -> dict[str, dict[str, object]]:
    """What they used, as a trajectory's meta has it."""
    return {part: meter.usage.model_dump() for part, meter in partners.items() if meter.usage != Usage()}

"""The models of a run, and those that take part beside the agent's: a simulated user, and a judge of success.

Always holds: a recipe names those that its benchmark needs and no others; tasks that a judge decides are left out where
there is none; what such a model uses counts against the run's limits, is journalled with the agent's turns, and is no
part of an attempt's own usage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.episode import Session
from seasoned.lab.run.recipe import Recipe
from seasoned.llm import opening
from seasoned.llm.budget import Metered
from seasoned.llm.opening import ModelSettings
from seasoned.llm.window import WithLonger
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


def open_models(
    recipe: Recipe,
    stack: ExitStack,
    *,
    llm: LLM | None = None,
    learner: LLM | None = None,
    opens: Callable[[ModelSettings], AbstractContextManager[LLM]] | None = None,
) -> dict[str, LLM]:
    """All models of a run by their part: "model" acts, "learner" writes lessons; and those that take part beside them.

    Args:
        recipe: names them; one that is the acting model's own is not opened twice.
        stack: closes them.
        llm: acts instead of the recipe's.
        learner: learns instead of the recipe's.
        opens: opens the acting model, if another does than here.
    """
    enter = stack.enter_context
    model = llm if llm is not None else enter((opens or opening.open_llm)(recipe.llm))
    if learner is None:
        learner = enter(opening.open_llm(recipe.learner)) if recipe.learner is not None else model
    models = {"model": model, "learner": learner}
    own = ModelSettings(**recipe.llm.model_dump(exclude={"temperature"}))
    for part, settings in partners_of(recipe).items():
        models[part] = model if settings == own else enter(opening.open_llm(settings))
    if recipe.ranker is not None:
        models["ranker"] = enter(opening.open_llm(recipe.ranker))
    if recipe.longer is not None:
        longer = enter(opening.open_llm(recipe.longer))
        models |= {part: WithLonger(models[part], longer) for part in ("model", "learner")}
    return models


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

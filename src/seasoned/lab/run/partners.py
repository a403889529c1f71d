"""The models of a run, among them the agent's partners: a simulated user, and a judge of success.

Always holds: a recipe names exactly the partners that its benchmark needs; without a judge, the tasks that need one are
left out; a partner's usage counts against the run's limits, and is not part of an attempt's own usage.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.recipe import Recipe
from seasoned.llm import opening
from seasoned.llm.opening import ModelSettings
from seasoned.llm.window import WithLonger
from seasoned.protocols import LLM

NAMED = 5
"""How many of the tasks that are left out a note names; it counts all."""


def partners_of(recipe: Recipe) -> dict[str, ModelSettings]:
    """The settings of a recipe's partners, by part."""
    named = {"user": recipe.user, "judge": recipe.judge}
    return {part: settings for part, settings in named.items() if settings is not None}


def for_recipe(benchmark: Benchmark, recipe: Recipe) -> Benchmark:
    """The benchmark with only the tasks that the recipe's models can judge.

    Raises:
        ConfigError: the recipe lacks a partner that the benchmark needs, or names one that it does not use.
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
    """Open all models of a run, by part: "model" acts, "learner" writes lessons; then the ranker and the partners.

    The stack closes them. A partner with the settings of the acting model shares it. `llm` and `learner` replace the
    recipe's; `opens` opens the acting model, instead of `open_llm`.
    """
    enter = stack.enter_context
    model = llm if llm is not None else enter((opens or opening.open_llm)(recipe.llm))
    if learner is None:
        learner = enter(opening.open_llm(recipe.learner)) if recipe.learner is not None else model
    models = {"model": model, "learner": learner}
    acting = ModelSettings(**recipe.llm.model_dump(exclude={"temperature"}))
    for part, settings in partners_of(recipe).items():
        models[part] = model if settings == acting else enter(opening.open_llm(settings))
    if recipe.ranker is not None:
        models["ranker"] = enter(opening.open_llm(recipe.ranker))
    if recipe.longer is not None:
        longer = enter(opening.open_llm(recipe.longer))
        models |= {part: WithLonger(models[part], longer) for part in ("model", "learner")}
    return models

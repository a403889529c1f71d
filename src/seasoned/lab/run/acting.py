"""The conditions of benchmarks whose agent acts in several steps, and those for all benchmarks, such as ExpeL and ERL.

Always holds: the recipe's `agent.policy` decides the agent that gathers training attempts and that every method
advises, so methods differ from their baseline only in the guidance; `act`, `react`, `choose` and `tools` name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from seasoned.agents.halting import Halt, make_halt
from seasoned.agents.react import React
from seasoned.agents.tools import ToolCaller
from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.methods.autoguide import AutoGuide
from seasoned.lab.methods.given import Both, Given, Observed, read_lessons
from seasoned.lab.run.answering import coder, dialogue, noted_first, noted_later, worked_attempt, worked_rule
from seasoned.lab.run.condition import Condition, MakeAgent
from seasoned.lab.run.recipe import Recipe
from seasoned.methods import method_options
from seasoned.methods.erl import ERL
from seasoned.methods.expel import ExpeL
from seasoned.methods.expel.demonstrations import Rerank, RetrieveBy
from seasoned.methods.expnote import ExpNote
from seasoned.methods.facts import Facts
from seasoned.methods.reflexion import Reflexion, Strategy
from seasoned.protocols import LLM, Agent, Method
from seasoned.types import Lesson, Message, Task

Policy = Literal["act", "react", "choose", "tools", "coder"]
Aid = Literal["worked", "begins", "filters"]

MANY = 1000
"""How many heuristics are considered if only their tokens are limited."""

FACTS = "facts"
"""The ending of a condition that also recalls facts."""

_RECALL = {"k", "retrieve_by", "rerank"}
"""The parameters of ExpeL that do not affect learning."""


def gatherer(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
    """The agent that gathers training attempts: the acting agent, or the dialogue."""
    if benchmark.manner == "act":
        return actor(recipe, benchmark, llm, training)
    return (noted_first if recipe.gather.answers else dialogue)(recipe, benchmark, llm, training)


def actor(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
    """The acting agent of the recipe's `agent.policy`, which gathers attempts and is advised by every method.

    It asks for guidance at each turn if demonstrations are chosen or ordered by the last step.
    """
    asks = _asks(recipe.expel.retrieve_by, recipe.expel.rerank)
    return make_actor(recipe, benchmark, llm, recipe.agent.policy, asks)


def carrier(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
    """The agent that methods advise: the recipe's acting agent, or the dialogue with guidance beside the question."""
    return (actor if benchmark.manner == "act" else noted_first)(recipe, benchmark, llm, training)


def make_actor(recipe: Recipe, benchmark: Benchmark, llm: LLM, policy: Policy, asks: bool = False) -> Agent:
    """An acting agent with the limits of the recipe and the benchmark; the coder if tasks ask for programs."""
    if benchmark.programs:
        return coder(recipe, benchmark, llm)
    if policy == "coder":
        raise ConfigError(f"the agent coder writes programs, and the benchmark {benchmark.name} asks for none")
    make = ToolCaller if policy == "tools" else partial(React, style=policy)
    return make(
        llm=llm,
        instruction=benchmark.instruction,
        examples=benchmark.trajectories,
        max_steps=benchmark.max_turns,
        repeats=recipe.agent.repeats or None,
        same_observation=recipe.agent.same_observation,
        max_actions=recipe.agent.max_actions,
        prompt_tokens=recipe.agent.prompt_tokens,
        halt=halting(recipe),
        shots=recipe.agent.examples,
        think_tokens=recipe.caps.think,
        action_tokens=recipe.caps.action,
        temperature=recipe.llm.temperature,
        system=recipe.agent.guidance == "system",
        asks=asks,
    )


def worked_first(agent: Agent) -> list[Message]:
    """The messages before every task of an acting agent, without tools, which only the environment knows."""
    if isinstance(agent, ToolCaller):
        return agent.preamble(agent.examples[: agent.shots], [])
    return agent.preamble(agent.examples[: agent.shots]) if isinstance(agent, React) else []


def halting(recipe: Recipe) -> Halt | None:
    """The recipe's rule that ends attempts, in addition to the agent's limits."""
    options = recipe.agent
    limits = {"omega": options.omega, "epsilon": options.epsilon, "cycle": options.cycle}
    return make_halt(options.halt, **limits, with_observation=options.same_observation)


def reflexion(recipe: Recipe, benchmark: Benchmark, llm: LLM, strategy: Strategy | Literal[""]) -> Reflexion:
    """Reflexion with a strategy; "" is `gather.reflect` of the recipe."""
    return Reflexion(
        llm=llm,
        strategy=strategy or recipe.gather.reflect,
        examples=benchmark.reflections,
        about=benchmark.about,
        memory=recipe.reflexion.memory,
        attempt_chars=recipe.reflexion.attempt_chars,
        max_tokens=2 * recipe.caps.think,
    )


def acts(policy: Policy) -> MakeAgent:
    """An acting agent with this policy, for conditions that learn nothing."""
    return lambda recipe, benchmark, llm, training: make_actor(recipe, benchmark, llm, policy)


def asking(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
    """The agent that asks for guidance at each turn, or after the first thought."""
    if benchmark.manner == "answer":
        return noted_later(recipe, benchmark, llm, training)
    return make_actor(recipe, benchmark, llm, recipe.agent.policy, asks=True)


def expel(
    mode: Literal["insights", "retrieve", "both"] = "both",
    retry: bool = False,
    worked: bool = False,
    without: Aid | Literal["", "all"] = "",
    **parameters: Any,
) -> Condition:
    """ExpeL with the recipe's settings and the condition's; conditions that learn differently share no pool."""
    if worked:
        parameters = {"successes": True, "human": (), **parameters}
    shares_pool = not worked and not without and parameters.keys() <= _RECALL
    by = parameters.get("retrieve_by", "task" if "rerank" in parameters else "none")
    asks = _asks(by, parameters.get("rerank", "none"))

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        return ExpeL(
            llm=llm,
            about=benchmark.about or benchmark.instruction,
            worked=worked_rule(benchmark) if recipe.helps("worked", without) else None,
            mode=mode,
            tell=benchmark.manner == "answer",
            manual=benchmark.trajectories,
            seed=recipe.seeds[0],
            max_tokens=max(400, recipe.caps.think),
            **{**method_options("expel", recipe.profile), **recipe.expel.model_dump(), **parameters},
        )

    return Condition(
        "expel",
        "insights and own successes",
        asking if asks else carrier,
        make,
        learns=not worked,
        worked=worked,
        pool="expel" if shares_pool else "",
        acts=True if asks or retry or worked or "with_reflections" in parameters else None,
        retries="reflexion" if retry else "",
    )


def trajectories(k: int | None = None) -> Condition:
    """The agent's successes as demonstrations, without lessons: `k`, or as many as the recipe says."""
    description = "own successes at the most similar tasks, as many as `erl.trajectories` says"
    make = partial(successes, k)
    return Condition("few-shot-trajectories", description, carrier, make, learns=True, own_pool=False, acts=None)


def observed(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    """Notes that the benchmark's rule reads off the observations of attempts."""
    if benchmark.observed is None:
        raise ConfigError(f"{benchmark.name} has no rule that reads notes off observations: leave out `observed`")
    rule = benchmark.observed
    return Observed(ExpNote(read=rule.read, goal=benchmark.goal, heading=rule.heading), rule.line)


def successes(k: int | None, recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    """The method of `trajectories`."""
    tell = benchmark.manner == "answer"
    return ExpeL(llm, mode="retrieve", k=k or recipe.erl.trajectories, tell=tell, seed=recipe.seeds[0])


def autoguide(without: Aid | Literal["", "all"] = "", **parameters: Any) -> Condition:
    """AutoGuide with the recipe's settings, overridden by the condition's."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        return AutoGuide(
            llm,
            about=benchmark.about or benchmark.instruction,
            worked=worked_rule(benchmark) if recipe.helps("worked", without) else None,
            begins=benchmark.rule_begins if recipe.helps("begins", without) else "",
            goal=benchmark.goal,
            max_tokens=max(200, recipe.caps.think),
            **{**recipe.autoguide.model_dump(), **parameters},
        )

    pool = f"autoguide-without-{without}" if without else "autoguide"
    return Condition("autoguide", "guidelines chosen at each turn", asking, make, learns=True, pool=pool, acts=None)


def facts(**parameters: Any) -> Condition:
    """Facts with the recipe's settings, overridden by the condition's."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        return Facts(llm, library=benchmark.libraries, **{**recipe.facts.model_dump(), **parameters})

    description = "what calls of the functions gave, from traced attempts and from exploring"
    return Condition("facts", description, carrier, make, learns=True, acts=True)


def with_facts(base: Condition) -> Condition:
    """A condition that recalls facts in addition to its own guidance: `expel+facts`."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        methods = (base.method, facts().method)
        return Both(tuple(method(recipe, benchmark, llm) for method in methods if method is not None))

    name, description = f"{base.name}+{FACTS}", f"{base.says}, and facts"
    return replace(base, name=name, says=description, method=make, learns=True, own_pool=True, pool="", acts=True)


def erl(matched: bool = False, without: Aid | Literal["", "all"] = "", **parameters: Any) -> Condition:
    """ERL with the recipe's settings; the condition's parameters change only the recall.

    With `on="thought"`, an agent that answers once sees heuristics after its first thought (ours). With `matched`,
    heuristics get as many tokens as the demonstrations of few-shot-trajectories (the paper's figure 5). `without` an
    aid of the scaffold, the condition has its own pool.
    """

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        options = parameters
        if matched:
            shown = successes(None, recipe, benchmark, llm)
            options = {"k": MANY, "retrieve": "embedding", **parameters, "matched": shown}
        return heuristics(recipe, benchmark, llm, without, **options)

    after_thought = parameters.get("on") == "thought"
    return Condition(
        "erl",
        "heuristics from single attempts",
        noted_later if after_thought else carrier,
        make,
        learns=True,
        pool=f"erl-without-{without}" if without else "erl",
        ranks=True,
        acts=False if after_thought else None,
    )


def heuristics(
    recipe: Recipe, benchmark: Benchmark, llm: LLM, without: Aid | Literal["", "all"] = "", **other: Any
) -> ERL:
    """ERL with the recipe's settings under `erl`; `other` are the condition's settings of recall.

    All conditions of ERL share the lessons of the first one, so settings of learning are the same for each. A bundled
    model marks each heuristic on its own, unless the recipe asks for reasons.
    """
    settings = recipe.erl.model_dump(exclude={"trajectories"})
    if settings["reasons"] is None:
        settings["reasons"] = not recipe.llm.bundled
    aided = recipe.helps("worked", without)
    return ERL(
        llm,
        about=benchmark.about or benchmark.instruction,
        example=benchmark.heuristic if aided else None,
        worked=worked_attempt(benchmark) if aided else None,
        begins=benchmark.rule_begins if recipe.helps("begins", without) else "",
        filters=recipe.helps("filters", without),
        goal=benchmark.goal if recipe.profile == "small" else None,
        failures=recipe.gather.iterate == "failures",
        workers=recipe.at_once,
        max_tokens=max(300, recipe.caps.think),
        seed=recipe.seeds[0],
        form=method_options("erl", recipe.profile).get("form", "short"),
        **{**settings, **other},
    )


def given(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    """The lessons of the recipe's file."""
    file = Path(recipe.method.given)
    return Given(_lessons(recipe.method.given, file.stat().st_mtime_ns if file.is_file() else 0))


@cache
def _lessons(file: str, changed: int) -> tuple[Lesson, ...]:
    """The lessons of a file, read once for all recalls, since a lesson without an id gets a new one when read."""
    return read_lessons(file)


def _asks(retrieve_by: RetrieveBy, rerank: Rerank) -> bool:
    """Whether demonstrations are chosen or ordered by the last step."""
    return retrieve_by not in ("task", "random", "none") or (rerank == "thought" and retrieve_by != "none")

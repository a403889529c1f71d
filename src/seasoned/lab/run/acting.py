"""The conditions of benchmarks whose agent acts in several steps, and of ExpeL and AutoGuide, which are for all.

Always holds: `policy` of the recipe's agent is who gathers the training attempts and who carries every method, so that
they differ from their baseline in the guidance alone; `act`, `react` and `choose` are that agent by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from seasoned.agents.react import React
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.methods.autoguide import AutoGuide
from seasoned.lab.methods.given import Given, read_lessons
from seasoned.lab.run.answering import noted_first, noted_later, worked_attempt, worked_rule
from seasoned.lab.run.condition import Condition, MakeAgent, MakeMethod
from seasoned.lab.run.recipe import Recipe
from seasoned.methods.erl import ERL
from seasoned.methods.expel import ExpeL
from seasoned.methods.reflexion import Reflexion, Strategy
from seasoned.protocols import LLM, Agent, Method
from seasoned.types import Lesson, Task

Policy = Literal["act", "react", "choose"]


def actor(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
    """The agent that gathers and that every method advises: the recipe's `agent.policy`.

    It asks for guidance at each turn where demonstrations are chosen, or ordered, by what happened last.
    """
    del training
    chosen = recipe.expel
    by_steps = chosen.retrieve_by not in ("task", "random", "none")
    asks = by_steps or (chosen.rerank == "thought" and chosen.retrieve_by != "none")
    return make_actor(recipe, benchmark, llm, recipe.agent.policy, asks)


def carrier(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
    """Who is given what was learned: the recipe's acting agent, or the dialogue with it beside the question."""
    make: MakeAgent = actor if benchmark.manner == "act" else noted_first
    return make(recipe, benchmark, llm, training)


def make_actor(recipe: Recipe, benchmark: Benchmark, llm: LLM, policy: Policy, asks: bool = False) -> React:
    """An acting agent under the limits of the recipe and the benchmark."""
    return React(
        llm=llm,
        instruction=benchmark.instruction,
        examples=benchmark.trajectories,
        style=policy,
        max_steps=benchmark.max_turns,
        repeats=recipe.agent.repeats or None,
        same_observation=recipe.agent.same_observation,
        max_actions=recipe.agent.max_actions,
        prompt_tokens=recipe.agent.prompt_tokens,
        shots=recipe.agent.examples,
        think_tokens=recipe.caps.think,
        action_tokens=recipe.caps.action,
        temperature=recipe.llm.temperature,
        system=recipe.agent.guidance == "system",
        asks=asks,
    )


def reflexion(recipe: Recipe, benchmark: Benchmark, llm: LLM, strategy: Strategy | Literal[""]) -> Reflexion:
    """Reflexion with a strategy; "" is the one of the recipe's gathering."""
    return Reflexion(
        llm=llm,
        strategy=strategy or recipe.gather.reflect,
        examples=benchmark.reflections,
        about=benchmark.about,
        max_tokens=2 * recipe.caps.think,
    )


def _acts(policy: Policy) -> MakeAgent:
    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
        del training
        return make_actor(recipe, benchmark, llm, policy)

    return make


def _expel(mode: Literal["insights", "retrieve", "both"], **other: Any) -> MakeMethod:
    """ExpeL as the recipe has it under `expel`, but for the settings that a condition is about."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        chosen = recipe.expel.model_copy(update=other)
        return ExpeL(
            llm=llm,
            about=benchmark.about or benchmark.instruction,
            worked=worked_rule(benchmark),
            mode=mode,
            tell=benchmark.manner == "answer",
            manual=benchmark.trajectories,
            seed=recipe.seeds[0],
            max_tokens=max(400, recipe.caps.think),
            **chosen.model_dump(),
        )

    return make


def _asking(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
    if benchmark.manner == "answer":
        return noted_later(recipe, benchmark, llm, training)
    return make_actor(recipe, benchmark, llm, recipe.agent.policy, asks=True)


def _autoguide(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    return AutoGuide(
        llm,
        about=benchmark.about or benchmark.instruction,
        worked=worked_rule(benchmark),
        begins=benchmark.rule_begins,
        goal=benchmark.goal,
        max_tokens=max(200, recipe.caps.think),
        **recipe.autoguide.model_dump(),
    )


def heuristics(recipe: Recipe, benchmark: Benchmark, llm: LLM, **other: Any) -> ERL:
    """ERL as the recipe has it under `erl`, but for how a condition recalls.

    All conditions of ERL share what the first of them learned, so whatever learning uses is the same for each.
    """
    chosen = recipe.erl
    recalls: dict[str, Any] = {
        "k": chosen.k,
        "retrieve": chosen.retrieve,
        "guidance_tokens": chosen.guidance_tokens,
    } | other
    return ERL(
        llm,
        about=benchmark.about or benchmark.instruction,
        example=benchmark.heuristic,
        worked=worked_attempt(benchmark),
        begins=benchmark.rule_begins,
        goal=benchmark.goal,
        recall_first=chosen.recall_first,
        # In lists, with reasons; a bundled model marks each on its own, unless it is set.
        reasons=not recipe.llm.bundled if chosen.reasons is None else chosen.reasons,
        judge=chosen.judge,
        blind=chosen.blind,
        first=chosen.first,
        failures=recipe.gather.iterate == "failures",
        workers=recipe.at_once,
        max_tokens=max(300, recipe.caps.think),
        seed=recipe.seeds[0],
        **recalls,
    )


def _given(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    del benchmark, llm
    file = Path(recipe.method.given)
    return Given(_lessons(recipe.method.given, file.stat().st_mtime_ns if file.is_file() else 0))


@cache
def _lessons(file: str, changed: int) -> tuple[Lesson, ...]:
    """Read once for all recalls: a lesson that has no id of its own gets one when it is read."""
    del changed
    return read_lessons(file)


def _learned(
    name: str,
    says: str,
    mode: Literal["insights", "retrieve", "both"],
    agent: MakeAgent = carrier,
    pool: str = "expel",
    acts: bool | None = None,
    retries: Literal["", "reflexion"] = "",
    **other: Any,
) -> Condition:
    """A condition of ExpeL; one that learns otherwise than the rest has another pool, "" for one of its own."""
    return Condition(
        name,
        says,
        agent,
        _expel(mode, **other),
        learns=True,
        pool=pool,
        acts=acts,
        retries=retries,
    )


ACTING = (
    Condition("act", "actions alone", _acts("act"), acts=True),
    Condition("react", "thoughts and actions", _acts("react"), acts=True),
    Condition("choose", "actions chosen among those that follow from what was observed", _acts("choose"), acts=True),
    Condition("given", "lessons from a file, such as adapted or hand-written ones", actor, _given, acts=True),
    Condition("retry", "the agent, which tries again", carrier, acts=None, retries="none"),
    Condition("last", "the agent, which tries again and sees its last attempt", carrier, acts=None, retries="last"),
    Condition("reflexion", "the agent, which reflects and tries again", carrier, acts=None, retries="reflexion"),
    Condition("last-reflexion", "both: its last attempt and reflections", carrier, acts=None, retries="last+reflexion"),
    _learned("expel", "insights and own successes", "both"),
    _learned("expel-insights", "insights alone", "insights"),
    _learned("expel-retrieve", "own successes alone", "retrieve"),
    _learned(
        "expel-reasoning",
        "insights, and at each turn own successes by the last thought",
        "both",
        agent=_asking,
        acts=True,
        retrieve_by="thought",
    ),
    _learned("expel-random", "insights, and own successes drawn at random", "both", retrieve_by="random"),
    _learned(
        "expel-reflections",
        "insights from attempts with their reflections, and own successes",
        "both",
        pool="",
        acts=True,
        with_reflections=True,
    ),
    Condition(
        "expel-worked",
        "insights from the benchmark's worked examples alone",
        actor,
        _expel("insights", successes=True, human=()),
        acts=True,
        worked=True,
    ),
    Condition(
        "autoguide",
        "guidelines chosen at each turn",
        _asking,
        _autoguide,
        learns=True,
        pool="autoguide",
        acts=None,
    ),
    _learned(
        "expel-reflexion", "insights and own successes, and it tries again", "both", acts=True, retries="reflexion"
    ),
    _learned(
        "expel-retrieve-reflexion",
        "own successes alone, and it tries again",
        "retrieve",
        acts=True,
        retries="reflexion",
    ),
)

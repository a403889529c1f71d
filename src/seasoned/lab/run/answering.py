"""The conditions of benchmarks that ask for one answer or for a program: ExpNote's dialogue, agents that answer
directly, and the coder.

Always holds: each agent is made from the recipe and the benchmark alone, so conditions differ only in what they recall
and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from seasoned.agents.coder import Coder
from seasoned.agents.dialogue import Dialogue, offered
from seasoned.agents.direct import Direct
from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.methods.teachme import TeachMe, read_facts
from seasoned.lab.run.condition import Condition, MakeAgent, MakeMethod
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.settings import ROOMY
from seasoned.methods import method_options
from seasoned.methods.expnote import ExpNote
from seasoned.methods.nearest import NearestCases
from seasoned.protocols import LLM, Agent, Method
from seasoned.replies.commands import WRONG
from seasoned.text import prompt_line
from seasoned.types import Example, Outcome, Step, Task, Trajectory

PAPER_K = 5
"""Notes recalled for the question alone, as the paper does for EMOJI: enough for each of the four candidates."""

PROGRAM = 220
"""The tokens of a program that a bundled model writes."""

_ANALYSIS = 200  # characters of a reflection to show, cut at the end of a sentence


def dialogue(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Dialogue | Coder:
    """The agent of every variant of ExpNote, in training and in tests: the dialogue, or the coder for programs."""
    if benchmark.programs:
        return coder(recipe, benchmark, llm)
    return _dialogue(recipe, benchmark, llm, training, on=recipe.method.on or benchmark.retrieval.on)


def _dialogue(
    recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task], *, on: Literal["question", "thought"]
) -> Dialogue:
    return Dialogue(
        llm=llm,
        instruction=benchmark.instruction,
        think_hint=benchmark.think_hint,
        note_hint=benchmark.note_hint,
        examples=benchmark.examples,
        style=recipe.agent.style,
        notes="thought" if on == "thought" else "case",
        max_turns=benchmark.max_turns,
        think_tokens=recipe.caps.think,
        answer_tokens=recipe.caps.answer,
        note_tokens=recipe.caps.note,
        note_turns=recipe.agent.note_turns,
        example_notes=recipe.agent.example_notes,
        temperature=recipe.llm.temperature,
        system=recipe.agent.guidance == "system",
    )


noted_first: MakeAgent = partial(_dialogue, on="question")
"""Makes the dialogue with the notes shown beside the question, as in the paper."""
noted_later: MakeAgent = partial(_dialogue, on="thought")
"""Makes the dialogue with notes that are recalled after the first thought."""


def worked_rule(benchmark: Benchmark) -> tuple[tuple[Trajectory, ...], str, str] | None:
    """Worked attempts to compare, and the situation and action that they teach; None if the benchmark has none.

    For an agent that acts in several steps: failed attempts and the success at the same task. Otherwise: the first
    worked case with a wrong answer, which was then corrected.
    """
    if benchmark.heuristic is None:
        return None
    if benchmark.retried is not None:
        failed = (attempt for attempt, _ in benchmark.reflections if attempt.task_id == benchmark.retried.task_id)
        return (*failed, benchmark.retried), *benchmark.heuristic
    case = next((example for example in benchmark.examples if example.wrong), None)
    if benchmark.manner != "answer" or case is None:
        return None
    steps = (
        Step(action=f"THINK[{case.thought}]", observation="OK."),
        Step(action=f"ANSWER[{case.wrong}]", observation=WRONG.format(answer=case.answer)),
    )
    attempt = Trajectory(
        id="worked",
        task_id="worked",
        task=offered(case.question, case.choices),
        steps=steps,
        outcome=Outcome(success=False, reason="answered"),
    )
    return (attempt,), *benchmark.heuristic


def worked_attempt(benchmark: Benchmark) -> tuple[Trajectory, str] | None:
    """The failed worked attempt behind the benchmark's `heuristic`, with its analysis; or None."""
    case = worked_rule(benchmark)
    if benchmark.manner == "answer":
        return (case[0][0], case[0][0].steps[-1].observation) if case is not None else None
    if benchmark.heuristic is None or not benchmark.reflections:
        return None
    attempt, reflection = benchmark.reflections[0]
    if len(reflection) <= _ANALYSIS:
        return attempt, reflection
    sentences, _, _ = reflection[:_ANALYSIS].rpartition(". ")
    return attempt, f"{sentences}." if sentences else prompt_line(reflection, _ANALYSIS)


def few_shot(shots: int | None = None) -> Condition:
    """The first training cases with their answers: `shots`, or as many as the recipe says."""
    description = "one answer, after training cases with their right answers"
    return Condition("few-shot", description, direct("few-shot", shots))


def direct(style: Literal["zero-shot", "few-shot", "cot"], shots: int | None = None) -> MakeAgent:
    """An agent that answers at once: without examples, after the first training cases, or after worked reasoning."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
        examples: Sequence[Example] = benchmark.examples
        if style == "few-shot":
            first = training[: shots or recipe.agent.shots]
            examples = [Example(question=t.text, thought="", answer=str(t.data.get("answer", ""))) for t in first]
        return Direct(
            llm=llm,
            instruction=benchmark.instruction,
            examples=examples,
            style=style,
            max_tokens=recipe.caps.answer,
            reasoning_tokens=2 * recipe.caps.think,
            temperature=recipe.llm.temperature,
            system=recipe.agent.guidance == "system",
        )

    return make


def expnote(**parameters: Any) -> Condition:
    """ExpNote; the parameter `on` also decides whether its dialogue shows notes after the question or the thought."""
    agents: dict[Any, MakeAgent] = {"question": noted_first, "thought": noted_later}
    agent = agents.get(parameters.get("on"), dialogue)
    return Condition("expnote", "the dialogue with recalled notes", agent, notes(**parameters), learns=True, codes=True)


def notes(**parameters: Any) -> MakeMethod:
    """ExpNote with the settings of the recipe and the benchmark, overridden by the condition's parameters."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        settings, defaults = recipe.method, benchmark.retrieval
        k = settings.k or defaults.k
        options = {
            "k": max(k, PAPER_K) if parameters.get("on") == "question" and recipe.profile == "small" else k,
            "share": settings.share or defaults.share,
            "policy": settings.policy,
            "show": settings.show,
            "on": settings.on or defaults.on,
            "partition": method_options("expnote", recipe.profile).get("partition", False),
        }
        return ExpNote(**{**options, **parameters})

    return make


def nearest(k: int | None = None) -> Condition:
    """Similar training cases as examples: `k`, or as many as the recipe says."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        return NearestCases(k=k or recipe.method.k or benchmark.retrieval.k)

    description = "the most similar training cases as examples"
    return Condition("nearest", description, dialogue, make, learns=True, own_pool=False, codes=True)


def teachme(k: int | None = None) -> Condition:
    """Facts of the recipe's knowledge base: `k`, or as many as the recipe says."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        if not recipe.method.facts:
            raise ConfigError(
                "the condition teachme needs a knowledge base: -c method.facts=FILE, a CSV in ConceptNet's form "
                "(tab-separated URI, relation, start, end, JSON)"
            )
        read_facts(recipe.method.facts, "en")  # a wrong file is an error before any model is called
        return TeachMe(facts=recipe.method.facts, k=k or recipe.method.k or benchmark.retrieval.k)

    return Condition("teachme", "facts of a commonsense knowledge base", dialogue, make, knows=True)


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

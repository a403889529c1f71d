"""The conditions of benchmarks that ask for one answer: the dialogue of ExpNote, and agents that answer directly.

Always holds: each agent is made from the recipe and the benchmark alone, so that conditions differ in what is recalled,
and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from seasoned.agents.coder import Coder
from seasoned.agents.dialogue import Dialogue, offered
from seasoned.agents.direct import Direct
from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.methods.teachme import TeachMe, read_facts
from seasoned.lab.run.coding import coder
from seasoned.lab.run.condition import Condition, MakeAgent, MakeMethod
from seasoned.lab.run.recipe import Recipe
from seasoned.methods.expnote import ExpNote
from seasoned.methods.nearest import NearestCases
from seasoned.methods.profiles import method_options
from seasoned.protocols import LLM, Agent, Method
from seasoned.replies.commands import WRONG
from seasoned.text import prompt_line
from seasoned.types import Example, Outcome, Step, Task, Trajectory

PAPER_K = 5
"""Notes recalled for the question alone: what the paper shows for EMOJI, so that all four candidates have theirs."""

_ANALYSIS = 200  # characters of a reflection, of which the whole sentences are told


def dialogue(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Dialogue | Coder:
    """The dialogue agent that every variant of ExpNote uses, in training and in testing; for programs, the coder."""
    del training
    if benchmark.programs:
        return coder(recipe, benchmark, llm)
    return _dialogue(recipe, benchmark, llm, recipe.method.on or benchmark.retrieval.on)


def noted_first(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Dialogue:
    """The dialogue with the notes beside the question, as in the paper."""
    del training
    return _dialogue(recipe, benchmark, llm, "question")


def noted_later(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Dialogue:
    """The dialogue with what is recalled after the first thought."""
    del training
    return _dialogue(recipe, benchmark, llm, "thought")


def _dialogue(recipe: Recipe, benchmark: Benchmark, llm: LLM, on: Literal["question", "thought"]) -> Dialogue:
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


def worked_rule(benchmark: Benchmark) -> tuple[tuple[Trajectory, ...], str, str] | None:
    """Worked attempts that can be compared, and the situation and action that they teach; None where there are none.

    Where the agent acts in several steps, a failed one beside the success at its task; else the first worked
    case that was answered wrongly and told the right answer.
    """
    if benchmark.heuristic is None:
        return None
    if benchmark.retried is not None:
        tried = (attempt for attempt, _ in benchmark.reflections if attempt.task_id == benchmark.retried.task_id)
        return (*tried, benchmark.retried), *benchmark.heuristic
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
    """A failed worked attempt, the one that the benchmark's `heuristic` comes from, and its analysis; or None."""
    case = worked_rule(benchmark)
    if benchmark.manner == "answer":
        return (case[0][0], case[0][0].steps[-1].observation) if case is not None else None
    if benchmark.heuristic is None or not benchmark.reflections:
        return None
    attempt, reflection = benchmark.reflections[0]
    if len(reflection) <= _ANALYSIS:
        return attempt, reflection
    whole, _, _ = reflection[:_ANALYSIS].rpartition(". ")
    return attempt, f"{whole}." if whole else prompt_line(reflection, _ANALYSIS)


def few_shot(shots: int | None = None) -> Condition:
    """The first training cases with their answers: so many, or as many as the recipe says."""
    says = "one answer, after training cases with their right answers"
    return Condition("few-shot", says, direct("few-shot", shots))


def direct(style: Literal["zero-shot", "few-shot", "cot"], shots: int | None = None) -> MakeAgent:
    """An agent that answers at once: with nothing before it, the first training cases, or worked reasoning."""

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


def expnote(**own: Any) -> Condition:
    """ExpNote; where it recalls for the question or the thought alone, its dialogue has the notes there."""
    agents: dict[Any, MakeAgent] = {"question": noted_first, "thought": noted_later}
    agent = agents.get(own.get("on"), dialogue)
    return Condition("expnote", "the dialogue with recalled notes", agent, notes(**own), learns=True, codes=True)


def notes(**own: Any) -> MakeMethod:
    """ExpNote as the recipe and the benchmark have it, but for what a condition sets."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        del llm
        settings, usual = recipe.method, benchmark.retrieval
        k = settings.k or usual.k
        set_here = {
            "k": max(k, PAPER_K) if own.get("on") == "question" and recipe.profile == "small" else k,
            "share": settings.share or usual.share,
            "policy": settings.policy,
            "show": settings.show,
            "on": settings.on or usual.on,
            "partition": method_options("expnote", recipe.profile).get("partition", False),
        }
        return ExpNote(**{**set_here, **own})

    return make


def nearest(k: int | None = None) -> Condition:
    """Similar training cases as examples: k, or as many as the recipe says."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        del llm
        return NearestCases(k=k or recipe.method.k or benchmark.retrieval.k)

    says = "the most similar training cases as examples"
    return Condition("nearest", says, dialogue, make, learns=True, own_pool=False, codes=True)


def teachme(k: int | None = None) -> Condition:
    """Facts of the recipe's knowledge base: k, or as many as the recipe says."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        del llm
        if not recipe.method.facts:
            raise ConfigError(
                "the condition teachme needs a knowledge base: -c method.facts=FILE, a CSV in ConceptNet's form "
                "(tab-separated URI, relation, start, end, JSON)"
            )
        read_facts(recipe.method.facts, "en")  # a file that is none is told of before any model is called
        return TeachMe(facts=recipe.method.facts, k=k or recipe.method.k or benchmark.retrieval.k)

    return Condition("teachme", "facts of a commonsense knowledge base", dialogue, make, knows=True)

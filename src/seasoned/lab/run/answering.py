"""The agents of benchmarks that ask for one answer: the dialogue of ExpNote, and those that answer directly.

Always holds: each is made from the recipe and the benchmark alone, so that conditions differ in what is recalled, and
when.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from seasoned.agents.dialogue import Dialogue, offered
from seasoned.agents.direct import Direct
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.condition import MakeAgent
from seasoned.lab.run.recipe import Recipe
from seasoned.protocols import LLM, Agent
from seasoned.replies.commands import WRONG
from seasoned.text import prompt_line
from seasoned.types import Example, Outcome, Step, Task, Trajectory

_ANALYSIS = 200  # characters of a reflection, of which the whole sentences are told


def dialogue(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Dialogue:
    """The dialogue agent that every variant of ExpNote uses, in training and in testing."""
    del training
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


def direct(style: Literal["zero-shot", "few-shot", "cot"]) -> MakeAgent:
    """An agent that answers at once: with nothing before it, training cases, or worked reasoning."""

    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM, training: Sequence[Task]) -> Agent:
        if style == "few-shot":
            examples: Sequence[Example] = _shots(training, recipe.agent.shots)
        else:
            examples = benchmark.examples
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


def _shots(training: Sequence[Task], k: int) -> list[Example]:
    """The first k training cases with their right answers, as few-shot has them."""
    return [Example(question=t.text, thought="", answer=str(t.data.get("answer", ""))) for t in training[:k]]

"""The conditions an experiment compares: which agent, which method, and whether it learns from the training attempts.

Always holds: conditions of one benchmark answer in the same environment under the same limits and constraints; those
that learn share one set of training attempts.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Literal

from seasoned.benchmarks.base import Benchmark
from seasoned.errors import ConfigError
from seasoned.methods.erl import Outcomes, Retrieve
from seasoned.methods.expnote import ExpNote
from seasoned.methods.nearest import NearestCases
from seasoned.methods.teachme import TeachMe, read_facts
from seasoned.protocols import LLM, Method
from seasoned.runner.acting import ACTING, carrier, each_once, gives_reasons, heuristics
from seasoned.runner.answering import dialogue, direct, noted_first, noted_later
from seasoned.runner.condition import Condition, CountRecalls, MakeMethod
from seasoned.runner.recipe import Recipe

PAPER_K = 5
"""Notes recalled for the question alone: what the paper shows for EMOJI, so that all four candidates have theirs."""


ERL_KS = (1, 3, 5, 10, 20)
"""How many heuristics the paper shows (ERL, table 3 and figure 4)."""


def _expnote(
    variant: Literal["notes", "case", "positive", "negative", "disabled"] = "notes",
    policy: Literal["last", "merge"] | None = None,
    on: Literal["question", "thought"] | None = None,
) -> MakeMethod:
    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        del llm
        settings = recipe.method
        return ExpNote(
            k=settings_k(recipe, benchmark) if on is None else max(settings_k(recipe, benchmark), PAPER_K),
            share=settings.share or benchmark.retrieval.share,
            policy=policy or settings.policy,
            variant=variant,
            show=settings.show,
            on=on or settings.on or benchmark.retrieval.on,
        )

    return make


def _teachme(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    del llm
    if not recipe.method.facts:
        raise ConfigError(
            "the condition teachme needs a knowledge base: -c method.facts=FILE, a CSV in ConceptNet's form "
            "(tab-separated URI, relation, start, end, JSON)"
        )
    read_facts(recipe.method.facts, "en")  # a file that is none is told of before any model is called
    return TeachMe(facts=recipe.method.facts, k=settings_k(recipe, benchmark))


def settings_k(recipe: Recipe, benchmark: Benchmark) -> int:
    """How many lessons, facts or cases are recalled."""
    return recipe.method.k or benchmark.retrieval.k


def _nearest(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    del llm
    return NearestCases(k=settings_k(recipe, benchmark))


def _erl(
    retrieve: Retrieve | None = None,
    outcomes: Outcomes = "all",
    k: int | None = None,
    on: Literal["task", "thought"] = "task",
) -> MakeMethod:
    def make(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
        chosen = {"k": k, "retrieve": retrieve, "outcomes": outcomes, "on": on}
        return heuristics(recipe, benchmark, llm, **{name: value for name, value in chosen.items() if value})

    return make


def _ranked(retrieve: Retrieve | None, outcomes: Outcomes, k: int | None) -> CountRecalls:
    """ERL's calls: one for a list, however long, or one for each heuristic that is marked on its own."""

    def count(recipe: Recipe, benchmark: Benchmark, lessons: int) -> dict[str, int]:
        del benchmark
        chosen = recipe.erl
        wanted, how = k or chosen.k, retrieve or chosen.retrieve
        if how == "two-stage":
            lessons = min(lessons, max(chosen.recall_first, wanted))
        if how not in ("llm", "two-stage") or lessons <= wanted:
            return {}
        return {f"{wanted} of {outcomes}": 1} if gives_reasons(recipe) else {f"each of {outcomes}": lessons}

    return count


def _heuristics(
    name: str, says: str, retrieve: Retrieve | None = None, outcomes: Outcomes = "all", k: int | None = None
) -> Condition:
    return Condition(
        name,
        says,
        carrier,
        _erl(retrieve, outcomes, k),
        learns=True,
        calls=2,
        pool="erl",
        acts=None,
        learning=each_once,
        recalling=_ranked(retrieve, outcomes, k),
    )


_QUESTION = _expnote(on="question")

CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("zero-shot", "one answer, no examples", direct("zero-shot")),
        Condition("few-shot", "one answer, after training cases with their right answers", direct("few-shot")),
        Condition("cot", "one answer after worked reasoning", direct("cot")),
        Condition("disabled", "the dialogue of ExpNote without its notes", dialogue, _expnote("disabled"), calls=2),
        Condition("expnote", "the dialogue with recalled notes", dialogue, _expnote(), True, 2),
        Condition("expnote-last", "the last note under a key wins", dialogue, _expnote(policy="last"), True, 2),
        Condition("expnote-question", "notes beside the question, before any thought", noted_first, _QUESTION, True, 2),
        Condition("expnote-merge", "distinct notes under a key are kept", dialogue, _expnote(policy="merge"), True, 2),
        Condition("case", "the noted cases instead of the notes", dialogue, _expnote("case"), True, 2),
        Condition("positive", "only notes from cases answered right", dialogue, _expnote("positive"), True, 2),
        Condition("negative", "only notes from cases answered wrong", dialogue, _expnote("negative"), True, 2),
        Condition("nearest", "the most similar training cases as examples", dialogue, _nearest, True, 2, False),
        Condition("teachme", "facts of a commonsense knowledge base", dialogue, _teachme, calls=2),
        _heuristics("erl", "heuristics from single attempts, those that a model ranks highest"),
        _heuristics("erl-embedding", "heuristics from attempts at the most similar tasks", "embedding"),
        Condition(
            "erl-thought",
            "heuristics for situations like the first thought, told after it",
            noted_later,
            _erl("embedding", on="thought"),
            True,
            2,
            pool="erl",
            acts=False,
            learning=each_once,
        ),
        _heuristics("erl-random", "heuristics drawn at random", "random"),
        _heuristics("erl-all", "all heuristics", "all"),
        _heuristics("erl-success", "heuristics from successes alone", outcomes="success"),
        _heuristics("erl-failure", "heuristics from failures alone", outcomes="failure"),
        *(_heuristics(f"erl-k{k}", f"the {k} heuristics that a model ranks highest", k=k) for k in ERL_KS),
        *ACTING,
    )
}


def conditions(names: Sequence[str], manner: Literal["answer", "act"] | None = None) -> list[Condition]:
    """The conditions of these names, in order.

    Args:
        names: from `CONDITIONS`.
        manner: how the benchmark is played; None leaves that unchecked.

    Raises:
        ConfigError: if a name is unknown (the nearest one is named), doubled, or made for the other manner.
    """
    for name in names:
        if name not in CONDITIONS:
            near = difflib.get_close_matches(name, CONDITIONS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(CONDITIONS)}"
            raise ConfigError(f"there is no condition {name!r}; {hint}")
    if len(set(names)) < len(names):
        raise ConfigError(f"expected every condition once, but got {', '.join(names)}")
    chosen = [CONDITIONS[name] for name in names]
    other = manner == "answer"
    wrong = [c.name for c in chosen if manner is not None and c.acts is other]
    if wrong:
        right = ", ".join(c.name for c in CONDITIONS.values() if c.acts is not other)
        raise ConfigError(f"this benchmark has no condition {', '.join(wrong)}; it has {right}")
    return chosen

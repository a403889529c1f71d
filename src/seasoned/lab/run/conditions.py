"""The conditions an experiment compares: which agent, which method, and whether it learns from the training attempts.

Always holds: conditions of one benchmark answer in the same environment under the same limits and constraints; those
that learn share one set of training attempts.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from seasoned.errors import ConfigError
from seasoned.importing import import_member
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.methods.teachme import TeachMe, read_facts
from seasoned.lab.run.acting import ACTING, carrier, heuristics
from seasoned.lab.run.answering import dialogue, direct, noted_first, noted_later
from seasoned.lab.run.condition import Condition, MakeAgent, MakeMethod
from seasoned.lab.run.recipe import Recipe
from seasoned.methods.erl import Outcomes, Retrieve
from seasoned.methods.expel import ExpeL
from seasoned.methods.expnote import ExpNote
from seasoned.methods.nearest import NearestCases
from seasoned.protocols import LLM, Method

MANY = 1000
"""Heuristics considered where their tokens are what limits them."""

PAPER_K = 5
"""Notes recalled for the question alone: what the paper shows for EMOJI, so that all four candidates have theirs."""

ERL_KS = (1, 3, 5, 10, 20)
"""How many heuristics the paper shows (ERL, table 3)."""
RANDOM_KS = (*ERL_KS, 40, 60)
"""How many it draws at random (figure 4)."""

_NAME = re.compile(r"(?!training$)[\w.-]+")  # it is a part of the keys of episodes, and of scopes


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


def _trajectories(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    tell = benchmark.manner == "answer"
    return ExpeL(llm, mode="retrieve", k=recipe.erl.trajectories, tell=tell, seed=recipe.seeds[0])


def _matched(recipe: Recipe, benchmark: Benchmark, llm: LLM) -> Method:
    shown = _trajectories(recipe, benchmark, llm)
    return heuristics(recipe, benchmark, llm, k=MANY, retrieve="embedding", matched=shown)


def _noted(name: str, says: str, method: MakeMethod, agent: MakeAgent = dialogue) -> Condition:
    return Condition(name, says, agent, method, learns=True)


def _heuristics(
    name: str, says: str, retrieve: Retrieve | None = None, outcomes: Outcomes = "all", k: int | None = None
) -> Condition:
    return Condition(
        name,
        says,
        carrier,
        _erl(retrieve, outcomes, k),
        learns=True,
        pool="erl",
        acts=None,
    )


def _thought(name: str, says: str, k: int | None = None) -> Condition:
    """Heuristics for situations like the first thought, told after it, for agents that answer once (ours)."""
    told = _heuristics(name, says, "embedding", k=k)
    return replace(told, agent=noted_later, method=_erl("embedding", k=k, on="thought"), acts=False)


CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("zero-shot", "one answer, no examples", direct("zero-shot")),
        Condition("few-shot", "one answer, after training cases with their right answers", direct("few-shot")),
        Condition("cot", "one answer after worked reasoning", direct("cot")),
        Condition("disabled", "the dialogue of ExpNote without its notes", dialogue, _expnote("disabled")),
        _noted("expnote", "the dialogue with recalled notes", _expnote()),
        _noted("expnote-last", "the last note under a key wins", _expnote(policy="last")),
        _noted(
            "expnote-question", "notes beside the question, before any thought", _expnote(on="question"), noted_first
        ),
        _noted("expnote-merge", "distinct notes under a key are kept", _expnote(policy="merge")),
        _noted("case", "the noted cases instead of the notes", _expnote("case")),
        _noted("positive", "only notes from cases answered right", _expnote("positive")),
        _noted("negative", "only notes from cases answered wrong", _expnote("negative")),
        Condition(
            "nearest",
            "the most similar training cases as examples",
            dialogue,
            _nearest,
            learns=True,
            own_pool=False,
        ),
        Condition("teachme", "facts of a commonsense knowledge base", dialogue, _teachme),
        _heuristics("erl", "heuristics from single attempts, those that a model ranks highest"),
        _heuristics("erl-embedding", "heuristics from attempts at the most similar tasks", "embedding"),
        _thought("erl-thought", "heuristics for situations like the first thought, told after it"),
        _heuristics("erl-random", "heuristics drawn at random", "random"),
        _heuristics("erl-all", "all heuristics", "all"),
        _heuristics("erl-success", "heuristics from successes alone", outcomes="success"),
        _heuristics("erl-failure", "heuristics from failures alone", outcomes="failure"),
        *(_heuristics(f"erl-k{k}", f"the {k} heuristics that a model ranks highest", k=k) for k in ERL_KS),
        *(
            _heuristics(f"erl-embedding-k{k}", f"the heuristics of the {k} most similar tasks", "embedding", k=k)
            for k in ERL_KS
        ),
        *(_thought(f"erl-thought-k{k}", f"the {k} for situations like the first thought", k) for k in ERL_KS),
        *(_heuristics(f"erl-random-k{k}", f"{k} heuristics drawn at random", "random", k=k) for k in RANDOM_KS),
        Condition(
            "few-shot-trajectories",
            "own successes at the most similar tasks, as many as `erl.trajectories` says",
            carrier,
            _trajectories,
            learns=True,
            own_pool=False,
            acts=None,
        ),
        replace(
            _heuristics(
                "erl-matched",
                "heuristics of the nearest tasks, as many tokens of them as few-shot-trajectories shows",
                "embedding",
            ),
            method=_matched,
        ),
        *ACTING,
    )
}


def conditions(names: Sequence[str], manner: Literal["answer", "act"] | None = None) -> list[Condition]:
    """The conditions of these names, in order.

    Args:
        names: from `CONDITIONS`, or import paths: see `own_condition`.
        manner: how the benchmark is played; None leaves that unchecked.

    Raises:
        ConfigError: if a name is unknown (the nearest one is named), doubled, or made for the other manner.
    """
    chosen = [CONDITIONS.get(name) or own_condition(name) for name in names]
    if len({condition.name for condition in chosen}) < len(names):
        raise ConfigError(f"expected every condition once, but got {', '.join(names)}")
    other = manner == "answer"
    wrong = [c.name for c in chosen if manner is not None and c.acts is other]
    if wrong:
        right = ", ".join(c.name for c in CONDITIONS.values() if c.acts is not other)
        raise ConfigError(f"this benchmark has no condition {', '.join(wrong)}; it has {right}")
    return chosen


def own_condition(path: str) -> Condition:
    """The condition at an import path, "mypackage.mine" or "mypackage:mine".

    It may be a `Condition`; or a function of the recipe, the benchmark and the model that makes a method: then the
    condition has the function's name, learns, and its agent is who carries the methods here.

    Raises:
        ConfigError: nothing is there, it is something else, or it has a name that no condition of one's own can have.
    """
    near = difflib.get_close_matches(path, CONDITIONS, n=1)
    known = f"there are {', '.join(CONDITIONS)}, or the import path of one of your own"
    found = import_member(path, "condition", f"did you mean {near[0]}?" if near else known)
    if callable(found):
        says = (found.__doc__ or "").strip().partition("\n")[0]
        found = Condition(re.split(r"[.:]", path)[-1], says, carrier, found, learns=True, acts=None)
    if not isinstance(found, Condition):
        raise ConfigError(
            f"{path!r} should be a Condition, or a function of recipe, benchmark and model that makes a method, and is "
            f"a {type(found).__name__}"
        )
    if found.name in CONDITIONS or not _NAME.fullmatch(found.name):
        raise ConfigError(
            f"the condition at {path!r} is called {found.name!r}: give it a name of letters, digits, '.', '_' and '-' "
            "that no condition here has, and not 'training'"
        )
    return found

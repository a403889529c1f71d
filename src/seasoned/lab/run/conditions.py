"""The conditions that an experiment compares, as a recipe writes them: `expel`, `erl(k=10, retrieve="embedding")`.

Always holds: all conditions of a benchmark have the same environment, limits and constraints; those that learn share
one set of training attempts. A condition's name contains no sign at which keys and scopes are split: its parameters are
numbers, true or false, and words of a list.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, get_args

from seasoned.errors import ConfigError
from seasoned.lab.methods.autoguide import By
from seasoned.lab.run.acting import (
    FACTS,
    Aid,
    acts,
    asking,
    autoguide,
    carrier,
    erl,
    expel,
    facts,
    given,
    observed,
    trajectories,
    with_facts,
)
from seasoned.lab.run.altered import ALTERATIONS, Alteration
from seasoned.lab.run.answering import dialogue, direct, expnote, few_shot, nearest, notes, teachme
from seasoned.lab.run.condition import Condition
from seasoned.methods import make_method
from seasoned.methods.erl import Outcomes, Retrieve
from seasoned.methods.expel.demonstrations import Rerank, RetrieveBy
from seasoned.methods.reflexion import Strategy
from seasoned.plugins import import_member, plugins

Kind = type[bool] | type[int] | type[float] | tuple[str, ...]
"""The kinds of parameters: true or false, a whole number of 1 or more, a share above 0, or one of these words."""

GATE = "gate"
"""The ending of a condition whose lessons are deployed only if a gate promotes them: `expnote+gate`."""
PROBED = "probed"
"""The ending of a condition that keeps only lessons that a probe found helpful: `expel-insights+probed`."""
WITHOUT = (*get_args(Aid), "all")
"""The aids of the scaffold that a condition may turn off; see `ScaffoldSettings`."""
_NAME = re.compile(r"(?!training$)[\w.-]+")  # names are parts of episode keys and scopes
_FORM = re.compile(r"\s*([\w.:-]+)\s*\((.*)\)\s*", re.DOTALL)


def _reflexion(strategy: Strategy = "reflexion") -> Condition:
    description = "the agent, which tries again, told its reflections, its last attempt, or both"
    return Condition("reflexion", description, carrier, acts=None, retries=strategy)


_WITHOUT_PARAMETERS = (
    Condition("zero-shot", "one answer, no examples", direct("zero-shot")),
    Condition("cot", "one answer after worked reasoning", direct("cot")),
    Condition("disabled", "the dialogue of ExpNote without its notes", dialogue, notes(variant="disabled")),
    Condition("act", "actions alone", acts("act"), acts=True),
    Condition("react", "thoughts and actions", acts("react"), acts=True),
    Condition("choose", "actions chosen among those that follow from what was observed", acts("choose"), acts=True),
    Condition("tools", "thoughts and calls of the environment's tools", acts("tools"), acts=True),
    Condition("coder", "programs, improved after an error", acts("coder"), acts=True),
    Condition("given", "lessons from a file, such as adapted or hand-written ones", carrier, given, acts=True),
    Condition("observed", "notes read off what attempts observed", asking, observed, learns=True, acts=True),
    Condition("retry", "the agent, which tries again", carrier, acts=None, retries="none"),
)
_WITH_PARAMETERS: dict[str, tuple[Callable[..., Condition], dict[str, Kind]]] = {
    "few-shot": (few_shot, {"shots": int}),
    "expnote": (
        expnote,
        {
            "policy": ("last", "merge"),
            "variant": ("notes", "case", "positive", "negative"),
            "on": ("question", "thought"),
            "k": int,
            "share": float,
            "show": int,
        },
    ),
    "nearest": (nearest, {"k": int}),
    "teachme": (teachme, {"k": int}),
    "erl": (
        erl,
        {
            "k": int,
            "retrieve": get_args(Retrieve),
            "outcomes": get_args(Outcomes),
            "on": ("task", "thought"),
            "guidance_tokens": int,
            "matched": bool,
            "without": WITHOUT,
        },
    ),
    "facts": (facts, {"explore": int, "each": int, "functions": int, "mends": int}),
    "few-shot-trajectories": (trajectories, {"k": int}),
    "reflexion": (_reflexion, {"strategy": get_args(Strategy)}),
    "expel": (
        expel,
        {
            "mode": ("insights", "retrieve", "both"),
            "k": int,
            "retrieve_by": get_args(RetrieveBy),
            "rerank": get_args(Rerank),
            "chunk": int,
            "max_insights": int,
            "compare": bool,
            "successes": bool,
            "with_reflections": bool,
            "worked": bool,
            "retry": bool,
            "first": bool,
            "full": ("above", "at"),
            "without": WITHOUT,
        },
    ),
    "autoguide": (autoguide, {"k": int, "by": get_args(By), "least": float, "without": WITHOUT}),
}

ALIASES = {
    "expnote-last": 'expnote(policy="last")',
    "expnote-merge": 'expnote(policy="merge")',
    "expnote-question": 'expnote(on="question")',
    "case": 'expnote(variant="case")',
    "positive": 'expnote(variant="positive")',
    "negative": 'expnote(variant="negative")',
    "erl-embedding": 'erl(retrieve="embedding")',
    "erl-thought": 'erl(retrieve="embedding", on="thought")',
    "erl-random": 'erl(retrieve="random")',
    "erl-all": 'erl(retrieve="all")',
    "erl-success": 'erl(outcomes="success")',
    "erl-failure": 'erl(outcomes="failure")',
    "erl-matched": "erl(matched=true)",
    **{f"erl-k{k}": f"erl(k={k})" for k in (1, 3, 5, 10, 20)},
    **{f"erl-embedding-k{k}": f'erl(k={k}, retrieve="embedding")' for k in (1, 3, 5, 10, 20)},
    **{f"erl-thought-k{k}": f'erl(k={k}, retrieve="embedding", on="thought")' for k in (1, 3, 5, 10, 20)},
    **{f"erl-random-k{k}": f'erl(k={k}, retrieve="random")' for k in (1, 3, 5, 10, 20, 40, 60)},
    "last": 'reflexion(strategy="last")',
    "last-reflexion": 'reflexion(strategy="last+reflexion")',
    "expel-insights": 'expel(mode="insights")',
    "expel-retrieve": 'expel(mode="retrieve")',
    "expel-reasoning": 'expel(retrieve_by="thought")',
    "expel-random": 'expel(retrieve_by="random")',
    "expel-reflections": "expel(with_reflections=true)",
    "expel-worked": 'expel(mode="insights", worked=true)',
    "expel-reflexion": "expel(retry=true)",
    "expel-retrieve-reflexion": 'expel(mode="retrieve", retry=true)',
}
"""Older names of conditions with parameters. They stay valid, and stay the names in keys, scopes and results."""

BASES = {condition.name: condition for condition in _WITHOUT_PARAMETERS} | {
    name: make() for name, (make, _) in _WITH_PARAMETERS.items()
}
"""The conditions without parameters."""


def conditions(texts: Sequence[str], manner: Literal["answer", "act", "code"] | None = None) -> list[Condition]:
    """The conditions that a recipe names, in order.

    The texts are names of `BASES` or `ALIASES`, a base with parameters, or import paths: see `own_condition`. `manner`
    is how the benchmark is played; None leaves that unchecked.

    Raises:
        ConfigError: a text names no condition (the message names the nearest), a parameter is wrong (the message lists
            the valid values), or a condition is repeated, or made for another manner.
    """
    chosen = [_condition(text) for text in texts]
    if len({_condition(ALIASES[c.name]).name if c.name in ALIASES else c.name for c in chosen}) < len(texts):
        raise ConfigError(f"expected every condition once, but got {', '.join(texts)}")

    def fits(condition: Condition) -> bool:
        return manner is None or condition.acts is not (manner == "answer") or (condition.codes and manner == "code")

    if wrong := [condition.name for condition in chosen if not fits(condition)]:
        right = ", ".join(condition.name for condition in BASES.values() if fits(condition))
        raise ConfigError(f"this benchmark has no condition {', '.join(wrong)}; it has {right}")
    return chosen


def _variant(base: Condition, suffix: str) -> Condition:
    """A condition with the lessons of `base`: `+gate` deploys them only if they are promoted, `+probed` keeps those
    that a probe found helpful, the others alter their texts. Only `+probed` allows a second ending, `+gate`."""
    name = f"{base.name}+{suffix}"
    if base.of and not (base.probed and suffix == GATE and not base.gated):
        raise ConfigError(f"{name}: give {base.of} one ending, or +{PROBED}+{GATE}")
    if not (base.knows and suffix == GATE) and (not base.learns or (suffix != GATE and not base.writes)):
        raise ConfigError(f"{name}: {base.name} learns no lessons of its own, so there is nothing for +{suffix} to try")
    pool = (base.pool or base.name) if base.own_pool else base.pool
    altered: Alteration | Literal[""] = next((one for one in ALTERATIONS if one == suffix), "")
    probed = base.probed or suffix == PROBED
    return replace(base, name=name, pool=pool, of=base.name, gated=suffix == GATE, altered=altered, probed=probed)


def renamed(texts: Sequence[str]) -> str:
    """A sentence with the new forms of older names; "" if there are none."""
    renames = [f"{text} is {ALIASES[text]}" for text in dict.fromkeys(texts) if text in ALIASES]
    return f"short names of conditions: {'; '.join(renames)}" if renames else ""


def _condition(text: str) -> Condition:
    base, plus, suffix = text.strip().rpartition("+")
    if plus and suffix in (GATE, PROBED, *ALTERATIONS):
        return _variant(_condition(base), suffix)
    if plus and suffix == FACTS:
        return with_facts(_condition(base))
    if text in ALIASES:
        return replace(_condition(ALIASES[text]), name=text)
    if text in BASES:
        return BASES[text]
    form = _FORM.fullmatch(text)
    if form is None:
        return own_condition(text)
    base, inside = form[1], form[2]
    if base not in {**BASES, **ALIASES}:
        raise ConfigError(f"{own_condition(base).name} is a condition of your own, which takes no parameters")
    if base in ALIASES:
        raise ConfigError(f"the condition {base} takes no parameters: add them to {ALIASES[base]}, which it stands for")
    parameters = _parameters(base, inside)
    if not parameters:
        return BASES[base]
    name = f"{base}({','.join(f'{name}={_plain(value)}' for name, value in parameters.items())})"
    return replace(_WITH_PARAMETERS[base][0](**parameters), name=name, parameters=parameters)


def _parameters(base: str, inside: str) -> dict[str, Any]:
    """The checked parameters of a condition, in the order of its table."""
    kinds = _WITH_PARAMETERS[base][1] if base in _WITH_PARAMETERS else {}
    values: dict[str, Any] = {}
    for part in inside.split(",") if inside.strip() else []:
        name, sign, text = (word.strip() for word in part.partition("="))
        if not kinds:
            raise ConfigError(f"the condition {base} has no parameters: leave {part.strip()} out")
        if not sign or name in values:
            raise ConfigError(f"expected the parameters of {base} as name=value, each once, but got {inside.strip()!r}")
        if name not in kinds:
            near = difflib.get_close_matches(name, kinds, n=1, cutoff=0.4)
            right = "; ".join(f"{known} is {_may_be(kinds[known])}" for known in near or kinds)
            raise ConfigError(f"the condition {base} has no parameter {name!r}: {right}")
        values[name] = _read(text)
        if not _fits(values[name], kinds[name]):
            raise ConfigError(f"{name} of the condition {base} should be {_may_be(kinds[name])}, but is {text}")
    return {name: values[name] for name in kinds if name in values}


def _read(text: str) -> bool | int | float | str:
    """A value as TOML or Python write it, or a word without quotes."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    return text


def _fits(value: object, kind: Kind) -> bool:
    if isinstance(kind, tuple):
        return value in kind
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and value >= 1
    return isinstance(value, (int, float)) and 0 < value <= 1


def _may_be(kind: Kind) -> str:
    if isinstance(kind, tuple):
        return f"one of {', '.join(kind)}"
    return {bool: "true or false", int: "a whole number of at least 1"}.get(kind, "a number above 0 and at most 1")


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def own_condition(path: str) -> Condition:
    """The condition at an import path, "mypackage.mine" or "mypackage:mine", or with a plugin's method.

    The import path names a `Condition`, or a function of the recipe, the benchmark and the model that makes a method.
    The condition then has the function's name, learns, and has the same agent as the methods here.

    Raises:
        ConfigError: the path names nothing or something else, or the condition's name is taken or not allowed.
    """
    if path in plugins("methods") and _NAME.fullmatch(path):
        description = f"the method {path} of another package"
        made = Condition(path, description, carrier, lambda _, __, llm: make_method(path, llm), learns=True, acts=None)
        return replace(made, profiles=("small",))
    near = difflib.get_close_matches(path, [*BASES, *ALIASES], n=1)
    known = f"there are {', '.join(BASES)}, or the import path of one of your own"
    member = import_member(path, "condition", f"did you mean {near[0]}?" if near else known)
    if callable(member):
        description = (member.__doc__ or "").strip().partition("\n")[0]
        name = re.split(r"[.:]", path)[-1]
        member = Condition(name, description, carrier, member, learns=True, acts=None, profiles=("small",))
    if not isinstance(member, Condition):
        raise ConfigError(
            f"{path!r} should be a Condition, or a function of recipe, benchmark and model that makes a method, and is "
            f"a {type(member).__name__}"
        )
    if member.name in {**BASES, **ALIASES} or not _NAME.fullmatch(member.name):
        raise ConfigError(
            f"the condition at {path!r} is called {member.name!r}: give it a name of letters, digits, '.', '_' and '-' "
            "that no condition here has, and not 'training'"
        )
    return member


CONDITIONS: Mapping[str, Condition] = BASES | {name: _condition(name) for name in ALIASES}
"""Every condition whose name has no parameters."""

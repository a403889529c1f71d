"""The methods: a file or folder for each paper, with its prompts beside it. No method knows an agent or a benchmark.

`make_method` makes one by its name; `PAPER` has the options of each in its paper. Always holds: a method's module is
imported only when the method is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from seasoned.errors import ConfigError, SeasonedError
from seasoned.plugins import import_member, load_plugin, plugins
from seasoned.protocols import LLM, Method

_HOMES = {
    "erl": "seasoned.methods.erl:ERL",
    "autoguide": "seasoned.lab.methods.autoguide:AutoGuide",
    "expel": "seasoned.methods.expel:ExpeL",
    "facts": "seasoned.methods.facts:Facts",
    "expnote": "seasoned.methods.expnote:ExpNote",
    "nearest": "seasoned.methods.nearest:NearestCases",
    "reflexion": "seasoned.methods.reflexion:Reflexion",
}
PAPER: Mapping[str, Mapping[str, Any]] = {
    "autoguide": {},
    "erl": {"form": "paper", "filters": False, "reasons": True},
    "expel": {"full": "at"},
    "expnote": {"policy": "last", "on": "question", "partition": True},
    "reflexion": {"memory": 3},
}
"""By method, the options of the profile `paper`; `small`, the default of each class, is for small models."""


def method_names() -> list[str]:
    """The short names of the methods here and of those that plugins add."""
    return list(dict.fromkeys([*_HOMES, *plugins("methods")]))


def make_method(
    name: str | Method, llm: LLM | None = None, *, defaults: Mapping[str, Any] | None = None, **options: Any
) -> Method:
    """Make a method; a method object is returned as it is.

    Args:
        name: one of `method_names()`; the path of a class or function that makes a method, such as
            "mypackage.methods.Mine" or "mypackage.methods:Mine"; or a method.
        llm: passed to methods that take an argument `llm`.
        defaults: default options, for the methods here that have them.
        options: arguments of the method, such as `k=5`; also `profile`, "small" or "paper", for the rest.

    Raises:
        ConfigError: the name is unknown, its object is not a method, an option is unknown, or a model is needed and
            missing.
    """
    if not isinstance(name, str):
        kind = type(name).__name__
        if options:
            raise ConfigError(f"{kind} is a method object already: pass {', '.join(options)} to its class")
        return _checked(name, kind)
    make = _find(name)
    takes = _arguments(make)
    if "profile" in options and (name in _HOMES or "profile" not in (takes or ())):
        options = {**method_options(name, options.pop("profile")), **options}
    unknown = [option for option in options if takes is not None and option not in takes]
    if unknown:
        known = ", ".join(option for option in takes or () if option != "llm") or "none"
        raise ConfigError(f"the method {name} has no option {unknown[0]!r}; it has {known}")
    if name in _HOMES:
        options = {**{k: v for k, v in (defaults or {}).items() if k in (takes or ())}, **options}
    if llm is not None and (takes is None or "llm" in takes):
        options["llm"] = llm
    if takes is not None and "llm" in takes and llm is None and takes["llm"].default is inspect.Parameter.empty:
        raise ConfigError(f"the method {name} needs a model: pass one as llm=..")
    try:
        made = make(**options)
    except SeasonedError:
        raise
    except Exception as error:  # a user's class may raise anything
        raise ConfigError(f"the method {name} cannot be made: {type(error).__name__}: {error}") from error
    return _checked(made, name)


def method_options(method: str, profile: str) -> dict[str, Any]:
    """The options of a method in a profile. Raises ConfigError if there is no such profile, or the method has none."""
    if profile not in ("small", "paper"):
        raise ConfigError(f"there is no profile {profile!r}: there are small, paper")
    if profile == "small":
        return {}
    if method not in PAPER:
        known = ", ".join(PAPER)
        raise ConfigError(f"the method {method} has no profile {profile}; {known} have one. Set its options instead")
    return dict(PAPER[method])


def method_name(method: Method) -> str:
    """The name of a method in a store: its class's `name`, else the class's own name in lower case."""
    name = getattr(type(method), "name", None)
    return name if isinstance(name, str) and name else type(method).__name__.lower()


def check_least(method: object, least: Mapping[str, int]) -> None:
    """Raise ConfigError if one of a method's numbers is too small; None passes."""
    for name, lowest in least.items():
        value = getattr(method, name)
        if value is not None and value < lowest:
            raise ConfigError(f"{name} of {type(method).__name__} must be at least {lowest}, not {value}")


def _find(name: str) -> Any:
    if name not in _HOMES and name in plugins("methods"):
        return load_plugin("methods", name)
    expected = f"there are {', '.join(method_names())}, or the import path of a class"
    return import_member(_HOMES.get(name, name), "method", expected)


def _arguments(make: Any) -> dict[str, inspect.Parameter] | None:
    """The parameters of a class or function by name; None if it takes any, or if they are unknown."""
    try:
        parameters = dict(inspect.signature(make).parameters)
    except (TypeError, ValueError):
        return None
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters.values()) else parameters


def _checked(made: Any, name: str) -> Method:
    if isinstance(made, type) or not isinstance(made, Method):
        raise ConfigError(f"{name} is not a method: it needs learn(trajectories, pool), recall(task, pool, progress)")
    return made

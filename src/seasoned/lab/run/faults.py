"""The faults of a recipe, in sentences: the setting, what it should be and is, or which one was meant.

Always holds: nothing raises, whatever the recipe; the value of an unknown key is not repeated.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from seasoned.lab.benchmarks import NAMES
from seasoned.llm.opening import SECRET

_LISTS = {
    "conditions": """'conditions=["disabled","expnote"]'""",
    "curve": "curve=[10,20]",
    "expel.human": """'expel.human=["Read it twice."]'""",
    "seeds": "seeds=[0,1,2]",
}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "bool": "true or false",
    "string": "text, in quotes where it looks like something else",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "greater_than": ("more than", "gt"),
    "less_than": ("less than", "lt"),
}
_SHOWN = 80  # characters of a wrong value


def faults(error: ValidationError, model: type[BaseModel], raw: Mapping[str, Any]) -> str:
    """Every fault of a recipe that its class refused, in one line; the raw recipe's benchmark adds settings."""
    known = [*keys(model), *_options(raw)]
    # pydantic also calls a list with wrong items too short.
    errors = [one for one in error.errors() if not (one["type"] == "too_short" and one["input"])]
    return "; ".join(_fault(one, known) for one in errors)


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every setting of a recipe without those of benchmarks, each section before its settings."""
    for name, field in model.model_fields.items():
        yield prefix + name
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from keys(kind, f"{prefix}{name}.")


def _fault(error: Any, known: Sequence[str]) -> str:
    where = ".".join(part for part in error["loc"] if isinstance(part, str))
    if error["type"] == "extra_forbidden":
        return f"there is no setting {where}; {_meant(where, known)}"
    if error["type"] == "missing":
        return f"the setting {where} is missing"
    if error["type"] == SECRET:
        return f"the setting {where} {error['msg']}"
    each = "each item of it" if isinstance(error["loc"][-1], int) else "it"
    shown = repr(error["input"])
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}.."
    inner = next((key for key in known if key.startswith(f"{where}.")), "")
    if inner and error["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return f"the setting {where} is wrong: it is a section, but got {shown}; set {inner}=.. instead"
    return f"the setting {where} is wrong: {each} should be {_right(error, where)}, but is {shown}"


def _right(error: Any, where: str) -> str:
    kind, limits = str(error["type"]), error.get("ctx", {})
    if kind == "tuple_type":
        return f"a list, such as {_LISTS[where]}" if where in _LISTS else "a list"
    if kind == "too_short":
        return "a list that is not empty"
    if kind == "literal_error":
        return str(limits["expected"])
    if kind in _BOUNDS:
        words, name = _BOUNDS[kind]
        return f"{words} {limits[name]:g}"
    message = str(error["msg"])
    return _KINDS.get(kind.partition("_")[0], message[:1].lower() + message[1:])


def _meant(where: str, known: Sequence[str]) -> str:
    """Advice about an unknown setting."""
    last = where.rpartition(".")[2]
    by_last: dict[str, list[str]] = {}
    for key in known:
        by_last.setdefault(key.rpartition(".")[2], []).append(key)
    near = list(by_last.get(last, ()))
    if not near or last == where:
        near += difflib.get_close_matches(where, known, n=1, cutoff=0.75)
    if not near and "key" in last.lower():
        return "a key is written down nowhere: export OPENAI_API_KEY=.. instead"
    if not near:
        near = [key for name in difflib.get_close_matches(last, by_last, n=1, cutoff=0.7) for key in by_last[name]]
    if near:
        return f"did you mean {' or '.join(dict.fromkeys(near))}?"
    return "docs/file-formats.md lists the settings, under config.toml"


def _options(raw: Mapping[str, Any]) -> list[str]:
    """The settings of the benchmark that a recipe names, if it is one of ours."""
    chosen = raw.get("benchmark")
    name = chosen.get("name") if isinstance(chosen, dict) else None
    if name not in NAMES:
        return []
    return [f"benchmark.{option}" for option in import_module(f"seasoned.lab.benchmarks.{name}").OPTIONS]

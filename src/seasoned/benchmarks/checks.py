"""What a benchmark's own check found, for `seasoned bench check`.

A benchmark whose tasks are not answered by one ANSWER brings a function `check(options) -> Check` that solves every
task the way an agent would. Always holds: `good` is at most `total`, and what is not good is named in `problems`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from seasoned.benchmarks import NAMES


@dataclass(frozen=True)
class Check:
    """Of `total` tasks `good` were solved with what is known to solve them; `problems` are sentences for a person."""

    good: int
    total: int
    problems: tuple[str, ...] = ()


def own_check(name: str) -> Callable[[Mapping[str, Any]], Check] | None:
    """The `check` of a benchmark's module; None where it has none, or where there is no such module."""
    path = f"seasoned.benchmarks.{name}" if name in NAMES else name.partition(":")[0]
    try:
        found = getattr(import_module(path), "check", None) if "." in path else None
    except (ImportError, SyntaxError, TypeError, ValueError):
        return None  # `load_benchmark` says what is wrong with the name
    return found if callable(found) else None

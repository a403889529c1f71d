"""What a benchmark's own check found, for `seasoned bench check`.

A benchmark whose tasks are not answered by one ANSWER brings a function `check(options, *, seed) -> Check` that solves
every task the way an agent would. Always holds: `good` is at most `total`, and what is not good is named in `problems`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from seasoned.lab.benchmarks import NAMES


@dataclass(frozen=True)
class Check:
    """Of `total` tasks `good` were solved with what is known to solve them; `problems` are sentences for a person.

    `source` says which data that was, `facts` what else was measured. `unwinnable` of the others cannot be solved with
    the options that were given, as these are documented: they are no fault of the data.
    """

    good: int
    total: int
    problems: tuple[str, ...] = ()
    source: str = ""
    unwinnable: int = 0
    facts: tuple[str, ...] = ()


class OwnCheck(Protocol):
    """A benchmark's `check`; options and seed are those of its `load`."""

    def __call__(self, options: Mapping[str, Any], *, seed: int) -> Check: ...  # noqa: D102


def own_check(name: str) -> OwnCheck | None:
    """The `check` of a benchmark's module; None where it has none, or where there is no such module."""
    path = f"seasoned.lab.benchmarks.{name}" if name in NAMES else name.partition(":")[0]
    try:
        found = getattr(import_module(path), "check", None) if "." in path else None
    except (ImportError, SyntaxError, TypeError, ValueError):
        return None  # `load_benchmark` says what is wrong with the name
    return found if callable(found) else None

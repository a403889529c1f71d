"""The benchmarks: tasks, an environment, the words of the prompts and the limits of the paper. One file or folder each.

Always holds: a benchmark is found by its short name or by a dotted path to a module (or function) of the user's, and
nothing of it is imported before it is asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seasoned.errors import ConfigError

if TYPE_CHECKING:
    from seasoned.lab.benchmarks.base import Benchmark

NAMES = ("alfworld", "clutrr", "emoji", "fever", "hotpotqa", "lets", "mets", "webshop")


def load_benchmark(name: str, options: Mapping[str, Any] | None = None, seed: int = 0) -> Benchmark:
    """Loads a benchmark by its short name, or by a dotted path.

    Args:
        name: One of `NAMES`, or the path of a module that has `load(options, *, seed)`, or `module:function`.
        options: The benchmark's own settings, as under `[benchmark]` in a recipe.
        seed: Decides the order of the tasks, which half is for training, and whatever is assigned or generated.

    Raises:
        ConfigError: There is no such benchmark, or an option is unknown or wrong.
        DataError: A data file is missing or broken.
    """
    from seasoned.lab.benchmarks.base import Benchmark

    benchmark = _loader(name)(dict(options or {}), seed=seed)
    if not isinstance(benchmark, Benchmark):
        raise ConfigError(f"the benchmark {name!r} should give a Benchmark, but gave a {type(benchmark).__name__}")
    return benchmark


def _loader(name: str) -> Any:
    path, _, function = name.partition(":")
    if name in NAMES:
        path = f"seasoned.lab.benchmarks.{name}"
    elif "." not in path and not function:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(NAMES)}, or give a dotted path"
        raise ConfigError(f"no benchmark is called {name!r}; {hint}")
    try:
        module = import_module(path)
    except (ImportError, SyntaxError, TypeError, ValueError) as e:
        raise ConfigError(f"the benchmark {name!r} cannot be imported: {e}") from e
    loader = getattr(module, function or "load", None)
    if not callable(loader):
        raise ConfigError(f"the benchmark {name!r} needs a function {function or 'load'}(options, *, seed) in {path}")
    return loader

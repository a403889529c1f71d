"""The benchmarks: tasks, an environment, the words of the prompts and the limits of the paper. One file or folder each.

A benchmark is a module with `OPTIONS`, each option with its default, and `load(options, *, seed) -> Benchmark`. If its
tasks take more than an ANSWER, it also has `check(options, *, seed) -> Check`. Always holds: a benchmark is found by
its short name, as a plugin, or by a dotted path to a user's module or function, and is imported only when needed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seasoned.errors import ConfigError, SeasonedError
from seasoned.plugins import load_plugin, plugins

if TYPE_CHECKING:
    from seasoned.lab.benchmarks.base import Benchmark, Check

NAMES = (
    *("alfworld", "clutrr", "drift", "emoji", "fever", "gaia2", "hotpotqa", "humaneval", "lets", "library", "mbpp"),
    *("mets", "tau2", "webshop"),
)


def load_benchmark(name: str, options: Mapping[str, Any] | None = None, seed: int = 0) -> Benchmark:
    """Load a benchmark by its short name, by the name of a plugin, or by a dotted path.

    Args:
        name: One of `NAMES`, a plugin of "seasoned.benchmarks", or the path of a module or of a `module:function`.
        options: The benchmark's settings, as under `[benchmark]` in a recipe.
        seed: Decides the order of the tasks, which half is for training, and all random draws.

    Raises:
        ConfigError: There is no such benchmark, an option is unknown or wrong, or a program it needs is not installed.
        DataError: A data file is missing or broken, or there are too few tasks.
        MissingExtraError: A library of one of Seasoned's extras is not installed.
    """
    from seasoned.lab.benchmarks.base import Benchmark

    path, _, function = name.partition(":")
    if name in NAMES:
        path = f"{__name__}.{name}"
    elif name in plugins("benchmarks"):
        path, _, function = plugins("benchmarks")[name].value.partition(":")
        load_plugin("benchmarks", name)  # its error names the plugin's package
    elif "." not in path and not function:
        known = [*NAMES, *plugins("benchmarks")]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}, or give a dotted path"
        raise ConfigError(f"no benchmark is called {name!r}; {hint}")
    try:
        module = import_module(path)
    except SeasonedError:
        raise
    except Exception as e:  # a user's module may raise anything
        raise ConfigError(f"the benchmark {name!r} cannot be imported: {type(e).__name__}: {e}") from e
    load = getattr(module, function or "load", None)
    if not callable(load):
        raise ConfigError(f"the benchmark {name!r} needs a function {function or 'load'}(options, *, seed) in {path}")
    benchmark = load(dict(options or {}), seed=seed)
    if not isinstance(benchmark, Benchmark):
        raise ConfigError(f"the benchmark {name!r} should give a Benchmark, but gave a {type(benchmark).__name__}")
    return benchmark


def stand_in(name: str, options: Mapping[str, Any] | None, count: int) -> Benchmark | None:
    """A stand-in for a benchmark without its data, with `count` tasks in each pool; None if it has no stand-in."""
    make = getattr(import_module(f"{__name__}.{name}"), "stand_in", None) if name in NAMES else None
    benchmark: Benchmark | None = None if make is None else make(dict(options or {}), count)
    return benchmark


def find_check(name: str) -> Callable[..., Check] | None:
    """The `check(options, *, seed)` of a benchmark's module; None if the module or the function does not exist."""
    path = f"{__name__}.{name}" if name in NAMES else name.partition(":")[0]
    try:
        check = getattr(import_module(path), "check", None) if "." in path else None
    except Exception:
        return None  # `load_benchmark` says what is wrong with the name
    return check if callable(check) else None

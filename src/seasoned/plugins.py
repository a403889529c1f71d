"""Plugins: what another package adds, found by Python entry points. The laboratory comes in by the same door.

A package names what it adds in its `pyproject.toml`, under `[project.entry-points."seasoned.GROUP"]`:

    commands    a function that is given the command line's typer app and adds commands to it
    pages       a function that gives the page's addresses with what answers them; templates lie in its package
    checks      a function that is given the folder of runs and gives (name, ok, sentence) for `seasoned doctor`
    benchmarks  a module with `load(options, *, seed)`, or such a function; named in a recipe
    methods     a class or function that makes a method; named by `Memory`, or as a condition in a recipe
    importers   a function that is given a file's path and gives its trajectories, for `seasoned import --format NAME`

docs/plugins.md has an example. Adapters need no entry point: they are imported where they are used.

Always holds: nothing is imported before it is asked for; a plugin that does not load is named in one sentence and the
others work; two plugins of one name are refused, with the homes of both.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from seasoned.errors import ConfigError


class PluginWarning(UserWarning):
    """A plugin could not be loaded and is left out."""


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """The plugins of a group, such as "benchmarks", by name; none is imported.

    Raises:
        ConfigError: two packages give different things under one name.
    """
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=f"seasoned.{group}"):
        other = points.setdefault(point.name, point)
        if other.value != point.value:
            raise ConfigError(
                f"two packages add {point.name!r} to seasoned.{group}: {_home(other)} and {_home(point)}; "
                "uninstall one of them, or rename its entry point"
            )
    return points


def load_plugin(group: str, name: str) -> Any:
    """What a plugin gives.

    Raises:
        ConfigError: there is no plugin of that name, or it cannot be imported.
    """
    point = plugins(group).get(name)
    if point is None:
        raise ConfigError(f"no installed package adds {name!r} to seasoned.{group}")
    try:
        return point.load()
    except Exception as error:  # whatever an import of somebody's module may raise
        raise ConfigError(
            f"the plugin {name!r} of {_home(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def loaded(group: str) -> Iterator[tuple[str, Any]]:
    """Each plugin of a group with its name; one that does not load is warned of and left out."""
    for name in plugins(group):
        try:
            member = load_plugin(group, name)
        except ConfigError as error:
            warnings.warn(str(error), PluginWarning, stacklevel=2)
            continue
        yield name, member


def _home(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unknown package"
    return f"{package} ({point.value})"

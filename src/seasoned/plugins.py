"""Plugins: additions of other packages, found by Python entry points; and objects that a user names by import path.

The laboratory is added in the same way. A package names what it adds in its `pyproject.toml`, under
`[project.entry-points."seasoned.GROUP"]`; docs/plugins.md lists the groups, with an example. The templates of `pages`
are in their package.

Always holds: a plugin is imported at its first use; one that does not load is named in one sentence, and the others
work; two plugins of one name are refused, and the error names both packages; an error of a user's module becomes a
sentence too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from seasoned.errors import ConfigError, SeasonedError


class PluginWarning(UserWarning):
    """A plugin could not be loaded and is left out."""


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """The plugins of a group, such as "benchmarks", by name; none is imported.

    ConfigError if two packages give different things under one name.
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
    """Import the object of a plugin; ConfigError if there is none of that name, or it cannot be imported."""
    point = plugins(group).get(name)
    if point is None:
        raise ConfigError(f"no installed package adds {name!r} to seasoned.{group}")
    try:
        return point.load()
    except Exception as error:  # a plugin's module may raise anything
        raise ConfigError(
            f"the plugin {name!r} of {_home(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def loaded(group: str) -> Iterator[tuple[str, Any]]:
    """Each plugin of a group with its name; one that does not load is left out, with a warning."""
    for name in plugins(group):
        try:
            member = load_plugin(group, name)
        except ConfigError as error:
            warnings.warn(str(error), PluginWarning, stacklevel=2)
        else:
            yield name, member


def import_member(path: str, what: str, known: str) -> Any:
    """Import the object at a path of a module's member; its name follows the last dot or colon.

    ConfigError if the path has no module or no name, or cannot be imported: it names the expected kind of object
    (`what`), and the known names. Errors of Seasoned that the module raises, such as MissingExtraError, stay.
    """
    module, _, member = path.rpartition(":" if ":" in path else ".")
    if not module or not member:
        raise ConfigError(f"there is no {what} {path!r}: {known}")
    try:
        return getattr(import_module(module), member)
    except SeasonedError:
        raise
    except Exception as error:  # a user's module may raise anything
        raise ConfigError(f"the {what} {path!r} cannot be imported: {type(error).__name__}: {error}") from error


def _home(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unknown package"
    return f"{package} ({point.value})"

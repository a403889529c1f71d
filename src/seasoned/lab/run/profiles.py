"""Profiles: a paper's settings under one name. `profiles.toml` has them, each with its source in the paper.

Always holds: `small` sets nothing; a recipe overrides the profile that it names, and a profile that the caller names
overrides the recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import read_toml

Profile = Literal["small", "paper"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

_FILE = Path(__file__).with_name("profiles.toml")


def profile_settings(profile: str, benchmark: str) -> dict[str, Any]:
    """The settings of a profile for a benchmark, in the form of a recipe: the general ones, and the benchmark's if any.

    Raises:
        ConfigError: there is no such profile.
    """
    if profile not in PROFILES:
        raise ConfigError(f"there is no profile {profile!r}: there are {', '.join(PROFILES)}")
    if profile == "small":
        return {"profile": "small"}
    special = _file().get(benchmark, {}) if benchmark != profile else {}
    return laid_over(_file()[profile], special)


def laid_over(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both, merged section by section; `over` wins."""
    both = {key: laid_over(value, {}) if isinstance(value, Mapping) else value for key, value in under.items()}
    for key, value in over.items():
        below = both.get(key)
        both[key] = laid_over(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return both


@cache
def _file() -> dict[str, Any]:
    return read_toml(_FILE)

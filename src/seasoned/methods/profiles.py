"""The methods' options in the papers, for `make_method(name, profile="paper")` and recipes.

`small` is the default of each class: what a model of a few billion parameters can follow. Always holds: these are
options of methods; a benchmark's settings are in the benchmark's module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seasoned.errors import ConfigError

PAPER: Mapping[str, Mapping[str, Any]] = {
    "autoguide": {},
    "erl": {"form": "paper", "filters": False, "reasons": True},
    "expel": {"full": "at"},
    "expnote": {"policy": "last", "on": "question", "partition": True},
    "reflexion": {"memory": 3},
}
"""By method, the options that differ from `small`."""


def method_options(method: str, profile: str) -> dict[str, Any]:
    """The options of a method in a profile.

    Raises:
        ConfigError: the profile does not exist, or the method has no such profile.
    """
    if profile not in ("small", "paper"):
        raise ConfigError(f"there is no profile {profile!r}: there are small, paper")
    if profile == "small":
        return {}
    if method not in PAPER:
        known = ", ".join(PAPER)
        raise ConfigError(f"the method {method} has no profile {profile}; {known} have one. Set its options instead")
    return dict(PAPER[method])

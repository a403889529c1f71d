"""The methods as the papers have them: `make_method(name, profile="paper")` and recipes take it from here.

`small` is each method as its class makes it: what a model of a few billion parameters can follow. Always holds: what is
here is a method's own; numbers that belong to a benchmark stand with it.
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
"""By method, what differs from `small`."""


def method_options(method: str, profile: str) -> dict[str, Any]:
    """The options of a method in a profile.

    Raises:
        ConfigError: there is no such profile, or the method does not know it.
    """
    if profile not in ("small", "paper"):
        raise ConfigError(f"there is no profile {profile!r}: there are small, paper")
    if profile == "small":
        return {}
    if method not in PAPER:
        known = ", ".join(PAPER)
        raise ConfigError(f"the method {method} knows no profile {profile}: {known} do; give its own options instead")
    return dict(PAPER[method])

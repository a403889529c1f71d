"""The words of the τ²-bench prompts: the instruction, worked attempts, and failed attempts with a reflection.

Always holds: worked attempts are at faults that no task of the splits has; an action that is a call is also a call in
its step.
"""

from __future__ import annotations

from functools import cache

from seasoned.lab.benchmarks.act import Words, recorded_words
from seasoned.lab.benchmarks.base import PROMPTS, read_toml


@cache
def read_words(solo: bool, policy: str) -> Words:
    """The words for tasks with or without a customer; the instruction ends with `policy`."""
    raw = read_toml(PROMPTS / "tau2.toml")
    instruction, about = (" ".join(raw[name].split()) for name in _NAMES[solo])
    full = f"{instruction}\n\nThe policy:\n\n{policy.strip()}" if policy else instruction
    if not solo:
        return Words(full, about, (), (), ("", ""))
    return recorded_words("tau2")._replace(instruction=full, about=about)


_NAMES = {True: ("alone", "about_alone"), False: ("instruction", "about")}
"""The keys of the instruction and of the tasks' topic, by whether there is no customer."""


def brief() -> str:
    """Our summary of telecom's policy."""
    return str(read_toml(PROMPTS / "tau2.toml")["brief"])

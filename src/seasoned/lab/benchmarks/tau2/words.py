"""The words of the τ²-bench prompts: instruction, worked attempts, failed ones with a reflection.

Always holds: worked attempts are at faults that no task of the splits has; an action that is a call is one in its step,
too.
"""

from __future__ import annotations

from functools import cache

from seasoned.lab.benchmarks.act import Words, recorded_words
from seasoned.lab.benchmarks.base import PROMPTS, read_toml


@cache
def read_words(solo: bool, policy: str) -> Words:
    """The words for work with or without a customer; `policy` stands at the end of the instruction."""
    raw = read_toml(PROMPTS / "tau2.toml")
    instruction, about = (" ".join(raw[name].split()) for name in _NAMES[solo])
    whole = f"{instruction}\n\nThe policy:\n\n{policy.strip()}" if policy else instruction
    if not solo:
        return Words(whole, about, (), (), ("", ""))
    return recorded_words("tau2")._replace(instruction=whole, about=about)


_NAMES = {True: ("alone", "about_alone"), False: ("instruction", "about")}
"""Of the instruction and of what the tasks are about, without a customer and with one."""


def brief() -> str:
    """What the policy of telecom comes to, in few words."""
    return str(read_toml(PROMPTS / "tau2.toml")["brief"])

"""The words of the ALFWorld prompts: instruction, worked attempts, failed ones with a reflection.

Always holds: each step can be done after those before it, and shows what the engine would show.
"""

from __future__ import annotations

from functools import cache

from seasoned.lab.benchmarks.act import Words, recorded_words
from seasoned.lab.benchmarks.alfworld.choices import noted
from seasoned.lab.benchmarks.base import PROMPTS, read_toml


@cache
def read_words(notebook: bool, focus: bool = False) -> Words:
    """The words of the prompts; with `notebook`, the worked attempts show what an agent with a notebook sees."""
    words = recorded_words("alfworld")
    won = tuple(noted(one, focus) if notebook else one for one in words.trajectories)
    instruction = read_toml(PROMPTS / "alfworld.toml")["instruction"].strip()  # a list, whose lines stay
    return words._replace(instruction=instruction, trajectories=won)

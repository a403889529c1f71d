"""The words of the ALFWorld prompts: the instruction, worked attempts, and failed attempts with a reflection.

Always holds: each step is possible after the steps before it, and shows what the engine would show.
"""

from __future__ import annotations

from functools import cache

from seasoned.lab.benchmarks.act import Words, recorded_words
from seasoned.lab.benchmarks.alfworld.choices import noted
from seasoned.lab.benchmarks.base import PROMPTS, read_toml


@cache
def read_words(notebook: bool, focus: bool = False) -> Words:
    """The words of the prompts; with `notebook`, the worked attempts show its lines."""
    words = recorded_words("alfworld")
    won = tuple(noted(one, focus) if notebook else one for one in words.trajectories)
    # The instruction is a list, so its line breaks stay.
    instruction = read_toml(PROMPTS / "alfworld.toml")["instruction"].strip()
    return words._replace(instruction=instruction, trajectories=won)

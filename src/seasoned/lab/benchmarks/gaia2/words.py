"""The words of the Gaia2 prompts: the instruction, worked attempts, and failed attempts with a reflection.

The attempts are in a universe that is in no pool. Always holds: each step shows what ARE shows.
"""

from __future__ import annotations

from functools import cache

from seasoned.lab.benchmarks.act import Words, recorded_words


@cache
def read_words() -> Words:
    """The words of the prompts."""
    return recorded_words("gaia2", reason="answered", kinds=False)

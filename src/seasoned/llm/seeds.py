"""The shift of seeds, by which one model makes different runs of the same task.

Always holds: a shift is seen in its own thread and block alone; without one, a model sends the seed it was made with.
With one, each prompt gets a seed of its own, and the same one in every block of that shift: were it one for all, a
server would draw the same number for each prompt, and the tasks of a run would be lucky or unlucky together.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Beside the protocol: meters, journals and methods stand between who repeats a run and who sends the seed.
_shift: ContextVar[int] = ContextVar("seed_shift", default=0)


@contextmanager
def seed_shifted(by: int) -> Iterator[None]:
    """Calls in this block send other seeds than in a block with another shift; 0 is none."""
    token = _shift.set(by)
    try:
        yield
    finally:
        _shift.reset(token)


def shifted(seed: int | None, prompt: str) -> int | None:
    """The seed to send with a prompt, below 2^31: None stays None, and without a shift each stays what it is."""
    shift = _shift.get()
    if seed is None or not shift:
        return seed
    return zlib.crc32(f"{seed} {shift}\n{prompt}".encode("utf-8", "replace")) >> 1

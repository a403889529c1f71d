"""Shifts seeds, so that one model makes different runs of the same task.

Always holds: a shift applies only in its thread and block; without a shift, a model sends its own seed. With a shift,
each prompt gets its own seed, which is the same in every block of that shift. With a single seed, a server would draw
the same random number for each prompt, and the tasks of a run would be lucky or unlucky together.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# A context variable, not an argument: meters, journals and methods are between the repeated run and the request.
_shift: ContextVar[int] = ContextVar("seed_shift", default=0)


@contextmanager
def seed_shifted(by: int) -> Iterator[None]:
    """Shift the seeds of calls in this block; 0 means no shift."""
    token = _shift.set(by)
    try:
        yield
    finally:
        _shift.reset(token)


def shifted(seed: int | None, prompt: str) -> int | None:
    """The seed to send with a prompt, below 2^31; None stays None, and without a shift the seed stays as it is."""
    shift = _shift.get()
    if seed is None or not shift:
        return seed
    return zlib.crc32(f"{seed} {shift}\n{prompt}".encode("utf-8", "replace")) >> 1

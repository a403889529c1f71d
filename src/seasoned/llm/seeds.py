"""The shift of seeds, by which one model makes different runs of the same task.

Always holds: a shift is seen in its own thread and block alone; without one, a model sends the seed it was made with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Beside the protocol: meters, journals and methods stand between who repeats a run and who sends the seed.
_shift: ContextVar[int] = ContextVar("seed_shift", default=0)


@contextmanager
def seed_shifted(by: int) -> Iterator[None]:
    """Calls in this block send their model's seed and so much more."""
    token = _shift.set(by)
    try:
        yield
    finally:
        _shift.reset(token)


def shifted(seed: int | None) -> int | None:
    """The seed to send: None stays None."""
    return None if seed is None else seed + _shift.get()

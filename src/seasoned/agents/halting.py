"""When an attempt has gone wrong enough to be ended: the heuristic h of Reflexion, section 2.2.

Always holds: it looks only at what was done, knows no task and no agent, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Literal

from seasoned.errors import ConfigError
from seasoned.importing import import_member
from seasoned.types import Step

Why = Literal["loop", "step_limit"]
Halt = Callable[[Sequence[Step]], Why | None]
"""A rule that ends attempts: of the steps so far, why one should end here, or None. It is asked after each step."""


def ends_early(
    steps: Sequence[Step], *, omega: int | None = None, epsilon: int | None = None, with_observation: bool = True
) -> Literal["loop", "step_limit"] | None:
    """Why an attempt should end before its next action, asked after each one.

    Reflexion calls it a hallucination when the same action twice in a row meets the same observation (omega 2), and
    inefficient planning when 30 actions did not suffice (epsilon 30). ExpeL ends at the same action twice, whatever was
    observed.

    Args:
        steps: what was done so far, in order.
        omega: so many identical actions in a row end it, 2 or more; None or less: never.
        epsilon: so many actions end it; None or 0: never.
        with_observation: whether actions are identical only where the observation was the same, too. White space makes
            no difference.

    Returns:
        `loop`, else `step_limit`, else None: go on.
    """
    if steps and omega is not None and omega > 1:
        last = _done(steps[-1], with_observation)
        if sum(1 for _ in takewhile(lambda step: _done(step, with_observation) == last, reversed(steps))) >= omega:
            return "loop"
    return "step_limit" if epsilon and len(steps) >= epsilon else None


def reflexion_halt(
    steps: Sequence[Step], *, omega: int = 1, epsilon: int = 30, cycle: int = 1, with_observation: bool = True
) -> Why | None:
    """The heuristic h as section 2.2 of Reflexion prints it: more than `omega` repeats, or more than `epsilon` actions.

    A repeat is a cycle of actions with the same observations as the cycle right before it. With the defaults an attempt
    ends at the second identical action in a row, or at the 31st action, as section 4.2 has it.

    Args:
        steps: what was done so far, in order.
        omega: so many identical cycles in a row are allowed: with 1 the second one ends it.
        epsilon: so many actions are allowed.
        cycle: actions that a cycle may have at most: 2 sees A, B, A, B as well.
        with_observation: whether actions are identical only where the observation was the same, too.
    """
    done = [_done(step, with_observation) for step in steps]
    for length in range(1, cycle + 1):
        starts = range(len(done) - length, -1, -length)
        same = takewhile(lambda start, n=length: done[start : start + n] == done[-n:], starts)  # type: ignore[misc]
        if sum(1 for _ in same) > omega:
            return "loop"
    return "step_limit" if len(steps) > epsilon else None


def make_halt(name: str, **options: Any) -> Halt | None:
    """The rule of a name: `reflexion` with the options of `reflexion_halt`, a function by its import path; "": none.

    Raises:
        ConfigError: nothing is there, or it is no function.
    """
    if not name:
        return None
    if name == "reflexion":
        return partial(reflexion_halt, **options)
    found = import_member(name, "rule that ends attempts", "known is reflexion, or the import path of a function")
    if not callable(found):
        raise ConfigError(f"{name!r} should be a function of the steps so far, and is a {type(found).__name__}")
    halt: Halt = found
    return halt


def _done(step: Step, with_observation: bool) -> tuple[str, ...]:
    parts = (step.action, step.observation) if with_observation else (step.action,)
    return tuple(" ".join(text.split()) for text in parts)

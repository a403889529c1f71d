"""Rules that end an attempt that goes wrong: the heuristic h of Reflexion, section 2.2.

Always holds: a rule depends only on the steps, not on the task or the agent, and changes nothing.
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
"""A rule that ends attempts, called after each step: it returns why the attempt should end, or None."""


def ends_early(
    steps: Sequence[Step], *, omega: int | None = None, epsilon: int | None = None, with_observation: bool = True
) -> Literal["loop", "step_limit"] | None:
    """Decide whether an attempt should end before its next action, and why.

    In Reflexion, the same action with the same observation twice in a row is a hallucination (omega 2), and 30 actions
    without success are inefficient planning (epsilon 30). ExpeL ends at the same action twice, whatever the
    observation.

    Args:
        steps: the steps so far, in order.
        omega: this many identical actions in a row end it, 2 or more; None or less: never.
        epsilon: this many actions end it; None or 0: never.
        with_observation: whether identical actions must have the same observation too. White space is ignored.

    Returns:
        `loop`, else `step_limit`, else None: the attempt continues.
    """
    if steps and omega is not None and omega > 1:
        last = _key(steps[-1], with_observation)
        if sum(1 for _ in takewhile(lambda step: _key(step, with_observation) == last, reversed(steps))) >= omega:
            return "loop"
    return "step_limit" if epsilon and len(steps) >= epsilon else None


def reflexion_halt(
    steps: Sequence[Step], *, omega: int = 1, epsilon: int = 30, cycle: int = 1, with_observation: bool = True
) -> Why | None:
    """The heuristic h as printed in Reflexion, section 2.2: more than `omega` repeats or `epsilon` actions.

    A repeat is a cycle of actions with the same observations as the cycle right before it. With the defaults an attempt
    ends at the second identical action in a row, or at the 31st action, as in section 4.2.

    Args:
        steps: the steps so far, in order.
        omega: this many identical cycles in a row are allowed: with 1, the second one ends the attempt.
        epsilon: this many actions are allowed.
        cycle: the most actions in a cycle: 2 also detects A, B, A, B.
        with_observation: whether identical actions must have the same observation too.
    """
    actions = [_key(step, with_observation) for step in steps]
    for length in range(1, cycle + 1):
        starts = range(len(actions) - length, -1, -length)
        same = takewhile(lambda start, n=length: actions[start : start + n] == actions[-n:], starts)  # type: ignore[misc]
        if sum(1 for _ in same) > omega:
            return "loop"
    return "step_limit" if len(steps) > epsilon else None


def make_halt(name: str, **options: Any) -> Halt | None:
    """Find a rule: `reflexion` with the options of `reflexion_halt`, a function by its import path, or "" for none.

    Raises:
        ConfigError: the path leads to nothing, or not to a function.
    """
    if not name:
        return None
    if name == "reflexion":
        return partial(reflexion_halt, **options)
    function = import_member(name, "rule that ends attempts", "known is reflexion, or the import path of a function")
    if not callable(function):
        raise ConfigError(f"{name!r} should be a function of the steps so far, and is a {type(function).__name__}")
    halt: Halt = function
    return halt


def _key(step: Step, with_observation: bool) -> tuple[str, ...]:
    parts = (step.action, step.observation) if with_observation else (step.action,)
    return tuple(" ".join(text.split()) for text in parts)

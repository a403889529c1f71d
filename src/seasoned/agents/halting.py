"""Rules that end an attempt that goes wrong: the heuristic h of Reflexion, section 2.2.

Always holds: a rule depends only on the steps, not on the task or the agent, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Literal

from seasoned.errors import ConfigError
from seasoned.plugins import import_member
from seasoned.types import Step

Why = Literal["loop", "step_limit"]
Halt = Callable[[Sequence[Step]], Why | None]
"""A rule that ends attempts, called after each step: it returns why the attempt should end, or None."""


def ends_early(
    steps: Sequence[Step], *, omega: int | None = None, epsilon: int | None = None, with_observation: bool = True
) -> Why | None:
    """Why an attempt should end before its next action: `loop`, else `step_limit`; None if it should go on.

    It ends at `omega` identical actions in a row (2 or more; None or less: never), or at `epsilon` actions (None or 0:
    never). In Reflexion, the same action with the same observation twice in a row is a hallucination (omega 2), and 30
    actions without success are inefficient planning (epsilon 30). ExpeL ends at the same action twice, whatever the
    observation (not `with_observation`).
    """
    allowed = omega - 1 if omega is not None and omega > 1 else len(steps)
    actions = epsilon - 1 if epsilon else len(steps)
    return reflexion_halt(steps, omega=allowed, epsilon=actions, with_observation=with_observation)


def reflexion_halt(
    steps: Sequence[Step], *, omega: int = 1, epsilon: int = 30, cycle: int = 1, with_observation: bool = True
) -> Why | None:
    """The heuristic h as printed in Reflexion, section 2.2: more than `omega` repeats or `epsilon` actions.

    A repeat is a cycle of up to `cycle` actions that equals the cycle right before it: 2 also detects A, B, A, B. With
    `with_observation`, the observations must be equal too, except for white space. With the defaults an attempt ends at
    the second identical action in a row, or at the 31st action, as in section 4.2.
    """
    texts = [(step.action, step.observation) if with_observation else (step.action,) for step in steps]
    actions = [tuple(" ".join(text.split()) for text in each) for each in texts]
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

"""When an attempt has gone wrong enough to be ended: the heuristic h of Reflexion, section 2.2.

Always holds: it looks only at what was done, knows no task and no agent, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from seasoned.types import Step


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


def _done(step: Step, with_observation: bool) -> tuple[str, ...]:
    parts = (step.action, step.observation) if with_observation else (step.action,)
    return tuple(" ".join(text.split()) for text in parts)

"""The present state of a pool's certificate: the claims of its gates, stored beside its lessons and checked on demand.

Always holds: the newest claim is kept for each condition and block; a pool that no gate promoted has no certificate; a
check calls no model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seasoned.proof.certificate import Certificate, check, recorded

if TYPE_CHECKING:
    from seasoned.store.sql import Store


@dataclass(frozen=True)
class Standing:
    """The certificate of a pool: what was promoted, on how many tasks won and lost, and what invalidates it today."""

    condition: str
    won: int
    lost: int
    p: float
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing changed since the gate."""
        return not self.problems

    def __str__(self) -> str:
        """One sentence for a person."""
        gate = f"{self.won} tasks won, {self.lost} lost, p = {self.p:.2g}"
        return f"certified ({gate})" if self.holds else f"its certificate is broken: {self.problems[0]}"


def standing(store: Store, scope: str) -> Standing | None:
    """The certificate of a pool today, from the newest claim that promoted its lessons, or None."""
    promoted = [claim for claim in recorded(store, scope) if claim.promoted and not claim.crossfit]
    if not promoted:
        return None
    claim = promoted[-1]
    last = claim.looks[-1]
    problems = check(Certificate(claims=(claim,)), store)
    return Standing(claim.condition, last.won, last.lost, last.p, tuple(problems))

"""The marks of a run on its pools: that learning is complete, and which training attempts were made again.

Always holds: what a person wrote, or changed last, stays when a pool is learned again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from seasoned.pool import JUDGED
from seasoned.store.sql import Store
from seasoned.types import Trajectory, by_person

GATE = "gate"
"""The mark that holds the claim of a gate that was decided."""
TRIED = "tried"
"""The mark that holds the hashes of the lessons that a gate tries."""
PROBE = "probe"
"""The mark that holds what a probe estimated of a condition's lessons."""
_LEARNED, _REPLACED = "learned", "replaced"


def left_out(store: Store, scope: str, attempts: Iterable[Trajectory]) -> list[Trajectory]:
    """Attempts this pool has not learned from yet: all, where it was not learned to the end."""
    if not is_learned(store, scope):
        return list(attempts)
    known = _learned(store, scope).get("from")
    # Without ids, an earlier version marked it, and nobody knows.
    return [] if known is None else [t for t in attempts if t.id not in known]


def is_learned(store: Store, scope: str) -> bool:
    """Whether a pool was learned to the end."""
    return store.marked(scope, _LEARNED) is not None


def mark_learned(store: Store, scope: str, attempts: Iterable[Trajectory], problems: Sequence[str] = ()) -> None:
    """Remember that a pool was learned to the end, from what, and its problems; a person may change it from now on."""
    store.mark(scope, _LEARNED, {"from": [t.id for t in attempts], "problems": list(problems)})


def unlearn(store: Store, scope: str, why: str) -> None:
    """Remove what was learned for a pool, to the end or not; what a person wrote, or changed last, stays."""
    with store.transaction():
        for lesson in store.lessons(scope):
            if not by_person(store.history(lesson.id)[-1].who):
                store.remove_lesson(lesson.id, who="rule", why=why, purge=True)
        store.unmark(scope, _LEARNED)
        store.unmark(f"{scope}{JUDGED}")


def problems_of(store: Store, scope: str) -> tuple[str, ...]:
    """What learning a pool could not use; nothing where it was not learned to the end."""
    return tuple(map(str, _learned(store, scope).get("problems", ())))


def replaced(store: Store, experience: str) -> frozenset[str]:
    """The ids of training attempts that were thrown away and made again: lessons that a person kept may name them."""
    return frozenset(store.marked(experience, _REPLACED) or ())


def mark_replaced(store: Store, experience: str, keys: Iterable[str], run_id: str) -> None:
    """Remember the training attempts among these episodes of a run, which are about to be made again."""
    begins = experience.removeprefix(f"{run_id}/") + "/"
    made = store.episodes(run_id)
    gone = {made[key].id for key in keys if key.startswith(begins)}
    if gone:
        store.mark(experience, _REPLACED, sorted(gone | replaced(store, experience)))


def _learned(store: Store, scope: str) -> dict[str, Any]:
    mark = store.marked(scope, _LEARNED)
    return mark if isinstance(mark, dict) else {}


def gate_scope(run_id: str, block: str, condition: str) -> str:
    """The scope of the marks `GATE` and `PROBE`: what was decided on the lessons of a condition in a block."""
    return f"{run_id}/{block}/{condition}"


def forget_gate(store: Store, run_id: str, block: str, condition: str) -> None:
    """Forget what a gate and a probe decided, as their lessons or attempts are made again."""
    for name in (GATE, TRIED, PROBE):
        store.unmark(gate_scope(run_id, block, condition), name)

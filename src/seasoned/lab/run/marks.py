"""The marks of a run on its pools: that learning is complete, and which training attempts were made again.

Always holds: lessons that a person wrote, or changed last, stay when a pool is learned again.
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
"""The mark that holds a probe's estimates for a condition's lessons."""
_LEARNED, _REPLACED = "learned", "replaced"


def left_out(store: Store, scope: str, attempts: Iterable[Trajectory]) -> list[Trajectory]:
    """The attempts that a pool has not learned from yet: all if its learning is not complete."""
    if not is_learned(store, scope):
        return list(attempts)
    known = _learned(store, scope).get("from")
    # An earlier version stored no ids, so these attempts cannot be known.
    return [] if known is None else [t for t in attempts if t.id not in known]


def is_learned(store: Store, scope: str) -> bool:
    """Whether a pool's learning is complete."""
    return store.marked(scope, _LEARNED) is not None


def mark_learned(store: Store, scope: str, attempts: Iterable[Trajectory], problems: Sequence[str] = ()) -> None:
    """Store that a pool's learning is complete, with its attempts and problems; a person may change it from now on."""
    store.mark(scope, _LEARNED, {"from": [t.id for t in attempts], "problems": list(problems)})


def unlearn(store: Store, scope: str, why: str) -> None:
    """Remove a pool's lessons, but not those that a person wrote or changed last."""
    with store.transaction():
        for lesson in store.lessons(scope):
            if not by_person(store.history(lesson.id)[-1].who):
                store.remove_lesson(lesson.id, who="rule", why=why, purge=True)
        store.unmark(scope, _LEARNED)
        store.unmark(f"{scope}{JUDGED}")


def problems_of(store: Store, scope: str) -> tuple[str, ...]:
    """The problems of learning a pool; empty if the learning is not complete."""
    return tuple(map(str, _learned(store, scope).get("problems", ())))


def replaced(store: Store, experience: str) -> frozenset[str]:
    """The ids of training attempts that were discarded and made again; lessons that a person kept may name them."""
    return frozenset(store.marked(experience, _REPLACED) or ())


def mark_replaced(store: Store, experience: str, keys: Iterable[str], run_id: str) -> None:
    """Store the training attempts among these episodes of a run, which are about to be made again."""
    prefix = experience.removeprefix(f"{run_id}/") + "/"
    made = store.episodes(run_id)
    gone = {made[key].id for key in keys if key.startswith(prefix)}
    if gone:
        store.mark(experience, _REPLACED, sorted(gone | replaced(store, experience)))


def _learned(store: Store, scope: str) -> dict[str, Any]:
    mark = store.marked(scope, _LEARNED)
    return mark if isinstance(mark, dict) else {}


def gate_scope(run_id: str, block: str, condition: str) -> str:
    """The scope of the marks `GATE`, `TRIED` and `PROBE` of a condition in a block."""
    return f"{run_id}/{block}/{condition}"


def forget_gate(store: Store, run_id: str, block: str, condition: str) -> None:
    """Forget the decisions of a gate and a probe, since their lessons or attempts are made again."""
    for name in (GATE, TRIED, PROBE):
        store.unmark(gate_scope(run_id, block, condition), name)

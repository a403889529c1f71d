"""Late outcomes: an attempt's verdict that comes, or is corrected, after it was recorded.

Always holds: every verdict stays in the record with time, author and reason; what a model learned from a wrong one is
set to deleted, as a version that says why, and the attempt is learned from anew; pinned lessons stay.
"""

from __future__ import annotations

from typing import Any

from seasoned.errors import StoreError
from seasoned.memory.screened import ScreenedPool
from seasoned.pool import Who
from seasoned.store.pages import attempt_lines, lessons_of
from seasoned.types import Outcome, Trajectory, now

META = "verdicts"
"""The key in a trajectory's `meta`: its verdicts, oldest first, each with `success`, `reward`, `at`, `who`, `why`."""
_WORDS = {True: "a success", False: "a failure", None: "unknown"}


def revise(pool: ScreenedPool, attempt_id: str, verdict: Outcome, *, who: Who, why: str, **more: Any) -> Trajectory:
    """Give a recorded attempt another verdict; call it within a transaction that holds the pool's scopes.

    Args:
        pool: of the memory.
        attempt_id: of an attempt of this namespace.
        verdict: its success and reward count; answer and detail stay those of the record.
        who: who says so.
        why: one line, masked already.
        more: what else the record keeps in its `meta` from now on.

    Returns:
        The attempt as it is stored now.

    Raises:
        StoreError: there is no such attempt in this namespace.
    """
    store = pool.store
    line = attempt_lines(store, [attempt_id]).get(attempt_id)
    old = store.get_trajectory(attempt_id)
    if line is None or old is None or line.scope not in pool.scopes:
        raise StoreError(f"there is no attempt {attempt_id!r} in {pool.scope!r}; `seasoned attempts` lists them")
    first = _verdict(old.outcome, at=old.created, who="model" if "judged" in old.meta else "agent", why="")
    said = [*old.meta.get(META, [first]), _verdict(verdict, at=now(), who=who, why=why)]
    reason = "reported" if old.outcome.reason in ("unfinished", "error") else old.outcome.reason
    changes = {"success": verdict.success, "reward": verdict.reward, "reason": reason}
    outcome = old.outcome.model_copy(update=changes)
    new = old.model_copy(update={"outcome": outcome, "meta": {**old.meta, **more, META: said}})
    differs = (old.outcome.success, old.outcome.reward) != (verdict.success, verdict.reward)
    if differs:
        _take_back(pool, old, verdict, why)
    # An attempt of unknown outcome that taught something all the same has been learned from.
    taught = any(lesson.origin == "model" and lesson.status != "deleted" for lesson in lessons_of(store, old.id, 1000))
    store.revise_trajectory(new, relearn=differs and not taught)
    return new


def _take_back(pool: ScreenedPool, old: Trajectory, verdict: Outcome, why: str) -> None:
    """Take the attempt from the sources of what a model learned from it; what has no other source is deleted."""
    for lesson in lessons_of(pool.store, old.id, 1000):
        if lesson.origin != "model" or lesson.pinned or pool.store.scope_of(lesson.id) != pool.scope:
            continue
        # Where nobody knew how it ended, the model may have judged for itself while it learned.
        taken = lesson.data.get("judged") if old.outcome.success is None else old.outcome.success
        if taken is None or (old.outcome.success is None and taken is verdict.success):
            continue
        said = f"{old.id} was taken for {_WORDS[taken]}, and is {_WORDS[verdict.success]}"
        reason = f"{said}: {why}" if why else said
        rest = tuple(source for source in lesson.sources if source != old.id)
        gone = {"importance": max(lesson.importance - 1, 1.0)} if rest else {"status": "deleted"}
        pool.store.update_lesson(lesson.model_copy(update={"sources": rest, **gone}), who="rule", why=reason)


def _verdict(outcome: Outcome, **said: Any) -> dict[str, Any]:
    return {"success": outcome.success, "reward": outcome.reward, **said}

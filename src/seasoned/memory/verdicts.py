"""Late outcomes: verdicts that arrive, or are corrected, after an attempt was recorded.

Always holds: every verdict stays in the record with time, author and reason; a model's lessons from a wrong one are
deleted, in a version that says why, and the attempt is learned from again; pinned lessons stay.
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
    """Give a recorded attempt another verdict, and return it as stored.

    Call it within a transaction that locks the pool's scopes. Answer and detail stay as recorded. `why` is one line,
    masked already; `more` are further entries for the record's `meta`. Raises StoreError if this namespace has no such
    attempt.
    """
    store = pool.store
    line = attempt_lines(store, [attempt_id]).get(attempt_id)
    old = store.get_trajectory(attempt_id)
    if line is None or old is None or line.scope not in pool.scopes:
        raise StoreError(f"there is no attempt {attempt_id!r} in {pool.scope!r}; `seasoned attempts` lists them")
    first = _verdict(old.outcome, at=old.created, who="model" if "judged" in old.meta else "agent", why="")
    verdicts = [*old.meta.get(META, [first]), _verdict(verdict, at=now(), who=who, why=why)]
    reason = "reported" if old.outcome.reason in ("unfinished", "error") else old.outcome.reason
    changes = {"success": verdict.success, "reward": verdict.reward, "reason": reason}
    meta = {**old.meta, **more, META: verdicts}
    new = old.model_copy(update={"outcome": old.outcome.model_copy(update=changes), "meta": meta})
    differs = (old.outcome.success, old.outcome.reward) != (verdict.success, verdict.reward)
    if differs:
        _take_back(pool, old, verdict, why)
    # An attempt of unknown outcome that still taught something was learned from.
    taught = any(lesson.origin == "model" and lesson.status != "deleted" for lesson in lessons_of(store, old.id, 1000))
    store.revise_trajectory(new, relearn=differs and not taught)
    return new


def _take_back(pool: ScreenedPool, old: Trajectory, verdict: Outcome, why: str) -> None:
    """Remove the attempt from the sources of a model's lessons; a lesson without other sources is deleted."""
    for lesson in lessons_of(pool.store, old.id, 1000):
        if lesson.origin != "model" or lesson.pinned or pool.store.scope_of(lesson.id) != pool.scope:
            continue
        # If the outcome was unknown, the model may have judged it while learning.
        taken = lesson.data.get("judged") if old.outcome.success is None else old.outcome.success
        if taken is None or (old.outcome.success is None and taken is verdict.success):
            continue
        correction = f"{old.id} was taken for {_WORDS[taken]}, and is {_WORDS[verdict.success]}"
        reason = f"{correction}: {why}" if why else correction
        rest = tuple(source for source in lesson.sources if source != old.id)
        change = {"importance": max(lesson.importance - 1, 1.0)} if rest else {"status": "deleted"}
        pool.store.update_lesson(lesson.model_copy(update={"sources": rest, **change}), who="rule", why=reason)


def _verdict(outcome: Outcome, **fields: Any) -> dict[str, Any]:
    return {"success": outcome.success, "reward": outcome.reward, **fields}

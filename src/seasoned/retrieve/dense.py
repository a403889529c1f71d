"""Retrieval by meaning: the nearest lessons or trajectories of a pool.

Always holds: the search is exact, and what is excluded by id never comes back (a task is never its own demonstration).
"""

from __future__ import annotations

from collections.abc import Collection

from seasoned.pool import ExperiencePool
from seasoned.types import Trajectory


def nearest_successes(
    pool: ExperiencePool, text: str, *, k: int, exclude_tasks: Collection[str] = ()
) -> list[Trajectory]:
    """Up to k successful trajectories whose tasks are nearest to the text, one per task, nearest first."""
    seen = set(exclude_tasks)
    found: list[Trajectory] = []
    for trajectory, _ in pool.nearest_trajectories(text, k * 4 + len(seen), success=True):
        if trajectory.task_id not in seen:
            seen.add(trajectory.task_id)
            found.append(trajectory)
        if len(found) == k:
            break
    return found

"""The loop: attempt, record, learn, recall, evaluate, as plain functions over the protocols.

Always holds: every attempt returns a trajectory; a server error is never a failed task, and nothing is learned from an
attempt that it ended; an evaluation writes nothing, and recalls nothing that comes from its own tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from copy import copy
from functools import partial

from seasoned.errors import BudgetExceeded, InfrastructureError, LeakError, RefusedError
from seasoned.jobs import run_jobs
from seasoned.pool import ExperiencePool
from seasoned.protocols import Agent, Environment, Method
from seasoned.types import Guidance, Outcome, Task, Trajectory

Recall = Callable[[Trajectory | None], Guidance]
"""Gives guidance for one task: before the attempt (None), or during it for the attempt so far."""


def attempt(
    agent: Agent, env: Environment, task: Task, recall: Recall | None = None, *, once: bool = False
) -> Trajectory:
    """Recall guidance, let the agent try the task, and return the record of the attempt; the caller closes `env`.

    `recall` returns the guidance, such as `partial(recall, method, task, pool)`; with `once`, only before the attempt,
    even if the agent asks again during it. If the attempt ended before the agent began, its outcome has the reason
    `error` (success unknown: a server failed or refused a prompt) or `budget` (failed: the episode's budget was used
    up).

    Raises:
        BudgetExceeded: the budget of the whole run is used up.
        SeasonedError: any other error of the agent or the method.
    """
    refused = {}
    try:
        guidance = recall(None) if recall is not None else Guidance()
        return agent.run(task, env, guidance, None if once else recall)
    except BudgetExceeded as error:
        if error.scope == "run":
            raise
        outcome = Outcome(success=False, reward=0.0, reason="budget", detail=str(error))
    except (InfrastructureError, RefusedError) as error:
        refused = {"refused": True} if isinstance(error, RefusedError) else {}
        outcome = Outcome(reason="error", detail=str(error))
    return Trajectory(task_id=task.id, task=task.text, category=task.category, outcome=outcome, meta=refused)


def record(attempts: Iterable[Trajectory], pool: ExperiencePool) -> list[Trajectory]:
    """Store attempts in a pool and return them. An attempt that the pool already has stays unchanged.

    Raises:
        StoreError: the pool is read-only, or an id is taken by another trajectory.
    """
    return [pool.record(trajectory) for trajectory in attempts]


def without_errors(attempts: Iterable[Trajectory]) -> list[Trajectory]:
    """Return the attempts to learn from: those that no server error ended."""
    return [t for t in attempts if t.outcome.reason != "error"]


def learn(method: Method, attempts: Iterable[Trajectory], pool: ExperiencePool) -> None:
    """Let a method learn from attempts, except those that a server error ended."""
    method.learn(without_errors(attempts), pool)


def recall(
    method: Method,
    task: Task,
    pool: ExperiencePool,
    progress: Trajectory | None = None,
    *,
    check: Callable[[Guidance], None] | None = None,
) -> Guidance:
    """Return a method's guidance for a task, before the attempt or for the attempt so far (`progress`).

    `check` raises an error if the guidance must not be used, such as `check_no_leak`.
    """
    guidance = method.recall(task, pool, progress)
    if check is not None:
        check(guidance)
    return guidance


def evaluate(
    agent: Agent,
    make_env: Callable[[], Environment],
    tasks: Sequence[Task],
    method: Method | None = None,
    pool: ExperiencePool | None = None,
    *,
    besides: frozenset[str] = frozenset(),
    workers: int = 1,
) -> list[Trajectory]:
    """Attempt each task once with guidance from the pool, without learning from the attempts or storing them.

    Args:
        agent: makes the attempts.
        make_env: makes an environment for each attempt, which should not reveal the right answer.
        tasks: the tasks to attempt; the result has the same order.
        method: the method that recalls from the pool; None for the agent alone.
        pool: the pool to recall from, read-only; its attempts are the training attempts.
        besides: as in `check_no_leak`.
        workers: the number of parallel attempts.

    Raises:
        LeakError: a recalled lesson or demonstration comes from one of these tasks, or from no attempt in the pool.
        StoreError: the method writes during recall.
        SeasonedError: as `attempt`.
    """
    closed, check = copy(pool), None
    if closed is not None:
        closed.read_only = True
        judged = frozenset(task.id for task in tasks)
        check = partial(check_no_leak, training=closed.trajectories(), test_ids=judged, besides=besides)

    def once(task: Task) -> Trajectory:
        known = partial(recall, method, task, closed, check=check) if method and closed is not None else None
        with closing(make_env()) as env:
            return attempt(agent, env, task, known)

    return run_jobs(once, tasks, workers)


def check_no_leak(
    guidance: Guidance,
    training: Iterable[Trajectory],
    test_ids: frozenset[str],
    besides: frozenset[str] = frozenset(),
) -> None:
    """Assert that guidance comes from training attempts alone, and not from the tasks to evaluate (`test_ids`).

    `besides` are ids of other allowed attempts: the benchmark's worked examples, and earlier training attempts that
    were repeated since, which a lesson kept by a person may still name.

    Raises:
        LeakError: if a lesson has a source outside the training trajectories, or anything comes from a test task.
    """
    task_of = {trajectory.id: trajectory.task_id for trajectory in training}
    for lesson in guidance.lessons:
        for source in set(lesson.sources) - besides:
            if source not in task_of:
                raise LeakError(f"lesson {lesson.id} comes from {source}, which is not a training attempt of this fold")
            if task_of[source] in test_ids:
                raise LeakError(f"lesson {lesson.id} comes from the task {task_of[source]}, which is to be evaluated")
    for demonstration in guidance.demonstrations:
        if demonstration.task_id in test_ids or demonstration.id not in (task_of.keys() | besides):
            raise LeakError(f"demonstration {demonstration.id} is not a training attempt of this fold")

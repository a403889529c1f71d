"""The loop: attempt, record, learn, recall, evaluate, as plain functions over the protocols.

Always holds: an attempt ends in a trajectory, and a server's error is never a failure of the task; nothing is learned
from an attempt that a server's error broke off; an evaluation writes nothing, and nothing that it recalls comes from
the tasks that it judges.
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
"""Guidance for one task: before an attempt at it (None), and on the way, for what was done so far."""


def attempt(
    agent: Agent, env: Environment, task: Task, recall: Recall | None = None, *, once: bool = False
) -> Trajectory:
    """Recall guidance, let the agent try the task, and give the record of the attempt.

    Args:
        agent: makes the attempt.
        env: where; closed by the caller.
        task: what has to be solved.
        recall: gives the guidance, such as `partial(recall, method, task, pool)`; None for an agent without any.
        once: recall before the attempt alone, also for an agent that asks again on the way.

    Returns:
        The trajectory. What ended the attempt before the agent began is its outcome: the reason `error` (success
        unknown) where a server failed or refused a prompt, `budget` (failed) where the episode's budget was used up.

    Raises:
        BudgetExceeded: the budget of the whole run is used up.
        SeasonedError: whatever else the agent and the method raise.
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
    """Store attempts in a pool and give them back; one that is there already stays as it is.

    Raises:
        StoreError: the pool is read-only, or an id is taken by another trajectory.
    """
    return [pool.record(trajectory) for trajectory in attempts]


def without_errors(attempts: Iterable[Trajectory]) -> list[Trajectory]:
    """The attempts that no server's error broke off: what can be learned from."""
    return [t for t in attempts if t.outcome.reason != "error"]


def learn(method: Method, attempts: Iterable[Trajectory], pool: ExperiencePool) -> None:
    """Let a method make lessons of attempts, without those that a server's error broke off.

    Raises:
        SeasonedError: as the method raises it.
    """
    method.learn(without_errors(attempts), pool)


def recall(
    method: Method,
    task: Task,
    pool: ExperiencePool,
    progress: Trajectory | None = None,
    *,
    check: Callable[[Guidance], None] | None = None,
) -> Guidance:
    """What a method knows for a task.

    Args:
        method: recalls.
        task: what has to be solved.
        pool: what was learned.
        progress: what was done so far, on the way; None before the attempt.
        check: raises where the guidance must not be used, such as `check_no_leak`.

    Raises:
        SeasonedError: as the method and the check raise it.
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
    """Attempt each task once, with what the pool holds and without learning from it.

    Args:
        agent: makes the attempts.
        make_env: makes an environment for each attempt; it should not reveal the right answer.
        tasks: what is judged.
        method: recalls from the pool; None for the agent alone.
        pool: read-only meanwhile; its attempts are the training.
        besides: as in `check_no_leak`.
        workers: how many attempts are made at once.

    Returns:
        The attempts, in the order of the tasks. They are in no pool.

    Raises:
        LeakError: what was recalled comes from one of these tasks, or from no attempt in the pool.
        StoreError: the method writes while it recalls.
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
    """Assert that what was recalled comes from training tasks alone.

    Args:
        guidance: what was recalled.
        training: the attempts that may be learned from.
        test_ids: the tasks that are to be evaluated.
        besides: the ids of further attempts that are of no test task: the benchmark's worked examples, and training
            attempts that were made again since, which a lesson that a person kept may name.

    Raises:
        LeakError: if a lesson has a source outside the training trajectories, or anything comes from a test task.
    """
    task_of = {trajectory.id: trajectory.task_id for trajectory in training}
    for lesson in guidance.lessons:
        for source in set(lesson.sources) - besides:
            if source not in task_of:
                raise LeakError(f"lesson {lesson.id} comes from {source}, which is no training attempt of this fold")
            if task_of[source] in test_ids:
                raise LeakError(f"lesson {lesson.id} comes from the task {task_of[source]}, which is to be evaluated")
    for demonstration in guidance.demonstrations:
        if demonstration.task_id in test_ids or demonstration.id not in (task_of.keys() | besides):
            raise LeakError(f"demonstration {demonstration.id} is no training attempt of this fold")

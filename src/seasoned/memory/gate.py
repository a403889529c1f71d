"""The gate of a memory: its lessons are tried on tasks of the user's, by an agent of the user's.

Always holds: nothing is learned from a gate's attempts; an attempt for which nothing is recalled is a tie and is made
once; the claim is kept with the lessons as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seasoned.errors import ConfigError, InfrastructureError
from seasoned.memory.screened import GATE
from seasoned.pool import ExperiencePool
from seasoned.proof.certificate import Certificate, Claim, Trial, lesson_hashes, trial
from seasoned.proof.gate import check_gate, looks
from seasoned.types import Guidance, Outcome, Task, Trajectory

Try = Callable[[str, str], bool]
"""One attempt by the user's agent: the task and the guidance for its prompt in ("" for none), whether it worked out."""


def run_gate(
    pool: ExperiencePool, recall: Callable[[Task], Guidance], tasks: Sequence[Task], attempt: Try, agent: str, name: str
) -> Certificate:
    """Try a pool's lessons on these tasks, half of them and then the rest, until a look decides.

    Args:
        pool: holds the lessons.
        recall: what is known for a task.
        tasks: that nothing was learned from.
        attempt: makes one attempt; an InfrastructureError of its own leaves the task out of both arms.
        agent: names the agent and its model in the certificate.
        name: of the method.

    Raises:
        ConfigError: there are too few tasks, one of them twice, or one that was learned from.
    """
    check_gate(len(tasks))
    known = {trajectory.task_id for trajectory in pool.trajectories()}
    for task in tasks:
        if task.id in known:
            raise ConfigError(f"the task {task.text[:60]!r} was attempted in this memory: try its lessons on new tasks")
    if len({task.id for task in tasks}) < len(tasks):
        raise ConfigError("each task of a gate counts once, and one of these is there twice")
    trials: list[Trial] = []
    decided = looks([], planned=len(tasks))
    for begun, end in ((0, len(tasks) // 2), (len(tasks) // 2, len(tasks))):
        if decided and decided[-1].verdict != "continue":
            break
        trials += [_try(pool, task, recall(task), attempt, agent) for task in tasks[begun:end]]
        decided = looks([one.difference for one in trials], planned=len(tasks))
    claim = Claim(
        condition=name,
        scope=pool.scope,
        lessons=lesson_hashes(pool.lessons()),
        model=agent,
        prompts="",
        planned=len(tasks),
        candidates=1,
        trials=tuple(trials),
        looks=tuple(decided),
    )
    return Certificate(claims=(claim,))


def _try(pool: ExperiencePool, task: Task, guidance: Guidance, attempt: Try, agent: str) -> Trial:
    alone = _attempt(task, Guidance(), attempt, agent)
    helped = _attempt(task, guidance, attempt, agent) if guidance.text else alone
    pool.store.add_trajectories(f"{pool.scope}{GATE}", [alone] if helped is alone else [alone, helped])
    return trial([alone], [helped])


def _attempt(task: Task, guidance: Guidance, attempt: Try, agent: str) -> Trajectory:
    try:
        success = bool(attempt(task.text, guidance.text))
        outcome = Outcome(success=success, reward=float(success), reason="reported")
    except InfrastructureError as error:
        outcome = Outcome(reason="error", detail=str(error))
    return Trajectory(
        task_id=task.id,
        task=task.text,
        category=task.category,
        agent=agent,
        outcome=outcome,
        guidance=guidance.text,
        guidance_blocks=guidance.blocks,
        lesson_ids=tuple(lesson.id for lesson in guidance.lessons),
        meta={"split": "gate"},
    )

"""The gate of a memory: tries its lessons on the user's tasks with the user's agent.

Always holds: a gate's attempts are not learned from; a task for which nothing is recalled is a tie and is attempted
once; a coin decides which attempt at a task comes first, so that an agent that remembers gives neither arm an
advantage; the claim is stored with the lessons as they were.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from seasoned.errors import ConfigError, InfrastructureError
from seasoned.memory.screened import GATE, released
from seasoned.pool import ExperiencePool
from seasoned.proof.certificate import Certificate, Claim, Trial, keep_claim, lesson_hashes, trial
from seasoned.proof.gate import check_gate, looks
from seasoned.trust.lineage import OBSERVED
from seasoned.types import Guidance, Lesson, Outcome, Task, Trajectory, new_id

Try = Callable[[str, str], bool]
"""One attempt by the user's agent: takes the task and the guidance for its prompt (or ""), returns its success."""


def run_gate(
    pool: ExperiencePool,
    recall: Callable[[Task, ExperiencePool], Guidance],
    tasks: Sequence[Task],
    attempt: Try,
    agent: str,
    name: str,
    waiting: bool = False,
) -> Certificate:
    """Try a pool's lessons on tasks that nothing was learned from, until a look decides.

    If `attempt` raises InfrastructureError, both arms leave out the task. `agent` names the agent and its model in the
    certificate, `name` the method. With `waiting`, the lessons that wait for a second source are tried too, and
    released if all together are promoted.

    Raises:
        ConfigError: there are too few tasks, a task is repeated, or one was learned from.
    """
    check_gate(len(tasks))
    known = {trajectory.task_id for trajectory in pool.trajectories()}
    for task in tasks:
        if task.id in known:
            raise ConfigError(f"the task {task.text[:60]!r} was attempted in this memory: try its lessons on new tasks")
    if len({task.id for task in tasks}) < len(tasks):
        raise ConfigError("each task of a gate counts once, but one of these occurs twice")
    held = [one for one in pool.lessons(status="quarantined") if waiting and one.data.get("flags") == [OBSERVED]]
    lessons = [*pool.lessons(), *map(released, held)]
    trials: list[Trial] = []
    decided = looks([], planned=len(tasks))
    with _trial_pool(pool, lessons) if held else nullcontext(pool) as tried:
        # The second half is attempted only if the first look does not decide.
        for part in (tasks[: len(tasks) // 2], tasks[len(tasks) // 2 :]):
            if not decided or decided[-1].verdict == "continue":
                trials += [_try(pool, task, recall(task, tried), attempt, agent) for task in part]
                decided = looks([one.side for one in trials], planned=len(tasks))
    claim = Claim(
        condition=name,
        scope=pool.scope,
        lessons=lesson_hashes(lessons),
        model=agent,
        prompts="",
        planned=len(tasks),
        candidates=1,
        excluded=sum(one.excluded for one in trials),
        trials=tuple(trials),
        looks=tuple(decided),
    )
    for lesson in held if claim.promoted else ():
        why = f"the gate promoted it with the others, p = {claim.looks[-1].p:.2g}"
        pool.store.update_lesson(released(lesson), who="rule", why=why)
    keep_claim(pool.store, claim)
    return Certificate(claims=(claim,))


@contextmanager
def _trial_pool(pool: ExperiencePool, lessons: Sequence[Lesson]) -> Iterator[ExperiencePool]:
    """A temporary pool with copies of these lessons, used only by the gate."""
    scope = f"{pool.scope}{GATE}/{new_id('try')}"
    copies = [one.model_copy(update={"id": new_id("les"), "version": 1}) for one in lessons]
    try:
        pool.store.add_lessons(scope, copies, who="rule", why="copied for a gate")
        yield ExperiencePool(pool.store, scope, embedder=pool.embedder, experience=pool.experience, read_only=True)
    finally:
        for one in copies:
            pool.store.remove_lesson(one.id, who="rule", why="the gate has decided", purge=True)


def _try(pool: ExperiencePool, task: Task, guidance: Guidance, attempt: Try, agent: str) -> Trial:
    arms = [Guidance(), guidance] if guidance.text else [Guidance()]
    swapped = len(arms) == 2 and secrets.randbelow(2) == 1
    made = [_attempt(task, arm, attempt, agent) for arm in (reversed(arms) if swapped else arms)]
    alone, helped = (made[-1], made[0]) if swapped else (made[0], made[-1])
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

"""Training attempts: one at each task, or several, each after a reflection on the one before.

Always holds: attempts are made once for a seed and fold and shared by all conditions that learn from them; a stored
attempt is not made again; a first attempt has no guidance, unless heuristics are learned on the way (`gather.iterate`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from seasoned.lab.run import keys
from seasoned.lab.run.acting import carrier, gatherer, reflexion
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.conditions import CONDITIONS
from seasoned.lab.run.keys import TRAINING, EpisodeKey, left_out, mark_learned, problems_of
from seasoned.lab.run.part import Part, trial_by_trial, until_solved
from seasoned.llm.budget import Metered
from seasoned.llm.journal import as_replayed
from seasoned.loop import learn, recall, without_errors
from seasoned.methods.reflexion import Strategy
from seasoned.pool import ExperiencePool
from seasoned.protocols import Method
from seasoned.replies.reflections import read_reflection
from seasoned.types import Guidance, Lesson, Task, Trajectory, Usage


def gather(part: Part) -> list[Trajectory]:
    """The training attempts in the order of tasks, then trials; empty if no condition learns."""
    tasks, settings, retries = part.block.train, part.recipe.gather, part.plan.retries
    if not part.plan.trains:
        return []
    part.watch.stage(TRAINING, len(tasks))
    if settings.iterate:
        return _iterated(part)

    def again(task: Task, trial: int) -> Trajectory:
        key = EpisodeKey(part.block.name, TRAINING, task.id, trial=trial)
        return part.episode(key, task, gatherer, lambda aside, progress: guided_by_failures(part, task, key, aside))

    if settings.order == "task-first":
        by_task = part.jobs(lambda task: until_solved(partial(again, task), retries), tasks)
    else:
        by_task = trial_by_trial(again, tasks, retries, settings.patience, part.jobs)
    return [trajectory for trials in by_task for trajectory in trials]


def _iterated(part: Part) -> list[Trajectory]:
    """One attempt at each task, guided by the heuristics from earlier batches (ERL, algorithm 1)."""
    session, tasks, batch, erl = part.session, part.block.train, part.recipe.gather.batch, CONDITIONS["erl"]
    name = part.plan.pool(erl, part.block, len(tasks))
    pool = part.pool(part.scope(name), searches=True)

    def once(task: Task) -> Trajectory:
        key = EpisodeKey(part.block.name, TRAINING, task.id)

        def recalled(aside: Metered, progress: Trajectory | None) -> Guidance:
            return recall(part.method(erl, session.journaled(key.recalling, aside, ranks=True)), task, pool, progress)

        return part.episode(key, task, carrier, recalled)

    gathered: list[Trajectory] = []
    with part.watch.learns("erl", len(tasks)) as before_call:
        learner = learning(part, erl, name, before_call)
        for start in range(0, len(tasks), batch):
            attempts = part.jobs(once, tasks[start : start + batch])
            gathered += attempts
            # Attempts are learned from only once, since a person may have changed their lessons.
            if news := left_out(session.store, pool.scope, without_errors(attempts)):
                learn(learner, news, pool)
    problems = [*problems_of(session.store, pool.scope), *pool.problems]
    mark_learned(session.store, pool.scope, without_errors(gathered), problems)
    return gathered


def learning(part: Part, condition: Condition, pool: str, before_call: Callable[[], None]) -> Method:
    """A condition's method, set up to learn for a pool: with the learning model, whose journal belongs to the pool."""
    return part.method(condition, part.session.learning(keys.learning(pool), before_call), learns=True)


def guided_by_failures(
    part: Part, task: Task, key: EpisodeKey, aside: Metered, strategy: Strategy | Literal[""] = ""
) -> Guidance:
    """The guidance before a retry: reflections on earlier failures, or as the strategy of Reflexion says.

    A first attempt gets none. `aside` counts the calls that reflect; the strategy "" is the recipe's.
    """
    if key.trial == 0:
        return Guidance()
    session, journal = part.session, key.reflecting(part.alike)
    method = reflexion(part.recipe, part.benchmark, session.journaled(journal, aside), strategy)
    pool = ExperiencePool(session.store, part.scope(key.scope), run_id=session.run_id)
    # After a server error the last attempt is a placeholder, so reflect on the failure before it.
    failed = pool.trajectories(task_id=task.id, success=False)[-1:]
    for lesson in pool.lessons("reflection", status=None, key=task.id):
        if failed and failed[0].id in lesson.sources:
            _count_again(part, journal, lesson, aside)
    learn(method, failed, pool)
    return recall(method, task, pool)


def _count_again(part: Part, journal: str, lesson: Lesson, meter: Metered) -> None:
    """Count the usage of a reflection that was written before the run was resumed, as a replayed reply."""
    store, scope = part.session.store, part.scope(journal)
    written = store.history(lesson.id)[0].lesson.text
    for scope_of_reply, reply in store.journal_ending(scope, ""):
        text = read_reflection(reply.text, whole=reply.finish_reason != "length")
        # Other conditions may share the journal, which also has prompts; these have no usage.
        if scope_of_reply == scope and text == written and (usage := reply.usage) != Usage():
            meter.add(as_replayed(usage))
            return

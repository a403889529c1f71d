"""Lessons from a file, checked for leaks as far as the store knows their sources.

Always holds: a lesson from an attempt at a test task stops the run before a model is called.
"""

from __future__ import annotations

from seasoned.errors import LeakError
from seasoned.lab.methods.given import read_lessons
from seasoned.lab.run.plan import Block, Plan
from seasoned.store.sql import Store
from seasoned.text import split_words
from seasoned.types import Lesson, Trajectory

GIVEN = "given"
"""The condition that gets the lessons of a file."""


def check_given(plan: Plan, store: Store) -> int:
    """Check that no lesson of the file comes from an attempt at a test task, as far as the store holds the attempts.

    Without the condition `given`, nothing is checked. Returns how many lessons name only attempts that the store does
    not hold.

    Raises:
        ConfigError, DataError: as in `read_lessons`.
        LeakError: a lesson comes from a test task.
    """
    if not any(condition.name == GIVEN for condition in plan.conditions):
        return 0
    worked = {example.id for example in plan.blocks[0].benchmark.trajectories}  # hand-written, so not from a task
    unknown = 0
    for lesson in read_lessons(plan.recipe.method.given):
        origins = lesson.data.get("from")  # ids of attempts, or of the lessons that it was adapted from
        texts = (one for one in origins if isinstance(one, str)) if isinstance(origins, list | tuple) else ()
        ids = [one for one in texts if one not in worked]
        sources = [source for one in ids if (other := store.get_lesson(one)) for source in other.sources]
        attempts = store.get_trajectories([*ids, *sources])
        unknown += bool(ids) and not attempts
        for block in plan.blocks:
            _check(lesson, attempts, block)
    return unknown


def _check(lesson: Lesson, attempts: list[Trajectory], block: Block) -> None:
    tests = {task.id: task for task in block.test}
    words = {tuple(split_words(task.text)): task for task in block.test if split_words(task.text)}
    for attempt in attempts:
        if attempt.benchmark not in ("", block.benchmark.name):
            continue
        task = tests.get(attempt.task_id) or words.get(tuple(split_words(attempt.task)))
        if task is not None:
            raise LeakError(
                f"the lesson {lesson.id} of the file comes from an attempt at the task {task.id}, which is to be "
                f"evaluated (seed {block.seed}, fold {block.fold}): give lessons that come from other tasks, such as "
                "those of a run with the same seed and folds=0"
            )

"""What of an earlier run is kept when it is resumed, and what is made again.

Always holds: an episode that ended in an infrastructure error is made again; what is to be redone loses its record and
its journalled replies together, so its model calls are really made; other episodes keep theirs.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from seasoned.errors import ConfigError
from seasoned.runner.condition import Condition
from seasoned.runner.plan import TRAINING, Block, Plan
from seasoned.runner.recipe import Recipe
from seasoned.runner.rundir import check_resumable
from seasoned.store.sql import Store
from seasoned.types import Lesson, Reply, Trajectory


def check_resume(directory: Path, recipe: Recipe, store: Store) -> None:
    """Assert that a run can go on here: with its own settings, from the store that holds what was done.

    Raises:
        ConfigError: if not.
    """
    check_resumable(directory, recipe)
    if (directory / "manifest.json").is_file() and store.get_run(directory.name) is None:
        raise ConfigError(
            f"the store {store.where} does not hold the run {directory.name}: name the store it was begun with "
            "(--store), and keep the name of its folder"
        )


def finished(store: Store, run_id: str) -> dict[str, Trajectory]:
    """The episodes that need not be made again, by key."""
    return {key: t for key, t in store.episodes(run_id).items() if t.outcome.reason != "error"}


def forget(store: Store, plan: Plan, run_id: str, redo: Sequence[str]) -> None:
    """Forget the episodes of conditions, so that they are made again.

    Args:
        store: holds them.
        plan: the plan of the run.
        run_id: the run.
        redo: conditions, or "training": with it goes whatever was learned from it and evaluated with that.

    Raises:
        ConfigError: if a name is none of the plan's (the nearest one is named), or nothing was done under these names.
    """
    if not redo:
        return
    names = set(redo)
    _check_names(names, [TRAINING, *(condition.name for condition in plan.conditions)])
    if TRAINING in names:
        names |= {condition.name for condition in plan.conditions if condition.learns}
    keys = [key for key in store.episodes(run_id) if _condition_of(key) in names]
    if not keys:
        raise ConfigError(f"there is nothing to redo: no finished episode of {', '.join(sorted(names))} in {run_id}")
    with store.transaction():
        store.drop_episodes(run_id, keys)
        for key in keys:
            name, label, task = key.split("/", 2)
            task = re.sub(r"#\d+$", "", task)  # its trial
            _forget_calls(store, plan, run_id, f"{name}/{label}/{task}", shared_key(name, task))
            _forget_reflections(store, run_id, name, label, task)
        again = [c for c in plan.conditions if (c.learns and TRAINING in names) or (c.worked and c.name in names)]
        for block in plan.blocks:
            _unlearn(store, plan, run_id, block, again)


def unlearned(store: Store, scope: str) -> bool:
    """Whether a pool is still to be learned; what an interrupted learning left behind is removed."""
    if is_learned(store, scope):
        return False
    for lesson in store.lessons(scope):
        if not _by_person(store, lesson):
            store.remove_lesson(lesson.id, who="rule", why="learning was interrupted and begins anew", purge=True)
    return True


def _by_person(store: Store, lesson: Lesson) -> bool:
    """Whether a person wrote a lesson, or changed it last: that is never taken away in silence."""
    return store.history(lesson.id)[-1].who == "person"


def is_learned(store: Store, scope: str) -> bool:
    """Whether a pool was learned to the end."""
    return store.journal_get(f"{scope}/learned", "done") is not None


def mark_learned(store: Store, scope: str) -> None:
    """Remember that a pool was learned to the end; a person may change it from now on."""
    store.journal_put(f"{scope}/learned", "done", Reply(text="learned"))


def turn_label(label: str, turn: int) -> str:
    """The label of a condition in one of several runs over the test tasks: `erl`, `erl~1`, `erl~2`."""
    return f"{label}~{turn}" if turn else label


def _condition_of(key: str) -> str:
    """The condition that an episode's key belongs to, at whichever point of its curve and in whichever run."""
    return re.split("[@~]", key.split("/")[1])[0]


def shared_key(block: str, task_id: str) -> str:
    """The journal that all conditions share for one test task."""
    return f"{block}/{task_id}"


def _check_names(names: Collection[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise ConfigError(f"this run has no condition {name!r} to redo; {hint}")


def _forget_calls(store: Store, plan: Plan, run_id: str, *keys: str) -> None:
    """Drop what was asked for a task under these keys: at any trial, on the way to it, and to recall."""
    trials = range(1, max(plan.recipe.gather.retries, plan.recipe.method.trials) + 1)
    ends = ["", "/recall", *(f"#{trial}" for trial in trials), *(f"/reflect{trial}" for trial in trials)]
    for key in keys:
        for end in ends:
            store.journal_drop(f"{run_id}/{key}{end}")


def _forget_reflections(store: Store, run_id: str, block: str, label: str, task: str) -> None:
    """Remove what was learned from failures on the way to an episode that is made again."""
    scope = f"{run_id}/{block}/{label}" + ("" if label == TRAINING else "/test")
    for lesson in store.lessons(scope, kind="reflection", key=task):
        store.remove_lesson(lesson.id, who="rule", why="the attempt is made again", purge=True)


def _unlearn(store: Store, plan: Plan, run_id: str, block: Block, conditions: Sequence[Condition]) -> None:
    for condition in conditions:
        for trained_on in plan.points(condition, block) if condition.own_pool else ():
            scope = f"{run_id}/{plan.pool(condition, block, trained_on)}"
            for lesson in store.lessons(scope):
                if not _by_person(store, lesson):
                    store.remove_lesson(lesson.id, who="rule", why="the training is made again", purge=True)
            store.journal_drop(f"{scope}/learned")
            store.journal_drop(f"{scope}/learn")

"""Decides which episodes of an earlier run are kept when it is resumed, and which are made again.

Always holds: an episode that ended in an infrastructure error is made again; an episode to redo loses its record and
its journalled replies together, so its model calls are really made; an episode that a repeated training attempt
outdates loses only its record, so the journal replays unchanged calls; all others are kept; a run that lost an episode
has no summary until that is made again.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from seasoned.errors import ConfigError
from seasoned.lab.run import keys
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.conditions import CONDITIONS
from seasoned.lab.run.keys import TRAINING, EpisodeKey, forget_gate, judged_as, mark_replaced, unlearn
from seasoned.lab.run.plan import Block, Plan
from seasoned.lab.run.rundir import MANIFEST, check_data, check_resumable, not_complete, store_of
from seasoned.store.sql import Store
from seasoned.types import Trajectory


def check_resume(directory: Path, plan: Plan, store: Store) -> None:
    """Raise ConfigError unless a run can continue: its settings and tasks are the same, and the store holds it."""
    check_resumable(directory, plan.recipe)
    check_data(directory, plan.source, plan.tasks)
    if (directory / MANIFEST).is_file() and store.get_run(directory.name) is None:
        raise not_held(directory, store.where)


def not_held(directory: Path, where: str) -> ConfigError:
    """The error for a run that is continued with a store, here by its `where`, that does not hold it."""
    begun = store_of(directory)
    if begun == where:
        advice = ", which was begun with it: bring back the file as it was"
    elif begun:
        advice = f": it was begun with {begun}, so name that with --store"
    else:
        advice = ": name the store it was begun with (--store)"
    return ConfigError(
        f"the store {where} does not hold the run {directory.name}{advice}, and keep the name of its folder; "
        f"or delete the folder {directory} to begin anew"
    )


def finished(store: Store, run_id: str) -> dict[EpisodeKey, Trajectory]:
    """The episodes that need not be made again, in the order in which they were stored."""
    return {EpisodeKey.parse(key): t for key, t in store.episodes(run_id).items() if t.outcome.reason != "error"}


def forget(store: Store, plan: Plan, directory: Path, redo: Sequence[str]) -> None:
    """Forget the episodes of conditions, so that they are made again; the run is then no longer complete.

    `redo` names conditions, or "training", which includes the lessons from it and all episodes with these lessons.

    Raises:
        ConfigError: the plan has no such condition (the message names the nearest one), or there are no such episodes.
    """
    if not redo:
        return
    names, run_id = set(redo), directory.name
    known = [TRAINING, *(condition.name for condition in plan.conditions)]
    for name in names.difference(known):
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
        raise ConfigError(f"this run has no condition {name!r} to redo; {hint}")
    if TRAINING in names:
        names |= {condition.name for condition in plan.conditions if condition.learns}
    gone = [key for key in map(EpisodeKey.parse, store.episodes(run_id)) if judged_as(key.condition) in names]
    if not gone:
        raise ConfigError(f"there is nothing to redo: no finished episode of {', '.join(sorted(names))} in {run_id}")
    not_complete(directory)
    with store.transaction():
        for block in plan.blocks:
            mark_replaced(store, f"{run_id}/{block.name}/{TRAINING}", map(str, gone), run_id)
        _drop(store, run_id, gone)
        trials = max(plan.recipe.gather.retries, plan.recipe.method.trials)
        for journal in dict.fromkeys(name for key in gone for name in key.journals(trials)):
            store.journal_drop(f"{run_id}/{journal}")
        again = [c for c in plan.conditions if (c.learns and TRAINING in names) or (c.worked and c.name in names)]
        if TRAINING in names and plan.recipe.gather.iterate:
            again.append(CONDITIONS["erl"])  # its heuristics guided the training, even if the plan does not test it
        for block in plan.blocks:
            _unlearn(store, plan, run_id, block, again)
            for condition in plan.conditions:
                if (condition.gated or condition.probed) and condition.name in names:
                    forget_gate(store, run_id, block.name, condition.name)


def drop_outdated(
    store: Store,
    plan: Plan,
    directory: Path,
    block: Block,
    training: Sequence[Trajectory],
    done: dict[EpisodeKey, Trajectory],
) -> int:
    """Drop the test episodes that are older than a training attempt that was repeated after a server's error.

    Returns how many were dropped; `done`, the result of `finished`, loses them, too. If there are any, the run is no
    longer complete. `training` are the current training attempts of the block.
    """
    order = {trajectory.id: place for place, trajectory in enumerate(done.values())}
    old: list[EpisodeKey] = []
    for condition in plan.conditions:
        for trained_on in plan.points(condition, block) if condition.learns else ():
            tasks = {task.id for task in block.train[:trained_on]}
            attempts = (t for t in training if t.task_id in tasks and t.outcome.reason != "error")
            newest = max((order.get(t.id, len(order)) for t in attempts), default=-1)
            outdated = (block.name, condition.name, plan.earlier(block, trained_on))
            old += [
                key
                for key, trajectory in done.items()
                if (key.block, judged_as(key.condition), key.trained_on) == outdated and order[trajectory.id] < newest
            ]
    if old:
        not_complete(directory)
    with store.transaction():
        _drop(store, directory.name, old)
        for name in {judged_as(key.condition) for key in old}:
            forget_gate(store, directory.name, block.name, name)
    for key in old:
        del done[key]
    return len(old)


def _drop(store: Store, run_id: str, keys: Sequence[EpisodeKey]) -> None:
    """Drop the records of episodes, and the reflections on their failures."""
    store.drop_episodes(run_id, [str(key) for key in keys])
    for key in keys:
        for lesson in store.lessons(f"{run_id}/{key.scope}", kind="reflection", key=key.task_id):
            store.remove_lesson(lesson.id, who="rule", why="the attempt is made again", purge=True)


def _unlearn(store: Store, plan: Plan, run_id: str, block: Block, conditions: Sequence[Condition]) -> None:
    for condition in conditions:
        for trained_on in plan.points(condition, block) if condition.own_pool else ():
            pool = plan.pool(condition, block, trained_on)
            unlearn(store, f"{run_id}/{pool}", "the training is made again")
            store.journal_drop(f"{run_id}/{keys.learning(pool)}")

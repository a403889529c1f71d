"""Training attempts: one of each task, or several, each after a reflection on the one before.

Always holds: attempts are made once for a seed and fold and shared by all conditions that learn from them; an attempt
that is in the store is not made again; nothing is recalled for a first attempt, but where heuristics are learned on the
way (`gather.iterate`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from seasoned.embed import shared_embedder
from seasoned.jobs import run_jobs
from seasoned.lab.run.acting import actor, carrier, reflexion
from seasoned.lab.run.answering import dialogue
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.conditions import CONDITIONS
from seasoned.lab.run.episode import Session, episode, meta, with_llm
from seasoned.lab.run.marks import left_out, mark_learned, problems_of
from seasoned.lab.run.part import Part
from seasoned.lab.run.plan import TRAINING
from seasoned.llm.budget import Metered
from seasoned.llm.seeds import seed_shifted
from seasoned.methods.reflexion import Strategy
from seasoned.pool import ExperiencePool
from seasoned.protocols import Method
from seasoned.replies.reflections import read_reflection
from seasoned.types import Guidance, Lesson, Message, Reply, Task, Trajectory, Usage


def gather(part: Part) -> list[Trajectory]:
    """The training attempts, in the order of the tasks; of one task, in the order of the trials."""
    tasks, workers, settings = part.block.train, part.plan.workers, part.recipe.gather
    part.watch.stage(TRAINING, len(tasks))
    if settings.iterate:
        return _iterated(part)
    if not part.plan.acts:
        return run_jobs(lambda task: _attempt(part, task, 0), tasks, workers)
    made: dict[str, list[Trajectory]] = {task.id: [] for task in tasks}

    def again(task: Task) -> None:
        made[task.id].append(_attempt(part, task, len(made[task.id])))

    def until_solved(task: Task) -> None:
        while is_open(made[task.id], settings.retries):
            again(task)

    if settings.order == "task-first":
        run_jobs(until_solved, tasks, workers)
    else:
        trial_by_trial(again, tasks, made, settings.retries, settings.patience, workers)
    return [trajectory for task in tasks for trajectory in made[task.id]]


def trial_by_trial(
    again: Callable[[Task], object],
    tasks: Sequence[Task],
    made: Mapping[str, Sequence[Trajectory]],
    retries: int,
    patience: int,
    workers: int,
) -> None:
    """Try all tasks that are open once a trial, until `patience` trials in a row solved nothing more (Reflexion, 4).

    Args:
        again: makes one more attempt at a task, and puts it into `made`.
        tasks: all of them.
        made: the attempts so far, by the id of the task.
        retries: how often a task is tried after the first time, at most.
        patience: see above.
        workers: how many attempts are made at once.
    """
    idle = 0
    while idle < patience and (left := [task for task in tasks if is_open(made[task.id], retries)]):
        run_jobs(again, left, workers)
        idle = 0 if any(made[task.id][-1].outcome.success for task in left) else idle + 1


def _iterated(part: Part) -> list[Trajectory]:
    """One attempt at each task, guided by the heuristics that the batches before it taught (ERL, algorithm 1)."""
    session, tasks, batch, erl = part.session, part.block.train, part.recipe.gather.batch, CONDITIONS["erl"]
    assert erl.method is not None
    method = erl.method(part.recipe, part.benchmark, session.llm)
    name = part.plan.pool(erl, part.block, len(tasks))
    pool = ExperiencePool(
        session.store,
        part.scope(name),
        run_id=session.run_id,
        embedder=shared_embedder(part.recipe.embedder),
        experience=part.experience,
    )
    made: list[Trajectory] = []
    with part.watch.learns("erl", len(tasks)) as told:
        learner = learning(part, erl, name, told)
        for start in range(0, len(tasks), batch):
            tried = run_jobs(
                lambda task: _attempt(part, task, 0, (method, pool)),
                tasks[start : start + batch],
                part.plan.workers,
            )
            made += tried
            # What was learned from before is not: a person may have changed it since.
            if news := left_out(session.store, pool.scope, without_errors(tried)):
                learner.learn(news, pool)
    problems = [*problems_of(session.store, pool.scope), *pool.problems]
    mark_learned(session.store, pool.scope, without_errors(made), problems)
    return made


def without_errors(attempts: Sequence[Trajectory]) -> list[Trajectory]:
    """The attempts that a server's error did not break off: what can be learned from."""
    return [t for t in attempts if t.outcome.reason != "error"]


def learning(part: Part, condition: Condition, pool: str, before: Callable[[], None]) -> Method:
    """A condition's method as it learns for a pool: with the model that learns, its replies kept with the pool.

    What is to be done `before` each of its calls tells how far it is.
    """
    assert condition.method is not None
    llm = part.session.learning(f"{pool}/learn", before)
    return condition.method(part.recipe.for_learning, part.benchmark, llm)


def is_open(trials: Sequence[Trajectory], retries: int) -> bool:
    """Whether a task may be tried (again): it was failed, not broken off by a server's error, and tries are left."""
    if not trials:
        return True
    return len(trials) <= retries and trials[-1].outcome.success is False


def trial_key(key: str, trial: int) -> str:
    """The key of an attempt: its episode's, and from the second on which attempt it is."""
    return key if trial == 0 else f"{key}#{trial}"


def guided_by_failures(
    part: Part,
    task: Task,
    trial: int,
    scope: str,
    key: str,
    aside: Metered,
    strategy: Strategy | Literal[""] = "",
) -> Guidance:
    """What an agent is told before it tries a task again: reflections on its own failures, or what the strategy says.

    Args:
        part: the part of the run.
        task: what is tried again.
        trial: 0 for the first attempt, which is told nothing.
        scope: the pool that holds the earlier attempts at this task.
        key: names the journal of the calls that reflect.
        aside: counts them.
        strategy: of Reflexion; "" takes the recipe's.
    """
    if trial == 0:
        return Guidance()
    session = part.session
    method = reflexion(part.recipe, part.benchmark, session.llm, strategy)
    method = with_llm(method, session.journaled(f"{key}/reflect{trial}", aside))
    pool = ExperiencePool(session.store, scope, run_id=session.run_id)
    # After an error of the server the last one is a placeholder, and the failure before it is still to be reflected on.
    failed = pool.trajectories(task_id=task.id, success=False)[-1:]
    for lesson in pool.lessons("reflection", status=None, key=task.id):
        if failed and failed[0].id in lesson.sources:
            _count_again(session, part.scope(f"{key}/reflect{trial}"), lesson, aside)
    method.learn(failed, pool)
    guidance: Guidance = method.recall(task, pool)
    return guidance


def _count_again(session: Session, journal: str, lesson: Lesson, meter: Metered) -> None:
    """Count what a reflection used that an earlier part of the run wrote, as that of a replayed reply."""
    written = session.store.history(lesson.id)[0].lesson.text
    for scope, reply in session.store.journal_ending(journal, ""):
        text = read_reflection(reply.text, whole=reply.finish_reason != "length")
        # Other conditions may share the journal; and what was asked is in it, which used nothing.
        if scope == journal and text == written and reply.usage != Usage():
            usage = reply.usage.model_copy(update={"calls": 0, "replayed": reply.usage.calls + reply.usage.replayed})
            Metered(_Said(reply.model_copy(update={"usage": usage})), parent=meter).chat([])
            return


@dataclass(frozen=True)
class _Said:
    """A model that has said something before, and says it again."""

    reply: Reply
    name: str = ""

    def chat(self, messages: Sequence[Message], **options: Any) -> Reply:
        del messages, options
        return self.reply


def _attempt(part: Part, task: Task, trial: int, taught: tuple[Method, ExperiencePool] | None = None) -> Trajectory:
    recipe, block, session = part.recipe, part.block, part.session
    key = f"{block.name}/{TRAINING}/{task.id}"
    make = actor if part.plan.acts else carrier if taught else dialogue
    spent = session.meter()
    aside = Metered(session.llm, parent=spent)
    if trial:
        part.watch.more(TRAINING)

    def guide() -> Guidance:
        if taught is None:
            return guided_by_failures(part, task, trial, part.experience, key, aside)
        method, pool = taught
        guidance: Guidance = with_llm(method, session.journaled(f"{key}/recall", aside)).recall(task, pool)
        return guidance

    with closing(part.benchmark.make_env(True)) as env, seed_shifted(part.seed_shift(trial)):
        made = episode(
            session,
            trial_key(key, trial),
            part.experience,
            make(recipe, part.benchmark, session.llm, block.train),
            env,
            task,
            guide,
            meta(block, TRAINING, "train", 0, trial),
            # As in an evaluation: at temperature 0 the same request has the same answer in every trial.
            shares=key if recipe.llm.temperature == 0 else None,
            spent=spent,
            aside=aside,
        )
    part.watch.ended(TRAINING, made)
    return made

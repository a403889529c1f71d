"""Evaluation: each condition learns once from the training attempts and is evaluated once on the test tasks.

Always holds: the pool of an evaluation is read-only, and every recall is checked for leaks; a retry at a test task sees
the results of its own earlier attempts, and nothing of any other test task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from seasoned.agents.react import React
from seasoned.agents.tools import ToolCaller
from seasoned.embed import check_embedder, shared_embedder
from seasoned.errors import ConfigError, LeakError, SeasonedError
from seasoned.lab.methods.given import read_lessons
from seasoned.lab.run.acting import worked_first
from seasoned.lab.run.altered import altered_scope
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.gather import guided_by_failures, learning
from seasoned.lab.run.keys import EpisodeKey, is_learned, left_out, mark_learned, replaced, unlearn
from seasoned.lab.run.part import Part, trial_by_trial, until_solved
from seasoned.lab.run.plan import Block, Plan
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.redo import drop_outdated
from seasoned.llm.budget import Metered
from seasoned.llm.scripted import ScriptedModel
from seasoned.llm.seeds import seed_shifted
from seasoned.loop import check_no_leak, learn, recall, without_errors
from seasoned.pool import ExperiencePool
from seasoned.pool.lineage import quarantine_observed
from seasoned.protocols import Agent, Method
from seasoned.store.sql import Store
from seasoned.text import TOKEN, split_words
from seasoned.types import Guidance, Lesson, Task, Trajectory

GIVEN = "given"
"""The condition that gets the lessons of a file."""


@dataclass(frozen=True)
class Entrant:
    """A condition at one point of its learning curve, ready to be evaluated on one block.

    `training` are the attempts that it learned from, `besides` the ids of other attempts that lessons may come from.
    """

    condition: Condition
    label: str
    trained_on: int
    pool: ExperiencePool | None
    training: tuple[Trajectory, ...]
    besides: frozenset[str]


def enter(part: Part, training: Sequence[Trajectory]) -> list[Entrant]:
    """Prepare every condition; each one that learns does so once, from the attempts of its point of the curve.

    If a training attempt was repeated since then, the condition learns again, and is evaluated again.
    """
    plan, block, session = part.plan, part.block, part.session
    if again := drop_outdated(session.store, plan, session.directory, block, training, session.done):
        part.watch.say(
            f"{block.name}: training attempts that had ended in a server error were repeated, so the conditions learn "
            f"again; {again} test episodes are repeated, and their unchanged model calls replayed"
        )
    return [
        _enter(part, condition, n, training) for condition in plan.conditions for n in plan.points(condition, block)
    ]


Runs = Sequence[tuple[Entrant, int]]
"""Entrants with the number of the repeat."""


def evaluate(entered: Sequence[tuple[Part, Sequence[Entrant]]]) -> None:
    """Evaluate the entrants of all blocks on their test tasks.

    Entrants of one agent take each task in turn, while their shared prompt is still in the server's prefix cache. The
    tasks of all blocks are one list of jobs, so that no thread waits for the end of a block.
    """
    for agent in dict.fromkeys(entrant.condition.agent for _, entrants in entered for entrant in entrants):
        at_once: list[tuple[Part, Runs, Task]] = []
        by_trials: list[tuple[Part, Runs]] = []
        for part, entrants in entered:
            runs = []
            for entrant in entrants:
                if entrant.condition.agent is agent:
                    repeats = part.plan.repeats(part.block, entrant.trained_on)
                    part.watch.stage(entrant.label, len(part.block.test) * repeats)
                    runs += [(entrant, n) for n in range(repeats)]
            in_trials = part.recipe.method.order == "trial-first"
            by_trials.append((part, [run for run in runs if in_trials and run[0].condition.retries]))
            usual = [run for run in runs if not (in_trials and run[0].condition.retries)]
            at_once += [(part, usual, task) for task in part.block.test if usual]
        entered[0][0].jobs(_attempt_all, at_once)
        for part, later in by_trials:
            _by_trials(part, later)


def _attempt_all(job: tuple[Part, Runs, Task]) -> None:
    """Let entrants attempt one task, each until it is solved or has no retries left."""
    part, runs, task = job
    for entrant, repeat in runs:
        retries = part.recipe.method.trials if entrant.condition.retries else 0
        until_solved(partial(_attempt, part, entrant, repeat, task), retries)


def _by_trials(part: Part, runs: Sequence[tuple[Entrant, int]]) -> None:
    """Try all open tasks once per trial; if coupled, `retry` comes last and makes as many trials as the others."""
    tasks, settings, most = part.block.test, part.recipe.method, 0
    coupled = settings.coupled and any(entrant.condition.retries != "none" for entrant, _ in runs)
    for entrant, repeat in sorted(runs, key=lambda run: coupled and run[0].condition.retries == "none"):
        again, follows = partial(_attempt, part, entrant, repeat), coupled and entrant.condition.retries == "none"
        retries, patience = (most - 1, most) if follows else (settings.trials, settings.patience)
        by_task = trial_by_trial(again, tasks, retries, patience, part.jobs)
        most = max(most, *map(len, by_task)) if not follows else most


def check_parts(plan: Plan, *, dry: bool = False) -> None:
    """Make each agent, method and embedder once, so that a wrong setting is an error before any model is called.

    With `dry`, embedders are only looked up, since some ask a server or have to be installed first.

    Raises:
        ConfigError: no condition uses the learner, a condition does not know the profile, the first prompt is longer
            than the window, or a method or embedder cannot be made.
    """
    uses_learner = False
    for condition in plan.conditions:
        if plan.recipe.profile not in condition.profiles:
            raise ConfigError(
                f"the condition {condition.name} knows no profile {plan.recipe.profile}: leave it out of the "
                "conditions, or the profile out of the recipe and the command"
            )
        uses_learner = _makes_method_with_model(plan, condition) or uses_learner
        if _searches(condition):
            (check_embedder if dry else shared_embedder)(plan.recipe.embedder)
    if plan.recipe.learner is not None and not uses_learner:
        raise ConfigError(
            "the recipe names a learner, and none of its conditions learns by asking a model (the notes of ExpNote are "
            "its agent's own): leave the section learner out, or add a condition such as expel, erl or autoguide"
        )


def _makes_method_with_model(plan: Plan, condition: Condition) -> bool:
    """Make the agent and the method of a condition; True if the method calls a model to learn."""
    block, model = plan.blocks[0], ScriptedModel([])  # a model that nobody calls
    recipe, benchmark = plan.recipe.for_seed(block.seed), block.benchmark
    try:
        agent = condition.agent(recipe, benchmark, model, block.train)
        method = condition.method(recipe, benchmark, model) if condition.method else None
    except SeasonedError:
        raise
    except Exception as error:  # a user's condition may raise anything
        raise ConfigError(f"the condition {condition.name} cannot be made: {type(error).__name__}: {error}") from error
    for made, kind, needs in (
        (agent, Agent, "run(task, env, guidance, advise)"),
        (method, Method, "learn(trajectories, pool) and recall(task, pool, progress)"),
    ):
        if made is not None and (isinstance(made, type) or not isinstance(made, kind)):
            raise ConfigError(f"the condition {condition.name} makes a {made!r:.80}, which has no {needs}")
    _check_window(recipe, agent, block)
    return condition.writes and hasattr(method, "llm")


def _check_window(recipe: Recipe, agent: Agent, block: Block) -> None:
    """Raise ConfigError, with what to set, if the first prompt of an attempt is longer than the model's window."""
    settings = recipe.longer or recipe.llm
    window = settings.window or (settings.context if settings.bundled else None)
    if window is None or not isinstance(agent, React | ToolCaller) or not block.test:
        return
    before = worked_first(agent)
    length = sum(len(message["content"]) for message in before) + len(block.test[0].text)
    if length // TOKEN > window:
        raise ConfigError(
            f"a prompt of {block.benchmark.name} has about {length // TOKEN:,} tokens before anything is done, and the "
            f"model takes {window:,}: set llm.context or llm.window, name a model with a longer window under "
            f"[longer], or show fewer worked attempts (agent.examples={max(agent.shots // 2, 0)})"
        )


def check_given(plan: Plan, store: Store) -> int:
    """Check that no lesson of a given file comes from an attempt at a test task, as far as the store has the attempts.

    Without the condition `given`, nothing is checked. Returns how many lessons name only attempts that the store lacks.

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
            _check_origins(lesson, attempts, block)
    return unknown


def _check_origins(lesson: Lesson, attempts: Sequence[Trajectory], block: Block) -> None:
    tests = {task.id: task for task in block.test}
    words = {tuple(split_words(task.text)): task for task in block.test if split_words(task.text)}
    for attempt in attempts:
        task = tests.get(attempt.task_id) or words.get(tuple(split_words(attempt.task)))
        if task is not None and attempt.benchmark in ("", block.benchmark.name):
            raise LeakError(
                f"the lesson {lesson.id} of the file comes from an attempt at the task {task.id}, which is to be "
                f"evaluated (seed {block.seed}, fold {block.fold}): give lessons that come from other tasks, such as "
                "those of a run with the same seed and folds=0"
            )


def _enter(part: Part, condition: Condition, trained_on: int, training: Sequence[Trajectory]) -> Entrant:
    plan, block, store = part.plan, part.block, part.session.store
    task_ids = {task.id for task in block.train[:trained_on]}
    attempts = tuple(t for t in training if t.task_id in task_ids) if condition.learns else tuple(training)
    name, label = plan.pool(condition, block, trained_on), plan.label(condition, block, trained_on)
    besides = replaced(store, part.experience) | {example.id for example in part.benchmark.trajectories}
    # At an earlier point of the curve, successes at later tasks must not be shown.
    tasks = frozenset(task_ids) if plan.earlier(block, trained_on) else None
    pool = _learned_pool(part, condition, name, label, attempts, tasks)
    return Entrant(condition, label, trained_on, pool, attempts, besides)


def crossed(part: Part, entrant: Entrant, parts: int) -> list[Entrant]:
    """The entrants of a crossfit gate: entrant n learns from all tasks but n, n + parts, n + 2 * parts and so on."""
    condition, block = entrant.condition, part.block
    name, entrants = part.plan.pool(condition, block, entrant.trained_on), []
    for number in range(parts):
        left_out = {task.id for task in block.train[number::parts]}
        attempts = tuple(t for t in entrant.training if t.task_id not in left_out)
        tasks = frozenset(t.task_id for t in attempts)
        pool = _learned_pool(part, condition, f"{name}+part{number}", condition.name, attempts, tasks)
        entrants.append(replace(entrant, pool=pool, training=attempts))
    return entrants


def _learned_pool(
    part: Part,
    condition: Condition,
    name: str,
    label: str,
    attempts: Sequence[Trajectory],
    tasks: frozenset[str] | None,
) -> ExperiencePool | None:
    """The read-only pool of this name; the condition first learns from these attempts, if it has not."""
    store, open_pool = part.session.store, partial(part.pool, searches=_searches(condition))
    scope = part.scope(name) if condition.own_pool else part.experience
    usable = without_errors(part.benchmark.trajectories if condition.worked else attempts)
    pool = open_pool(scope)
    learned = is_learned(store, scope) and not left_out(store, scope, usable)
    if condition.method is not None and condition.writes and not learned:
        unlearn(store, scope, "learning was interrupted, or an attempt was made again, and it begins anew")
        with part.watch.learns(label, len(usable)) as before_call:
            learn(learning(part, condition, name, before_call), usable, pool)
        if part.recipe.trust and (quarantined := quarantine_observed(pool)):
            part.watch.say(f"{label}: {len(quarantined)} lessons stem only from an observation and are not recalled")
        mark_learned(store, scope, usable, pool.problems)
    if condition.method is None:
        return None
    if condition.altered:  # without demonstrations, which would still help
        scope = altered_scope(store, open_pool(scope), condition.altered, part.block.seed)
        return open_pool(scope, read_only=True, tasks=frozenset[str]())
    return open_pool(scope, read_only=True, tasks=tasks)


def _searches(condition: Condition) -> bool:
    """Whether a condition finds trajectories or lessons by meaning: all but ExpNote's notes and facts do."""
    by_meaning = condition.acts is not False or bool(condition.pool)
    return not condition.own_pool or (condition.method is not None and by_meaning)


def _attempt(part: Part, entrant: Entrant, repeat: int, task: Task, trial: int) -> Trajectory:
    """One test attempt."""
    block, condition = part.block, entrant.condition
    earlier = part.plan.earlier(block, entrant.trained_on)
    key = EpisodeKey(block.name, condition.name, task.id, earlier, repeat, trial)
    recalled = recalling(part, entrant, key, task)
    retry_temperature = part.recipe.method.retry_temperature if condition.retries == "none" and trial else None
    return part.episode(key, task, condition.agent, recalled, entrant.trained_on, temperature=retry_temperature)


def recalling(
    part: Part, entrant: Entrant, key: EpisodeKey, task: Task, held: Iterable[Task] = ()
) -> Callable[[Metered, Trajectory | None], Guidance]:
    """The function that recalls for an attempt; no lesson may leak from test tasks, nor from those `held` back."""
    judged = part.block.test_ids.union(one.id for one in held)
    check = partial(check_no_leak, training=entrant.training, test_ids=judged, besides=entrant.besides)

    def recalled(meter: Metered, progress: Trajectory | None) -> Guidance:
        condition, failures = entrant.condition, None
        if key.trial and progress is None:  # the attempt's own failures at this task are not a leak
            failures = guided_by_failures(part, task, key, meter, condition.retries)
        if entrant.pool is None:
            return failures or Guidance()
        # Recall always uses temperature 0, so one request serves all repeats and conditions.
        method = part.method(condition, part.session.journaled(key.recalling, meter, ranks=condition.ranks))
        with seed_shifted(0):
            guidance = recall(method, task, entrant.pool, progress, check=check)
        return guidance if failures is None else guidance + failures

    return recalled

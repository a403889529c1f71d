"""Gates of a run: a condition `X+gate` deploys X's lessons only where they have proven themselves.

The lessons are tried on gate tasks, against the same agent without them, as `seasoned.proof.gate` decides. Always
holds: gate tasks are no test tasks and nothing was learned from them; a gate that was decided is not decided again; its
claim is kept in the store with the lessons as they were; lessons that were changed since are not deployed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seasoned.errors import ConfigError
from seasoned.lab.run.evaluate import Entrant, crossed, recalling
from seasoned.lab.run.keys import ALONE, LESSONS, EpisodeKey
from seasoned.lab.run.marks import GATE, TRIED, gate_scope
from seasoned.lab.run.part import Part
from seasoned.lab.run.plan import Plan
from seasoned.lab.run.rundir import prompts_digest
from seasoned.proof.certificate import Certificate, Claim, Trial, keep_claim, lesson_hashes, trial
from seasoned.proof.gate import looks
from seasoned.store.sql import Store
from seasoned.types import Task, Trajectory


def decide(part: Part, entrants: Sequence[Entrant]) -> list[Entrant]:
    """Run the gate of each gated condition, and give the entrants with no lessons where they were not promoted."""
    return [_decided(part, entrant) if entrant.condition.gated else entrant for entrant in entrants]


def check_candidates(plan: Plan, store: Store, run_id: str) -> None:
    """Assert that the gates of a run which were decided had the candidates that it has now.

    Raises:
        ConfigError: they had others; each set of candidates would take the whole risk for itself.
    """
    now = [condition.name for condition in plan.gated]
    others = [f"{condition.name}+{GATE}" for condition in plan.conditions if condition.writes and not condition.of]
    for block in plan.blocks:
        for name in (*now, *others):
            kept = store.marked(gate_scope(run_id, block.name, name), GATE)
            if kept is not None and (name not in now or kept["candidates"] != len(now)):
                raise ConfigError(
                    f"the gate of {name} was decided before, as one of {kept['candidates']}, and now the candidates "
                    f"are {', '.join(now)}: another set of candidates would add another 5 % to the risk; name the same "
                    "ones again with --condition, or start a new run with all of them"
                )


def certificate(plan: Plan, store: Store, run_id: str, version: str) -> Certificate | None:
    """The claims of all gates of a run that were decided; None where there are none."""
    marks = [
        store.marked(gate_scope(run_id, block.name, condition.name), GATE)
        for block in plan.blocks
        for condition in plan.conditions
        if condition.gated
    ]
    claims = tuple(Claim.model_validate(one) for one in marks if one is not None)
    return Certificate(run=run_id, version=version, claims=claims) if claims else None


def _decided(part: Part, entrant: Entrant) -> Entrant:
    store, scope = part.session.store, gate_scope(part.session.run_id, part.block.name, entrant.condition.name)
    stored = store.marked(scope, GATE)
    claim = Claim.model_validate(stored) if stored is not None else _tried(part, entrant)
    if stored is None:
        store.mark(scope, GATE, claim.model_dump(mode="json"))
        keep_claim(store, claim)
    last = claim.looks[-1] if claim.looks else None
    said = f"{last.won} won, {last.lost} lost, p = {last.p:.2g}" if last else "no task"
    verdict = "promoted" if claim.promoted else "not promoted, so nothing is deployed"
    assert entrant.pool is not None
    same = claim.lessons == lesson_hashes(entrant.pool.lessons())
    verdict += "" if same else "; the lessons were changed since, so they are not deployed"
    part.watch.say(f"{part.block.name}: gate of {entrant.condition.of}: {said}: {verdict}")
    return entrant if claim.promoted and same else replace(entrant, pool=None)


def _tried(part: Part, entrant: Entrant) -> Claim:
    """Attempt the gate tasks, half of them and then the rest, until a look decides."""
    condition, plan, tasks = entrant.condition, part.plan, part.block.gate
    assert entrant.pool is not None
    lessons = _begun(part, entrant, lesson_hashes(entrant.pool.lessons()))
    candidates, parts = len(plan.gated), part.recipe.gate.crossfit
    arms = crossed(part, entrant, parts) if parts else [entrant]
    trials: list[Trial] = []
    tokens = begun = 0
    decided = looks([], planned=len(tasks), candidates=candidates)
    part.watch.stage(condition.name + LESSONS, len(tasks))
    part.watch.stage(condition.name + ALONE, len(tasks))
    for end in (len(tasks) // 2, len(tasks)):
        if decided and decided[-1].verdict != "continue":
            break
        places = range(begun, end)
        pairs = part.jobs(lambda n: _both(part, arms[n % len(arms)], tasks[n]), places)
        begun = end
        trials += [trial(*pair) for pair in pairs]
        tokens += sum(attempt.usage.tokens for pair in pairs for arm in pair for attempt in arm)
        decided = looks([each.side for each in trials], planned=len(tasks), candidates=candidates)
    return Claim(
        condition=condition.name,
        block=part.block.name,
        scope=entrant.pool.scope,
        lessons=lessons,
        model=part.session.llm.name,
        prompts=prompts_digest(),
        planned=len(tasks),
        candidates=candidates,
        excluded=sum(one.excluded for one in trials),
        trials=tuple(trials),
        looks=tuple(decided),
        tokens=tokens,
        crossfit=bool(parts),
    )


def _begun(part: Part, entrant: Entrant, lessons: dict[str, str]) -> dict[str, str]:
    """Remember which lessons the gate tries, and give them.

    Raises:
        ConfigError: a person changed them after some of the gate's attempts.
    """
    store, name = part.session.store, entrant.condition.name
    scope = gate_scope(part.session.run_id, part.block.name, name)
    tried, made = store.marked(scope, TRIED), (part.block.name, name + LESSONS)
    if tried not in (None, lessons) and any((key.block, key.condition) == made for key in part.session.done):
        raise ConfigError(
            f"the lessons of {entrant.condition.of} were changed while the gate tried them: bring them back with "
            f"`seasoned lessons rollback`, or begin the gate again with --redo {name}"
        )
    store.mark(scope, TRIED, lessons)
    return lessons


def _both(part: Part, entrant: Entrant, task: Task) -> tuple[list[Trajectory], list[Trajectory]]:
    """One gate task without lessons and with them, as often as a test task is run."""
    repeats = range(part.plan.recipe.repeats)
    alone, lessons = (
        [_attempt(part, arm, name, task, repeat) for repeat in repeats]
        for arm, name in ((replace(entrant, pool=None), ALONE), (entrant, LESSONS))
    )
    return alone, lessons


def _attempt(part: Part, entrant: Entrant, arm: str, task: Task, repeat: int) -> Trajectory:
    key = EpisodeKey(part.block.name, entrant.condition.name + arm, task.id, repeat=repeat)
    # With crossed parts the other gate tasks are what was learned from.
    judged = [task] if part.recipe.gate.crossfit else part.block.gate
    recalled = recalling(part, entrant, key, task, part.block.test_ids.union(one.id for one in judged))
    return part.episode(key, task, entrant.condition.agent, recalled, entrant.trained_on, split="gate")

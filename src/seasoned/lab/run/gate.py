"""The stages between learning and evaluation: probes choose lessons, and gates decide whether lessons are deployed.

A condition `X+probed` keeps only lessons of X that seem to help: on probe tasks, each recalled lesson is withheld by
its own coin, and `seasoned.proof.probe` estimates its effect against the same agent without any lesson. A condition
`X+gate` deploys X's lessons only if a gate promotes them: the same agent attempts gate tasks with and without the
lessons, and `seasoned.proof.gate` decides.

Always holds: gate, probe and test tasks are different, and nothing was learned from them; a probe is made once and
certifies nothing; a gate is decided once; the store keeps its claim with the hashes of the lessons; lessons that were
changed since then are not deployed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from seasoned.errors import ConfigError
from seasoned.lab.run.altered import copied_scope
from seasoned.lab.run.evaluate import Entrant, crossed, recalling
from seasoned.lab.run.keys import ALONE, COINS, GATE, LESSONS, PROBE, TRIED, EpisodeKey, gate_scope
from seasoned.lab.run.part import COINS_META, Part
from seasoned.lab.run.plan import Plan
from seasoned.lab.run.rundir import prompts_digest
from seasoned.llm.budget import Metered
from seasoned.proof.certificate import Certificate, Claim, Trial, keep_claim, lesson_hashes, trial
from seasoned.proof.effect import is_withheld
from seasoned.proof.gate import looks
from seasoned.proof.probe import Estimate, Estimates, Probe, estimates
from seasoned.store.sql import Store
from seasoned.types import Guidance, Task, Trajectory


def probe(part: Part, entrants: Sequence[Entrant]) -> list[Entrant]:
    """Probe the lessons of each condition with `+probed`, and return the entrants with the surviving lessons."""
    return [_survivors(part, entrant) if entrant.condition.probed else entrant for entrant in entrants]


def read_estimates(mark: Any) -> Estimates:
    """The estimates in the mark of a probe."""
    lessons = tuple(Estimate(**one) for one in mark["lessons"])
    return Estimates(lessons, mark["mean"], mark["deviation"])


def _survivors(part: Part, entrant: Entrant) -> Entrant:
    store, condition = part.session.store, entrant.condition
    scope = gate_scope(part.session.run_id, part.block.name, condition.probed_as)
    assert entrant.pool is not None
    mark = store.marked(scope, PROBE)
    if mark is None:
        mark = asdict(_run_probe(part, entrant))
        store.mark(scope, PROBE, mark)
    estimated, lessons = read_estimates(mark), entrant.pool.lessons()
    surviving = [lesson for lesson in lessons if estimated.keeps(lesson.id)]
    if not condition.gated:
        name = f"{part.block.name}: probe of {condition.of}"
        part.watch.say(
            f"{name}: {len(surviving)} of {len(lessons)} lessons kept; {len(estimated.lessons)} had an estimate"
        )
    scope, searches = copied_scope(store, entrant.pool, "probed", surviving), entrant.pool.embedder is not None
    return replace(entrant, pool=part.pool(scope, searches=searches, read_only=True, tasks=entrant.pool.tasks))


def _run_probe(part: Part, entrant: Entrant) -> Estimates:
    """Attempt each probe task without lessons and with some withheld; tasks with a server error do not count."""
    part.watch.stage(entrant.condition.probed_as + ALONE, len(part.block.probe))
    part.watch.stage(entrant.condition.probed_as + COINS, len(part.block.probe))

    def both(task: Task) -> tuple[Trajectory, Trajectory]:
        alone = _attempt_with_coins(part, replace(entrant, pool=None), ALONE, task, None)
        return alone, _attempt_with_coins(part, entrant, COINS, task, {})

    chance, probes = 1 - part.recipe.probe.share, []
    for alone, tossed in part.jobs(both, part.block.probe):
        if "error" not in (alone.outcome.reason, tossed.outcome.reason):
            shown = {str(name): bool(on) for name, on in tossed.meta[COINS_META].items()}
            gain = float(bool(tossed.outcome.success)) - float(bool(alone.outcome.success))
            probes.append(Probe(gain, shown, dict.fromkeys(shown, chance)))
    return estimates(probes)


def _attempt_with_coins(
    part: Part, entrant: Entrant, arm: str, task: Task, coins: dict[str, bool] | None
) -> Trajectory:
    """One probe attempt; `coins` is filled with its recalled lessons: True if shown, False if withheld."""
    key = EpisodeKey(part.block.name, entrant.condition.probed_as + arm, task.id)
    recalls = recalling(part, entrant, key, task, (*part.block.probe, *part.block.gate))
    seed, share = f"{part.session.run_id}/{part.block.name}".encode(), part.recipe.probe.share

    def tossed(meter: Metered, progress: Trajectory | None) -> Guidance:
        recalled = recalls(meter, progress)
        if coins is None:
            return recalled
        held = {one.id for one in recalled.lessons if is_withheld(seed, task.id, share, one.id)}
        shown = recalled.without(held)
        shown_ids = {one.id for one in shown.lessons}
        # A lesson that shares its entry with a shown lesson cannot be withheld, so its coin does not count.
        coins.update(
            {one.id: one.id in shown_ids for one in recalled.lessons if (one.id in held) != (one.id in shown_ids)}
        )
        return shown

    return part.episode(key, task, entrant.condition.agent, tossed, entrant.trained_on, split="probe", coins=coins)


# Gates


def decide(part: Part, entrants: Sequence[Entrant]) -> list[Entrant]:
    """Run the gate of each gated condition, and return the entrants, those not promoted without lessons."""
    return [_apply_gate(part, entrant) if entrant.condition.gated else entrant for entrant in entrants]


def check_candidates(plan: Plan, store: Store, run_id: str) -> None:
    """Raise ConfigError if earlier gates of a run had other candidates, since each set would take the whole risk."""
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
    """The claims of all decided gates of a run; None if there are none."""
    marks = [
        store.marked(gate_scope(run_id, block.name, condition.name), GATE)
        for block in plan.blocks
        for condition in plan.conditions
        if condition.gated
    ]
    claims = tuple(Claim.model_validate(one) for one in marks if one is not None)
    return Certificate(run=run_id, version=version, claims=claims) if claims else None


def _apply_gate(part: Part, entrant: Entrant) -> Entrant:
    store, scope = part.session.store, gate_scope(part.session.run_id, part.block.name, entrant.condition.name)
    stored = store.marked(scope, GATE)
    claim = Claim.model_validate(stored) if stored is not None else _run_gate(part, entrant)
    if stored is None:
        store.mark(scope, GATE, claim.model_dump(mode="json"))
        keep_claim(store, claim)
    last = claim.looks[-1] if claim.looks else None
    counts = f"{last.won} won, {last.lost} lost, p = {last.p:.2g}" if last else "no task"
    verdict = "promoted" if claim.promoted else "not promoted, so nothing is deployed"
    assert entrant.pool is not None
    same = claim.lessons == lesson_hashes(entrant.pool.lessons())
    verdict += "" if same else "; the lessons were changed since then, so they are not deployed"
    part.watch.say(f"{part.block.name}: gate of {entrant.condition.of}: {counts}: {verdict}")
    return entrant if claim.promoted and same else replace(entrant, pool=None)


def _run_gate(part: Part, entrant: Entrant) -> Claim:
    """Attempt the gate tasks, half of them and then the rest, until a look decides."""
    condition, plan, tasks = entrant.condition, part.plan, part.block.gate
    assert entrant.pool is not None
    lessons = _mark_tried(part, entrant, lesson_hashes(entrant.pool.lessons()))
    candidates, parts = len(plan.gated), part.recipe.gate.crossfit
    arms = crossed(part, entrant, parts) if parts else [entrant]
    trials: list[Trial] = []
    tokens = begun = 0
    looks_taken = looks([], planned=len(tasks), candidates=candidates)
    part.watch.stage(condition.name + LESSONS, len(tasks))
    part.watch.stage(condition.name + ALONE, len(tasks))
    for end in (len(tasks) // 2, len(tasks)):
        if looks_taken and looks_taken[-1].verdict != "continue":
            break
        places = range(begun, end)
        pairs = part.jobs(lambda n: _attempt_both(part, arms[n % len(arms)], tasks[n]), places)
        begun = end
        trials += [trial(*pair) for pair in pairs]
        tokens += sum(attempt.usage.tokens for pair in pairs for arm in pair for attempt in arm)
        looks_taken = looks([each.side for each in trials], planned=len(tasks), candidates=candidates)
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
        looks=tuple(looks_taken),
        tokens=tokens,
        crossfit=bool(parts),
    )


def _mark_tried(part: Part, entrant: Entrant, lessons: dict[str, str]) -> dict[str, str]:
    """Store and return the hashes of the lessons that the gate tries; they may not change after its first attempt."""
    store, name = part.session.store, entrant.condition.name
    scope = gate_scope(part.session.run_id, part.block.name, name)
    tried, arm = store.marked(scope, TRIED), (part.block.name, name + LESSONS)
    if tried not in (None, lessons) and any((key.block, key.condition) == arm for key in part.session.done):
        raise ConfigError(
            f"the lessons of {entrant.condition.of} were changed while the gate tried them: bring them back with "
            f"`seasoned lessons rollback`, or begin the gate again with --redo {name}"
        )
    store.mark(scope, TRIED, lessons)
    return lessons


def _attempt_both(part: Part, entrant: Entrant, task: Task) -> tuple[list[Trajectory], list[Trajectory]]:
    """The attempts at one gate task without lessons and with them, as many of each as a test task gets."""
    repeats = range(part.plan.recipe.repeats)
    alone, lessons = (
        [_attempt(part, arm, name, task, repeat) for repeat in repeats]
        for arm, name in ((replace(entrant, pool=None), ALONE), (entrant, LESSONS))
    )
    return alone, lessons


def _attempt(part: Part, entrant: Entrant, arm: str, task: Task, repeat: int) -> Trajectory:
    key = EpisodeKey(part.block.name, entrant.condition.name + arm, task.id, repeat=repeat)
    # In a crossfit gate, lessons come from the other gate tasks, so only this one must not leak.
    recalled = recalling(part, entrant, key, task, [task] if part.recipe.gate.crossfit else part.block.gate)
    return part.episode(key, task, entrant.condition.agent, recalled, entrant.trained_on, split="gate")

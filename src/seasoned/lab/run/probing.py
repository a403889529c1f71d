"""The stage `probe` of a run: a condition `X+probed` keeps only lessons of X that seem to help.

On probe tasks, each recalled lesson is withheld by its own coin, and `seasoned.proof.probe` estimates its effect
against the same agent without any lesson. Always holds: probe tasks are not test or gate tasks, and nothing was learned
from them; a probe is made once; it certifies nothing, so a gate may still decide on the surviving lessons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from seasoned.lab.run.altered import copied_scope
from seasoned.lab.run.evaluate import Entrant, recalling
from seasoned.lab.run.keys import ALONE, COINS, PROBE, EpisodeKey, gate_scope
from seasoned.lab.run.part import COINS_META, Part
from seasoned.llm.budget import Metered
from seasoned.proof.effect import is_withheld
from seasoned.proof.probe import Estimate, Estimates, Probe, estimates
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
        alone = _attempt(part, replace(entrant, pool=None), ALONE, task, None)
        return alone, _attempt(part, entrant, COINS, task, {})

    chance, probes = 1 - part.recipe.probe.share, []
    for alone, tossed in part.jobs(both, part.block.probe):
        if "error" not in (alone.outcome.reason, tossed.outcome.reason):
            shown = {str(name): bool(on) for name, on in tossed.meta[COINS_META].items()}
            gain = float(bool(tossed.outcome.success)) - float(bool(alone.outcome.success))
            probes.append(Probe(gain, shown, dict.fromkeys(shown, chance)))
    return estimates(probes)


def _attempt(part: Part, entrant: Entrant, arm: str, task: Task, coins: dict[str, bool] | None) -> Trajectory:
    """One probe attempt; `coins` is filled with its recalled lessons: True if shown, False if withheld."""
    key = EpisodeKey(part.block.name, entrant.condition.probed_as + arm, task.id)
    others = (*part.block.probe, *part.block.gate)
    recalls = recalling(part, entrant, key, task, part.block.test_ids.union(one.id for one in others))
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

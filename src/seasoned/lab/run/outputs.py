"""The files of a run: trajectories, lessons, results, summary and report, written from the store.

Always holds: the files agree with the store, in the order of the plan; `summary.json` is written last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seasoned import __version__
from seasoned.lab.report.build import LearnedPool, build
from seasoned.lab.report.html import Call, render
from seasoned.lab.report.measures import Row
from seasoned.lab.report.summary import Gate, Probed, Summary
from seasoned.lab.run import keys
from seasoned.lab.run.conditions import CONDITIONS
from seasoned.lab.run.evaluate import GIVEN, check_given
from seasoned.lab.run.gate import certificate, read_estimates
from seasoned.lab.run.keys import PROBE, TRAINING, JournalName, gate_scope, problems_of
from seasoned.lab.run.part import OTHERS_META
from seasoned.lab.run.plan import Block, Plan
from seasoned.lab.run.remarks import setting_remarks
from seasoned.lab.run.rundir import SUMMARY, write_json, write_jsonl, write_text
from seasoned.llm.journal import calls_in
from seasoned.pool import ExperiencePool
from seasoned.proof.certificate import NAME as CERTIFICATE
from seasoned.proof.certificate import Certificate
from seasoned.store.sql import Store
from seasoned.types import Lesson, Task, Trajectory, Usage, now

_PURPOSES = ("learning", "reflecting", "recalling")  # in the order of a run


def write_outputs(
    directory: Path, plan: Plan, store: Store, *, model: str, learner: str, started: str, folder: Path | None = None
) -> Summary:
    """Write every file of a finished run and return the summary.

    Args:
        directory: the run's directory; its name is the run's id.
        plan: the plan of the run.
        store: the store of the run.
        model: the name of the model that acted.
        learner: the name of the model that learned.
        started: when this (part of the) run began, ISO 8601.
        folder: where to write the files; by default the run's directory.
    """
    run_id, folder = directory.name, folder or directory
    # By seed, since the same text can have another right answer under another seed.
    tasks = {(block.seed, task.id): task for block in plan.blocks for task in (*block.train, *block.test)}
    attempts = _reported(plan, store.episodes(run_id).values())
    judged, familiar = _verdicts(plan, store, run_id), _familiar(plan)
    rows = [row_of(t, run_id, tasks[t.meta["seed"], t.task_id], judged.get(t.id), familiar) for t in attempts]
    lessons = list(_lessons(plan, store, run_id))
    write_jsonl(folder / "trajectories.jsonl", attempts)
    write_jsonl(folder / "lessons.jsonl", lessons)
    write_jsonl(folder / "results.jsonl", rows)
    calls = _calls(plan, store, run_id)
    write_jsonl(folder / "calls.jsonl", calls)
    run = {
        **_about(plan, run_id),
        "model": model,
        "learner": learner,
        "started": min([started, *(t.created for t in attempts)]),
        "finished": max([t.created for t in attempts], default=now()),
    }
    learning = _learning(plan, store, run_id)
    proof = certificate(plan, store, run_id, __version__)
    unchecked = []
    if unknown := check_given(plan, store):
        remark = f"{unknown} lessons of the condition {GIVEN} come from attempts that this store does not hold"
        unchecked = [f"{remark}, so it is not checked that those were at other tasks."]
    summary = build(
        rows,
        run=run,
        baseline=plan.baseline,
        lessons=lessons,
        trajectories=attempts,
        learning=learning,
        pools=_learned_pools(plan, store, run_id),
        gates=_gates(plan, proof),
        probes=_probes(plan, store, run_id),
        experience=_experience(plan, attempts),
        more_remarks=[*unchecked, *setting_remarks(plan, store, run_id, rows, attempts)],
    )
    config = (directory / "config.toml").read_text(encoding="utf-8")
    write_text(folder / "report.html", render(summary, rows, attempts, lessons, config, calls))
    if proof is not None:
        write_text(folder / CERTIFICATE, proof.model_dump_json(indent=2) + "\n")
    write_json(folder / SUMMARY, summary.to_json())
    return summary


def _about(plan: Plan, run_id: str) -> dict[str, Any]:
    """The facts about a run that its plan has, for the summary."""
    return {
        "id": run_id,
        "name": plan.recipe.name,
        "benchmark": plan.recipe.benchmark.name,
        "source": plan.source,
        "seeds": list(plan.recipe.seeds),
        "folds": plan.recipe.folds,
        "repeats": plan.recipe.repeats,
        "conditions": [condition.name for condition in plan.conditions],
        "parameters": {c.name: dict(c.parameters) for c in plan.conditions if c.parameters},
        "version": __version__,
    }


def _experience(plan: Plan, attempts: Sequence[Trajectory]) -> dict[str, float]:
    """How many attempts each condition learned from, on average over the blocks (ExpeL, figure 6)."""
    training = [attempt for attempt in attempts if attempt.meta["split"] == "train"]
    first = sum(not attempt.meta.get("trial", 0) for attempt in training)
    blocks, counts = len(plan.blocks), dict[str, float]()
    for condition in plan.conditions:
        worked = len(plan.blocks[0].benchmark.trajectories) if condition.worked else 0
        learned = (first if condition.parameters.get("first") else len(training)) if condition.learns else 0
        counts[condition.name] = learned / blocks + worked
    return counts


def _probes(plan: Plan, store: Store, run_id: str) -> list[Probed]:
    probes = []
    for block in plan.blocks:
        for condition in plan.probed:
            mark = store.marked(gate_scope(run_id, block.name, condition.probed_as), PROBE)
            for one in read_estimates(mark).lessons if mark is not None else ():
                lesson = store.get_lesson(one.lesson_id)
                values = asdict(one) | {"kept": one.kept, "text": lesson.text if lesson else ""}
                probes.append(Probed(condition=condition.probed_as, block=block.name, **values))
    return probes


def _gates(plan: Plan, proof: Certificate | None) -> list[Gate]:
    bases = {condition.name: condition.of for condition in plan.gated}
    return [
        Gate(
            condition=claim.condition,
            of=bases.get(claim.condition, claim.condition),
            block=claim.block,
            planned=claim.planned,
            candidates=claim.candidates,
            excluded=sum(trial.excluded for trial in claim.trials),
            looks=claim.looks,
            promoted=claim.promoted,
            tokens=claim.tokens,
            crossfit=claim.crossfit,
        )
        for claim in (proof.claims if proof else ())
    ]


def row_of(
    trajectory: Trajectory,
    run_id: str,
    task: Task,
    judged: bool | None = None,
    familiar: Mapping[tuple[int, int, str], bool] | None = None,
) -> Row:
    """One line of `results.jsonl`: an attempt at a task.

    `judged` is the verdict of a model that did not know the outcome; `familiar` is as `_familiar` returns it.
    """
    meta = trajectory.meta
    aside = meta.get("aside")  # a number of tokens if an older version wrote it
    return Row(
        run_id=run_id,
        benchmark=trajectory.benchmark,
        condition=meta["condition"],
        seed=meta["seed"],
        fold=meta["fold"],
        split=meta["split"],
        task_id=trajectory.task_id,
        task=trajectory.task,
        category=trajectory.category,
        familiar=(familiar or {}).get((meta["seed"], meta["fold"], trajectory.task_id)),
        success=trajectory.outcome.success,
        reward=trajectory.outcome.reward,
        reason=trajectory.outcome.reason,
        answer=trajectory.outcome.answer,
        gold=str(task.data.get("answer", "")),
        trajectory_id=trajectory.id,
        usage=trajectory.usage,
        aside=Usage.model_validate(aside) if isinstance(aside, dict) else Usage(),
        others={part: Usage.model_validate(used) for part, used in meta.get(OTHERS_META, {}).items()},
        trained_on=meta["trained_on"],
        turns=len(trajectory.steps),
        lesson_ids=trajectory.lesson_ids,
        judged=judged,
        trial=meta.get("trial", 0),
        repeat=meta.get("repeat", 0),
    )


def _familiar(plan: Plan) -> dict[tuple[int, int, str], bool]:
    """Whether a test task shares its goal with a training task, by seed, fold and task; see `Row.familiar`."""
    familiar: dict[tuple[int, int, str], bool] = {}
    for block in plan.blocks if plan.trains else ():
        if (goal := block.benchmark.goal) is not None:
            goals = {goal(task.text) for task in block.train}
            familiar |= {(block.seed, block.fold, task.id): goal(task.text) in goals for task in block.test}
    return familiar


def _reported(plan: Plan, attempts: Iterable[Trajectory]) -> list[Trajectory]:
    """The training and test attempts of the plan, not those of a gate or a probe.

    They are in the order of the blocks, then training before the conditions, then in the order of the tasks.
    """
    blocks = {(block.seed, block.fold): number for number, block in enumerate(plan.blocks)}
    names = {name: n for n, name in enumerate((TRAINING, *(condition.name for condition in plan.conditions)))}
    tasks = {(b.seed, b.fold, t.id): n for b in plan.blocks for n, t in enumerate((*b.train, *b.test))}
    placed = []
    for attempt in attempts:
        meta = attempt.meta
        at, name = (meta["seed"], meta["fold"]), meta["condition"]
        if meta["split"] in ("train", "test") and name in names and (*at, attempt.task_id) in tasks:
            task, turns = tasks[(*at, attempt.task_id)], (meta.get("repeat", 0), meta.get("trial", 0))
            placed.append(((blocks[at], names[name], meta["trained_on"], task, *turns), attempt))
    return [attempt for _, attempt in sorted(placed, key=lambda pair: pair[0])]


def _calls(plan: Plan, store: Store, run_id: str) -> list[Call]:
    """The calls outside an agent's turns, by purpose, then in the order of the plan, then by time."""
    names = ["", TRAINING, *(condition.name for condition in plan.conditions)]
    blocks = {block.name: (place, block) for place, block in enumerate(plan.blocks)}
    tasks = {
        block.name: {task.id: (number, task.text) for number, task in enumerate((*block.train, *block.test))}
        for block in plan.blocks
    }
    placed: list[tuple[tuple[int, ...], Call]] = []
    for one in calls_in(store, f"{run_id}/"):
        block_name, _, rest = one.scope.removeprefix(f"{run_id}/").partition("/")
        if block_name not in blocks:
            continue
        place, block = blocks[block_name]
        journal = JournalName.parse(rest, tasks[block_name])
        number, text = tasks[block_name].get(journal.task_id, (-1, ""))
        order = names.index(journal.condition) if journal.condition in names else len(names)
        call = Call(
            run_id=run_id,
            purpose=journal.purpose,
            condition=journal.label,
            seed=block.seed,
            fold=block.fold,
            task_id=journal.task_id,
            task=text,
            trial=journal.trial,
            messages=one.messages,
            reply=one.reply,
        )
        placed.append(((_PURPOSES.index(journal.purpose), place, order, number, journal.trial), call))
    return [call for _, call in sorted(placed, key=lambda pair: pair[0])]


def _learning(plan: Plan, store: Store, run_id: str) -> dict[str, Usage]:
    """The usage of learning from all training attempts, by condition; conditions that share a pool share the usage."""
    used: dict[str, Usage] = {}
    for _, pool, names in _pools(plan):
        usage = store.journal_usage(f"{run_id}/{keys.learning(pool)}")
        used |= {name: used.get(name, Usage()) + usage for name in names}
    return used


def _verdicts(plan: Plan, store: Store, run_id: str) -> dict[str, bool]:
    """The verdicts (success or not) of models that learned without knowing the outcome, by attempt id."""
    verdicts: dict[str, bool] = {}
    for _, pool, _ in _pools(plan):
        verdicts |= ExperiencePool(store, f"{run_id}/{pool}").verdicts()
    return verdicts


def _pools(plan: Plan) -> Iterator[tuple[Block, str, list[str]]]:
    """The pools learned from all training attempts of a block, each with the conditions that share it.

    A pool of heuristics that only guided the training belongs to the training.
    """
    for block in plan.blocks:
        pools: dict[str, list[str]] = {}
        for condition in plan.conditions:
            if condition.writes:
                pools.setdefault(plan.pool(condition, block, len(block.train)), []).append(condition.name)
        if plan.recipe.gather.iterate and plan.trains:
            pools.setdefault(plan.pool(CONDITIONS["erl"], block, len(block.train)), [TRAINING])
        yield from ((block, pool, names) for pool, names in pools.items())


def _learned_pools(plan: Plan, store: Store, run_id: str) -> list[LearnedPool]:
    scopes = ((block, f"{run_id}/{pool}", names) for block, pool, names in _pools(plan))
    return [
        LearnedPool(
            tuple(names), block.seed, block.fold, len(store.lessons(scope, status="active")), problems_of(store, scope)
        )
        for block, scope, names in scopes
    ]


def _lessons(plan: Plan, store: Store, run_id: str) -> Iterator[Lesson]:
    for block, pool, names in _pools(plan):
        shared = {"shared_by": names} if len(names) > 1 else {}
        labels = {"condition": names[0], **shared, "seed": block.seed, "fold": block.fold, "training": TRAINING}
        for lesson in store.lessons(f"{run_id}/{pool}"):
            yield lesson.model_copy(update={"data": {**lesson.data, **labels}})

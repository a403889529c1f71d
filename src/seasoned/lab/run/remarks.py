"""The report's remarks on a run's settings: the profile, the scaffold, and limits that left something out.

Always holds: nothing is judged or counted as a result here; a setting that changed nothing is not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from seasoned.lab.report.measures import Row
from seasoned.lab.run.keys import TRAINING
from seasoned.lab.run.plan import Plan
from seasoned.store.sql import Store
from seasoned.text import tokens
from seasoned.types import Trajectory

_AIDED = ("erl", "expel", "autoguide")
_FULL = 0.7  # of the limit: with fewer tokens, the limit is not the reason that heuristics are missing


def setting_remarks(
    plan: Plan, store: Store, run_id: str, rows: Sequence[Row], made: Iterable[Trajectory]
) -> list[str]:
    """The remarks on a run's settings, in sentences."""
    remarks = [*_scaffold(plan), *_capped(plan, rows, made), *_shortened(plan, store, run_id)]
    return (
        [f"The profile is paper: {', '.join(_papers(plan))}.", *remarks] if plan.recipe.profile == "paper" else remarks
    )


def _papers(plan: Plan) -> Iterator[str]:
    yield "lessons are written in the papers' forms, without aids for small models"
    if plan.recipe.llm.bundled:
        yield "and a bundled model acts, for which these forms are not made"


def _scaffold(plan: Plan) -> Iterator[str]:
    """The aids that helped to write lessons, by conditions."""
    benchmark, recipe = plan.blocks[0].benchmark, plan.recipe
    by_aids: dict[tuple[str, ...], list[str]] = {}
    for condition in plan.conditions:
        base, without = condition.name.partition("(")[0].partition("-")[0], str(condition.parameters.get("without", ""))
        if base not in _AIDED or not condition.writes:
            continue
        aids = []
        if benchmark.heuristic is not None and recipe.helps("worked", without):
            aids.append("a worked attempt with its lesson was shown")
        if benchmark.rule_begins and base != "expel" and recipe.helps("begins", without):
            aids.append(f"lessons had to begin with {benchmark.rule_begins.strip()!r}")
        if base == "erl" and recipe.helps("filters", without):
            aids.append('heuristics with the word "agent", and the like, were dropped')
        if aids:
            by_aids.setdefault(tuple(aids), []).append(condition.name)
    for aids_on, names in by_aids.items():
        yield f"Scaffold that no paper has, for {', '.join(names)}: {'; '.join(aids_on)} (off in the profile paper)."


def _capped(plan: Plan, rows: Sequence[Row], made: Iterable[Trajectory]) -> Iterator[str]:
    """The conditions for which erl.guidance_tokens left heuristics out."""
    limit = plan.recipe.erl.guidance_tokens
    length = {attempt.id: tokens(attempt.guidance) for attempt in made}
    for condition in plan.conditions:
        if not condition.ranks or condition.parameters.get("matched"):
            continue
        k = int(str(condition.parameters.get("k", plan.recipe.erl.k)))
        tests = [row for row in rows if row.condition == condition.name and row.split == "test"]
        full = [row for row in tests if length.get(row.trajectory_id, 0) > _FULL * limit and len(row.lesson_ids) < k]
        if full:
            shown = sum(len(row.lesson_ids) for row in full) / len(full)
            yield (
                f"erl.guidance_tokens={limit:,} left heuristics of {condition.name} out at {len(full)} of {len(tests)} "
                f"test attempts: {shown:.1f} of {k} were shown there on average."
            )


def _shortened(plan: Plan, store: Store, run_id: str) -> Iterator[str]:
    """How much of the failed attempts their reflections did not see."""
    names = [TRAINING, *(f"{condition.name}/test" for condition in plan.conditions if condition.retries)]
    scopes = [f"{run_id}/{block.name}/{name}" for block in plan.blocks for name in names]
    reflections = [lesson for scope in scopes for lesson in store.lessons(scope, kind="reflection")]
    short = [int(lesson.data["left_out"]) for lesson in reflections if lesson.data.get("left_out")]
    if short:
        yield (
            f"{len(short)} of {len(reflections)} reflections were written without {sum(short):,} characters of their "
            "attempts: set reflexion.attempt_chars, or name a model with a longer window under [longer]."
        )

"""What a run's report says of its own settings: the profile, the scaffold, and the limits that cut something away.

Always holds: nothing is judged or counted as a result here; a setting that changed nothing is not spoken of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from seasoned.lab.report.rows import Row
from seasoned.lab.run.keys import TRAINING
from seasoned.lab.run.plan import Plan
from seasoned.store.sql import Store
from seasoned.text import tokens
from seasoned.types import Trajectory

_AIDED = ("erl", "expel", "autoguide")
_FULL = 0.7  # of a limit: less than that was not what left heuristics out


def setting_remarks(
    plan: Plan, store: Store, run_id: str, rows: Sequence[Row], made: Iterable[Trajectory]
) -> list[str]:
    """The remarks on a run's settings, in sentences."""
    said = [*_scaffold(plan), *_capped(plan, rows, made), *_shortened(plan, store, run_id)]
    return [f"The profile is paper: {', '.join(_papers(plan))}.", *said] if plan.recipe.profile == "paper" else said


def _papers(plan: Plan) -> Iterator[str]:
    yield "lessons are written in the papers' forms, without what helps a small model"
    if plan.recipe.llm.bundled:
        yield "and a bundled model acts; they are not made for it"


def _scaffold(plan: Plan) -> Iterator[str]:
    """Which aids helped to write lessons, and for which conditions."""
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
    for given, names in by_aids.items():
        yield f"Scaffold that no paper has, for {', '.join(names)}: {'; '.join(given)} (off in the profile paper)."


def _capped(plan: Plan, rows: Sequence[Row], made: Iterable[Trajectory]) -> Iterator[str]:
    """Where erl.guidance_tokens left heuristics out."""
    limit = plan.recipe.erl.guidance_tokens
    length = {attempt.id: tokens(attempt.guidance) for attempt in made}
    for condition in plan.conditions:
        if not condition.ranks or condition.parameters.get("matched"):
            continue
        wanted = int(str(condition.parameters.get("k", plan.recipe.erl.k)))
        own = [row for row in rows if row.condition == condition.name and row.split == "test"]
        full = [row for row in own if length.get(row.trajectory_id, 0) > _FULL * limit and len(row.lesson_ids) < wanted]
        if full:
            shown = sum(len(row.lesson_ids) for row in full) / len(full)
            yield (
                f"erl.guidance_tokens={limit:,} left heuristics of {condition.name} out at {len(full)} of {len(own)} "
                f"test attempts: {shown:.1f} of {wanted} were shown there on average."
            )


def _shortened(plan: Plan, store: Store, run_id: str) -> Iterator[str]:
    """How much of failed attempts the reflections on them did not see."""
    names = [TRAINING, *(f"{condition.name}/test" for condition in plan.conditions if condition.retries)]
    scopes = [f"{run_id}/{block.name}/{name}" for block in plan.blocks for name in names]
    found = [lesson for scope in scopes for lesson in store.lessons(scope, kind="reflection")]
    short = [int(lesson.data["left_out"]) for lesson in found if lesson.data.get("left_out")]
    if short:
        yield (
            f"{len(short)} of {len(found)} reflections were written without {sum(short):,} characters of their "
            "attempts: set reflexion.attempt_chars, or name a model with a longer window under [longer]."
        )

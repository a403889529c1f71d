"""What the lessons of a run did: how often each was recalled, and how those tasks ended with and without it.

Always holds: it is observation, not proof - lessons are recalled together, and the baseline differs from the method by
all of them at once; a lesson is judged on test episodes only.

One lesson: id, kind, key, text, status, importance, condition (where it was learned; "" if unknown), seed and fold
(those of the attempts it came from, else what the run says; null if unknown), sources {solved, unsolved} (training
attempts it came from), recalled (test episodes), n, successes, accuracy (of those episodes), baseline_n,
baseline_successes, baseline_accuracy (of the same tasks under the baseline), points (the difference on the tasks that
both finished).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from seasoned.lab.report import stats
from seasoned.lab.report.format import share
from seasoned.lab.report.rows import Row, outcomes
from seasoned.types import Lesson


def effects(
    tested: Sequence[Row], training: Sequence[Row], lessons: Sequence[Lesson], baseline: str
) -> list[dict[str, Any]]:
    """The effect of each lesson, the most recalled first.

    Args:
        tested: The final test rows of all conditions.
        training: The training rows, for where each lesson came from.
        lessons: The lessons; deleted ones are left out.
        baseline: The condition that gives the same tasks without lessons.
    """
    homes = _homes(training)
    without = outcomes([row for row in tested if row.condition == baseline])
    recalls: dict[str, list[Row]] = {}
    for row in tested:
        if row.condition != baseline:
            for lesson_id in dict.fromkeys(row.lesson_ids):
                recalls.setdefault(lesson_id, []).append(row)
    found = [
        _effect(lesson, recalls.get(lesson.id, []), homes, without) for lesson in lessons if lesson.status != "deleted"
    ]
    return sorted(found, key=lambda one: (-one["recalled"], -(one["points"] or 0.0), one["key"], one["id"]))


def _effect(
    lesson: Lesson, recalls: Sequence[Row], homes: Mapping[str, Row], without: Mapping[Any, bool]
) -> dict[str, Any]:
    origins = [homes[source] for source in lesson.sources if source in homes]
    condition = lesson.data.get("condition") or (origins[0].condition if origins else "")
    # A variant that shares the pool shows it differently (cases instead of notes): its own condition speaks, if it can.
    own = [row for row in recalls if row.condition == condition] or list(recalls)
    counted = [row for row in own if row.counted]
    paired = [row for row in counted if row.key in without]
    solved = sum(row.solved for row in counted)
    before = sum(without[row.key] for row in paired)
    return {
        "id": lesson.id,
        "kind": lesson.kind,
        "key": lesson.key,
        "text": lesson.text,
        "status": lesson.status,
        "importance": lesson.importance,
        "condition": condition,
        "seed": origins[0].seed if origins else lesson.data.get("seed"),
        "fold": origins[0].fold if origins else lesson.data.get("fold"),
        "sources": {"solved": sum(row.solved for row in origins), "unsolved": sum(not row.solved for row in origins)},
        "recalled": len(own),
        "n": len(counted),
        "successes": solved,
        "accuracy": share(solved, len(counted)),
        "baseline_n": len(paired),
        "baseline_successes": before,
        "baseline_accuracy": share(before, len(paired)),
        "points": 100 * (sum(row.solved for row in paired) - before) / len(paired) if paired else None,
    }


def pool_sizes(lessons: Sequence[Lesson], training: Sequence[Row], *, sharing: bool = False) -> dict[str, float]:
    """Lessons per pool (one condition, seed and fold), the mean over the pools of each condition that learned.

    Where conditions share their training, `data["condition"]` of a lesson says which of them learned it. With
    `sharing`, a pool counts for every condition in its `data["shared_by"]` as well. A lesson that came from no training
    attempt (a person wrote it, or it came from worked examples) is where its `data` says: `condition`, `seed`, `fold`.
    """
    homes = _homes(training)
    owned: dict[str, set[str]] = {}
    pools: dict[str, set[tuple[int, int]]] = {}
    for lesson in _alive(lessons):
        data, learner = lesson.data, lesson.data.get("condition")
        behind = [homes[source] for source in lesson.sources if source in homes]
        places = {(learner or row.condition, row.seed, row.fold) for row in behind}
        if not places and learner and {"seed", "fold"} <= data.keys():
            places = {(learner, data["seed"], data["fold"])}
        for name, seed, fold in places:
            for owner in {name, *(data.get("shared_by", ()) if sharing else ())}:
                owned.setdefault(owner, set()).add(lesson.id)
                pools.setdefault(owner, set()).add((seed, fold))
    return {name: len(ids) / len(pools[name]) for name, ids in owned.items()}


def efficiencies(
    conditions: Sequence[Mapping[str, Any]], baseline: str, lessons: Sequence[Lesson], training: Sequence[Row]
) -> list[dict[str, Any]]:
    """Points gained per lesson, for the variants `positive` and `negative` (ExpNote, equation 4).

    The size of a variant's pool is that of its own training; a variant that shares another condition's training is
    counted by what the attempt behind each lesson came to.
    """
    accuracy = {block["name"]: block["accuracy"] for block in conditions}
    before = accuracy.get(baseline)
    found: list[dict[str, Any]] = []
    for name, after in accuracy.items():
        variant = _variant(name)
        if variant is None or after is None or before is None:
            continue
        size = pool_sizes(lessons, training).get(name)
        if size is None:
            size = _shared_size(variant, lessons, training)
        worth = stats.efficiency(100 * after, 100 * before, size)
        points = 100 * (after - before)
        found.append(
            {"condition": name, "type": variant, "lessons": size, "points": points, "points_per_lesson": worth}
        )
    return found


def _variant(name: str) -> Literal["positive", "negative"] | None:
    last = name.casefold().replace("_", "-").rsplit("-", 1)[-1]
    return "positive" if last == "positive" else "negative" if last == "negative" else None


def _shared_size(variant: str, lessons: Sequence[Lesson], training: Sequence[Row]) -> float:
    homes = {source: row for source, row in _homes(training).items() if row.counted}
    wanted = variant == "positive"
    ids = {
        lesson.id
        for lesson in _alive(lessons)
        if any(source in homes and homes[source].solved == wanted for source in lesson.sources)
    }
    behind = {source for lesson in lessons for source in lesson.sources if source in homes}
    return len(ids) / _pools([homes[source] for source in behind]) if ids else 0.0


def _alive(lessons: Sequence[Lesson]) -> list[Lesson]:
    return [lesson for lesson in lessons if lesson.status != "deleted"]


def _homes(training: Sequence[Row]) -> dict[str, Row]:
    return {row.trajectory_id: row for row in training if row.trajectory_id}


def _pools(rows: Sequence[Row]) -> int:
    return len({(row.condition, row.seed, row.fold) for row in rows})

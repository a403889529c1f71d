from __future__ import annotations

import pytest

from seasoned.lab.report.effect import effects, efficiencies, pool_sizes
from seasoned.types import Lesson


def _lesson(name: str, *sources: str, **fields: object) -> Lesson:
    return Lesson.model_validate({"id": name, "kind": "note", "text": name, "sources": sources, **fields})


@pytest.fixture
def training(make_row):
    return [
        make_row("expnote", f"x{seed}{i}", split="train", seed=seed, success=i == 0, trajectory_id=f"tra{seed}{i}")
        for seed in (0, 1)
        for i in (0, 1)
    ]


def test_a_lesson_beside_the_same_tasks_without_it(make_row, training):
    tested = [make_row("disabled", f"t{i}", success=i == 3) for i in range(5)]
    tested += [make_row("expnote", f"t{i}", success=i < 2, lesson_ids=("les", "les")) for i in range(4)]
    tested.append(make_row("expnote", "t4", reason="error", lesson_ids=("les",)))
    tested.append(make_row("case", "t0", success=False, lesson_ids=("les",)))
    (found,) = effects(tested, training, [_lesson("les", "tra00", "tra01", key="mo")], "disabled")
    assert (found["recalled"], found["n"], found["successes"], found["accuracy"]) == (5, 4, 2, 0.5)
    assert (found["baseline_n"], found["baseline_successes"], found["points"]) == (4, 1, 25.0)
    assert (found["condition"], found["seed"], found["sources"]) == ("expnote", 0, {"solved": 1, "unsolved": 1})


def test_points_are_those_of_the_tasks_that_both_finished(make_row, training):
    tested = [make_row("disabled", "t0", success=False), make_row("disabled", "t1", success=True)]
    tested += [make_row("expnote", f"t{i}", success=i != 1, lesson_ids=("les",)) for i in range(3)]
    (found,) = effects(tested, training, [_lesson("les", "tra00")], "disabled")
    assert (found["n"], found["successes"], found["baseline_n"], found["points"]) == (3, 2, 2, 0.0)


def test_most_recalled_first_never_recalled_last_and_deleted_not_at_all(make_row, training):
    tested = [make_row("expnote", "t0", success=True, lesson_ids=("b",))]
    lessons = [_lesson("a"), _lesson("b"), _lesson("c", status="deleted")]
    found = effects(tested, training, lessons, "disabled")
    assert [one["id"] for one in found] == ["b", "a"]
    assert found[0]["baseline_accuracy"] is None
    assert (found[1]["recalled"], found[1]["accuracy"], found[1]["points"]) == (0, None, None)


def test_the_baselines_own_recalls_do_not_count(make_row, training):
    tested = [make_row("disabled", "t0", success=True, lesson_ids=("a",))]
    assert effects(tested, training, [_lesson("a")], "disabled")[0]["recalled"] == 0


def test_pools_are_counted_per_seed(training):
    lessons = [_lesson("a", "tra00"), _lesson("b", "tra01"), _lesson("c", "tra10", "tra11"), _lesson("d", "lost")]
    assert pool_sizes(lessons, training) == {"expnote": 1.5}
    shared = [lesson.model_copy(update={"data": {"shared_by": ["expnote", "expnote-case"]}}) for lesson in lessons]
    assert pool_sizes(shared, training) == {"expnote": 1.5}
    assert pool_sizes(shared, training, sharing=True) == {"expnote": 1.5, "expnote-case": 1.5}


def test_a_lesson_is_in_the_pool_of_the_condition_that_learned_it(training):
    lessons = [_lesson("a", "tra00"), _lesson("b", "tra00", data={"condition": "erl"})]
    assert pool_sizes(lessons, training) == {"expnote": 1.0, "erl": 1.0}


def test_what_came_from_no_training_attempt_is_where_the_run_says(training):
    place = {"condition": "expel-worked", "seed": 1, "fold": 1}
    lessons = [_lesson("a", "worked-1", data=place), _lesson("b", data=place), _lesson("c", data={"condition": "x"})]
    assert pool_sizes(lessons, training) == {"expel-worked": 2.0}
    (found, *_) = effects([], training, lessons[:1], "disabled")
    assert (found["condition"], found["seed"], found["fold"]) == ("expel-worked", 1, 1)


def test_efficiency_of_variants_that_share_the_training(training):
    lessons = [_lesson("a", "tra00"), _lesson("b", "tra10"), _lesson("c", "tra01")]
    blocks = [{"name": "disabled", "accuracy": 0.5}]
    blocks += [{"name": "positive", "accuracy": 0.6}, {"name": "expnote-negative", "accuracy": 0.4}]
    positive, negative = efficiencies(blocks, "disabled", lessons, training)
    assert positive["lessons"] == 1.0
    assert positive["points_per_lesson"] == pytest.approx(10.0)
    assert (negative["type"], negative["lessons"]) == ("negative", 0.5)
    assert negative["points_per_lesson"] == pytest.approx(-20.0)


def test_an_attempt_that_a_server_ended_makes_no_negative_lesson(make_row, training):
    gone = make_row("expnote", "x9", split="train", reason="error", trajectory_id="gone")
    blocks = [{"name": "disabled", "accuracy": 0.5}, {"name": "negative", "accuracy": 0.6}]
    (found,) = efficiencies(blocks, "disabled", [_lesson("a", "gone"), _lesson("b", "tra01")], [*training, gone])
    assert found["lessons"] == 1.0


def test_efficiency_of_a_variant_with_its_own_training(make_row):
    training = [make_row("positive", f"x{i}", split="train", success=True, trajectory_id=f"p{i}") for i in range(4)]
    lessons = [_lesson(f"l{i}", f"p{i}") for i in range(4)]
    blocks = [{"name": "disabled", "accuracy": 0.5}, {"name": "positive", "accuracy": 0.7}]
    (found,) = efficiencies(blocks, "disabled", lessons, training)
    assert found["lessons"] == 4.0
    assert found["points_per_lesson"] == pytest.approx(5.0)


def test_efficiency_without_lessons_baseline_or_variants():
    blocks = [{"name": "disabled", "accuracy": 0.5}, {"name": "positive", "accuracy": 0.7}]
    assert efficiencies(blocks, "disabled", [], [])[0]["points_per_lesson"] is None
    assert efficiencies(blocks, "zero-shot", [], []) == []
    assert efficiencies(blocks[:1], "disabled", [], []) == []

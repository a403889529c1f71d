"""Folds and the check for leaks."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, LeakError
from seasoned.lab.run.folds import check_no_leak, stratified_folds
from seasoned.types import Guidance, Lesson, Task, Trajectory

pools = st.lists(st.sampled_from("abc"), min_size=2, max_size=60).map(
    lambda categories: [Task(id=f"t{n}", text="x", category=c) for n, c in enumerate(categories)]
)


@given(pools, st.data(), st.integers(0, 5))
def test_every_task_is_in_one_fold_and_folds_are_even(tasks, data, seed):
    count = data.draw(st.integers(2, len(tasks)))
    folds = stratified_folds(tasks, count, seed)
    assert len(folds) == count
    assert sorted(task.id for fold in folds for task in fold) == sorted(task.id for task in tasks)
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    for category in "abc":
        shares = [sum(task.category == category for task in fold) for fold in folds]
        assert max(shares) - min(shares) <= 1


@given(pools, st.randoms(), st.integers(0, 5))
def test_the_seed_alone_decides(tasks, random, seed):
    mixed = list(tasks)
    random.shuffle(mixed)
    assert stratified_folds(tasks, 2, seed) == stratified_folds(mixed, 2, seed)


def test_other_seeds_deal_otherwise_and_categories_are_mixed():
    tasks = [Task(id=f"t{n:03}", text="x", category="ab"[n % 2]) for n in range(80)]
    dealt = [{frozenset(task.id for task in fold) for fold in stratified_folds(tasks, 4, seed)} for seed in (0, 1)]
    assert dealt[0] != dealt[1]
    for fold in stratified_folds(tasks, 4, 0):
        assert len(Counter(task.category for task in fold[:10])) == 2


@pytest.mark.parametrize("count", [-1, 0, 1, 4])
def test_impossible_numbers(count):
    with pytest.raises(ConfigError, match="between 2 and 3 folds"):
        stratified_folds([Task(id=str(n), text="x") for n in range(3)], count, 0)


TRAINING = [Trajectory(id="tra-1", task_id="one", task="x"), Trajectory(id="tra-2", task_id="two", task="x")]


def lesson(*sources):
    return Guidance(lessons=(Lesson(kind="note", text="x", sources=sources),))


def test_what_comes_from_training_passes():
    check_no_leak(lesson("tra-1", "tra-2"), TRAINING, frozenset({"three"}))
    check_no_leak(Guidance(demonstrations=(TRAINING[0],)), TRAINING, frozenset({"three"}))
    check_no_leak(Guidance(), [], frozenset())


def test_worked_examples_may_be_shown_and_learned_from():
    written = Trajectory(id="manual-1", task_id="manual-1", task="x")
    told = lesson("manual-1", "tra-1") + Guidance(demonstrations=(written,))
    check_no_leak(told, TRAINING, frozenset({"two"}), besides=frozenset({"manual-1"}))
    for each in (lesson("manual-1"), Guidance(demonstrations=(written,))):
        with pytest.raises(LeakError, match="no training attempt"):
            check_no_leak(each, TRAINING, frozenset({"two"}))


@pytest.mark.parametrize(
    ("guidance", "says"),
    [
        (lesson("tra-1", "tra-9"), "tra-9, which is no training attempt"),
        (lesson("tra-2"), "the task two, which is to be evaluated"),
        (Guidance(demonstrations=(Trajectory(task_id="one", task="x"),)), "no training attempt of this fold"),
        (Guidance(demonstrations=(TRAINING[1],)), "no training attempt of this fold"),
    ],
)
def test_what_does_not_is_a_leak(guidance, says):
    with pytest.raises(LeakError, match=says):
        check_no_leak(guidance, TRAINING, frozenset({"two"}))

"""Folds."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError
from seasoned.lab.run.folds import stratified_folds
from seasoned.types import Task

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

"""Folds."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError
from seasoned.lab.report.rows import Row
from seasoned.lab.run.folds import outcomes_of, stratified_folds
from seasoned.lab.run.plan import make_plan
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


# By how gathering ended


@pytest.fixture
def written(tmp_path):
    """Writes the rows of a run that gathered: (task, trial, success, lessons, split)."""

    def write(*rows):
        lines = [
            Row(
                run_id="r",
                benchmark="b",
                condition="training" if split == "train" else "erl",
                seed=0,
                split=split,
                task_id=task,
                task="x",
                success=success,
                reason="won" if success else "halted",
                trial=trial,
                lesson_ids=lessons,
            ).model_dump_json()
            for task, trial, success, lessons, split in rows
        ]
        (tmp_path / "results.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(tmp_path)

    return write


def test_how_gathering_ended_at_each_task(written):
    run = written(
        ("a", 0, True, (), "train"),
        ("b", 0, False, (), "train"),
        ("b", 1, True, ("reflection",), "train"),
        ("c", 0, False, (), "train"),
        ("c", 1, False, ("reflection",), "train"),
        ("c", 0, True, ("heuristic",), "test"),
    )
    assert outcomes_of(run) == {"a": "solved", "b": "solved after failing", "c": "never"}


def test_folds_are_alike_in_how_gathering_ended():
    tasks = [Task(id=f"t{n:02}", text="x", category="ab"[n % 2]) for n in range(40)]
    ended = {task.id: ("solved", "never")[n // 4 % 2] for n, task in enumerate(tasks)}
    for seed in range(5):
        for fold in stratified_folds(tasks, 2, seed, ended):
            assert set(Counter((task.category, ended[task.id]) for task in fold).values()) == {5}
    assert any(
        set(Counter((task.category, ended[task.id]) for task in fold).values()) != {5}
        for seed in range(5)
        for fold in stratified_folds(tasks, 2, seed)
    )


def test_folding_by_outcomes_that_lessons_decided_is_refused(written):
    run = written(("a", 0, True, ("heuristic",), "train"), ("b", 0, False, (), "train"))
    with pytest.raises(
        ConfigError, match=r"would leak: lessons guided 1 of its first training attempts.*gather.iterate"
    ):
        outcomes_of(run)


def test_folding_by_test_attempts_is_refused(written):
    with pytest.raises(ConfigError, match="would leak: it has test attempts alone"):
        outcomes_of(written(("a", 0, True, (), "test")))


def test_a_run_that_is_none_or_knows_other_tasks(tmp_path, written):
    with pytest.raises(ConfigError, match=r"has no results\.jsonl"):
        outcomes_of(str(tmp_path / "nowhere"))
    ended = outcomes_of(written(("a", 0, True, (), "train")))
    tasks = [Task(id=name, text="x") for name in "abc"]
    with pytest.raises(ConfigError, match="gathered nothing at 2 of the 3 tasks, such as b"):
        stratified_folds(tasks, 2, 0, ended)
    (tmp_path / "results.jsonl").write_text("no row\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not a row of results"):
        outcomes_of(str(tmp_path))


def test_a_recipe_folds_by_the_outcomes_of_a_run(recipe, go):
    """From a run that gathered, through the recipe's setting, to the folds of another run."""
    settings = {"folds": 2, "train": 6, "test": 6, "conditions": ["disabled", "expnote"]}
    first = go(recipe(**settings))
    plan = make_plan(recipe(**settings, fold_outcomes=str(first)))
    ended = outcomes_of(str(first))
    assert len(ended) == 12
    for kind in set(ended.values()):
        shares = [sum(ended[task.id] == kind for task in block.test) for block in plan.blocks]
        assert max(shares) - min(shares) <= len({task.category for task in plan.blocks[0].test})
    with pytest.raises(ConfigError, match="gathered nothing at"):
        make_plan(recipe(**{**settings, "train": 8}, fold_outcomes=str(first)))

"""Plans: blocks, folds, disjoint pools, and the count of what will be done."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, SeasonedError
from seasoned.lab.report.measures import Row
from seasoned.lab.run.plan import make_plan, outcomes_of, stratified_folds
from seasoned.types import Task


def test_training_and_test_cases_of_a_block_are_disjoint(recipe):
    for folds in (0, 3):
        for block in make_plan(recipe(train=20, test=10, folds=folds, seeds=[0, 1])).blocks:
            assert not {t.id for t in block.train} & {t.id for t in block.test}
            assert not {t.text for t in block.train} & {t.text for t in block.test}


def test_folds_judge_every_case_once_a_seed(recipe):
    plan = make_plan(recipe(train=20, test=10, folds=3, seeds=[4, 5]))
    assert [block.name for block in plan.blocks] == ["s4f0", "s4f1", "s4f2", "s5f0", "s5f1", "s5f2"]
    judged = [task.id for block in plan.blocks[:3] for task in block.test]
    assert len(judged) == len(set(judged)) == 30
    assert all(len(block.train) == 20 for block in plan.blocks)


def test_the_same_recipe_is_the_same_plan(recipe):
    assert make_plan(recipe()).blocks[0].test == make_plan(recipe()).blocks[0].test
    assert make_plan(recipe()).blocks[0].test != make_plan(recipe(seeds=[1])).blocks[0].test


def test_the_tasks_of_a_plan_are_others_where_a_right_answer_is(recipe, tmp_path):
    """So that a run is not resumed after a correction of the data, which would judge a part of it by the old ones."""
    data, told = tmp_path / "own.jsonl", []
    for answer in ("Oslo", "Bergen"):
        page = ["Bridges", ["There are many."]]
        cases = [{"question": f"Where is bridge {n}?", "answer": answer, "context": [page]} for n in range(20)]
        data.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
        wanted = recipe(benchmark={"name": "hotpotqa", "data": str(data)}, conditions=["act"], train=0, test=10)
        told.append([*make_plan(wanted).tasks])
    assert [task.replace("Oslo", "Bergen") for task in told[0]] == told[1] != told[0]


def test_two_folds_change_places(recipe):
    one, other = make_plan(recipe(folds=2)).blocks
    assert (one.train, one.test) == (other.test, other.train)


@pytest.mark.parametrize("folds", [0, 3])
def test_limit_takes_the_first_of_each_block(recipe, folds):
    whole, some = (make_plan(recipe(folds=folds, limit=limit)).blocks for limit in (None, 2))
    assert [(block.train, block.test) for block in some] == [(block.train[:2], block.test[:2]) for block in whole]


def test_under_a_limit_a_pool_may_have_fewer_than_the_recipe_names(recipe):
    few = make_plan(recipe(train=10_000, test=10_000, limit=3))
    assert (len(few.blocks[0].train), len(few.blocks[0].test)) == (3, 3)
    with pytest.raises(SeasonedError, match="10000 training tasks were asked for"):
        make_plan(recipe(train=10_000, test=10_000))


def test_points_and_labels_of_a_curve(recipe):
    plan = make_plan(recipe(train=6, curve=[4, 0, 2, 2, 6, 99], conditions=["disabled", "expnote", "nearest"]))
    disabled, expnote, nearest = plan.conditions
    block = plan.blocks[0]
    assert (plan.points(disabled, block), plan.points(expnote, block), plan.points(nearest, block)) == (
        [0], [2, 4, 6], [6]
    )  # fmt: skip
    assert [plan.label(expnote, block, n) for n in (2, 4, 6)] == ["expnote@2", "expnote@4", "expnote"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, []),
        ({"curve": [1, 6]}, []),
        ({"curve": [1, 99, 0]}, ["curve leaves out 99, 0: there are 6 training cases to stop at"]),
        ({"curve": [3], "limit": 2}, ["curve leaves out 3: there are 2 training cases to stop at"]),
        ({"curve": [3], "conditions": ["disabled", "nearest"]}, ["curve does nothing: none of the conditions learns"]),
        ({"folds": 1}, ["folds=1 is the same as none"]),
        ({"folds": 2, "curve": [6]}, []),
    ],
)
def test_what_does_nothing_is_said(recipe, changes, says):
    found = make_plan(recipe(**changes)).idle
    assert len(found) == len(says)
    assert all(one.startswith(said) for one, said in zip(found, says, strict=True))


@pytest.mark.parametrize(
    ("changes", "episodes", "calls"),
    [
        ({"conditions": ["zero-shot"], "baseline": "zero-shot"}, 5, 5 * 3),
        ({"conditions": ["disabled", "expnote"]}, 6 + 10, 6 * 3 + 10 * 3),
        ({"conditions": ["disabled", "expnote"], "seeds": [0, 1]}, 32, 96),
        ({"conditions": ["disabled", "expnote"], "limit": 1}, 1 + 2, 3 + 6),
        ({"conditions": ["expnote"], "curve": [3]}, 6 + 10, 18 + 30),
        ({"conditions": ["expnote"], "curve": [3], "repeats": 2, "llm": {"temperature": 0.7}}, 6 + 15, 18 + 45),
        # Two conditions of ERL share their six heuristics, and each may ask about each of them at each test.
        ({"conditions": ["disabled", "erl", "erl-all"]}, 6 + 15, 6 * 3 + 15 * 3 + 6 + 2 * 5 * 6),
        ({"conditions": ["erl"], "gather": {"iterate": "all"}}, 6 + 5, 6 * 3 + 15 + 5 * 3 + 6 + 5 * 6),
        ({"conditions": ["expnote"], "agent": {"style": "free"}}, 6 + 5, (6 + 5) * 11),
    ],
)
def test_the_count_of_episodes_and_the_bound_of_calls(recipe, changes, episodes, calls):
    plan = make_plan(recipe(**changes))
    assert (plan.episodes, plan.most_calls) == (episodes, calls)


def test_the_bound_counts_every_retry_of_agents_that_act(recipe):
    names = ["react", "reflexion", "expel-worked"]
    wanted = {"benchmark": {"name": "hotpotqa"}, "train": 3, "test": 2, "conditions": names, "baseline": "react"}
    plan = make_plan(recipe(**wanted, gather={"retries": 1}, method={"trials": 2}))
    assert not plan.trains
    benchmark = plan.blocks[0].benchmark
    turns, worked = benchmark.max_turns + 1, len(benchmark.trajectories)
    assert plan.most_calls == 2 * turns * (1 + 3 + 1) + worked + 2 * max(worked, turns)
    trained = make_plan(recipe(**{**wanted, "conditions": ["react", "erl"]}, gather={"retries": 1}))
    assert trained.most_calls == 3 * 2 * turns + 2 * 2 * turns + 6 + 2 * max(6, turns)


def test_older_names_of_conditions_are_told_with_the_new_ones(recipe):
    plan = make_plan(recipe(conditions=["disabled", "erl-k3", "erl(k=5)"]))
    assert plan.idle == ["short names of conditions: erl-k3 is erl(k=3)"]
    assert [plan.pool(c, plan.blocks[0], 6) for c in plan.conditions] == ["s0f0/disabled", "s0f0/erl", "s0f0/erl"]


@pytest.mark.parametrize("changes", [{"train": 0}, {"train": 0, "folds": 2}])
def test_nothing_to_train_on_is_no_fault(recipe, changes):
    assert make_plan(recipe(**changes)).episodes > 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"repeats": 2}, "repeats above 1 need a temperature above 0"), ({"seeds": [1, 1]}, "every seed once")],
)
def test_what_would_be_done_twice_alike_is_refused(recipe, changes, says):
    with pytest.raises(ConfigError, match=says):
        make_plan(recipe(**changes))


def test_too_many_cases(recipe):
    with pytest.raises(SeasonedError, match="99999 training tasks were asked for"):
        make_plan(recipe(train=99999))


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
    with pytest.raises(ConfigError, match="is no row of results"):
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

"""Plans: blocks, disjoint pools, and the count of what will be done."""

import json

import pytest

from seasoned.errors import ConfigError, SeasonedError
from seasoned.lab.run.plan import make_plan


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

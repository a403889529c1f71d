"""What a plan is estimated to cost before any model is asked."""

import pytest

from seasoned.lab.run.costs import estimated_tokens
from seasoned.lab.run.plan import make_plan
from seasoned.text import tokens


@pytest.fixture
def cost(recipe):
    return lambda **changes: estimated_tokens(make_plan(recipe(**changes), dry=True))


ACTING = {"benchmark": {"name": "hotpotqa"}, "conditions": ["react"], "baseline": "react", "train": 0, "test": 4}


def test_twice_the_tests_cost_twice_as_much(cost):
    once, twice = cost(**ACTING), cost(**{**ACTING, "test": 8})
    assert twice["completion"] == 2 * once["completion"]
    assert twice["prompt"] == pytest.approx(2 * once["prompt"], rel=0.05)  # the longest question stands for all


def test_seeds_and_repeats_multiply(cost):
    once = cost(**ACTING)
    assert cost(**ACTING, seeds=[0, 1])["completion"] == 2 * once["completion"]
    assert cost(**ACTING, repeats=3, llm={"temperature": 0.7})["completion"] == 3 * once["completion"]


@pytest.mark.parametrize("policy", ["react", "tools"])
def test_each_turn_reads_the_worked_attempts(cost, recipe, policy):
    wanted = {**ACTING, "conditions": [policy], "baseline": policy, "benchmark": {"name": "hotpotqa", "max_steps": 6}}
    bare, shown = cost(**wanted, agent={"examples": 0}), cost(**wanted, agent={"examples": 1})
    block = make_plan(recipe(**wanted, agent={"examples": 1}), dry=True).blocks[0]
    (least,) = [sum(tokens(step.observation) for step in block.benchmark.trajectories[0].steps)]
    assert shown["prompt"] - bare["prompt"] >= 4 * 3 * least
    assert shown["completion"] == bare["completion"]


def test_gathering_and_learning_are_counted_once_for_all_who_share_what_is_learned(cost):
    settings = {"embedder": "hashing", "erl": {"retrieve": "embedding"}}
    none = cost(conditions=["disabled"], **settings)
    one = cost(conditions=["disabled", "erl"], **settings)
    two = cost(conditions=["disabled", "erl", "erl(k=1)"], **settings)
    own = cost(conditions=["disabled", "erl", "erl(without=all)"], **settings)
    assert none["completion"] < one["completion"] < two["completion"] < own["completion"]


def test_a_ranker_and_the_papers_heuristics_are_paid_for(cost):
    settings = {"conditions": ["disabled", "erl"], "embedder": "hashing"}
    near = cost(**settings, erl={"retrieve": "embedding"})
    ranked = cost(**settings, erl={"retrieve": "llm"})
    assert ranked["prompt"] > near["prompt"]
    assert cost(**settings, erl={"retrieve": "llm"}, profile="paper")["prompt"] > ranked["prompt"]


def test_more_retries_of_gathering_cost_more(cost):
    settings = {**ACTING, "conditions": ["react", "expel"], "train": 4, "embedder": "hashing"}
    assert cost(**settings, gather={"retries": 3})["prompt"] > cost(**settings, gather={"retries": 0})["prompt"]

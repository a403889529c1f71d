import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.lab.benchmarks.webshop.goals import (
    NO_LIMIT,
    Goal,
    as_task,
    goal_of,
    human_goals,
    numbered,
    pools,
    price_limit,
    synthetic_goals,
)
from seasoned.types import Task

MUG = Product("A1", "Mug", 23.0, "$23.00", options={"size": ("small", "large"), "color": ("red", "wine\xa0red")})
CUP = Product("A2", "Cup", 5.0, "$5.00")
SHOP = {"A1": MUG, "A2": CUP}
ASKED = {"instruction": "Find me mugs", "instruction_attributes": ["dishwasher safe"]}


def test_a_goal_for_each_combination_of_options():
    goals = synthetic_goals(SHOP, {"A1": ASKED, "A2": {"attributes": ["x"]}, "A3": ASKED})
    assert [dict(goal.options) for goal in goals] == [
        {"color": "red", "size": "small"},
        {"color": "red", "size": "large"},
        {"color": "wine\xa0red", "size": "small"},
        {"color": "wine\xa0red", "size": "large"},
    ]
    assert goals[3].text == "Find me mugs with color: wine red, and size: large, and price lower than 45.00 dollars"
    assert {goal.limit for goal in goals} == {45.0}


def test_a_product_without_options_has_one_goal():
    (goal,) = synthetic_goals({"A2": CUP}, {"A2": ASKED})
    assert goal == Goal("A2", "Find me mugs, and price lower than 25.00 dollars", ("dishwasher safe",), (), 25.0)


@pytest.mark.parametrize(
    "row", [None, 3, [], {}, {"instruction": None}, {"instruction": "x"}, ASKED | {"instruction_attributes": []}]
)
def test_rows_without_an_instruction_make_no_goal(row):
    assert synthetic_goals(SHOP, {"A1": row}) == []


def test_peoples_goals():
    rows = [
        {
            "instruction": "i want a red mug.",
            "instruction_attributes": ["dishwasher safe"],
            "instruction_options": ["Red", "small"],
        },
        {"instruction": "no attributes", "instruction_attributes": [], "instruction_options": []},
        {
            "instruction": "named",
            "instruction_attributes": ["x"],
            "instruction_options": {"Color": "Red", "Size": None},
        },
        "no row",
    ]
    goals = human_goals(SHOP, {"A1": rows, "A2": None})
    assert [goal.options for goal in goals] == [(("", "red"), ("", "small")), (("color", "red"),)]
    assert goals[0].text == "i want a red mug, and price lower than 45.00 dollars"


@pytest.mark.parametrize(
    ("price", "limit"), [(0.0, 25.0), (9.99, 25.0), (10.0, 35.0), (23.0, 45.0), (965.0, 980.0), (970.0, 985.0)]
)
def test_the_limit_is_the_mean_of_the_next_four_tens(price, limit):
    assert price_limit(price) == (limit, f", and price lower than {limit:.2f} dollars")


@pytest.mark.parametrize("price", [980.0, 990.0, 5000.0])
def test_there_is_no_limit_near_a_thousand(price):
    assert price_limit(price) == (NO_LIMIT, "")


@given(st.floats(0, 2000), st.integers())
def test_the_limit_is_above_the_price(price, seed):
    assert price_limit(price)[0] > price
    assert price_limit(price, random.Random(seed))[0] > price


def test_a_drawn_limit_is_one_of_the_upper_three():
    assert {price_limit(23.0, random.Random(seed))[0] for seed in range(60)} == {40.0, 50.0, 60.0}


def test_goals_are_numbered_as_in_webshop():
    goals = [Goal(str(i), "", ("x",)) for i in range(10)]
    order = list(range(10))
    random.Random(233).shuffle(order)
    assert [int(goal.asin) for goal in numbered(goals)] == order


def test_a_task_holds_its_goal():
    (goal,) = synthetic_goals({"A2": CUP}, {"A2": ASKED})
    task = as_task(7, goal, "garden")
    assert (task.id, task.category) == ("webshop-7", "garden")
    assert task.text == f"WebShop\nInstruction:\n{goal.text}\n[Search]"
    assert goal_of(Task.model_validate_json(task.model_dump_json())) == goal


@pytest.mark.parametrize(
    "data", [{}, {"asin": "A"}, {"asin": "A", "instruction": "", "attributes": [], "options": [1], "limit": 1}]
)
def test_a_task_of_something_else_is_refused(data):
    with pytest.raises(DataError, match="not a task of the benchmark webshop"):
        goal_of(Task(id="x", text="x", data=data))


def tasks(counts):
    return [as_task(100 * i + j, Goal(f"A{i}", f"{i} {j}", ("x",)), "") for i, n in enumerate(counts) for j in range(n)]


@given(st.lists(st.integers(1, 6), min_size=2, max_size=12), st.integers(0, 5), st.floats(0.01, 0.99))
def test_pools_share_no_product_and_lose_no_task(counts, seed, share):
    train, test = pools(tasks(counts), seed, share)
    products = [{task.data["asin"] for task in pool} for pool in (train, test)]
    assert not products[0] & products[1]
    assert all(products)
    assert {task.id for task in (*train, *test)} == {task.id for task in tasks(counts)}
    for pool, own in ((train, products[0]), (test, products[1])):
        assert {task.data["asin"] for task in pool[: len(own)]} == own
    assert pools(tasks(counts), seed, share) == (train, test)


def test_tasks_of_the_same_text_are_one():
    same = [as_task(i, Goal(f"A{i}", text, ("x",)), "") for i, text in enumerate(("same", "same", "Same"))]
    other = as_task(9, Goal("B", "other", ("x",)), "")
    train, test = pools([*same, other], 0, 0.5)
    assert len(train) + len(test) == 2


def test_pools_need_two_products_and_a_share():
    with pytest.raises(DataError, match="at least 2 products"):
        pools(tasks([5]), 0, 0.5)
    with pytest.raises(ConfigError, match="train_share"):
        pools(tasks([1, 1]), 0, 1.0)

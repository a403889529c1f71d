import random
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import ConfigError, DataError, MissingExtraError
from seasoned.lab.benchmarks.webshop import goals as module
from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.lab.benchmarks.webshop.goals import (
    NO_LIMIT,
    Goal,
    alike,
    as_task,
    color_of,
    goal_of,
    human_goals,
    nouns,
    numbered,
    pools,
    price_limit,
    reward,
    synthetic_goals,
    type_reward,
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
    assert (
        goals[3].instruction == "Find me mugs with color: wine red, and size: large, and price lower than 45.00 dollars"
    )
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
    assert goals[0].instruction == "i want a red mug, and price lower than 45.00 dollars"


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
    assert task.text == f"WebShop\nInstruction:\n{goal.instruction}\n[Search]"
    assert goal_of(Task.model_validate_json(task.model_dump_json())) == goal


@pytest.mark.parametrize(
    "data", [{}, {"asin": "A"}, {"asin": "A", "instruction": "", "attributes": [], "options": [1], "limit": 1}]
)
def test_a_task_of_something_else_is_refused(data):
    with pytest.raises(DataError, match="not a task of the benchmark webshop"):
        goal_of(Task(id="x", text="x", data=data))


def tasks(counts):
    return [as_task(100 * i + j, Goal(f"A{i}", f"{i} {j}", ("x",)), "") for i, n in enumerate(counts) for j in range(n)]


@settings(max_examples=40)
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


GOLD = Product(
    "A1",
    "Talvik hooded rain jacket for travel",
    40.0,
    "$40.00",
    description="Dries in an hour.",
    features=("Wind Proof outside.",),
    options={"color": ("graywash", "black"), "size": ("large", "x-large")},
    attributes=("machine washable",),
    query="rain jackets",
    path=("Clothing", "Coats", "Rain Jackets"),
)
GOAL = Goal("A1", "", ("machine washable", "wind proof"), (("color", "black"), ("size", "large")), 50.0)
OTHER = replace(GOLD, asin="A2", title="Quillmoor wooden chair", query="chairs", path=("Home", "Chairs"))


@pytest.mark.parametrize(
    ("bought", "chosen", "total"),
    [
        (GOLD, ("black", "large"), 1.0),
        (GOLD, ("large", "black"), 1.0),
        (GOLD, ("deep black", "large"), 1.0),
        (GOLD, ("black", "x-large"), 1.0),
        (GOLD, ("black",), 4 / 5),
        (GOLD, (), 3 / 5),
        (GOLD, ("graywash", "small"), 3 / 5),
        (replace(GOLD, price=50.0), ("black", "large"), 1.0),
        (replace(GOLD, price=50.01), ("black", "large"), 4 / 5),
        (replace(GOLD, attributes=()), ("black", "large"), 4 / 5),
        (replace(GOLD, attributes=("washable machine",)), ("black", "large"), 1.0),
        (replace(GOLD, features=()), ("black", "large"), 4 / 5),
        (replace(GOLD, features=(), description="a WIND PROOF one"), ("black", "large"), 1.0),
        (replace(GOLD, features=(), title="Talvik wind proof rain jacket for travel"), ("black", "large"), 1.0),
        (OTHER, ("black", "large"), 0.0),
    ],
)
def test_what_a_purchase_earns(bought, chosen, total):
    assert reward(bought, chosen, GOAL, GOLD).total == pytest.approx(total)


def test_the_parts_of_a_reward():
    found = reward(replace(GOLD, price=60.0), ("black",), GOAL, GOLD)
    assert found == (3 / 5, ("size: large", "the price limit"))


def test_what_is_missing_of_another_thing():
    found = reward(OTHER, (), GOAL, GOLD)
    assert found.missing[0] == "the kind of thing that was asked for"
    assert set(found.missing[1:]) >= {"color: black", "size: large"}


# The gold title has eleven nouns, so that one in common is less than a tenth.
LONG = Product("A1", "jacket coat hat scarf glove boot sock belt shirt skirt vest", 1.0, "", query="q", path=("a", "b"))


@pytest.mark.parametrize(
    ("title", "query", "path", "kind"),
    [
        ("jacket coat hat", "other", ("x",), 1.0),
        ("jacket coat", "other", ("x",), 0.5),
        ("jacket coat", "q", ("x",), 1.0),
        ("jacket coat", "other", ("b", "x", "a"), 1.0),
        ("jacket coat", "other", ("a", "a", "x"), 0.5),
        ("jacket", "other", ("x",), 0.1),
        ("jacket", "q", ("a", "b"), 0.1),
        ("table", "q", ("a", "b"), 0.0),
        ("", "q", ("a", "b"), 0.0),
    ],
)
def test_kinds_of_thing(title, query, path, kind):
    assert len(nouns(LONG.title)) == 11
    assert type_reward(Product("A2", title, 1.0, "", query=query, path=path), LONG) == kind


def test_one_noun_in_ten_is_not_almost_none():
    ten = replace(LONG, title=LONG.title.removesuffix(" vest"))
    assert type_reward(Product("A2", "jacket", 1.0, "", query="other", path=("x",)), ten) == 0.5


def test_a_thing_of_another_kind_is_said_though_all_else_is_right():
    coat = Product("A2", "jacket coat", 1.0, "", query="other", path=("x",))
    found = reward(coat, (), Goal("A1", "", (), (), 1.0), LONG)
    assert (found.total, found.missing) == (0.5, ("the kind of thing that was asked for",))


def test_a_gold_title_without_a_noun_leaves_query_and_category():
    gold = Product("A1", "very soft", 1.0, "", query="q", path=("a",))
    assert nouns(gold.title) == ()
    assert type_reward(replace(gold, asin="A2", title="a table"), gold) == 1.0
    assert type_reward(replace(gold, asin="A2", title="a table", query="other"), gold) == 0.5


def test_the_product_itself_is_the_kind_that_was_asked_for():
    gold = Product("A1", " ".join(["jacket"] * 12), 1.0, "", query="q", path=("a",))
    assert len(nouns(gold.title)) == 12
    assert type_reward(gold, gold) == 1.0
    assert type_reward(replace(gold, asin="A2"), gold) == 0.1
    assert reward(gold, (), Goal("A1", "", (), (), 1.0), gold).total == 1.0


def test_nouns_of_titles():
    assert nouns("Talvik Hooded Rain Jacket with Two Pockets, for Travel") == (
        "talvik", "hooded", "rain", "jacket", "pockets", "travel",
    )  # fmt: skip
    assert nouns("") == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("tea tree", "tree tea", True),
        ("tea tree", "tea tree oil", True),
        ("natural ingredient", "natural ingredients", True),
        ("long battery life", "short battery life", False),
        ("small", "large", False),
        ("x-large", "xx-large", True),
        ("size 8", "size 9", False),
        ("XL", "xl", True),
        ("玫瑰", "玫瑰", True),
        ("玫瑰", "百合", False),
        ("", "black", False),
        ("abcdefghijklmnopqrst", "abcdefghijklmnopqxyz", False),  # 85
        ("abcdefghijklmnopqrstuvw", "abcdefghijklmnopqrst1234", False),  # 85.1
        ("abcdefghijklmnopqrst", "abcdefghijklmnopqrxy", True),  # 90
    ],
)
def test_alike(one, other, same):
    assert alike(one, other) is same
    assert alike(other, one) is same


@pytest.mark.parametrize(
    ("text", "color"),
    [("graywash", "ash"), ("dark blue", "blue"), ("scattered", "red"), ("plaid", "plaid"), ("", ""), ("tan", "tan")],
)
def test_colors_are_found_anywhere_in_a_text(text, color):
    assert color_of(text) == color


@pytest.mark.parametrize(
    ("value", "upstream"),
    [("black", 1.0), ("deep black", 1.0), ("graywash", 0.75), ("scattered dots", 0.75), ("wine\xa0red", 0.75)],
)
def test_upstream_cannot_be_won_where_a_color_is_part_of_a_word(value, upstream):
    goal = Goal("A1", "", ("machine washable",), (("pattern", value), ("size", "large")), 50.0)
    assert reward(GOLD, (value, "large"), goal, GOLD, upstream_colors=True).total == upstream
    assert reward(GOLD, (value, "large"), goal, GOLD).total == 1.0


def test_upstream_has_no_fault_in_goals_that_people_wrote():
    goal = Goal("A1", "", ("machine washable",), (("", "graywash"),), 50.0)
    assert reward(GOLD, ("graywash",), goal, GOLD, upstream_colors=True).total == 1.0


WORDS = st.text(max_size=12)
PRODUCTS = st.builds(
    Product,
    asin=st.just("A1"),
    title=st.text(max_size=40),
    price=st.floats(0, 2000),
    tag=st.just(""),
    description=WORDS,
    features=st.lists(WORDS, max_size=2).map(tuple),
    attributes=st.lists(WORDS, max_size=4).map(tuple),
    query=WORDS,
    path=st.lists(WORDS, max_size=3).map(tuple),
)
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=4).map(tuple)


@settings(max_examples=40)
@given(
    PRODUCTS,
    PRODUCTS,
    st.lists(WORDS, max_size=4),
    st.lists(WORDS, max_size=4).map(tuple),
    PAIRS,
    st.floats(0, 1e6),
    st.booleans(),
)
def test_a_reward_is_from_0_to_1(bought, gold, chosen, attributes, options, limit, upstream):
    found = reward(
        replace(bought, asin="A2"), chosen, Goal("A1", "", attributes, options, limit), gold, upstream_colors=upstream
    )
    assert 0.0 <= found.total <= 1.0
    assert len(found.missing) <= len(attributes) + len(options) + 2
    assert (found.total == 1.0) == (not found.missing)


@settings(max_examples=40)
@given(PRODUCTS, PAIRS, st.data())
def test_the_gold_purchase_earns_1(gold, options, data):
    attributes = data.draw(st.lists(st.sampled_from(gold.attributes)).map(tuple)) if gold.attributes else ()
    goal = Goal("A1", "", attributes, options, gold.price)
    assert reward(gold, [value for _, value in options], goal, gold).total == 1.0


@pytest.mark.parametrize(
    ("module", "library", "call"),
    [
        ("textblob.en", "textblob", lambda: module._tagger.__wrapped__()),
        ("rapidfuzz", "rapidfuzz", lambda: alike.__wrapped__("a", "b")),
    ],
)
def test_a_missing_library_is_named(monkeypatch, module, library, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=library):
        call()


def test_color_words_are_single_and_lower_case():
    words = module._colors()
    assert len(set(words)) == len(words) > 90
    assert all(word.isalpha() and word.islower() for word in words)

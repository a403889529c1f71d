import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.lab.benchmarks.webshop import load
from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.lab.benchmarks.webshop.goals import goal_of
from seasoned.lab.benchmarks.webshop.pages import (
    BACK,
    BUY,
    DESCRIPTION,
    FEATURES,
    MAX_SHOWN,
    NOTHING_THERE,
    REVIEWS,
    item_page,
    leading_on,
    results_page,
    shown,
    start_page,
    text_page,
)

MUG = Product(
    "A1",
    "Plain Mug",
    9.5,
    "$9.50",
    description="A mug.",
    features=("Holds tea.", "Holds coffee."),
    options={"color": ("red", "wine\xa0red", "red"), "size": ("small",)},
    attributes=("secret attribute",),
)
MANY = [Product(f"P{i}", f"Product {i}", 1.0, "$1.00") for i in range(23)]


def test_start_page():
    assert start_page("Find me mugs") == ("WebShop\nInstruction:\nFind me mugs\n[Search]", ())


def test_results_are_shown_by_tens():
    first, second, third = (results_page(MANY, page) for page in (1, 2, 3))
    assert first.text.startswith("[Back to Search]\nPage 1 (Total results: 23)\n[Next >]\n[P0]\nProduct 0\n$1.00\n[P1]")
    assert first.clicks == ("Back to Search", "Next >", *(f"P{i}" for i in range(10)))
    assert second.clicks == ("Back to Search", "< Prev", "Next >", *(f"P{i}" for i in range(10, 20)))
    assert third.clicks == ("Back to Search", "< Prev", "P20", "P21", "P22")


def test_a_search_without_results_shows_that():
    assert results_page([], 1, "A note.") == (
        "[Back to Search]\nA note.\nPage 1 (Total results: 0)",
        ("Back to Search",),
    )


def test_item_page_marks_what_was_chosen():
    page = item_page(MUG, {"color": "wine\xa0red"})
    assert page.text.split("\n") == [
        "[Back to Search]",
        "[< Prev]",
        "color [red][[wine red]]",
        "size [small]",
        "Plain Mug",
        "Price: $9.50",
        "Rating: N.A.",
        "[Description]",
        "[Features]",
        "[Reviews]",
        "[Buy Now]",
    ]
    options = ("red", "wine red", "small")
    assert page.clicks == ("Back to Search", "< Prev", *options, "Description", "Features", "Reviews", "Buy Now")


def test_text_pages():
    assert text_page(MUG, DESCRIPTION).text == "[Back to Search]\n[< Prev]\nA mug."
    assert text_page(MUG, FEATURES).text == "[Back to Search]\n[< Prev]\n- Holds tea.\n- Holds coffee."
    assert text_page(MUG, REVIEWS) == (f"[Back to Search]\n[< Prev]\n{NOTHING_THERE}", ("Back to Search", "< Prev"))


def test_long_texts_are_cut():
    long = Product("A1", "T", 1.0, "$1.00", description="x" * 50_000, features=("word " * 300,) * 10)
    for part in (DESCRIPTION, FEATURES):
        assert len(text_page(long, part).text) < MAX_SHOWN + 100


def test_attributes_are_never_shown():
    pages = [item_page(MUG, {}), results_page([MUG], 1), *(text_page(MUG, p) for p in (DESCRIPTION, FEATURES, REVIEWS))]
    assert not any("secret attribute" in page.text for page in pages)


@settings(max_examples=30)
@given(st.dictionaries(st.text(min_size=1, max_size=5), st.lists(st.text(min_size=1, max_size=8)).map(tuple)))
def test_what_can_be_clicked_stands_in_brackets(options):
    page = item_page(Product("A1", "T", 1.0, "$1.00", options=options), {})
    assert all(f"[{click}]" in page.text for click in page.clicks)
    assert all(shown(value) in page.clicks for values in options.values() for value in values)
    assert re.search(r"\[Buy Now\]$", page.text)


JUG = Product("MUG1", "Mug", 9.5, "$9.50", options={"color": ("red", "wine\xa0red"), "size": ("small", "large")})
PLAIN = [Product(f"P{n}", f"Candle {n}", 1.0, "$1.00") for n in range(12)]


@pytest.fixture(scope="module")
def benchmark():
    return load({"focus": True, "products": 60, "data": ""}, seed=1)


def test_products_among_results():
    assert leading_on(results_page(PLAIN, 1).clicks, None, {}) == [product.asin for product in PLAIN[:10]]
    assert leading_on(results_page(PLAIN, 2).clicks, None, {}) == ["P10", "P11"]
    assert leading_on(results_page([], 1).clicks, None, {}) == [BACK]


def test_one_option_after_the_other_then_buying():
    clicks = item_page(JUG, {}).clicks
    assert leading_on(clicks, JUG, {}) == ["red", "wine red"]
    assert leading_on(clicks, JUG, {"color": "red"}) == ["small", "large"]
    assert leading_on(clicks, JUG, {"color": "red", "size": "large"}) == [BUY]
    assert leading_on(item_page(PLAIN[0], {}).clicks, PLAIN[0], {}) == [BUY]


@pytest.mark.parametrize("seed", range(2))
def test_whoever_takes_what_is_offered_ends_with_a_purchase(benchmark, seed):
    draw = random.Random(seed)
    env = benchmark.make_env(True)
    for task in benchmark.test[:20]:
        env.reset(task)
        info, over = env.step(f"search[{goal_of(task).instruction}]")[4], False
        while not over:
            _, reward, over, cut, info = env.step(draw.choice(info["choices"]))
            assert not cut
            assert "invalid" not in info
        assert 0 <= reward <= 1
        assert info["answer"]


def test_other_clicks_are_taken_as_well(benchmark):
    env = benchmark.make_env(True)
    env.reset(benchmark.train[0])
    info = env.step(f"search[{goal_of(benchmark.train[0]).instruction}]")[4]
    info = env.step(info["choices"][0])[4]
    assert "click[Features]" not in info["choices"]
    info = env.step("click[Features]")[4]
    assert "invalid" not in info
    assert "click[< Prev]" in info["choices"]
    assert "invalid" not in env.step("click[Back to Search]")[4]

"""The clicks that lead on: a product, its options, and in the end a purchase."""

import random

import pytest

from seasoned.lab.benchmarks.webshop import load
from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.lab.benchmarks.webshop.focus import leading_on
from seasoned.lab.benchmarks.webshop.goals import goal_of
from seasoned.lab.benchmarks.webshop.pages import BACK, BUY, item_page, results_page

MUG = Product("MUG1", "Mug", 9.5, "$9.50", options={"color": ("red", "wine\xa0red"), "size": ("small", "large")})
PLAIN = [Product(f"P{n}", f"Candle {n}", 1.0, "$1.00") for n in range(12)]


@pytest.fixture(scope="module")
def benchmark():
    return load({"focus": True, "products": 60, "data": ""}, seed=1)


def test_products_among_results():
    assert leading_on(results_page(PLAIN, 1).clicks, None, {}) == [product.asin for product in PLAIN[:10]]
    assert leading_on(results_page(PLAIN, 2).clicks, None, {}) == ["P10", "P11"]
    assert leading_on(results_page([], 1).clicks, None, {}) == [BACK]


def test_one_option_after_the_other_then_buying():
    clicks = item_page(MUG, {}).clicks
    assert leading_on(clicks, MUG, {}) == ["red", "wine red"]
    assert leading_on(clicks, MUG, {"color": "red"}) == ["small", "large"]
    assert leading_on(clicks, MUG, {"color": "red", "size": "large"}) == [BUY]
    assert leading_on(item_page(PLAIN[0], {}).clicks, PLAIN[0], {}) == [BUY]


@pytest.mark.parametrize("seed", range(5))
def test_whoever_takes_what_is_offered_ends_with_a_purchase(benchmark, seed):
    draw = random.Random(seed)
    env = benchmark.make_env(True)
    for task in benchmark.test[:20]:
        env.reset(task)
        info, over = env.step(f"search[{goal_of(task).text}]")[4], False
        while not over:
            _, reward, over, cut, info = env.step(draw.choice(info["choices"]))
            assert not cut
            assert "invalid" not in info
        assert 0 <= reward <= 1
        assert info["answer"]


def test_other_clicks_are_taken_as_well(benchmark):
    env = benchmark.make_env(True)
    env.reset(benchmark.train[0])
    info = env.step(f"search[{goal_of(benchmark.train[0]).text}]")[4]
    info = env.step(info["choices"][0])[4]
    assert "click[Features]" not in info["choices"]
    info = env.step("click[Features]")[4]
    assert "invalid" not in info
    assert "click[< Prev]" in info["choices"]
    assert "invalid" not in env.step("click[Back to Search]")[4]

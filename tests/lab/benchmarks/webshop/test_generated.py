import re

from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.lab.benchmarks.webshop.catalogue import read_products
from seasoned.lab.benchmarks.webshop.generated import make_catalogue
from seasoned.lab.benchmarks.webshop.goals import synthetic_goals


def test_the_same_seed_makes_the_same_rows():
    assert make_catalogue(40, 3) == make_catalogue(40, 3)
    assert make_catalogue(40, 3) != make_catalogue(40, 4)


@settings(max_examples=20)
@given(st.integers(2, 80), st.integers(0, 1000))
def test_every_row_is_a_product_and_some_have_goals(count, seed):
    rows, attributes = make_catalogue(count, seed)
    products, left_out = read_products(rows, attributes)
    assert (len(products), left_out) == (count, 0)
    goals = synthetic_goals(products, attributes)
    assert len({goal.asin for goal in goals}) >= 2
    for goal in goals:
        product = products[goal.asin]
        assert set(goal.attributes) <= set(product.attributes)
        told = f"{product.title} {' '.join(product.features)}".lower()
        assert all(attribute in told for attribute in goal.attributes)


def test_rows_are_as_untidy_as_real_ones():
    rows, _ = make_catalogue(300, 0)
    prices = [row["pricing"] for row in rows]
    assert any(" - $" in price for price in prices)
    assert "" in prices
    assert any("<p>" in row["full_description"] for row in rows)
    products, _ = read_products(rows, {})
    assert not any(re.search(r"[<>]|&amp;", p.description) for p in products.values())
    assert len({row["category"] for row in rows}) == 5

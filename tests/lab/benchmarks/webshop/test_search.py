import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import MissingExtraError
from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.lab.benchmarks.webshop.search import MAX_QUERY, TOP, make_search


def product(asin, title, **more):
    return Product(asin, title, 1.0, "$1.00", **more)


PRODUCTS = {
    p.asin: p
    for p in (
        product("A1", "Running shoes for the road"),
        product("A2", "Kettle", description="A kettle with a cool handle.", features=("3.5 litres", "whistling")),
        product("A3", "Shoe rack", options={"color": ("walnut", "white")}),
        product("A4", "The", description="of the"),
        *(product(f"B{i}", f"Candle number {i}") for i in range(60)),
    )
}
SEARCH = make_search(PRODUCTS)


def test_words_are_found_by_their_stems():
    assert set(SEARCH("shoes")) == {"A1", "A3"}
    assert SEARCH("RUNNING road") == ("A1",)
    assert SEARCH("runs")[0] == "A1"


def test_what_is_searched():
    assert SEARCH("walnut") == ("A3",)
    assert SEARCH("cool handles") == ("A2",)
    assert SEARCH("3.5 litre") == ("A2",)
    assert SEARCH("whistling") == (), "only the first feature is indexed, as in WebShop"


def test_a_number_is_not_found_by_its_fraction():
    assert "A2" not in SEARCH("5")


@pytest.mark.parametrize("words", ["", "the of and", "zzz", "!!!", "\0", "😀"])
def test_nothing_is_found(words):
    assert SEARCH(words) == ()


def test_at_most_fifty_and_in_a_fixed_order():
    found = SEARCH("candle")
    assert len(found) == TOP
    assert found == tuple(f"B{i}" for i in range(TOP))


def test_only_the_beginning_of_a_long_search_is_read():
    assert SEARCH("x" * MAX_QUERY + " kettle") == ()
    assert SEARCH("kettle " * 1500) == ("A2",)


@given(st.text(max_size=200))
def test_any_words_find_known_products(words):
    found = SEARCH(words)
    assert set(found) <= set(PRODUCTS)
    assert len(found) == len(set(found))


def test_a_catalogue_without_words():
    assert make_search({})("kettle") == ()
    assert make_search({"A4": PRODUCTS["A4"]})("kettle") == ()


@pytest.mark.parametrize(("module", "library"), [("bm25s", "bm25s"), ("Stemmer", "PyStemmer")])
def test_a_missing_library_is_named(monkeypatch, module, library):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=library):
        make_search(PRODUCTS)

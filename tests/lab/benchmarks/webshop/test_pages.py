import re

from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.lab.benchmarks.webshop.pages import (
    DESCRIPTION,
    FEATURES,
    MAX_SHOWN,
    NOTHING_THERE,
    REVIEWS,
    item_page,
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


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.lists(st.text(min_size=1, max_size=8)).map(tuple)))
def test_what_can_be_clicked_stands_in_brackets(options):
    page = item_page(Product("A1", "T", 1.0, "$1.00", options=options), {})
    assert all(f"[{click}]" in page.text for click in page.clicks)
    assert all(shown(value) in page.clicks for values in options.values() for value in values)
    assert re.search(r"\[Buy Now\]$", page.text)

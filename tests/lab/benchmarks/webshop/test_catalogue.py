import math
import random
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import DataError, MissingExtraError
from seasoned.lab.benchmarks.webshop.catalogue import (
    MAX_QUERY,
    MAX_TEXT,
    NO_PRICE,
    TOP,
    Product,
    find_files,
    make_search,
    read_price,
    read_products,
    text_of,
    texts_of,
)
from seasoned.lab.benchmarks.webshop.pages import item_page

ROW = {
    "asin": "A000000001",
    "name": "Plain Mug",
    "pricing": "$9.50",
    "full_description": "A mug.",
    "small_description": ["Holds tea."],
    "customization_options": {"Color": [{"value": "Red/Blue "}, {"value": "Green"}], "Size": None},
    "category": "garden",
    "query": " Mugs ",
    "product_category": "Home › Kitchen › Mugs",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


def one(**changes):
    products, _ = read_products([ROW | changes], {"A000000001": {"attributes": ["dishwasher safe"]}})
    return products["A000000001"]


def test_a_row_becomes_a_product():
    product = one()
    assert product == Product(
        asin="A000000001",
        title="Plain Mug",
        price=9.5,
        tag="$9.50",
        description="A mug.",
        features=("Holds tea.",),
        options={"color": ("red | blue", "green")},
        attributes=("dishwasher safe",),
        section="garden",
        query="mugs",
        path=("Home", "Kitchen", "Mugs"),
    )


def test_the_search_reads_title_description_first_feature_and_options():
    product = one(small_description=["Holds Tea.", "Second"])
    assert product.document == "plain mug a mug. holds tea. color: red | blue, green"


@pytest.mark.parametrize(
    ("given_price", "price", "tag"),
    [
        ("$9.9", 9.9, "$9.90"),
        ("$1,299.00", 1299.0, "$1299.00"),
        ("$10.00 - $20.00", 15.0, "$10.00 to $20.00"),
        ("$1.00 - $2.00 - $9.00", 1.5, "$1.00 to $2.00"),
        ("", NO_PRICE, "$100.00"),
        (None, NO_PRICE, "$100.00"),
        ("ask us", NO_PRICE, "$100.00"),
        ("$", NO_PRICE, "$100.00"),
        (["$5"], NO_PRICE, "$100.00"),
        (12, 12.0, "$12.00"),
        (True, NO_PRICE, "$100.00"),
        (math.nan, NO_PRICE, "$100.00"),
        (-3, NO_PRICE, "$100.00"),
        ("<b>$7.25</b>", 7.25, "$7.25"),
        ("&#36;7.25 &ndash; &#36;8.75", 8.0, "$7.25 to $8.75"),
        ("$ 7 - $9", 8.0, "$7.00 to $9.00"),
        ("$9.00 - $7.00", 8.0, "$9.00 to $7.00"),
        ("7.25", 7.25, "$7.25"),
        ("from 7 pieces", NO_PRICE, "$100.00"),
        ("<script>$1</script>", NO_PRICE, "$100.00"),
        ({"price": 3}, NO_PRICE, "$100.00"),
        (math.inf, NO_PRICE, "$100.00"),
    ],
)
def test_prices(given_price, price, tag):
    assert read_price(given_price) == (price, tag)


def test_the_price_of_a_range_can_be_drawn():
    draw = random.Random(1)
    drawn = {read_price("$10.00 - $20.00", draw)[0] for _ in range(5)}
    assert len(drawn) == 5
    assert all(10 <= price <= 20 for price in drawn)
    assert read_price("$10.00", draw) == (10.0, "$10.00")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<p>Soft &amp; warm</p>", "Soft & warm"),
        ("&lt;b&gt;bold&lt;/b&gt; claims", "bold claims"),
        ("less than <5 ms, more than >3", "less than <5 ms, more than >3"),
        ("a<!-- hidden -->b<br/>c", "a b c"),
        ("two\nlines\x00 and \ud800 half", "two lines and half"),
        (None, ""),
        (7, ""),
        ("Soft.<script>var price = 1 < 2;</script> Warm.", "Soft. Warm."),
        ("<style type='text/css'>\n.a > .b { color: red }\n</style>A mug.", "A mug."),
        ("A mug.<SCRIPT src=x>alert('[Buy Now]')</SCRIPT >Blue.", "A mug. Blue."),
        ("A mug.<script>never closed [Buy Now]", "A mug."),
        ("&lt;style&gt;p { margin: 0 }&lt;/style&gt;A mug.", "A mug."),
        ("<script>a</script>Holds<script>b</script> tea.", "Holds tea."),
        ("<script>" + "x" * 30_000 + "</script>A mug.", "A mug."),
        (f"<script data-x='{'y' * 900}'>z</script>A mug.", "A mug."),
        ("A mug.<!-- 5 > 4, <b>hidden</b> --> Blue.", "A mug. Blue."),
        ("A mug. <!-- never closed", "A mug."),
        ('<img alt="3 > 2 [Buy Now]" src="a">A mug.', "A mug."),
        ("<scripted> style <styled>s</styled>", "style s"),
        ("a script for <style icons", "a script for <style icons"),
        ("Salt &amp;amp; pepper, 5&#39;9&quot; &copy; caf&eacute;&nbsp;bar", "Salt & pepper, 5'9\" © café bar"),
        ("&amp;lt;b&amp;gt;bold&amp;lt;/b&amp;gt;", "bold"),
        ("AT&T & co; a&b", "AT&T & co; a&b"),
        ("<" * 5000 + "b", "<" * 5000 + "b"),
    ],
)
def test_texts_lose_tags_and_control_characters(raw, text):
    assert text_of(raw) == text


@pytest.mark.parametrize("piece", ["<script>", "<!--", "<style ", "&lt;", "</script>", '<b "', "<b '\"", "&amp;"])
def test_texts_made_to_take_long_do_not(piece):
    began = time.perf_counter()
    assert len(text_of(piece * 50_000)) <= MAX_TEXT
    assert time.perf_counter() - began < 1.0


def test_a_row_with_nothing_but_a_name_is_sold():
    products, left_out = read_products([{"asin": "A000000001", "name": "Plain &amp; Simple <b>Mug</b>"}], {})
    mug = products["A000000001"]
    assert (mug.title, mug.price, mug.tag, mug.options, left_out) == ("Plain & Simple Mug", NO_PRICE, "$100.00", {}, 0)
    assert "Price: $100.00" in item_page(mug, {}).text


def test_options_are_read_as_texts_are():
    given_options = {
        "Size&nbsp;(cm)": [{"value": "<b>3 (wide</b>"}, {"value": "4] &amp; [5"}, {"value": "<script>x</script>"}]
    }
    assert one(customization_options=given_options).options == {"size (cm)": ("3 (wide", "4] & [5")}


def test_one_text_is_a_list_of_one():
    assert texts_of("a feature") == ("a feature",)
    assert texts_of(["a", "", None, "b"]) == ("a", "b")
    assert texts_of(None) == ()


def test_no_break_spaces_of_an_option_stay():
    assert one(customization_options={"Color": [{"value": "wine\xa0Red\n"}]}).options == {"color": ("wine\xa0red",)}


def test_rows_that_are_no_products_are_left_out():
    rows = [ROW, ROW, "no row", None, {}, ROW | {"asin": "nan"}, ROW | {"asin": "A0000000011"}, ROW | {"name": " "}]
    products, left_out = read_products(rows, {})
    assert (list(products), left_out) == (["A000000001"], 7)


def test_reviews_come_with_their_product():
    reviews = [{"asin": "A000000001", "average_rating": "4.5", "reviews": [{"stars": 5, "review": "Good."}, "?"]}, 3]
    product = read_products([ROW], {}, reviews)[0]["A000000001"]
    assert (product.rating, product.reviews) == ("4.5", ("5: Good.",))


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from(sorted(ROW)), JSON), JSON, st.lists(JSON, max_size=2))
def test_any_row_gives_a_product_or_none(changes, known, reviews):
    products, left_out = read_products([ROW | changes], {"A000000001": known}, reviews)
    assert len(products) + left_out == 1
    for product in products.values():
        assert product.title
        assert math.isfinite(product.price)
        assert product.price >= 0
        texts = [product.title, product.description, *product.features, *product.reviews, *product.attributes]
        texts += [text for pair in product.options.items() for text in (pair[0], *pair[1])]
        assert "\n".join(texts).count("\n") == len(texts) - 1
        "".join(texts).encode("utf-8")


def test_files_are_told_by_their_names(tmp_path):
    for name in ("items_shuffle.json", "items_ins_v2_1000.json", "items_human_ins.json", "other.json"):
        (tmp_path / name).write_text("[1, 2, 3]", encoding="utf-8")
    (tmp_path / "items_shuffle_1000.json").write_text("[]", encoding="utf-8")
    found = find_files(tuple(tmp_path.iterdir()))
    assert {kind: path.name for kind, path in found.items()} == {
        "products": "items_shuffle_1000.json",
        "attributes": "items_ins_v2_1000.json",
        "human": "items_human_ins.json",
    }


def test_a_folder_without_attributes_is_refused(tmp_path):
    (tmp_path / "items_shuffle_1000.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="items_ins_v2_1000"):
        find_files(tuple(tmp_path.iterdir()))


def good(asin, title, **more):
    return Product(asin, title, 1.0, "$1.00", **more)


GOODS = {
    p.asin: p
    for p in (
        good("A1", "Running shoes for the road"),
        good("A2", "Kettle", description="A kettle with a cool handle.", features=("3.5 litres", "whistling")),
        good("A3", "Shoe rack", options={"color": ("walnut", "white")}),
        good("A4", "The", description="of the"),
        *(good(f"B{i}", f"Candle number {i}") for i in range(60)),
    )
}
SEARCH = make_search(GOODS)


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
    assert set(found) <= set(GOODS)
    assert len(found) == len(set(found))


def test_a_catalogue_without_words():
    assert make_search({})("kettle") == ()
    assert make_search({"A4": GOODS["A4"]})("kettle") == ()


@pytest.mark.parametrize(("module", "library"), [("bm25s", "bm25s"), ("Stemmer", "PyStemmer")])
def test_a_missing_library_is_named(monkeypatch, module, library):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=library):
        make_search(GOODS)

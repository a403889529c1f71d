"""The docstore on disk: finding pages, the nearest titles, and cutting a text into sentences."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks.search.docstore import SIMILAR, Docstore, Miss, Page, make_page, sentences, title_key

TITLES = (
    *("Big Lantern (film)", "Big Lantern", "Lantern Bay", "The Lantern Makers", "Émile Brodé", "Wicker & Sons"),
    *("A&E", "1925 in film", "Oslo–Lund line", '"Heroes" (album)', "东京塔", "Snow"),
)


def store() -> Docstore:
    return Docstore([make_page(title, f"This is {title}.") for title in TITLES], {"Old  lantern": "Nothing then."})


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("big lantern (FILM)", "Big Lantern (film)"),
        ("Big_Lantern", "Big Lantern"),
        ("Emile Brode", "Émile Brodé"),
        ("Wicker &amp; Sons", "Wicker & Sons"),
        ("Heroes (album)", '"Heroes" (album)'),
        ("Oslo-Lund line", "Oslo–Lund line"),
        (" snow. ", "Snow"),
        ("东京塔", "东京塔"),
    ],
)
def test_a_page_is_found_however_its_title_is_written(query: str, title: str) -> None:
    found = store().search(query)
    assert isinstance(found, Page)
    assert found.title == title


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Lantern Big film", "Big Lantern (film)"),
        ("the film Big Lantern of 1925", "Big Lantern (film)"),
        ("Emil Brodey", "Émile Brodé"),
        ("lantern maker", "The Lantern Makers"),
        ("films of 1925", "1925 in film"),
        ("Big Lanterns", "Big Lantern"),
        ("lantern of snow", "Snow"),
    ],
)
def test_the_nearest_title_comes_first(query: str, first: str) -> None:
    found = store().search(query)
    assert isinstance(found, Miss)
    assert found.similar[0] == first
    assert len(found.similar) <= SIMILAR
    assert found.said == ""


def test_nothing_near_and_nothing_asked_for_give_no_titles() -> None:
    for query in ("qqqq", "", "...", "\0\u202e"):
        assert store().search(query) == Miss()
    assert Docstore([]).search("Snow") == Miss()


def test_a_recorded_miss_is_kept_and_a_page_goes_before_it() -> None:
    found = store().search("old lantern")
    assert isinstance(found, Miss)
    assert found.said == "Nothing then."
    assert isinstance(Docstore([make_page("Old lantern", "Lit.")], {"Old lantern": "x"}).search("Old lantern"), Page)


def test_of_two_pages_with_one_title_the_first_is_kept() -> None:
    assert Docstore([make_page("A", "One."), make_page("A", "Two.")]).search("A") == Page("A", ("One.",))
    # Titles that differ in punctuation alone are both found by their own.
    both = Docstore([make_page("Emma", "One."), make_page("Emma!", "Two.")])
    assert [both.search(t) for t in ("Emma!", "Emma", "EMMA")] == [
        *(Page("Emma!", ("Two.",)), Page("Emma", ("One.",)), Page("Emma", ("One.",)))
    ]


def test_a_query_of_ten_thousand_characters_is_fast() -> None:
    many = Docstore(make_page(f"Page {i} of the lantern book", "Text.") for i in range(500))
    many.search("warm up")
    for query in ("lantern " * 1250, "x" * 10_000, "\u0301" * 10_000, "".join(chr(0x4E00 + i) for i in range(10_000))):
        began = time.perf_counter()
        many.search(query)
        assert time.perf_counter() - began < 0.5


@given(st.text(), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_a_search_never_raises_and_finds_every_own_title(query: str, titles: list[str]) -> None:
    pages = [make_page(title, "Text.") for title in titles if title.split()]
    docstore = Docstore(pages)
    found = docstore.search(query)
    assert isinstance(found, Page) or len(set(found.similar)) == len(found.similar) <= SIMILAR
    for page in pages:
        assert docstore.search(page.title) == page


@given(st.text())
def test_folding_a_title_again_changes_nothing(title: str) -> None:
    assert title_key(title_key(title)) == title_key(title)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? four", ["One.", "Two!", "Three? four"]),
        ("Dr. Lee met J. R. Oak in St. Ives. He left.", ["Dr. Lee met J. R. Oak in St. Ives.", "He left."]),
        ('He said "Go." Then he went. (Really.) Yes', ['He said "Go."', "Then he went.", "(Really.)", "Yes"]),
        ("It cost 3.5 crowns. 12 were sold.. Then none.", ["It cost 3.5 crowns.", "12 were sold.", "Then none."]),
        ("A line\nanother one. \n\n Third ", ["A line", "another one.", "Third"]),
        ("Wait... what? Éva came.", ["Wait... what?", "Éva came."]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet="aB. !?\n\"')(JrDé1"))
def test_sentences_lose_no_word(text: str) -> None:
    assert "".join("".join(sentences(text)).split()).replace(".", "") == "".join(text.split()).replace(".", "")


def test_a_page_needs_a_title_and_a_text() -> None:
    assert make_page(" Salt &amp;  ink ", ["One. ", " ", " Two."]) == Page("Salt & ink", ("One.", "Two."))
    for title, text in (("", "Text."), ("A", " \n"), ("A", ["", " "])):
        with pytest.raises(ValueError, match="non-empty"):
            make_page(title, text)

from hypothesis import given
from hypothesis import strategies as st

from seasoned.retrieve.words import fold, index_keys, split_words
from seasoned.types import Lesson


def note(key, updated="2026-01-01"):
    return Lesson(kind="note", text="value", key=key, updated=updated)


def keys(notes):
    return [n.key for n in notes]


def test_all_key_words_must_occur_when_the_share_is_one():
    notes = [note("father husband"), note("father"), note("aunt father")]
    found = index_keys(notes).match("Her father met his husband.", k=5, share=1.0)
    assert sorted(keys(found)) == ["father", "father husband"]


def test_a_smaller_share_lets_parts_match_and_the_fuller_match_comes_first():
    notes = [note("aunt father"), note("father husband")]
    assert keys(index_keys(notes).match("father, husband", k=5, share=0.01)) == ["father husband", "aunt father"]


def test_ties_are_broken_by_recency_and_k_holds():
    notes = [note("a", "2026-01-01"), note("b", "2026-03-01"), note("c", "2026-02-01")]
    assert keys(index_keys(notes).match("a b c", k=2, share=1.0)) == ["b", "c"]


def test_case_and_unicode_forms_do_not_matter():
    assert index_keys([note("straße")]).match("STRASSE Ａ", k=1, share=1.0)
    assert index_keys([note("a")]).match("Ａ", k=1, share=1.0)


def test_symbols_and_escapes_are_words():
    assert keys(index_keys([note("😡"), note("😀")]).match("I cried.\n😱  😡", k=5, share=1.0)) == ["😡"]
    index = index_keys([note(r"\U0001F621")])
    assert keys(index.match(r"text \U0001f631  \U0001f621", k=5, share=1.0)) == [r"\U0001F621"]


def test_a_key_without_words_never_matches():
    assert index_keys([note(""), note("...")]).match("anything", k=5, share=0.01) == []


@given(st.text(), st.lists(st.text(max_size=20), max_size=8), st.integers(1, 5))
def test_any_text_is_matched_without_error_and_never_more_than_k(query, some_keys, k):
    found = index_keys([note(key) for key in some_keys]).match(query, k=k, share=1.0)
    assert len(found) <= k
    for one in found:
        assert set(split_words(one.key)) <= set(split_words(query))


@given(st.text())
def test_a_written_key_is_found_again(text):
    assert split_words(fold(text)) == split_words(text)

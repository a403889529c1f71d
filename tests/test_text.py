from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x00b\x1b[31mc", "a\ufffdb\ufffd[31mc"),
        ("line\r\nnext\rlast\ttab", "line\nnext\nlast\ttab"),
        ("evil\u202etxt.exe", "eviltxt.exe"),
        ("half \ud83d", "half \ufffd"),
        ("مرحبا 🦉", "مرحبا 🦉"),
        (None, "None"),
    ],
)
def test_clean(raw, shown):
    assert text.clean(raw) == shown


@given(st.text(st.characters(exclude_categories=())), st.integers(2, 100))
def test_whatever_comes_can_be_written_and_fits(raw, limit):
    for shown in (text.clean(raw), text.cut(raw, limit), text.one_line(raw, limit), text.label(raw)):
        shown.encode()
        assert not set(shown) & set("\x00\x1b\u202e\u2066")
    assert len(text.one_line(raw, limit)) <= limit
    assert "\n" not in text.one_line(raw, limit)


def test_cut_says_how_much_is_missing():
    assert text.cut("x" * 1_000_000, 4) == "xxxx… [999,996 characters left out]"
    assert text.cut("four", 4) == "four"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("expnote", "ExpNote"),
        ("expnote-merge", "ExpNote-merge"),
        ("cot", "CoT"),
        ("few-shot", "few-shot"),
        ("disabled", "disabled"),
        ("", ""),
    ],
)
def test_label(name, shown):
    assert text.label(name) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(43.333, "+43.3"), (-12.0, "−12.0"), (0.0, "0.0"), (-0.04, "0.0"), (None, "—")]
)
def test_signed(value, shown):
    assert text.signed(value) == shown


@pytest.mark.parametrize(
    ("p", "cell", "clause"),
    [
        (1e-9, "<0.001", "p < 0.001"),
        (0.00099, "<0.001", "p < 0.001"),
        (0.0324, "0.032", "p = 0.032"),
        (0.412, "0.41", "p = 0.41"),
        (1.0, "1.00", "p = 1.00"),
    ],
)
def test_p_values(p, cell, clause):
    assert text.p_value(p) == cell
    assert text.p_clause(p) == clause


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1440, "1.44k"),
        (45_600, "45.6k"),
        (99_949, "99.9k"),
        (99_999, "100k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (1_214_000, "1.21M"),
        (3_200_000_000, "3.20G"),
        (None, "—"),
    ],
)
def test_count(number, shown):
    assert text.count(number) == shown


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, "—"), (0.0, "$0"), (0.00001, "<$0.0001"), (0.0123, "$0.012"), (0.5, "$0.5"), (12.345, "$12.35")],
)
def test_an_unknown_cost_is_never_zero(dollars, shown):
    assert text.cost(dollars) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59.6, "1 min 0 s"), (312, "5 min 12 s"), (7500, "2 h 5 min")]
)
def test_duration(seconds, shown):
    assert text.duration(seconds) == shown


def test_rates():
    assert text.percent(0.683) == "68.3%"
    assert text.percent(None) == "—"
    assert text.interval([0.558, 0.787]) == "[56, 79]"
    assert text.share(0, 0) is None
    assert text.share(1, 4) == 0.25

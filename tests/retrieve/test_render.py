import unicodedata

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.retrieve.render import CAP, bullets, clean, render_prompt


def test_values_are_never_templates():
    text = render_prompt("seasoned.methods", "expnote.j2", notes=[{"key": "k", "text": "{{ 7 * 7 }}{% raw %}"}])
    assert "{{ 7 * 7 }}{% raw %}" in text


def test_a_missing_value_is_an_error_not_a_gap():
    with pytest.raises(jinja2.UndefinedError):
        render_prompt("seasoned.methods", "expnote.j2")


def test_clean_keeps_scripts_and_emoji_and_drops_controls():
    assert clean("שלום  \x00 عالم\n👩‍👩‍👧") == "שלום عالم 👩‍👩‍👧"


@pytest.mark.parametrize("char", "🫨🫩🪿\U0001fadc\u0378\U000308ff")
def test_what_is_younger_than_this_python_stays(char):
    assert clean(f"a {char} b") == f"a {char} b"


@pytest.mark.parametrize("char", "\ufdd0\ufdef\ufffe\uffff\U0001fffe\U0010ffff\u2065\ufff0\U000e0080\U000e0fff\ue000")
def test_what_will_never_be_seen_goes(char):
    assert clean(f"a{char}b") == "ab"


def test_long_text_is_cut_with_an_ellipsis():
    assert clean("x" * 5000).endswith("…")
    assert len(clean("x" * 5000)) == CAP


@given(st.text())
def test_clean_is_one_line_within_the_cap_and_stable(text):
    cleaned = clean(text)
    assert len(cleaned) <= CAP
    assert len(cleaned.splitlines()) <= 1
    assert not any(unicodedata.category(c) == "Cc" for c in cleaned)
    assert clean(cleaned) == cleaned


@given(st.lists(st.text(), max_size=5))
def test_bullets_have_one_line_each(lines):
    assert len(bullets(lines).split("\n")) == max(len(lines), 1)

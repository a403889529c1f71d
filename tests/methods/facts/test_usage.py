"""Expressions that show how a function is used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.methods.facts import usage


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ("('pt', 7)", ["f(1)[1]"]),
        ("(7, 'pt')", ["f(1)[0]"]),
        ("{'value': 7}", ["f(1)['value']"]),
        ("'7 cr'", ["int(f(1).split()[0])"]),
        ("'7'", ["int(f(1))"]),
        ("[(1, 'a'), (2, 'b')]", ["[b for a, b in f(1)]"]),
        ("'figs/eggs'", ["f(1).split('/')"]),
        ("(1, 2)", []),
        ("'3.05 cr'", []),
        ("7", []),
        ("<object>", []),
    ],
)
def test_what_a_call_gave_is_taken_apart(value, taken):
    assert usage.results_taken("f(1)", value) == taken


def test_an_argument_is_made_of_what_it_may_be_made_of():
    made = usage.texts_made(["garde"])
    assert usage.arguments_made("f('GAR')", made) == ["f('garde'[:3].upper())"]
    assert usage.arguments_made("f('3 kg')", made) == ["f(f'{3} kg')"]
    assert usage.arguments_made("f('3')", made) == ["f(str(3))"]
    joined, formatted = usage.arguments_made("f('4;7')", made)
    assert (joined, formatted) == ("f(';'.join(map(str, [4, 7])))", "f(f'{4};{7}')")
    assert usage.with_many(joined) == "f(';'.join(map(str, [4, 7, 2, 9, 1])))"
    assert usage.with_many(formatted) == ""
    assert usage.arguments_made("f('a', 'b')", made) == usage.arguments_made("f(", made) == []


def test_whole_units_are_known_by_what_they_give():
    assert "f(3 * 100)" in usage.in_units("f(3)")
    assert usage.is_whole("f(3 * 100)", "'3.00 cr'")
    assert not usage.is_whole("f(3 * 10)", "'0.30 cr'")
    assert usage.in_units("f('a')") == []


@given(st.text(alphabet="f('3 kg;/,)[]{}:ab"), st.text(alphabet="'(7, pt){}[]:/"))
def test_no_text_breaks_it(call, value):
    usage.arguments_made(call, {})
    usage.results_taken(call, value)
    usage.in_units(call)

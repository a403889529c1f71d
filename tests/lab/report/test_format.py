"""Figures as the reports write them."""

import pytest

from seasoned.lab.report import format as figures


@pytest.mark.parametrize(
    ("value", "shown"), [(43.333, "+43.3"), (-12.0, "−12.0"), (0.0, "0.0"), (-0.04, "0.0"), (None, "—")]
)
def test_signed(value, shown):
    assert figures.signed(value) == shown


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
    assert figures.p_value(p) == cell
    assert figures.p_clause(p) == clause


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, "—"), (0.0, "$0"), (0.00001, "<$0.0001"), (0.0123, "$0.012"), (0.5, "$0.5"), (12.345, "$12.35")],
)
def test_an_unknown_cost_is_never_zero(dollars, shown):
    assert figures.cost(dollars) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59.6, "1 min 0 s"), (312, "5 min 12 s"), (7500, "2 h 5 min")]
)
def test_duration(seconds, shown):
    assert figures.duration(seconds) == shown


def test_rates():
    assert figures.percent(0.683) == "68.3%"
    assert figures.percent(None) == "—"
    assert figures.interval([0.558, 0.787]) == "[56, 79]"
    assert figures.share(0, 0) is None
    assert figures.share(1, 4) == 0.25

from __future__ import annotations

import pytest

from seasoned.report.reference import reference_for, references


@pytest.mark.parametrize(
    ("benchmark", "condition", "value", "lessons"),
    [
        ("emoji", "expnote", 74, 20),
        ("EMOJI", "disabled", 57, 0),
        ("lets", "few-shot", 1, None),
        ("lets", "few_shot", 1, None),
        ("clutrr", "negative", 55, 55),
        ("mets", "case", 59, 279),
        ("clutrr", "CoT", 40, None),
        ("hotpotqa", "expel", 39, None),
        ("alfworld", "reflexion", 54.4, None),
        ("fever", "transfer", 70, None),
        ("gaia2", "erl", 56.1, None),
        ("tau2-retail", "erl", 47.5, None),
    ],
)
def test_published_figures(benchmark, condition, value, lessons):
    figure = reference_for(benchmark, condition)
    assert (figure.value, figure.lessons) == (value, lessons)


def test_each_says_whose_it_is():
    assert {figure.source for figure in references("emoji")} == {"gpt-3.5-turbo, paper"}
    assert len(references("emoji")) == 10


def test_a_score_is_no_percentage():
    assert reference_for("webshop", "expel") is None
    assert reference_for("webshop", "expel-insights").value == 37
    assert [f.value for f in references("webshop") if f.unit == "score" and f.condition == "expel"] == [0.701]


def test_an_unknown_benchmark_has_none():
    assert references("../etc") == ()
    assert reference_for("emoji", "made-up") is None

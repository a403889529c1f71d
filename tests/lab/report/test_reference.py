from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from seasoned.lab.report import reference
from seasoned.lab.report.reference import (
    category_references,
    further_references,
    reference_for,
    references,
    step_references,
    trial_references,
)
from seasoned.lab.run.conditions import CONDITIONS, conditions


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
        ("fever", "given", 70, None),
        ("alfworld", "expel-random", 42.5, None),
        ("alfworld", "expel-reasoning", 48.5, None),
        ("hotpotqa", "expel-reflections", 29, None),
        ("gaia2", "erl", 56.1, None),
        ("gaia2", "tools", 48.3, None),
        ("gaia2", "few-shot-trajectories", 46.4, None),
        ("tau2-retail", "erl", 47.5, None),
    ],
)
def test_published_figures(benchmark, condition, value, lessons):
    figure = reference_for(benchmark, condition)
    assert (figure.value, figure.lessons) == (value, lessons)


def test_what_we_have_a_condition_for_is_spelled_as_ours():
    papers = ("emoji", "lets", "clutrr", "mets", "hotpotqa", "alfworld", "webshop", "fever", "gaia2", "tau2")
    theirs = {figure.condition for name in papers for figure in (*references(name), *category_references(name))}
    parameters = {name for name in theirs if "(" in name}
    assert [one.name for one in conditions(sorted(parameters))] == sorted(parameters)
    assert theirs - parameters - CONDITIONS.keys() == {
        "hand-crafted",
        "gpt-3.5-insights",
        "transfer-without-demos",
        "imitation",
        "erl-no-reward",
        "erl-iterative",
        "erl-iterative-failures",
    }


def test_each_says_whose_it_is():
    assert {figure.source for figure in references("emoji")} == {"gpt-3.5-turbo, paper"}
    assert len(references("emoji")) == 10


def test_a_score_is_no_percentage():
    assert reference_for("webshop", "expel") is None
    assert reference_for("webshop", "expel-insights").value == 37
    assert [f.value for f in references("webshop") if f.unit == "score" and f.condition == "expel"] == [0.701]


def test_where_tasks_were_tried_again_the_last_trial_is_the_figure():
    assert reference_for("alfworld", "expel-reflexion").value == 64.2
    assert reference_for("alfworld", "expel-retrieve").value == 55
    papers = {figure.paper: figure.value for figure in references("alfworld") if figure.condition == "reflexion"}
    assert papers == {"ExpeL": 54.4, "Reflexion": 97}
    assert reference_for("alfworld", "retry").value == 75


def test_figures_by_trial():
    figures = [one for one in trial_references("ALFWorld") if (one.paper, one.condition) == ("ExpeL", "reflexion")]
    assert [(one.trial, one.value) for one in figures] == [(0, 40.3), (1, 47.8), (2, 52.2), (3, 54.4)]
    assert trial_references("emoji") == ()


def test_figures_by_category_are_no_figures_of_the_whole():
    imitation = {one.category: one.value for one in category_references("alfworld") if one.condition == "imitation"}
    assert imitation == {"put": 46, "clean": 39, "heat": 74, "cool": 100, "examine": 22, "puttwo": 24}
    assert not [one for one in references("alfworld") if one.category]
    parts = {one.category: one.value for one in category_references("Gaia2") if one.condition == "erl"}
    assert parts == {"search": 60.7, "execution": 51.4}
    assert reference_for("alfworld", "act") is None


@pytest.mark.parametrize(
    ("condition", "value"),
    [("imitation", 24), ("act", 6), ("react", 0), ("expel-insights", 29), ("expel-retrieve", 29), ("expel", 29)],
)
def test_two_objects_as_expels_table_5_has_them(condition, value):
    figures = [one for one in category_references("alfworld") if one.category == "puttwo"]
    assert [one.value for one in figures if one.condition == condition] == [value]


def test_every_figure_says_where_it_is_printed():
    names = ("emoji", "hotpotqa", "alfworld", "webshop", "fever", "gaia2", "gaia2-search", "tau2", "tau2-airline")
    for name in names:
        for one in (*references(name), *trial_references(name), *category_references(name), *step_references(name)):
            assert re.match(r"(table|section|appendix|figure) [A-Z]?\d?", one.place)
            assert one.row
            assert one.paper in ("ExpNote", "ExpeL", "Reflexion", "ERL")


def test_a_figure_too_few_is_told():
    row = {"row": "CoT", "condition": "cot", "values": [40]}
    block = {"paper": "P", "model": "m", "place": "table 1", "along": "benchmark", "columns": ["a", "b"], "rows": [row]}
    with pytest.raises(ValidationError, match="P, table 1, CoT: expected as many figures as columns"):
        reference.Block.model_validate(block)


def test_what_attempts_consisted_of():
    assert [one.actions for one in step_references("HotpotQA") if one.condition == "react"] == [5.18]
    assert step_references("emoji") == ()


def test_an_unknown_benchmark_has_none():
    assert references("../etc") == ()
    assert reference_for("emoji", "made-up") is None


def test_what_else_is_printed_stays_out_of_the_main_table():
    further = {(one.unit, one.condition): one.value for one in further_references("tau2-telecom")}
    assert further["pass^3", "erl"] == 0.0
    assert {one.unit for one in references("tau2-telecom")} == {"%"}
    costs = {one.what: one.value for one in further_references("gaia2") if one.condition == "tools"}
    assert costs["dollars"] == 15.27
    parts = {(one.category, one.unit): one.value for one in further_references("tau2") if one.condition == "erl"}
    assert (parts["", "pass@3"], parts["telecom", "pass@3"]) == (62.5, 62.5)
    assert parts["retail", "pass@3"] == 75.0


NAMED = {"ExpeL": "expel", "ExpNote": "expnote", "ERL": "erl", "Reflexion": "reflexion"}
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.mark.skipif(
    "SEASONED_PAPERS" not in os.environ, reason="SEASONED_PAPERS names no folder with the papers' texts"
)
@pytest.mark.parametrize("block", reference.blocks(), ids=lambda block: f"{block.paper} {block.place}".replace("/", ""))
def test_every_figure_stands_in_the_text_of_its_paper(block):
    text = (Path(os.environ["SEASONED_PAPERS"]) / f"{NAMED[block.paper]}.txt").read_text(encoding="utf-8")
    lines = [(line, [float(number) for number in NUMBER.findall(line)]) for line in text.splitlines()]
    table = block.place.startswith("table")
    for row in block.rows:
        wanted = [*row.values, *(row.errors or ()), *map(float, row.lessons or ())]
        if table and block.paper != "ExpeL" and block.along != "cost":
            assert any(all(numbers.count(one) >= wanted.count(one) for one in wanted) for _, numbers in lines), row
        else:  # over several lines, or columns that stand as rows
            assert all(any(one in numbers for _, numbers in lines) for one in wanted), row


@pytest.mark.skipif(
    "SEASONED_PAPERS" not in os.environ, reason="SEASONED_PAPERS names no folder with the papers' texts"
)
def test_expels_table_5_is_read_from_its_lines():
    text = (Path(os.environ["SEASONED_PAPERS"]) / "expel.txt").read_text(encoding="utf-8")
    order = ("imitation", "act", "react", "expel-insights", "expel-retrieve", "expel")
    for category in ("put", "clean", "heat", "cool", "examine", "puttwo"):
        name = "look" if category == "examine" else category
        (printed,) = re.findall(rf"^(?:ALFWorld \(SR %\) )?{name} ([\d ]+)$", text, re.MULTILINE)
        figures = {one.condition: one.value for one in category_references("alfworld") if one.category == category}
        assert [figures[condition] for condition in order] == [float(number) for number in printed.split()]

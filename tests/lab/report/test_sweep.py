from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console

from seasoned.lab.report import forms, plots, tables
from seasoned.lab.report.html import render
from seasoned.lab.report.summary import build
from seasoned.lab.report.sweep import by_k, sweep_table


@pytest.fixture
def swept(make_row):
    """Ten tasks, of which each condition solves as many as it is given."""

    def make(**solved):
        names = {name.replace("_", "-"): n for name, n in solved.items()}
        return build([make_row(name, f"t{i}", success=i < n) for name, n in names.items() for i in range(10)], run={})

    return make


def test_each_retrieval_has_its_line_in_the_order_of_k(swept):
    summary = swept(erl_random_k60=6, erl_random_k3=4, erl_k20=8, erl_embedding_k1=5, erl_random=1, erl=9, disabled=0)
    found = by_k(summary)
    assert {name: [(point["k"], point["accuracy"]) for point in points] for name, points in found.items()} == {
        "erl": [(20, 0.8)],
        "erl-embedding": [(1, 0.5)],
        "erl-random": [(3, 0.4), (60, 0.6)],
    }
    spoken = ET.fromstring(plots.heuristics_curve(summary)).get("aria-label")
    assert "ERL 80% with 20; ERL-embedding 50% with 1; ERL-random 40% with 3, 60% with 60." in spoken


def test_the_table_has_a_line_for_each_k_and_a_column_for_each_retrieval(swept):
    table = sweep_table(swept(erl_k1=2, erl_k20=8, erl_random_k20=4, erl_random_k40=6))
    cells = [[cell.split(" ")[0] for cell in line.cells] for line in table.lines]
    assert cells == [["1", "20.0%", ""], ["20", "80.0%", "40.0%"], ["40", "", "60.0%"]]
    assert table.lines[0].values["erl-random"] is None
    assert "| 20 | 80.0% " in forms.to_markdown(table)
    assert "ERL retrieves as the recipe says" in " ".join(table.notes)
    elsewhere = sweep_table(swept(erl_thought_k1=2, erl_thought_k20=8))
    assert elsewhere.notes == ("Over all runs of the test.",)


def test_nothing_is_swept_by_one_number(swept):
    for summary in (swept(erl_k20=3, disabled=1), swept(erl=3), build([], run={})):
        assert sweep_table(summary) is None
        assert plots.heuristics_curve(summary) == ""
    alone = swept(erl_k20=3, erl_random_k20=1)  # a table of two, and no line to draw
    assert len(sweep_table(alone).lines) == 1
    assert plots.heuristics_curve(alone) == ""


def test_it_stands_in_the_terminal_and_on_the_page(swept):
    summary = swept(disabled=1, erl_random_k1=2, erl_random_k60=3)
    console = Console(file=io.StringIO(), width=100, color_system=None)
    tables.show(summary, console)
    page = render(summary, [])
    assert "By number of heuristics" in console.file.getvalue()
    assert "<h2>By number of heuristics</h2>" in page
    assert "<figure><h3>By number of heuristics</h3><svg" in page

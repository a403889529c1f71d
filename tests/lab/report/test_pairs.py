from __future__ import annotations

import io

import pytest
from rich.console import Console

from seasoned.lab.report import forms, tables
from seasoned.lab.report.html import render
from seasoned.lab.report.pairs import FEW, pairs_table
from seasoned.lab.report.summary import build


@pytest.fixture
def compared(make_row):
    """Ten tasks: `choose` solves 4 of them, `react` 2, and each condition after it one more than the one before."""

    def make(conditions=4, tasks=10):
        rates = {"choose": 4, **{name: 2 + i for i, name in enumerate(("react", "expel", "act", "erl", "retry"))}}
        rows = [
            make_row(name, f"t{i}", success=i < rates[name]) for name in list(rates)[:conditions] for i in range(tasks)
        ]
        return build(rows, run={}, baseline="choose")

    return make


def test_two_methods_are_compared_though_neither_is_the_baseline(compared):
    table = pairs_table(compared())
    cells = {line.cells[:2]: line.cells[2:] for line in table.lines}
    assert cells["ReAct", "ExpeL"] == ("10", "0", "1", "+10.0", "1.00")
    assert cells["choose", "ReAct"] == ("10", "2", "0", "−20.0", "0.50")
    assert len(cells) == 6
    assert "| ReAct | ExpeL | 10 | 0 | 1 | +10.0 | 1.00 |" in forms.to_markdown(table)
    assert forms.to_json(table)["rows"][0]["both"] == 2


def test_a_task_under_two_seeds_is_two_episodes(make_row):
    rows = [make_row(name, "t", seed=seed, success=True) for name in ("choose", "react", "expel") for seed in (0, 1)]
    table = pairs_table(build(rows, run={}, baseline="choose"))
    assert {line.cells[[column.name for column in table.columns].index("episodes")] for line in table.lines} == {"2"}


def test_what_the_main_table_has_is_not_said_again(compared):
    assert pairs_table(compared(2)) is None
    assert pairs_table(build([], run={})) is None


def test_a_pair_without_common_tasks_has_no_test(make_row):
    rows = [make_row(name, name, success=True) for name in ("choose", "react", "expel")]
    assert {line.cells[2:] for line in pairs_table(build(rows, run={}, baseline="choose")).lines} == {
        ("0", "0", "0", "—", "—")
    }


@pytest.mark.parametrize(("conditions", "shown"), [(2, False), (5, True), (6, False)])
def test_the_terminal_shows_a_few_pairs_and_the_page_folds_away_many(compared, conditions, shown):
    summary = compared(conditions)
    console = Console(file=io.StringIO(), width=100, color_system=None)
    tables.show(summary, console)
    assert ("only a" in console.file.getvalue()) is shown
    page = render(summary, [])
    opened, closed = "<h3>Pairs</h3>" in page, "<summary>Pairs: " in page
    many = len(summary["pairs"]) > FEW
    assert (opened, closed) == (shown, many)

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from seasoned.lab.report import forms, tables
from seasoned.lab.report.summary import build
from seasoned.types import Lesson, Usage

EVIL = "[red]x[/red] | <b>\x1b[31m\u202e\n`"


def _drawn(table: forms.Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(forms.to_rich(table, width))
    return console.file.getvalue()


def test_the_main_table(summary: dict[str, Any]):
    table = tables.main_table(summary)
    own = [line for line in table.lines if not line.source]
    assert [line.cells[0] for line in own] == ["disabled", "few-shot", "ExpNote", "positive", "negative"]
    expnote = next(line for line in own if line.strong)
    assert expnote.cells[0] == "ExpNote"
    assert expnote.cells[1] == f"{expnote.values['successes']}/119"
    assert expnote.cells[4] == "<0.001"
    assert own[0].cells[3:5] == ("—", "—")
    assert all(len(line.cells) == len(table.columns) for line in table.lines)


def test_published_figures_are_marked_as_another_models(summary: dict[str, Any]):
    found = {which: [x for x in tables.main_table(summary, which=which).lines if x.source] for which in tables_which()}
    assert [len(lines) for lines in found.values()] == [0, 5, 10]
    assert {line.source for line in found["all"]} == {"gpt-3.5-turbo, paper"}
    assert [line.cells[2] for line in found["matching"]] == ["57.0%", "47.0%", "74.0%", "66.0%", "60.0%"]
    assert "another model" in tables.main_table(summary).notes[0]


def tables_which() -> tuple[tables.Which, ...]:
    return ("none", "matching", "all")


def test_an_unknown_cost_is_a_dash(make_row):
    rows = [make_row("disabled", success=True, usage=Usage(cost=None)), make_row("cot", success=True)]
    lines = tables.main_table(build(rows, run={})).lines
    assert [line.cells[7] for line in lines] == ["—", "$0"]


def _column(table: forms.Table, name: str) -> list[str]:
    place = [column.name for column in table.columns].index(name)
    return [line.cells[place] for line in table.lines]


def test_scores_have_a_column_where_an_attempt_can_succeed_in_part(guided_summary, summary):
    table = tables.main_table(guided_summary)
    assert _column(table, "score")[:2] == ["0.438", "0.531"]
    assert table.lines[0].values["score"] == 0.4375
    assert "mean reward" in table.notes[1]
    published = {line.cells[0]: line.cells[2:4] for line in table.lines if line.source}
    assert published["ReAct"] == ("", "0.665")
    assert {len(line.cells) for line in table.lines} == {len(table.columns)}
    assert "0.665" in forms.to_markdown(table)
    assert "score" not in [column.name for column in tables.main_table(summary).columns]


def test_a_papers_score_is_no_accuracy(make_row):
    rows = [make_row("expel", success=success, reward=float(success)) for success in (True, False)]
    found = build(rows, run={"benchmark": "webshop"}, baseline="react")
    assert _column(tables.main_table(found), "score") == ["0.000", "0.701"]
    assert "score" not in [column.name for column in tables.main_table(found, which="none").columns]
    everything = tables.main_table(found, which="all")
    assert {"0.599", "0.701", ""} < set(_column(everything, "score"))
    assert {"37.0%", "35.0%", ""} < set(_column(everything, "accuracy\n[95%]"))


def test_turns_stand_beside_the_tokens(guided_summary):
    table = tables.main_table(guided_summary)
    assert _column(table, "turns\n(mean)")[0] == "3.5"
    assert table.lines[0].values["turns"] == 3.5


def test_the_terminal_keeps_every_figure_whole(summary: dict[str, Any]):
    table = tables.main_table(summary)
    for width in (60, 80, 120):
        drawn = _drawn(table, width)
        assert max(len(line.rstrip()) for line in drawn.splitlines()) <= width
        assert "73.9% [62, 83]" in drawn  # of 60 tasks, at two seeds
    assert "Left out of this narrow terminal: tokens in (cached)" in _drawn(table, 80).replace("\n", " ")
    assert "45.6k (93%)" in _drawn(table, 120)
    assert "Left out" not in _drawn(table, 120)


def test_foreign_text_is_no_markup(make_row):
    rows = [make_row(EVIL, success=True, trained_on=2, lesson_ids=("l",))]
    lessons = [Lesson(id="l", kind="note", key=EVIL, text=EVIL * 40)]
    found = build(rows, run={}, lessons=lessons, baseline="[bold]no")
    for table in (tables.main_table(found), tables.lessons_table(found)):
        drawn = _drawn(table, 200)
        assert "[red]x[/red]" in drawn
        assert "\x1b" not in drawn
        written = forms.to_markdown(table)
        assert "\\[red\\]x\\[/red\\] \\| &lt;b>" in written
        assert "<b>" not in written
        json.dumps(forms.to_json(table))


def test_markdown_has_as_many_cells_in_every_line(summary: dict[str, Any]):
    for table in (tables.main_table(summary), tables.lessons_table(summary, limit=3)):
        rows = [line for line in forms.to_markdown(table).splitlines() if line.startswith("|")]
        assert {row.count(" | ") for row in rows} == {len(table.columns) - 1}
        assert len(rows) == len(table.lines) + 2
    written = forms.to_markdown(tables.main_table(summary))
    assert "| *ExpNote (gpt-3.5-turbo, paper)* |" in written
    assert "| **ExpNote** |" in written


def test_json_has_figures_not_their_looks(summary: dict[str, Any]):
    found = json.loads(json.dumps(forms.to_json(tables.main_table(summary))))
    assert found["rows"][0]["n"] == 119
    assert found["rows"][0]["source"] == ""
    assert found["rows"][-1]["value"] == 60.0
    assert found["columns"][2] == "accuracy [95%]"


def test_the_lessons_table(summary: dict[str, Any]):
    table = tables.lessons_table(summary, limit=4)
    assert len(table.lines) == 4
    assert table.lines[0].cells[0] == "the"
    assert [column.name for column in table.columns][2] == "seed"
    assert table.notes[0] == f"{len(summary['lessons']) - 4} more lessons are in summary.json."
    assert "2 of 18 lessons were never recalled" in table.notes[1]


def test_one_seed_needs_no_seed_column(make_row):
    train = make_row("expnote", "x", split="train", trajectory_id="s", success=True)
    found = build([train], run={}, lessons=[Lesson(kind="note", text="t", sources=("s",))])
    assert "seed" not in [column.name for column in tables.lessons_table(found).columns]


def test_runs_side_by_side(make_row, rows, summary):
    other = [row.model_copy(update={"success": True, "reason": "answered"}) for row in rows]
    second = build(other, run={"id": "two", "benchmark": "emoji", "model": "m"})
    table = tables.comparison_table([summary, second], [rows, other])
    assert len(table.lines) == 10
    first, later = table.lines[2], table.lines[7]
    assert first.cells[5:8] == ("—", "—", "—")
    assert later.cells[:4] == ("two", "m", "ExpNote", "120/120")
    assert later.values["pairs"] == 119
    assert later.values["p"] < 0.001
    assert [line.values["p"] for line in tables.comparison_table([summary, second]).lines] == [None] * 10


def test_a_task_under_several_seeds_is_one_pair_of_two_runs(make_row):
    told = {}
    for name, solved in (("one", 0), ("two", 5)):
        rows = [make_row(task_id=f"t{i}", seed=seed, success=i < solved) for seed in range(3) for i in range(8)]
        told[name] = (build(rows, run={"id": name}), rows)
    table = tables.comparison_table([one for one, _ in told.values()], [rows for _, rows in told.values()])
    found = table.lines[1].values
    assert (found["pairs"], found["tasks"], found["test"], found["p"]) == (24, 8, "sign-flip", 2 / 2**5)
    assert table.notes[-1] == "A task that occurs several times counts once in p."
    once = tables.comparison_table(
        [build(rows[:8], run={"id": name}) for name, (_, rows) in told.items()], [rows[:8] for _, rows in told.values()]
    )
    assert (once.lines[1].values["p"], once.lines[1].values["test"], len(once.notes)) == (2 / 2**5, "mcnemar", 1)


def test_tasks_of_one_id_are_no_pair_where_they_are_other_tasks(make_row):
    told = []
    for name, own in (("one", "with codes"), ("two", "with faces")):
        rows = [make_row(task_id=f"t{i}", task=own if i < 3 else "the same", success=True) for i in range(5)]
        told.append((build(rows, run={"id": name}), rows))
    table = tables.comparison_table([one for one, _ in told], [rows for _, rows in told])
    assert table.lines[1].values["pairs"] == 2
    assert table.notes[0] == "Pairs are the same condition, task, seed, fold and run of the test on both sides."


def test_runs_are_compared_over_all_runs_of_their_tests(make_row):
    told = []
    for name, solved in (("one", "00"), ("two", "01")):
        rows = [
            make_row(task_id=f"t{i}", success=solved[turn] == "1", repeat=turn) for turn in (0, 1) for i in range(6)
        ]
        told.append((build(rows, run={"id": name}), rows))
    (line,) = tables.comparison_table([one for one, _ in told], [rows for _, rows in told]).lines[1:]
    assert (line.cells[3], line.values["points"], line.values["p"]) == ("6/12", 50.0, 2 / 2**6)


def test_runs_are_called_by_what_tells_them_apart(make_row):
    ids = ("20310405T101112-emoji-aaaaaa", "20310405T101112-", "mine", f"20310405T101112-{'x' * 40}-bbbbbb", "")
    found = [build([make_row(success=True)], run={"id": i, "name": "emoji"}) for i in ids]
    shown = [line.cells[0] for line in tables.comparison_table(found).lines]
    assert shown == ["emoji-aaaaaa", "20310405T101112-", "mine", f"…{'x' * 24}-bbbbbb", "emoji"]


def test_runs_of_other_benchmarks_are_never_paired(make_row):
    rows = [make_row(success=True)]
    found = [build(rows, run={"id": name, "benchmark": name}) for name in ("emoji", "lets")]
    assert tables.comparison_table(found, [rows, rows]).lines[1].values["pairs"] is None


def test_show_prints_headline_table_and_lessons(summary: dict[str, Any]):
    console = Console(file=io.StringIO(), width=120, color_system=None)
    tables.show(summary, console)
    printed = console.file.getvalue()
    assert printed.startswith("ExpNote solved")
    assert "Test episodes" in printed
    assert "Lessons and what came of them" in printed


def test_show_prints_the_trials_where_there_are_some(retried_summary):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    tables.show(retried_summary, console)
    assert "Solved by trial" in console.file.getvalue()


def test_figures_of_one_paper_stand_together(retried_summary):
    lines = [(line.source, line.cells[0]) for line in tables.main_table(retried_summary).lines if line.source]
    assert lines == [
        ("gpt-3.5-turbo-0613, paper", "ReAct"),
        ("gpt-3.5-turbo-0613, paper", "Reflexion R3"),
        ("GPT-3 / GPT-3.5, paper", "retry"),
        ("GPT-3 / GPT-3.5, paper", "Reflexion R11"),
    ]


@pytest.mark.parametrize("width", [20, 100])
def test_an_empty_run_can_be_shown(width):
    console = Console(file=io.StringIO(), width=width)
    tables.show(build([], run={}), console)
    assert "No test" in console.file.getvalue()

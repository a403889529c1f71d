from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console

from seasoned.lab.report import attempt_tables, plots
from seasoned.lab.report.attempt_tables import (
    efficiency_table,
    guidance_table,
    origins_table,
    repeats_table,
    retried,
    steps_table,
    sweep,
    sweep_table,
    trials_table,
)
from seasoned.lab.report.build import build
from seasoned.lab.report.html import render
from seasoned.lab.report.summary import Summary
from seasoned.types import Lesson, Step, Trajectory


def _own(table):
    return [line.cells for line in table.lines if not line.source]


def test_the_lessons_table(summary: Summary):
    table = attempt_tables.lessons_table(summary, limit=4)
    assert len(table.lines) == 4
    assert table.lines[0].cells[0] == "the"
    assert [column.name for column in table.columns][2] == "seed"
    assert table.notes[0] == f"{len(summary.lessons) - 4} more lessons are in summary.json."
    assert "2 of 18 lessons were never recalled" in table.notes[1]


def test_one_seed_needs_no_seed_column(make_row):
    train = make_row("expnote", "x", split="train", trajectory_id="s", success=True)
    found = build([train], run={}, lessons=[Lesson(kind="note", text="t", sources=("s",))])
    assert "seed" not in [column.name for column in attempt_tables.lessons_table(found, limit=8).columns]


def test_solved_by_trial(retried_summary):
    table = trials_table(retried_summary)
    assert [column.name for column in table.columns][:5] == ["condition", "R0", "R1", "R2", "R3"]
    assert _own(table)[1] == ("Reflexion", "33.3%", "50.0%", "58.3%", "58.3%", "+25.0", "0.25", "31")
    assert [cells[0] for cells in _own(table)] == ["retry", "Reflexion", "gathering"]


def test_the_papers_trials_stand_below_ours(retried_summary):
    lines = [line for line in trials_table(retried_summary).lines if line.source]
    found = {(line.source, line.cells[0]): line.cells[1:5] for line in lines}
    assert found["gpt-3.5-turbo-0613, paper", "Reflexion"] == ("40.3%", "47.8%", "52.2%", "54.4%")
    assert found["GPT-3 / GPT-3.5, paper", "retry"] == ("63.0%", "", "", "")


def test_fewer_trials_leave_blanks(make_row):
    rows = [make_row("a", success=False, trial=trial) for trial in range(4)]
    rows += [make_row("b", success=trial == 1, trial=trial) for trial in range(2)]
    table = trials_table(build(rows, run={}))
    assert table.lines[1].cells[1:5] == ("0.0%", "100.0%", "", "")
    assert {len(line.cells) for line in table.lines} == {len(table.columns)}


def test_without_retries_there_is_no_table(summary):
    assert retried(summary) == []
    assert trials_table(summary) is None
    assert steps_table(summary) is None


def test_steps_and_the_papers(retried):
    steps = (Step(thought="hm", action="look", observation="a mug"),)
    told = [
        Trajectory(id=row.trajectory_id, task_id=row.task_id, task="t", steps=steps, usage=row.usage) for row in retried
    ]
    table = steps_table(build(retried, run={"benchmark": "alfworld"}, baseline="react", trajectories=told))
    assert _own(table)[0] == ("ReAct", "12", "1.0", "1.0", "1.0", "—", "100", "10", "5.0", "2.0", "1.0", "3.0")
    assert _own(table)[2][:2] == ("Reflexion", "31")
    paper = next(line for line in table.lines if line.source)
    assert paper.cells == ("ReAct", "", "9.0", "14.8", "20.0", "2.8", "2.05k", "", "", "282.3", "104.1", "393.2")
    assert {len(line.cells) for line in table.lines} == {len(table.columns)}


def test_over_several_runs(make_row):
    solved = {"a": (True, True, True), "b": (True, False, False), "c": (False, False, False)}
    rows = [
        make_row("erl", task, success=success, repeat=turn)
        for task, runs in solved.items()
        for turn, success in enumerate(runs)
    ]
    rows += [make_row("react", task, success=task == "b", repeat=turn) for task in solved for turn in range(3)]
    summary = build(rows, run={}, baseline="react")
    table = repeats_table(summary)
    estimates = [f"pass{sign}{k}\n[95%]" for sign in "@^" for k in (2, 3)]
    assert [column.name for column in table.columns][3:] == estimates
    assert [cells for cells in _own(table) if cells[0] == "ERL"] == [
        ("ERL", "3", "44.4% ± 11.1", "55.6% [15, 90]", "66.7% [21, 94]", *["33.3% [6, 79]"] * 2)
    ]
    assert repeats_table(build(rows[::3], run={})) is None
    short = [row for row in rows if row.condition == "erl" or row.repeat < 2]
    react = next(cells for cells in _own(repeats_table(build(short, run={}, baseline="react"))) if cells[0] == "ReAct")
    assert (react[3], react[4]) == ("33.3% [6, 79]", "—")  # it was run but twice


def test_what_a_paper_prints_of_several_runs_stands_beside_ours(make_row):
    rows = [make_row("erl", f"t{n}", success=n > turn, repeat=turn) for n in range(3) for turn in range(3)]
    table = repeats_table(build(rows, run={"benchmark": "tau2"}))
    assert [column.name for column in table.columns][3:] == [f"pass{sign}{k}\n[95%]" for sign in "@^" for k in (2, 3)]
    printed = {line.cells[0]: line.cells[3:] for line in table.lines if line.source}
    assert printed["ERL"] == ("", "62.5%", "", "14.2%")  # ERL, table 1, overall
    assert printed["ERL, retail"] == ("", "75.0%", "", "17.5%")
    assert "tools" not in str([*printed])  # the run has no such condition
    assert {len(line.cells) for line in table.lines} == {len(table.columns)}
    assert not [line for line in repeats_table(build(rows, run={"benchmark": "fever"})).lines if line.source]


def test_what_a_paper_prints_of_a_notes_worth_stands_beside_ours(summary):
    table = efficiency_table(summary)
    assert [(line.cells[1:], line.source) for line in table.lines if line.source] == [
        (("solved attempts", "", "", "+0.643"), "gpt-3.5-turbo, paper"),  # ExpNote, table 3
        (("failed attempts", "", "", "+0.500"), "gpt-3.5-turbo, paper"),
    ]
    assert {len(line.cells) for line in table.lines} == {len(table.columns)}


def test_heuristics_against_trajectories_with_the_tokens_of_each(guided_summary):
    table = guidance_table(guided_summary)
    assert [cells[:3] for cells in _own(table)] == [
        ("few-shot-trajectories", "20", "3/8"),
        ("ERL-matched", "15", "4/8"),
        ("ERL", "30", "6/8"),
    ]
    assert [cells[4:] for cells in _own(table)] == [("—", "—"), ("+12.5", "1.00"), ("+37.5", "0.25")]


def test_points_are_against_the_trajectories_whichever_comes_first(guided, guided_summary):
    turned = build(guided[0], run={}, baseline="erl")
    assert [cells[1] for cells in _own(guidance_table(turned))] == ["—"] * 3
    assert _own(guidance_table(turned))[2][4:] == ("+37.5", "0.25")
    assert guidance_table(guided_summary.model_copy(update={"guidance": ()})) is None


def test_heuristics_against_trajectories_are_over_all_runs(guided):
    rows, lessons, made = guided
    again = [row.model_copy(update={"repeat": 1, "success": False}) for row in rows if row.split == "test"]
    table = guidance_table(build([*rows, *again], run={}, baseline="react", lessons=lessons, trajectories=made))
    assert [cells[:3] for cells in _own(table)][2] == ("ERL", "30", "6/16")
    assert _own(table)[2][4:] == ("+18.8", "0.25")


def test_the_score_over_several_runs_where_rewards_are_in_part(guided, make_row):
    rows = [row for row in guided[0] if row.split == "test"]
    again = [row.model_copy(update={"repeat": 1, "reward": 0.0}) for row in rows]
    table = repeats_table(build([*rows, *again], run={}, baseline="react"))
    assert table.columns[3].name == "score,\nmean ± error"
    assert _own(table)[0][3] == "0.219 ± 0.219"
    assert table.notes[-1] == "Score is the mean reward."
    whole = [make_row(success=turn > 0, reward=float(turn > 0), repeat=turn) for turn in range(3)]
    assert not any("score" in column.name for column in repeats_table(build(whole, run={})).columns)


def test_trajectories_alone_are_compared_with_nothing(make_row):
    for names in (("few-shot-trajectories", "react"), ("erl", "erl-matched")):
        assert guidance_table(build([make_row(name, success=True) for name in names], run={})) is None


def test_heuristics_by_what_they_come_from(make_row):
    rows = [make_row("react", str(task), category="put", success=task < 1) for task in range(4)]
    rows += [make_row("erl", str(task), category="put", success=task < 3) for task in range(4)]
    told = {"category": "put", "sources": ("tra-1",), "text": "x", "data": {"success": False}}
    summary = build(rows, run={}, baseline="react", lessons=[Lesson(kind="heuristic", **told)])
    table = origins_table(summary)
    assert _own(table) == [("put", "0", "1", "+50.0"), ("all", "0", "1", "+50.0")]
    assert origins_table(build(rows, run={}, baseline="react")) is None


def test_each_retrieval_has_its_line_in_the_order_of_k(swept):
    summary = swept(erl_random_k60=6, erl_random_k3=4, erl_k20=8, erl_embedding_k1=5, erl_random=1, erl=9, disabled=0)
    found = sweep(summary)
    assert {name: [(point.at, point.accuracy) for point in points] for name, points in found.items()} == {
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
    assert "ERL retrieves as the recipe says" in " ".join(table.notes)
    elsewhere = sweep_table(swept(erl_thought_k1=2, erl_thought_k20=8))
    assert elsewhere.notes == ("Over all runs of the test.",)


def test_the_parameters_of_a_condition_say_what_it_shows(make_row):
    parameters = {
        "erl(k=3)": {"k": 3},
        "erl(k=9,retrieve=random)": {"k": 9, "retrieve": "random"},
        "erl-thought-k5": {"k": 5, "retrieve": "embedding", "on": "thought"},
        "erl(k=3,outcomes=failure)": {"k": 3, "outcomes": "failure"},
        "expel(k=3)": {"k": 3},
    }
    rows = [make_row(name, success=True) for name in (*parameters, "erl-k20")]
    points = sweep(build(rows, run={"parameters": parameters}))
    assert {name: [point.at for point in own] for name, own in points.items()} == {
        "erl": [3, 20],
        "erl-thought": [5],
        "erl-random": [9],
    }


def test_nothing_is_swept_by_one_number(swept):
    for summary in (swept(erl_k20=3, disabled=1), swept(erl=3), build([], run={})):
        assert sweep_table(summary) is None
        assert plots.heuristics_curve(summary) == ""
    alone = swept(erl_k20=3, erl_random_k20=1)  # a table of two, and no line to draw
    assert len(sweep_table(alone).lines) == 1
    assert plots.heuristics_curve(alone) == ""


def test_show_prints_headline_table_and_lessons(summary: Summary):
    console = Console(file=io.StringIO(), width=120, color_system=None)
    attempt_tables.show(summary, console)
    printed = console.file.getvalue()
    assert printed.startswith("ExpNote solved")
    assert "Test episodes" in printed
    assert "Lessons and their results" in printed


def test_show_prints_the_trials_where_there_are_some(retried_summary):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    attempt_tables.show(retried_summary, console)
    assert "Solved by trial" in console.file.getvalue()


@pytest.mark.parametrize("width", [20, 100])
def test_an_empty_run_can_be_shown(width):
    console = Console(file=io.StringIO(), width=width)
    attempt_tables.show(build([], run={}), console)
    assert "No test" in console.file.getvalue()


def test_it_stands_in_the_terminal_and_on_the_page(swept):
    summary = swept(disabled=1, erl_random_k1=2, erl_random_k60=3)
    console = Console(file=io.StringIO(), width=100, color_system=None)
    attempt_tables.show(summary, console)
    page = render(summary, [])
    assert "By number of heuristics" in console.file.getvalue()
    assert "<h2>By number of heuristics</h2>" in page
    assert "<figure><h3>By number of heuristics</h3><svg" in page

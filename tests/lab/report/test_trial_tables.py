from __future__ import annotations

import json

from seasoned.lab.report.forms import to_json, to_markdown
from seasoned.lab.report.summary import build
from seasoned.lab.report.trial_tables import (
    categories_table,
    guidance_table,
    origins_table,
    repeats_table,
    retried,
    steps_table,
    trials_table,
)
from seasoned.types import Lesson, Step, Trajectory


def _own(table):
    return [line.cells for line in table.lines if not line.source]


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


def test_categories_with_the_papers_beside_them(retried_summary):
    table = categories_table(retried_summary)
    assert [column.name for column in table.columns] == [
        "category", "ReAct", "retry", "Reflexion", "imitation\n(paper)", "ReAct\n(paper)",
    ]  # fmt: skip
    assert _own(table) == [("clean", "2/6", "2/6", "3/6", "39%", "61%"), ("put", "2/6", "3/6", "4/6", "46%", "50%")]


def test_tasks_whose_goal_was_met_in_training_stand_apart(make_row):
    rows = [
        make_row(name, f"t{i}", success=(i < 3) is (name == "expel"), familiar=i < 3, category="put")
        for name in ("react", "expel")
        for i in range(8)
    ]
    summary = build(rows, run={}, baseline="react")
    assert [block["familiar"]["yes"] for block in summary["conditions"]] == [
        {"n": 3, "successes": 0},
        {"n": 3, "successes": 3},
    ]
    table = categories_table(summary)
    assert _own(table) == [("goal met in training", "0/3", "3/3"), ("goal not met", "5/5", "0/5")]
    new = [row.model_copy(update={"familiar": False}) for row in rows]
    assert categories_table(build(new, run={}, baseline="react")) is None


def test_one_category_needs_no_table(make_row):
    assert categories_table(build([make_row(success=True)], run={})) is None
    many = [make_row(task_id=str(i), success=True, category=f"kind {i}") for i in range(50)]
    table = categories_table(build(many, run={}))
    assert len(table.lines) == 40
    assert table.notes == ("10 more categories are in summary.json.",)


def test_steps_and_the_papers(retried):
    steps = (Step(thought="hm", action="look", observation="a mug"),)
    told = [
        Trajectory(id=row.trajectory_id, task_id=row.task_id, task="t", steps=steps, usage=row.usage) for row in retried
    ]
    table = steps_table(build(retried, run={"benchmark": "alfworld"}, baseline="react", trajectories=told))
    assert _own(table)[0] == ("ReAct", "12", "1.0", "1.0", "—", "100", "10", "5.0", "2.0", "1.0", "3.0")
    assert _own(table)[2][:2] == ("Reflexion", "31")
    paper = next(line for line in table.lines if line.source)
    assert paper.cells == ("ReAct", "", "9.0", "14.8", "2.8", "", "", "", "282.3", "104.1", "393.2")
    assert {len(line.cells) for line in table.lines} == {len(table.columns)}


def test_they_are_tables_like_the_others(retried_summary):
    for table in (trials_table(retried_summary), categories_table(retried_summary)):
        rows = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
        assert {row.count(" | ") for row in rows} == {len(table.columns) - 1}
        json.dumps(to_json(table), allow_nan=False)


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


def test_heuristics_against_trajectories_with_the_tokens_of_each(guided_summary):
    table = guidance_table(guided_summary)
    assert [cells[:3] for cells in _own(table)] == [
        ("few-shot-trajectories", "20", "3/8"),
        ("ERL-matched", "15", "4/8"),
        ("ERL", "30", "6/8"),
    ]
    assert [cells[4:] for cells in _own(table)] == [("—", "—"), ("+12.5", "1.00"), ("+37.5", "0.25")]
    json.dumps(to_json(table), allow_nan=False)


def test_points_are_against_the_trajectories_whichever_comes_first(guided, guided_summary):
    turned = build(guided[0], run={}, baseline="erl")
    assert [cells[1] for cells in _own(guidance_table(turned))] == ["—"] * 3
    assert _own(guidance_table(turned))[2][4:] == ("+37.5", "0.25")
    assert guidance_table({key: part for key, part in guided_summary.items() if key != "guidance"}) is None


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

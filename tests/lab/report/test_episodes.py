from __future__ import annotations

import pytest

from seasoned.lab.report.episodes import MESSAGE_LIMIT, choose_episodes, views
from seasoned.lab.report.summary import build
from seasoned.traces.conversation import said
from seasoned.types import Outcome, Step, Trajectory


def test_the_choice_is_instructive(summary, rows):
    chosen = choose_episodes(summary, rows)
    known = {row.trajectory_id: row for row in rows}
    assert len(chosen) == 12
    pairs = [(known[after], known[before]) for after, before in zip(chosen[::2], chosen[1::2])]
    assert all(a.key == b.key and (a.condition, b.condition) == ("expnote", "disabled") for a, b in pairs)
    moves = [(before.solved, after.solved) for after, before in pairs]
    assert moves == [(False, True)] * 3 + [(True, False)] * 2 + [(False, False)]
    assert all(after.trained_on == 60 for after, _ in pairs)
    assert choose_episodes(summary, rows, limit=4) == chosen[:4]


def test_without_a_baseline_successes_and_failures_are_shown(make_row):
    rows = [make_row("expnote", f"t{i}", success=i == 0, trained_on=1, trajectory_id=f"tra{i}") for i in range(9)]
    assert choose_episodes(build(rows, run={}), rows) == ["tra0", "tra1", "tra2", "tra3"]


def test_a_task_of_several_runs_is_shown_once_of_each_kind(make_row):
    solved = {"disabled": "001", "expnote": "111"}
    rows = [
        make_row(name, success=solved[name][turn] == "1", repeat=turn, trained_on=of, trajectory_id=f"{name}{turn}")
        for name, of in (("disabled", 0), ("expnote", 1))
        for turn in range(3)
    ]
    assert choose_episodes(build(rows, run={}), rows) == ["expnote0", "disabled0"]
    (shown,) = views(
        build(rows, run={}),
        rows,
        [Trajectory(id=one, task_id="t0", task="x", agent="x") for one in ("expnote0", "disabled0")],
        [],
    )
    assert [one["condition"] for one in shown["attempts"]] == ["disabled", "ExpNote"]


def test_nothing_to_choose_from(make_row):
    assert choose_episodes(build([], run={}), []) == []
    rows = [make_row(success=True)]
    assert choose_episodes(build(rows, run={}), rows) == []


def test_episodes_of_one_task_stand_together_baseline_first(summary, rows, lessons, tell):
    chosen = choose_episodes(summary, rows)
    found = views(summary, rows, [tell(one) for one in chosen], lessons)
    assert len(found) == 6
    first = found[0]
    assert first["move"][0] == "F=>T"
    assert [attempt["condition"] for attempt in first["attempts"]] == ["disabled", "ExpNote"]
    assert [attempt["verdict"] for attempt in first["attempts"]] == ["not solved", "solved"]
    assert first["attempts"][1]["lessons"][0][0] == first["gold"]
    assert [role for role, _ in first["attempts"][0]["messages"]] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(("success", "verdict"), [(True, "solved"), (False, "not solved"), (None, "outcome unknown")])
def test_an_episode_that_no_row_knows(summary, success, verdict):
    lost = Trajectory(task_id="t", task="a task", agent="react", outcome=Outcome(success=success))
    (found,) = views(summary, [], [lost], [])
    assert found["move"] is None
    assert (found["attempts"][0]["condition"], found["attempts"][0]["verdict"]) == ("ReAct", verdict)


def test_attempts_at_one_task_stand_in_the_order_of_the_trials(retried_summary, retried):
    told = [
        Trajectory(id=row.trajectory_id, task_id=row.task_id, task="a task")
        for row in reversed(retried)
        if row.condition == "reflexion" and row.task_id == "t4"
    ]
    (found,) = views(retried_summary, retried, told, [])
    assert [attempt["condition"] for attempt in found["attempts"]] == ["Reflexion", "Reflexion R1"]
    assert found["move"][0] == "F=>T"
    assert found["attempts"][1]["id"] == "reflexion-4-1"


def test_steps_stand_in_for_a_conversation_that_was_not_kept(summary):
    steps = (Step(thought="hm", action="Search[x]", observation="found"), Step(action="Finish[y]"))
    (found,) = views(summary, [], [Trajectory(task_id="t", task="a", steps=steps)], [])
    messages = [("assistant", "hm\nSearch[x]"), ("user", "found"), ("assistant", "Finish[y]")]
    assert found["attempts"][0]["messages"] == messages


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (
            '[{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{\\"n\\": 17}"}}]',
            'look({"n": 17})',
        ),
        ([{"function": {"name": "look", "arguments": "1"}}, {"name": "ask"}], "look(1)\nask()"),
        ("not JSON", "not JSON"),
        (None, ""),
    ],
)
def test_calls_of_tools_are_told(calls, told):
    assert said({"role": "assistant", "content": None, "tool_calls": calls}) == told
    assert said({"role": "assistant", "content": "hm", "tool_calls": calls}) == f"hm\n{told}".strip()


def test_long_replies_and_long_conversations_are_cut(summary):
    messages = ({"role": "assistant", "content": "y" * 1_000_000}, *[{"role": "nobody", "content": "z"}] * 99)
    (found,) = views(summary, [], [Trajectory(task_id="t", task="x" * 1_000_000, messages=messages)], [])
    attempt = found["attempts"][0]
    assert len(found["task"]) <= 160
    assert len(attempt["messages"][0][1]) < MESSAGE_LIMIT + 60
    assert "996,000 characters left out" in attempt["messages"][0][1]
    assert attempt["messages"][1][0] == "other"
    assert len(attempt["messages"]) + attempt["left_out"] == 100

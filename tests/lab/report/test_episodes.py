from __future__ import annotations

import pytest

from seasoned.lab.report.build import build
from seasoned.lab.report.episodes import (
    MESSAGE_LIMIT,
    WHOLE_MESSAGE_LIMIT,
    Call,
    choose_episodes,
    every_call,
    every_episode,
    views,
)
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


RULES = {"role": "system", "content": "You look for things in a house. " * 20}
WORKED = ({"role": "user", "content": "An example."}, {"role": "assistant", "content": "go to shelf 1"})


def _told(name, task, *messages, **fields):
    return Trajectory(id=name, task_id=task, task=task, messages=messages, outcome=Outcome(success=False), **fields)


def _say(text):
    return {"role": "user", "content": text}


def _read(everything, name):
    """The whole conversation as a reader finds it, the opening in front."""
    episode = next(one for group in everything["groups"] for one in group["episodes"] if one["id"] == name)
    opening = everything["openings"][episode["opening"] - 1] if episode["opening"] else []
    return [*opening, *episode["messages"]]


def test_what_conversations_begin_with_is_written_once():
    told = [_told(f"tra-{i}", f"t{i}", RULES, *WORKED, _say(f"Task {i}")) for i in range(3)]
    found = every_episode([], told)
    assert [len(opening) for opening in found["openings"]] == [3]
    assert [one["opening"] for one in found["groups"][0]["episodes"]] == [1, 1, 1]
    for one in told:
        assert _read(found, one.id) == [(message["role"], message["content"]) for message in one.messages]


def test_attempts_at_one_task_share_no_opening_of_their_own():
    told = [_told(f"tra-{i}", "t", RULES, _say("Task " * 200)) for i in range(3)]
    assert every_episode([], told)["openings"] == []
    told.append(_told("tra-9", "other", RULES, _say("Something else")))
    found = every_episode([], told)
    assert [len(opening) for opening in found["openings"]] == [1]
    assert all(_read(found, one.id)[1:] == [("user", one.messages[1]["content"])] for one in told)


def test_short_openings_stay_where_they_are():
    told = [_told(f"tra-{i}", f"t{i}", _say("Hello."), _say(f"{i}")) for i in range(3)]
    assert every_episode([], told)["openings"] == []


def test_groups_are_conditions_and_gathering(make_row):
    rows = [make_row("reflexion", success=True, trial=1, trajectory_id="a", seed=1)]
    rows += [make_row("training", split="train", success=False, trajectory_id="b")]
    told = [_told("b", "t0"), _told("a", "t0", category="put"), _told("lost", "t0", agent="react")]
    groups = every_episode(rows, told)["groups"]
    assert [group["name"] for group in groups] == ["gathering", "Reflexion", "ReAct"]
    (one,) = groups[1]["episodes"]
    assert (one["trial"], one["verdict"], one["title"]) == (1, "solved", "put · seed 1, fold 0 · t0")


def test_what_does_not_fit_is_named():
    told = [_told(f"tra-{i}", f"t{i}", _say("x" * 100)) for i in range(4)]
    found = every_episode([], told, room=250)
    assert [one["messages"] is None for one in found["groups"][0]["episodes"]] == [False, False, True, True]
    assert (found["whole"], found["missing"]) == (len(told) - 2, 2)
    assert "2 whole conversations" in found["says"]
    assert "The other 2 did not fit; read one with seasoned replay" in found["says"]
    assert "would not fit" not in every_episode([], told)["says"]


def test_a_later_shorter_one_still_finds_room():
    told = [_told("a", "t0", _say("x" * 300)), _told("b", "t1", _say("y" * 100))]
    found = every_episode([], told, room=200)
    assert [one["messages"] is None for one in found["groups"][0]["episodes"]] == [True, False]


@pytest.mark.parametrize("n", [0, 4500])
def test_any_number_of_episodes(n):
    told = [_told(f"tra-{i}", f"t{i}", _say("x")) for i in range(n)]
    found = every_episode([], told)
    assert sum(len(group["episodes"]) for group in found["groups"]) + found["missing"] == n
    assert found["missing"] == max(0, n - 4000)


def test_a_reply_of_a_megabyte_says_what_is_missing():
    found = every_episode([], [_told("a", "t", _say("x" * 1_000_000))])
    ((_, text),) = _read(found, "a")
    assert len(text) < WHOLE_MESSAGE_LIMIT + 60
    assert "950,000 characters left out" in text


def test_demonstrations_that_were_exchanged_are_named():
    sets = [{"from": 0, "ids": ["tra-0"]}, {"from": 2, "ids": ["tra-1", "gone"]}]
    told = [_told(f"tra-{i}", f"t{i}", _say(f"{i}")) for i in range(2)]
    told.append(_told("new", "t", _say("?"), meta={"demonstrations": sets}))
    found = every_episode([], told)
    episodes = {one["id"]: one for group in found["groups"] for one in group["episodes"]}
    assert episodes["new"]["exchanged"] == [(1, ["tra-0"]), (3, ["tra-1", "gone"])]
    assert episodes["tra-0"]["exchanged"] == []
    assert found["numbers"] == {one_id: one["number"] for one_id, one in episodes.items()}


@pytest.mark.parametrize("meta", ["x", {"from": 1}, [1], [{"from": "1", "ids": []}], [{"from": 1, "ids": "tra"}], None])
def test_what_is_no_record_of_demonstrations_is_passed_over(meta):
    (group,) = every_episode([], [_told("tra-0", "t", meta={"demonstrations": meta})])["groups"]
    assert group["episodes"][0]["exchanged"] == []


def test_steps_stand_in_for_messages():
    told = Trajectory(id="a", task_id="t", task="t", steps=(Step(action="look", observation="a mug"),))
    assert _read(every_episode([], [told]), "a") == [("assistant", "look"), ("user", "a mug")]


RULES = {"role": "system", "content": "You study how an agent worked. " * 20}


def _call(purpose, said, **fields):
    messages = (RULES, {"role": "user", "content": said})
    return Call(run_id="r", purpose=purpose, messages=messages, reply=f"reply to {said}", **fields)


CALLS = [
    _call("learning", "pair 1", condition="expel"),
    _call("learning", "pair 2", condition="expel", seed=1),
    _call("reflecting", "attempt", condition="training", task_id="t1", task="put a mug", trial=2),
    _call("recalling", "list", task_id="t2", task="cool a pan"),
]


def test_calls_stand_in_groups_with_what_they_are_about():
    groups = every_call(CALLS)["groups"]
    titles = {group["name"]: [one["title"] for one in group["episodes"]] for group in groups}
    assert titles == {
        "learning, ExpeL": ["call 1 · reply to pair 1", "call 2 · seed 1, fold 0 · reply to pair 2"],
        "reflecting, gathering": ["call 3 · for R2 · put a mug"],
        "recalling, test tasks": ["call 4 · cool a pan"],
    }


def test_each_prompt_is_whole_and_its_reply_follows():
    found = every_call(CALLS)
    assert found["openings"] == [[("system", RULES["content"])]]
    shown = [one for group in found["groups"] for one in group["episodes"]]
    for one, call in zip(shown, CALLS, strict=True):
        told = [*found["openings"][one["opening"] - 1], *one["messages"]]
        assert told == [*((m["role"], m["content"]) for m in call.messages), ("assistant", call.reply)]
    assert found["says"].startswith("4 model calls outside the agents' turns, each with its reply. All that")


def test_what_does_not_fit_is_counted():
    found = every_call(CALLS, room=1)
    assert [one["messages"] for group in found["groups"] for one in group["episodes"]] == [None] * 4
    assert "0 model calls" in found["says"]
    assert "The other 4 would not fit. All that were kept are in calls.jsonl." in found["says"]
    many = every_call([CALLS[0]] * 4500)
    assert many["missing"] == 500


def test_no_calls_are_no_groups():
    assert every_call([])["groups"] == []

from __future__ import annotations

import pytest

from seasoned.lab.report.reader import LONGEST, every_episode, readable
from seasoned.types import Outcome, Step, Trajectory

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
    assert (found["left_out"], found["unnamed"]) == (2, 0)
    assert "2 whole conversations" in readable(found)
    assert "The other 2 would not fit: read one with seasoned replay" in readable(found)
    assert "would not fit" not in readable(every_episode([], told))


def test_a_later_shorter_one_still_finds_room():
    told = [_told("a", "t0", _say("x" * 300)), _told("b", "t1", _say("y" * 100))]
    found = every_episode([], told, room=200)
    assert [one["messages"] is None for one in found["groups"][0]["episodes"]] == [True, False]


@pytest.mark.parametrize("n", [0, 4500])
def test_any_number_of_episodes(n):
    told = [_told(f"tra-{i}", f"t{i}", _say("x")) for i in range(n)]
    found = every_episode([], told)
    assert sum(len(group["episodes"]) for group in found["groups"]) + found["unnamed"] == n
    assert found["unnamed"] == max(0, n - 4000)


def test_a_reply_of_a_megabyte_says_what_is_missing():
    found = every_episode([], [_told("a", "t", _say("x" * 1_000_000))])
    ((_, text),) = _read(found, "a")
    assert len(text) < LONGEST + 60
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

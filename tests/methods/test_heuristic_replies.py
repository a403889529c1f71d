"""Heuristics of ERL: in which form they are asked for, and how a reply is read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.llm.schema import check_schema
from seasoned.methods.heuristic_replies import GOOD, LONGEST, heuristic_schema, read_heuristic

REPLY = {"analysis": "The fridge was closed.", "trigger": "When the fridge is closed.", "action": "open it first"}


@pytest.mark.parametrize(
    ("reply", "trigger", "action"),
    [
        (REPLY, "the fridge is closed", "open it first"),
        ({"trigger": "Whenever The shelf is bare", "action": "leave"}, "the shelf is bare", "leave"),
        ({"trigger": "TVs are on", "action": "watch"}, "TVs are on", "watch"),
        ({"trigger": "I need a mug", "action": "look"}, "I need a mug", "look"),
        ({"action": "When the fridge is closed, then open it."}, "the fridge is closed", "open it."),
        ({"trigger": "If it is dark: light a lamp", "action": ""}, "it is dark", "light a lamp"),
        ({"trigger": "none", "action": "If it is dark, light a lamp"}, "it is dark", "light a lamp"),
        ({"Guideline": {"Trigger": "it is dark", "Action": "light a lamp"}}, "it is dark", "light a lamp"),
        ([{"when": "it is dark", "then": "light a lamp"}], "it is dark", "light a lamp"),
        ('Sure: {"trigger": "it is dark", "action": "light a lamp"} Bye', "it is dark", "light a lamp"),
        ("When the fridge is closed, open it.", "the fridge is closed", "open it."),
        ('**Heuristic:** "When the fridge is closed, open it."', "the fridge is closed", "open it."),
        ({"heuristic": "When the fridge is closed, open it."}, "the fridge is closed", "open it."),
        ({"trigger": "冷蔵庫が閉まっている", "action": "先に開ける"}, "冷蔵庫が閉まっている", "先に開ける"),
    ],
)
def test_replies(reply, trigger, action):
    draft, _ = read_heuristic(reply)
    assert (draft.trigger, draft.action) == (trigger, action)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "nothing",
        "Hm.\nIf you like, I can say more.",
        {},
        [],
        None,
        {"trigger": "", "action": "be careful"},
        {"trigger": "it is dark", "action": "!"},
    ],
)
def test_a_heuristic_without_trigger_or_action_is_dropped(reply):
    draft, problem = read_heuristic(reply)
    assert draft is None
    assert "so it is dropped" in problem


def test_the_prompts_own_example_is_no_heuristic():
    for copy in (GOOD[1].upper(), f"{GOOD[1]}, as it may help"):
        assert read_heuristic({"trigger": "a letter came", "action": copy})[0] is None


@pytest.mark.parametrize(
    "trigger",
    [
        "the answer was wrong",
        "When the attempt failed",
        "your first guess was not right",
        "the task failed",
        "the task was completed successfully by following the rules",
        "the task required moving a vase, which was successfully accomplished",
        "the steps ran out",
        "the pen has to be examined, which was not done in the previous attempt",
        "a hot plate is wanted, and the previous attempts did not bring it",
    ],
)
def test_nobody_knows_beforehand_how_an_attempt_ends(trigger):
    draft, problem = read_heuristic({"trigger": trigger, "action": "look at the label first"})
    assert draft is None
    assert "nobody knows before" in problem
    assert read_heuristic({"trigger": "the label is wrong", "action": "look at the lid"})[0] is not None


@pytest.mark.parametrize(
    "trigger",
    [
        "the customer says that the last reply was wrong",
        "the previous attempt to open the drawer gave Nothing happens",
        "the task is finished except for one object",
        "I am about to Finish before every part of the task is done",
        "the order was not successfully completed",
    ],
)
def test_what_can_be_seen_before_the_end_is_a_trigger(trigger):
    assert read_heuristic({"trigger": trigger, "action": "look at the label first"})[1] == ""


def test_what_was_considered_is_no_heuristic():
    reply = "Trigger: a wrong one\nAction: act wrongly\n</think>\nTrigger: it is dark\nAction: light a lamp"
    assert read_heuristic(reply)[0].text == "When it is dark: light a lamp"


def test_a_verdict_is_needed_where_it_was_asked_for():
    said = {"trigger": "it is dark", "action": "light a lamp"}
    assert read_heuristic(said, judges=True)[0] is None
    for verdict, meant in ((True, True), ("Failed", False), ("yes", True), ("not a success", False)):
        assert read_heuristic({**said, "succeeded": verdict}, judges=True)[0].succeeded is meant
    assert read_heuristic({**said, "succeeded": True})[0].succeeded is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["analysis", "Trigger", "action", "guideline", "succeeded", "x"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(values | st.text(), st.booleans())
def test_no_reply_raises(reply, judges):
    draft, problem = read_heuristic(reply, judges=judges)
    if draft is None:
        assert problem
        return
    assert draft.trigger
    assert draft.action
    assert len(draft.text) <= LONGEST["trigger"] + LONGEST["action"] + 10 + 400
    assert "\n" not in draft.text
    assert (draft.succeeded is not None) is judges


@pytest.mark.parametrize("judges", [True, False])
def test_the_schema_is_one_that_is_checked(judges):
    check_schema(heuristic_schema(judges))
    assert ("succeeded" in heuristic_schema(judges)["properties"]) is judges

"""Heuristics of ERL: in which form they are asked for, and how a reply is read."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.llm.structured import check_schema
from seasoned.replies.heuristics import BAD, GOOD, PART_CHARS, heuristic_schema, read_heuristic, text_that_begins

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
        ("Once it is dark , light a lamp", "it is dark", "light a lamp"),
        ({"trigger": "Once it is dark", "action": "light a lamp"}, "it is dark", "light a lamp"),
        ("Trigger：it is dark\nAction：light a lamp\nAction: wait", "it is dark", "light a lamp"),
        ('[{"trigger": "it is dark", "action": "light a lamp"}]', "it is dark", "light a lamp"),
        (["Sure", {" Trigger ": "it is dark", "action": "light a lamp"}], "it is dark", "light a lamp"),
        ({"trigger": ["x"], "when": "it is dark", "action": "light a lamp"}, "it is dark", "light a lamp"),
        ({"trigger": "fog", "action": "hum"}, "fog", "hum"),
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
        "If you like, I can say more.\nShall I?",
        {},
        [],
        None,
        {"trigger": "", "action": "be careful"},
        {"trigger": "it is dark", "action": "!"},
        {"trigger": "The situation", "action": "light a lamp"},
        {"trigger": "situation", "action": "light a lamp"},
    ],
)
def test_a_heuristic_without_trigger_or_action_is_dropped(reply):
    draft, problem = read_heuristic(reply)
    assert draft is None
    assert "so it is dropped" in problem


def test_the_prompts_own_example_is_no_heuristic():
    for copy in (GOOD[1].upper(), f"{GOOD[1]}, as it may help"):
        assert read_heuristic({"trigger": "a letter came", "action": copy})[0] is None
    for example in (None, ("somebody is glad", "answer q5")):
        assert read_heuristic({"trigger": "a letter came", "action": BAD[1]}, example=example)[0] is None


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("The lid is on the pot.", False),
        ("You look back\nthe lid is on the pot\nand write", False),
        ("Mind this: the lid is on the pot. Go on", False),
        ("Is it so? The lid is on the pot", False),
        ("The lid is on it.", True),
    ],
)
def test_a_sentence_of_six_words_that_the_prompt_said_is_no_heuristic(told, kept):
    trigger = "the lid is on it" if kept else "the lid is on the pot"
    draft, problem = read_heuristic({"trigger": trigger, "action": "wait"}, prompt=told)
    assert (draft is not None) is kept
    assert ("repeats the prompt" in problem) is not kept


def test_an_agent_is_the_one_that_tried_only_where_the_attempt_was_shown_and_names_none():
    for said in (
        {"trigger": "the agent is late", "action": "wait"},
        {"trigger": "it is late", "action": "call agents"},
    ):
        assert read_heuristic(said)[0] is not None
        for attempt in ("Call the agent.", f"{'Wait. ' * 100}Call the agent."):
            assert read_heuristic(said, attempt=attempt)[0] is not None
    assert read_heuristic({"trigger": "the agent is late", "action": "wait"}, attempt="Call.")[0] is None


def test_what_is_said_of_a_reply_that_had_to_be_parted():
    assert read_heuristic("When it is dark, light a lamp")[1] == "trigger and action were in one text, which was split"


def test_labelled_lines_hold_the_analysis_and_the_verdict_too():
    said = "Analysis: it was closed.\nSucceeded: no\nTrigger: a door is closed\nAction: open it first"
    draft, _ = read_heuristic(said, judges=True)
    assert (draft.analysis, draft.succeeded) == ("it was closed.", False)


@pytest.mark.parametrize(
    "trigger",
    [
        "the answer was wrong",
        "When the attempt failed",
        "your first guess was not right",
        "the task failed",
        "the task succeeded",
        "the task was already completed",
        "the steps have run out",
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
    verdicts = ((True, True), ("Failed", False), ("yes", True), ("not a success", False), (1, True), (0, False))
    for verdict, meant in (*verdicts, ("false", False), ("a failure", False), ("true", True)):
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


@given(values | st.text(), st.booleans())
def test_no_reply_raises(reply, judges):
    draft, problem = read_heuristic(reply, judges=judges)
    if draft is None:
        assert problem
        return
    assert draft.trigger
    assert draft.action
    assert len(draft.text) <= PART_CHARS["trigger"] + PART_CHARS["action"] + 10 + 400
    assert "\n" not in draft.text
    assert (draft.succeeded is not None) is judges


@pytest.mark.parametrize("judges", [True, False])
def test_the_schema_is_one_that_is_checked(judges):
    check_schema(heuristic_schema(judges))
    parts = ["analysis", "succeeded", "trigger", "action"]
    assert list(heuristic_schema(judges)["properties"]) == [part for part in parts if judges or part != "succeeded"]


def test_a_text_that_begins_with_words_is_so_long_after_them_and_takes_them_as_they_are():
    pattern = text_that_begins("ANSWER[ x.", 5)["pattern"]
    assert re.fullmatch(pattern, "ANSWER[ x.12345")
    assert not re.fullmatch(pattern, "ANSWER[ x.123456")
    assert not re.fullmatch(pattern, "ANSWER[ xy12345")

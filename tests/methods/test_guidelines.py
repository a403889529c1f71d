"""Guidelines of AutoGuide: what the model is shown, a worked exchange before, and what of its replies is kept."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.commands import WRONG
from seasoned.errors import ContextLengthError
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.extraction import Call, plan_calls
from seasoned.methods.guidelines import GOOD, read_guideline, write_guideline
from seasoned.types import Outcome, Step, Trajectory

GLAD = ("the writer is glad", "answer q5")


def answered(said, right, task="I lost my keys.", name="a"):
    steps = (
        Step(action="THINK[sad, tired]", observation="OK."),
        Step(action=f"ANSWER[{said}]", observation=WRONG.format(answer=right)),
    )
    return Trajectory(
        id=name, task_id=name, task=task, steps=steps, outcome=Outcome(success=False, reason="answered", answer=said)
    )


def compared(failure):
    (call,) = plan_calls([failure], chunk=1, seed=0, successes=False)
    return call


WORKED = ((answered("g8", "q5", "I found my ring.", "worked"),), *GLAD)


def test_the_model_is_told_where_the_two_part():
    model = ScriptedModel([{"context": "the writer is sad", "guideline": "answer x7"}])
    assert write_guideline(model, compared(answered("m3", "x7"))) == ("the writer is sad", "answer x7")
    system, user = (message["content"] for message in model.requests[0]["messages"])
    assert GOOD[0] in system
    assert "Their first 1 actions are the same." in user
    told = (
        'the one that failed did ANSWER[m3] and was told: "Wrong. The right answer is x7." The one that succeeded did '
    )
    assert f"{told}ANSWER[x7]." in user


def test_where_one_attempt_ended_no_place_is_named():
    failure = answered("m3", "x7")
    short = failure.model_copy(update={"id": "b", "steps": failure.steps[:1], "outcome": Outcome(success=True)})
    model = ScriptedModel([{"context": "it is dark", "guideline": "light a lamp"}])
    assert write_guideline(model, Call((failure, short), pair=True))
    assert "Then the one" not in model.requests[0]["messages"][1]["content"]


def test_a_worked_case_is_an_exchange_before_and_is_not_quoted():
    model = ScriptedModel([{"context": "the writer is sad", "guideline": "answer x7"}])
    assert write_guideline(model, compared(answered("m3", "x7")), worked=WORKED, begins="answer ")
    system, asked, replied, case = model.requests[0]["messages"]
    assert GOOD[0] not in system["content"]
    assert GLAD[0] not in system["content"]
    assert (asked["role"], replied["role"]) == ("user", "assistant")
    assert "I found my ring." in asked["content"]
    assert "ANSWER[q5]" in asked["content"]
    assert json.loads(replied["content"]) == {"context": GLAD[0], "guideline": GLAD[1]}
    assert "I lost my keys." in case["content"]
    pattern = model.requests[0]["schema"]["properties"]["guideline"]["pattern"]
    assert re.fullmatch(pattern, "answer x7")
    assert not re.fullmatch(pattern, "be kind")


def test_the_worked_case_is_halved_with_the_pair():
    long = "x " * 4000

    def play(messages):
        if sum(len(message["content"]) for message in messages) > 9000:
            return ContextLengthError("too long")
        return {"context": "the writer is sad", "guideline": "answer x7"}

    model = ScriptedModel(play)
    assert write_guideline(
        model, compared(answered("m3", "x7", long)), worked=((answered("g8", "q5", long, "w"),), *GLAD), room=4000
    )
    sizes = [[len(message["content"]) for message in request["messages"]] for request in model.requests]
    assert len(sizes) > 1
    assert sizes[-1][1] < sizes[0][1]
    assert sizes[-1][3] < sizes[0][3]


def test_where_nothing_was_said_nobody_was_told_anything():
    failure, success = answered("m3", "x7"), answered("x7", "x7", name="b")
    bare = [
        attempt.model_copy(update={"steps": (Step(action=did),), "outcome": Outcome(success=won)})
        for attempt, did, won in ((failure, "go", False), (success, "open", True))
    ]
    model = ScriptedModel([{"context": "it is shut", "guideline": "open it"}])
    assert write_guideline(model, Call(tuple(bare), pair=True))
    shown = model.requests[0]["messages"][1]["content"]
    assert "The one that failed did go. The one that succeeded did open." in shown
    assert "was told" not in shown


def test_reading_guidelines():
    assert read_guideline({"context": "It is dark.", "guideline": "light a\nlamp"}) == ("It is dark", "light a lamp")
    for copy in (GOOD[1], f"{GOOD[1]} It helps.", GOOD[1].replace("field", "drawer"), GOOD[1].replace("send it", "go")):
        assert read_guideline({"context": "it is dark", "guideline": copy}) is None
    assert read_guideline({"context": "it is dark", "guideline": "fill in the form and send it"})
    assert read_guideline({"context": "...", "guideline": "light a lamp"}) is None


@pytest.mark.parametrize(
    ("context", "guideline", "kept"),
    [
        ("The writer is glad.", "Answer q5", False),
        ("The writer is proud", "Answer q5", True),
        ("The writer is glad", "answer x7", True),
        ("The writer is sad", "be kind", False),
    ],
)
def test_the_worked_case_is_not_said_again_and_every_guideline_begins_as_it_must(context, guideline, kept):
    said = read_guideline({"context": context, "guideline": guideline}, example=GLAD, begins="answer ")
    assert (said is not None) is kept


ROOM = "You are in the middle of a room. You see a bed 1, a drawer 2, a drawer 1, and a desk 1."


@pytest.mark.parametrize(
    ("context", "kept"),
    [
        (ROOM, False),
        ("The agent is in the middle of a room, you see a bed 1, a drawer 2, a drawer 1", False),
        ("a pencil is wanted, and a pen is on the desk 1", True),
        ("you see a bed 1", True),
        (f"no drawer was opened yet and the thing that is wanted was seen nowhere else; {ROOM[:40]}", True),
    ],
)
def test_a_context_that_is_a_line_of_the_attempt_is_none(context, kept):
    said = read_guideline({"context": context, "guideline": "open drawer after drawer"}, seen=["Nothing.", ROOM])
    assert (said is not None) is kept


def test_what_is_copied_from_an_attempt_becomes_no_guideline():
    failure = answered("m3", "x7", task=ROOM)
    model = ScriptedModel([{"context": ROOM, "guideline": "answer x7"}])
    assert write_guideline(model, compared(failure)) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["context", "guideline", "x"]), inner),
    max_leaves=12,
)


@given(values)
def test_no_reply_raises(value):
    said = read_guideline(value)
    assert said is None or all(said)

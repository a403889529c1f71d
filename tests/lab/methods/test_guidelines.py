"""Guidelines of AutoGuide: what the model is shown, a worked exchange before, and what of its replies is kept."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ContextLengthError
from seasoned.lab.methods.guidelines import GOOD, PART_CHARS, read_guideline, shares_run, write_guideline
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.expel.extraction import Call, plan_calls
from seasoned.replies.commands import WRONG
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
    parts = model.requests[0]["schema"]["properties"]
    assert {name: (part["minLength"], part["maxLength"]) for name, part in parts.items()} == {
        name: (3, longest) for name, longest in PART_CHARS.items()
    }


def parted(failed, succeeded, task="I lost my keys."):
    """The comparison of a failure and a success with these steps."""
    attempts = (
        Trajectory(id=name, task_id="t", task=task, steps=tuple(steps), outcome=Outcome(success=won))
        for name, steps, won in (("a", failed, False), ("b", succeeded, True))
    )
    return Call(tuple(attempts), pair=True)


def shown_of(pair, **settings):
    model = ScriptedModel([{"context": "it is dark", "guideline": "light a lamp"}])
    assert write_guideline(model, pair, **settings)
    return model.requests[0]["messages"][-1]["content"]


def test_the_task_is_told_once_and_only_what_is_the_same_from_the_beginning_is_named():
    actions = (("look", "go", "open"), ("look", "wait", "open"))
    steps = [[Step(action=did, observation=f"You {did} for {said[1]}.") for did in said] for said in actions]
    shown = shown_of(parted(*steps))
    assert shown.count("I lost my keys.") == 1
    assert "Their first 1 actions are the same." in shown


def test_where_one_only_thought_no_place_is_named():
    thought = Step(thought="Where is it?", observation="Nothing happens.")
    assert "The one" not in shown_of(parted([thought], [Step(action="open")])).partition("Observation")[2]


def test_both_attempts_have_room_together_and_the_place_where_they_part_is_told_in_short():
    long = Step(action="write " + "a " * 500, observation="said " + "b " * 4000)
    shown = shown_of(parted([long], [Step(action="open", observation="c " * 4000)]), room=1000)
    assert 3500 < len(shown) < 4000 + 700
    action, told = re.search(r'that failed did (.*) and was told: "(.*)" The one', shown).groups()
    assert 190 < len(told) <= len(action) <= 200


def test_a_pair_that_never_fits_is_halved_three_times():
    model = ScriptedModel(lambda _: ContextLengthError("too long"))
    with pytest.raises(ContextLengthError):
        write_guideline(model, compared(answered("m3", "x7")))
    assert len(model.requests) == 4


def test_a_worked_case_is_written_as_it_is_and_is_no_guideline_of_another_pair():
    said = ("der Schlüssel fehlt", "suche ihn")
    copied = {"context": said[0], "guideline": said[1]}
    model = ScriptedModel([copied])
    assert write_guideline(model, compared(answered("m3", "x7")), worked=(WORKED[0], *said)) is None
    assert said[0] in model.requests[0]["messages"][2]["content"]


def test_a_reply_that_is_longer_than_its_form_is_cut():
    long = {"context": "it is dark " * 40, "guideline": "light a lamp " * 40}
    context, guideline = write_guideline(ScriptedModel([long, long]), compared(answered("m3", "x7")))
    assert (len(context), len(guideline)) == (PART_CHARS["context"], PART_CHARS["guideline"])


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
    assert re.fullmatch(pattern, "answer " + "x" * PART_CHARS["guideline"])
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
    assert read_guideline({"context": "it is dark", "guideline": "say five names and send it again"}) is None
    assert read_guideline({"context": "it is dark", "guideline": "wait, and send it again"})
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
        ("you are in the middle of a house", True),
        ("you are in the middle of a room", False),
        (f"no drawer was opened yet and the thing that is wanted was seen nowhere else; {ROOM[:40]}", True),
    ],
)
def test_a_context_that_is_a_line_of_the_attempt_is_none(context, kept):
    for seen in (ROOM, f"{'It is quiet. ' * 40}{ROOM}"):
        said = read_guideline({"context": context, "guideline": "open drawer after drawer"}, seen=["Nothing.", seen])
        assert (said is not None) is kept


def test_what_is_copied_from_an_attempt_becomes_no_guideline():
    failure = answered("m3", "x7", task=ROOM)
    model = ScriptedModel([{"context": ROOM, "guideline": "answer x7"}])
    assert write_guideline(model, compared(failure)) is None
    saw, passed = Step(action="look", observation=ROOM), Step(action="go", observation="You go.")
    for steps in ([saw], [passed]), ([passed], [saw]):
        assert write_guideline(ScriptedModel([{"context": ROOM, "guideline": "go on"}]), parted(*steps)) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["context", "guideline", "x"]), inner),
    max_leaves=12,
)


@given(values)
def test_no_reply_raises(value):
    said = read_guideline(value)
    assert said is None or all(said)


@pytest.mark.parametrize(
    ("text", "other", "run", "shared"),
    [
        ("Fill in the drawer, and send it again!", "you fill in the field and SEND it again", 4, True),
        ("Fill in the drawer, and send it again!", "you fill in the field and SEND it again", 5, False),
        ("one two", "one two", 3, False),
        ("one two three", "three one two", 3, False),
        ("one two three", "one two three", 3, True),
        ("one two three", f"{'many words ' * 100}one two three", 3, True),
        ("", "one", 1, False),
    ],
)
def test_a_run_of_words_stands_in_both(text, other, run, shared):
    assert shares_run(text, other, run) is shared
    assert shares_run(other, text, run) is shared

"""What methods look at in an attempt."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.methods.attempts import parts, without_verdict
from seasoned.types import Outcome, Step, Trajectory

GOLD = "Zanzibar"


def attempt(*, steps, reason="answered"):
    steps = steps or [Step(action="Search[islands]"), Step(action="Finish[Madagascar]", observation=f"It is {GOLD}.")]
    outcome = Outcome(success=False, reason=reason, answer="Madagascar")
    return Trajectory(task_id="t1", task="Which island is meant?", steps=tuple(steps), outcome=outcome)


def test_an_answer_that_was_none_does_not_end_the_attempt():
    steps = [
        Step(action="Finish[perhaps]", observation="That is no label."),
        Step(action="Search[x]", observation="A page."),
        Step(action="Finish[REFUTES]", observation="Wrong."),
    ]
    told = without_verdict(attempt(steps=steps))
    assert [(step.action, step.observation) for step in told.steps] == [
        ("Finish[perhaps]", ""),
        ("Search[x]", "A page."),
        ("Finish[REFUTES]", ""),
    ]


@pytest.mark.parametrize("reason", ["loop", "halted", "won", "reported", "answered"])
def test_what_was_seen_last_stays_where_it_was_no_word_on_an_answer(reason):
    steps = [
        Step(action="edit config.py", observation="written"),
        Step(action="pytest", observation="1 failed: KeyError"),
    ]
    assert without_verdict(attempt(steps=steps, reason=reason)).steps == tuple(steps)


@pytest.mark.parametrize("reason", ["loop", "step_limit"])
def test_what_names_an_answer_but_ended_nothing_was_no_answer(reason):
    steps = (Step(action="look up Rome", observation="A city."),)
    outcome = Outcome(success=False, reason=reason, answer="Rome")
    assert without_verdict(Trajectory(task_id="t", task="t", steps=steps, outcome=outcome)).steps == steps


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        ("submit(patch)", ""),
        ("**Finish** [Rome]", "Rome"),
        ("click[buy now]", "b01"),
        ("send the form with Rome in it", "Rome"),
    ],
)
def test_a_word_on_the_last_action_is_hidden_where_that_was_an_answer(action, answer):
    steps = [Step(action="submit(draft)", observation="It has no date."), Step(action=action, observation=GOLD)]
    outcome = Outcome(success=False, reason="answered", answer=answer)
    told = without_verdict(Trajectory(task_id="t", task="t", steps=tuple(steps), outcome=outcome)).steps
    assert [step.observation for step in told] == ["It has no date.", ""]


def test_an_action_that_begins_like_an_answer_does_not_cut_off_what_follows():
    steps = [
        Step(action="answer(mail 1, 'yes')", observation="sent"),
        Step(action="delete(mail 2)", observation="gone"),
    ]
    assert [step.observation for step in without_verdict(attempt(steps=steps)).steps] == ["", "gone"]


def test_nothing_is_hidden_where_nothing_was_done():
    assert without_verdict(Trajectory(task_id="t", task="t", outcome=Outcome(reason="answered"))).steps == ()


@given(st.lists(st.builds(Step, action=st.sampled_from(["Finish[x]", "ANSWER[x]", "look"]) | st.text())))
def test_any_attempt_can_be_shown_without_its_verdict(steps):
    told = [step.model_copy(update={"observation": GOLD}) for step in steps]
    kept = without_verdict(attempt(steps=told or None, reason="answered")).steps
    assert len(kept) <= max(len(told), 2)
    assert not kept[-1].observation or not re.match(r"Finish|ANSWER", kept[-1].action)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sad", ["sad"]),
        ("Sad, lonely; LOST.", ["sad", "lonely", "lost"]),
        ("sad, sad", ["sad"]),
        ("if A is B, then everything that is true of A is true of B", None),
        ("", [""]),
    ],
)
def test_parts(value, expected):
    assert parts(value) == (expected if expected is not None else [value])

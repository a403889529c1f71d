"""Lessons against the record: what successes speak against is below what they speak for, by each of the three ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.llm.scripted import ScriptedModel
from seasoned.proof.record import WAYS, against_record, nearest_attempts
from seasoned.types import Lesson, Outcome, Reply, Step, Trajectory


def attempt(action, success, task="cool an apple and put it on the table", **more):
    steps = (Step(action="go to the kitchen", observation="you are there"), Step(action=action, observation="done"))
    return Trajectory(task_id=task, task=task, steps=steps, outcome=Outcome(success=success), **more)


RECORD = [attempt("cool apple with fridge", True) for _ in range(6)]
RECORD += [attempt("cool apple with microwave", False) for _ in range(6)]
GOOD = Lesson(kind="insight", text="Use the fridge to cool an object.")
BAD = Lesson(kind="insight", text="Go to the microwave to cool an object.")
OTHER = Lesson(kind="insight", text="Say thank you.")


def reader(messages):
    """A model that reads well: it knows what cools, and follows the lesson when it chooses."""
    text = messages[-1]["content"]
    if "What could be done next" in text:
        lesson = text.partition("Something learned")[2].partition("Which is right")[0]
        wanted = "fridge" if "fridge" in lesson else "microwave" if "microwave" in lesson else "kitchen"
        lines = [line for line in text.splitlines() if line[1:3] == ". "]
        return Reply(text="", parsed=next(line[0] for line in lines if wanted in line))
    lesson = text.partition("A lesson for such tasks:")[2].partition("A. The attempt")[0]
    tool = next((word for word in ("fridge", "microwave") if word in lesson), "")
    right = ("succeeded" in text) == (f"with {tool}" in text)
    return Reply(text="", parsed="C" if not tool else "A" if right else "B")


@pytest.mark.parametrize("by", WAYS)
def test_what_successes_contradict_comes_below_what_they_support(by):
    def model(messages):
        reply = reader(messages)
        return f'"{reply.parsed}"'

    good, bad, other = against_record([GOOD, BAD, OTHER], RECORD, by, ScriptedModel(model, name="reader"))
    assert bad.score < 0 < good.score
    assert other.score == pytest.approx(0, abs=0.2)
    assert (good.lesson_id, bad.lesson_id) == (GOOD.id, BAD.id)


def test_an_attempt_is_no_evidence_for_the_lesson_it_taught():
    alone = attempt("cool apple with microwave", True)
    taught = BAD.model_copy(update={"sources": (alone.id,)})
    assert against_record([BAD], [*RECORD, alone])[0].score > against_record([taught], [*RECORD, alone])[0].score
    assert alone not in nearest_attempts(taught, [alone])


def test_attempts_without_an_outcome_say_nothing():
    unknown = [attempt("cool apple with fridge", None)]
    assert against_record([GOOD], unknown)[0].score == 0
    assert against_record([GOOD], [])[0].score == 0


def test_a_model_is_needed_for_two_of_the_ways():
    with pytest.raises(ValueError, match="the check by judge needs a model"):
        against_record([GOOD], RECORD, "judge")


@given(st.text(max_size=200))
def test_no_reply_of_a_model_raises(said):
    for by in ("judge", "likelihood"):
        (found,) = against_record([GOOD], RECORD[:7], by, ScriptedModel(lambda messages: said, name="wild"))
        assert -10 < found.score < 10

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ContextLengthError, InfrastructureError
from seasoned.lab.methods.transfer import read_adapted, transfer
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Lesson, Outcome, Step, Trajectory

INSIGHTS = [
    Lesson(kind="insight", text="Search for one entity at a time.", importance=3, sources=("tra-1",)),
    Lesson(kind="insight", text="Name the answer that the passages give.", importance=5),
    Lesson(kind="insight", text="Off.", status="disabled"),
]
ABOUT = {"source_about": "Questions over an encyclopedia.", "target_about": "Claims to be judged."}


def example(number, said="The claim holds."):
    steps = (Step(thought="Search.", action="search[Rome]", observation=said),)
    return Trajectory(task_id=f"{number}", task=f"Claim {number}.", steps=steps, outcome=Outcome(success=True))


def test_insights_are_adapted_and_say_where_they_came_from():
    reply = [
        {"number": 2, "text": "Search for the subject of the claim."},
        {"number": 1, "text": "Judge what is said."},
    ]
    model = ScriptedModel([reply])
    one, other = transfer(model, INSIGHTS, examples=[example(1), example(2)], **ABOUT)
    assert (one.text, one.kind, one.origin, one.method) == (reply[0]["text"], "insight", "transfer", "expel")
    assert (one.data, one.sources, one.importance) == ({"from": [INSIGHTS[0].id]}, (), 3)
    assert (other.data, other.importance) == ({"from": [INSIGHTS[1].id]}, 5)
    shown = model.requests[0]["messages"][1]["content"]
    assert shown.index("1. Name the answer") < shown.index("2. Search for one")
    assert "Off." not in shown
    assert shown.index("Questions over") < shown.index("Claims to be judged.") < shown.index("Task: Claim 1.")
    assert "Task: Claim 2." in shown


def test_without_examples():
    model = ScriptedModel([[{"number": 1, "text": "Judge what is said."}]])
    assert len(transfer(model, INSIGHTS, **ABOUT)) == 1
    assert "How new tasks are done" not in model.requests[0]["messages"][1]["content"]


def test_lines_where_json_does_not_come():
    model = ScriptedModel(
        ["no", "no", "Here they are:\n\n2. **Search for the claim.**\n7) Judge.\n2. search for the claim\n"]
    )
    made = transfer(model, INSIGHTS, **ABOUT)
    assert [(lesson.text, len(lesson.data["from"])) for lesson in made] == [("Search for the claim.", 1), ("Judge.", 2)]


def test_no_more_than_asked_for():
    model = ScriptedModel(["no", "no", "\n".join(f"{n}. Rule number {n}." for n in range(40))])
    assert len(transfer(model, INSIGHTS, max_insights=3, **ABOUT)) == 3


def test_nothing_to_adapt_and_nothing_adapted(caplog):
    assert transfer(ScriptedModel([]), INSIGHTS[2:], **ABOUT) == []
    assert "no insights to adapt" in caplog.text
    with caplog.at_level(logging.INFO):
        assert transfer(ScriptedModel([[]]), INSIGHTS, **ABOUT) == []
    assert "adapted none of the 2 insights" in caplog.text


def test_examples_that_are_too_long_are_shortened():
    too_long = ContextLengthError("too long")
    model = ScriptedModel([too_long, too_long, [{"number": 1, "text": "Judge."}]])
    assert transfer(model, INSIGHTS, examples=[example(1, "x " * 9000)], room=120, **ABOUT)
    sizes = [len(request["messages"][1]["content"]) for request in model.requests]
    assert sizes[0] > sizes[1] > sizes[2]
    with pytest.raises(ContextLengthError):
        transfer(ScriptedModel([too_long]), INSIGHTS, **ABOUT)
    with pytest.raises(ContextLengthError):
        transfer(ScriptedModel([too_long] * 4), INSIGHTS, examples=[example(1)], **ABOUT)


def test_a_failing_server_is_not_hidden():
    with pytest.raises(InfrastructureError):
        transfer(ScriptedModel([InfrastructureError("down")]), INSIGHTS, **ABOUT)


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ('[{"number": 2, "text": "Search."}, {"text": "Judge\\nwell."}]', [(2, "Search."), (0, "Judge well.")]),
        ('Here they are:\n```json\n{"insights": [{"number": "1", "text": "Search."}]}\n```', [(1, "Search.")]),
        ('<think>1. No.</think>{"number": 1, "text": "Search."}', [(1, "Search.")]),
        ('[{"number": 1, "text": "Search."}, {"number": 2, "text": "Jud', [(1, "Search."), (2, "Jud")]),
        ("1. Search [for one] at a time.", [(1, "Search [for one] at a time.")]),
    ],
)
def test_json_that_nobody_asked_for_is_read(reply, read):
    assert read_adapted(reply) == read


@given(st.text())
def test_any_text_is_read(text):
    for number, words in read_adapted(text):
        assert 0 <= number <= 999
        assert "\n" not in words

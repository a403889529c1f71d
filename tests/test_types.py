"""The types: frozen, strict, and the same after a round trip through JSON, whatever text is inside."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from seasoned.types import (
    Block,
    Entry,
    Guidance,
    Lesson,
    Outcome,
    Reply,
    Step,
    Task,
    ToolCall,
    Trajectory,
    Usage,
    by_person,
    new_id,
    now,
)

text = st.text(st.characters(codec="utf-8"), max_size=30)
usages = st.builds(
    Usage,
    prompt_tokens=st.integers(0, 99),
    completion_tokens=st.integers(0, 99),
    calls=st.integers(0, 9),
    replayed=st.integers(0, 9),
    cost=st.none() | st.integers(0, 9).map(float),
)
lessons = st.builds(Lesson, kind=st.just("note"), text=text, key=text, sources=st.tuples(text), data=st.just({"n": 1}))
calls = st.builds(ToolCall, name=text, arguments=st.dictionaries(text, text | st.integers()), id=text, unread=text)
replies = st.builds(Reply, text=text, calls=st.tuples(calls))
called = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": "{}"}}],
}
trajectories = st.builds(
    Trajectory,
    task_id=text,
    task=text,
    steps=st.tuples(st.builds(Step, thought=text, action=text, observation=text, call=st.none() | calls)),
    outcome=st.builds(Outcome, success=st.none() | st.booleans(), answer=text),
    messages=st.tuples(st.fixed_dictionaries({"role": st.just("user"), "content": text}), st.just(called)),
    usage=usages,
)


@given(lessons | trajectories | replies | st.builds(Task, id=text, text=text, data=st.dictionaries(text, text)))
def test_json_and_back_is_the_same(value):
    assert type(value).model_validate_json(value.model_dump_json()) == value


@given(usages, usages, usages)
def test_usage_adds_up_and_what_is_unknown_stays_unknown(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + Usage() == a
    assert ((a + b).cost is None) == (a.cost is None or b.cost is None)
    assert (a + b).tokens == a.tokens + b.tokens


guidances = st.builds(
    Guidance, lessons=st.lists(lessons, max_size=2).map(tuple), text=st.sampled_from(["", "a", "b", "a\n\nb", "ab"])
)


@given(guidances, guidances)
def test_guidance_adds_up_without_repeating_itself(a, b):
    assert a + Guidance() == Guidance() + a == a + a == a
    both = a + b
    assert [lesson.id for lesson in both.lessons] == list(dict.fromkeys(x.id for x in (*a.lessons, *b.lessons)))
    assert both + b == both
    assert both.text.startswith(a.text)


def test_guidance_that_is_added_keeps_each_thing_once_in_its_place():
    one, two = (Trajectory(task_id="t", task=name) for name in ("one", "two"))
    old = Lesson(kind="note", text="old")
    new = old.model_copy(update={"text": "new"})
    both = Guidance(lessons=(old,), demonstrations=(one, two), text="- look") + Guidance(
        lessons=(new,), demonstrations=(two, one), text="- look first"
    )
    assert (both.lessons, both.demonstrations, both.text) == ((new,), (one, two), "- look\n\n- look first")
    assert [block.text for block in both.blocks] == ["- look", "- look first"]
    assert (both + Guidance(text="- look")).text == both.text


def test_the_text_of_guidance_is_that_of_its_blocks():
    notes = tuple(Lesson(kind="note", text=text) for text in ("one", "two"))
    case = Trajectory(task_id="t", task="x")
    cases = Block(entries=(Entry(text="a case", demonstration_ids=(case.id,)),))
    blocks = (Block.listing("Notes:", notes, ("one", "two")), Block(), cases)
    guidance = Guidance(lessons=notes, demonstrations=(case,), blocks=blocks)
    assert guidance.text == "Notes:\n- one\n- two\n\na case"
    assert [entry.lesson_ids for entry in blocks[0].entries] == [(note.id,) for note in notes]
    assert Guidance.model_validate_json(guidance.model_dump_json()) == guidance
    assert Guidance(text="be quick").blocks == (Block(entries=(Entry(text="be quick"),)),)
    assert guidance.saying(()) == Guidance(lessons=notes, demonstrations=(case,))
    with pytest.raises(ValidationError, match="give only one of them"):
        Guidance(blocks=blocks, text="another")


def test_an_attempt_of_before_blocks_were_kept_has_those_that_its_text_shows():
    frames = ["<experience>\n- one\n</experience>", "<experience>\n- two\n</experience>"]
    old = Trajectory(task_id="t", task="x", guidance="\n\n".join(frames))
    assert [block.text for block in old.blocks()] == frames
    assert Trajectory(task_id="t", task="x").blocks() == ()
    kept = (Block(heading="Notes:"),)
    assert old.model_copy(update={"guidance_blocks": kept}).blocks() == kept


def test_values_are_frozen_and_strict():
    lesson = Lesson(kind="note", text="x")
    with pytest.raises(ValidationError, match="frozen"):
        lesson.text = "y"
    for wrong in ({"kind": "joke", "text": "x"}, {"kind": "note"}, {"kind": "note", "text": "x", "extra": 1}):
        with pytest.raises(ValidationError):
            Lesson.model_validate(wrong)
    assert Guidance().text == ""


def test_ids_and_times():
    made = {new_id("les") for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(r"les-[0-9a-f]{12}", one) for one in made)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", now())


def test_the_answer_is_not_in_a_tasks_repr():
    assert "secret" not in repr(Task(id="1", text="t", data={"answer": "secret"}))


def test_guidance_without_some_lessons_has_no_line_of_them_and_no_heading_over_nothing():
    one, two, three = (Lesson(id=f"les-{i}", kind="insight", text=f"text {i}") for i in range(3))
    pair = Entry(text="either, or", lesson_ids=("les-1", "les-2"))
    first = Block.listing("First:", [one], ["text 0"])
    guidance = Guidance(
        lessons=(one, two, three), blocks=(first, Block(heading="Second:", entries=(pair, Entry(text="nobody's"))))
    )
    assert guidance.without(()) == guidance
    assert guidance.without(["les-0"]).text == "Second:\neither, or\nnobody's"
    assert guidance.without(["les-0"]).lessons == (two, three)
    assert guidance.without(["les-1"]) == guidance
    both = guidance.without(["les-1", "les-2"])
    assert both.text == "First:\n- text 0\n\nSecond:\nnobody's"
    assert both.lessons == (one,)


@pytest.mark.parametrize(
    ("who", "person"), [("person", True), ("person ann", True), ("model", False), ("personal", False), ("", False)]
)
def test_who_is_a_person(who, person):
    assert by_person(who) is person

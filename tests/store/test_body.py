import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import StoreError
from seasoned.store.body import clean_text, clean_value, from_body, to_body
from seasoned.types import Lesson, Outcome, Reply, Step, Trajectory

any_text = st.text(st.characters())  # half surrogate pairs and NUL too
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


def texts(value):
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    return [value] if isinstance(value, str) else []


@given(any_text)
def test_clean_text_is_fit_for_every_database_and_changes_nothing_else(text):
    cleaned = clean_text(text)
    cleaned.encode()
    assert "\x00" not in cleaned
    assert clean_text(cleaned) == cleaned
    if "\x00" not in text and not any("\ud800" <= c <= "\udfff" for c in text):
        assert cleaned == text


def test_clean_text_joins_the_halves_of_one_character():
    assert clean_text("a\ud83d\ude00b") == "a😀b"
    assert clean_text("a\ud83db\x00") == "a\ufffdb\ufffd"


@given(any_text, st.dictionaries(any_text, any_json, max_size=3), st.floats())
def test_what_is_stored_can_be_read_back(text, data, number):
    lesson, body = to_body(Lesson(kind="note", text=text, data=data, importance=number))
    assert from_body(Lesson, body, "it").model_dump_json() == lesson.model_dump_json()
    assert lesson.text == clean_text(text)
    assert not any("\x00" in text for text in texts(json.loads(body)))


@given(any_text, any_json)
def test_any_reply_can_be_read_back(text, parsed):
    reply, body = to_body(Reply(text=text, parsed=parsed))
    assert from_body(Reply, body, "it").text == reply.text == clean_text(text)


ORDINARY = [
    "",
    "emoji \U0001f642 \U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\u05e2\u05d1\u05e8\u05d9\u05ea \u200f\u0639\u0631\u0628\u064a",  # right to left
    "\u202ereversed",
    "e\u0301",
    "a\\u0000b",
    "'; --%_",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_value_passes_unchanged(text):
    lesson = Lesson(kind="note", text=text, key=text, data={"a": [1, {"b": text}]})
    assert to_body(lesson)[0] == lesson
    assert from_body(Lesson, to_body(lesson)[1], "it") == lesson


def test_numbers_that_are_not_finite():
    steps = (Step(reward=math.nan), Step(reward=-math.inf))
    made, body = to_body(Trajectory(task_id="t", task="x", steps=steps, outcome=Outcome(reward=math.nan)))
    assert [step.reward for step in made.steps] == [0.0, -1.7976931348623157e308]
    assert from_body(Trajectory, body, "it") == made
    assert clean_value({"a": [math.inf, 1.5]}) == {"a": [1.7976931348623157e308, 1.5]}


def test_a_value_without_a_form_in_json_is_refused_with_a_sentence():
    with pytest.raises(StoreError, match=r"a lesson \(les-1\) cannot be stored as JSON.*nested at most 100 deep"):
        to_body(Lesson(id="les-1", kind="note", text="a", data={"x": object()}))


@pytest.mark.parametrize("depth", [240, 5000])
def test_a_value_nested_too_deeply_to_be_read_is_refused_when_it_is_written(depth):
    deep: dict = {}
    for _ in range(depth):
        deep = {"a": deep}
    with pytest.raises(StoreError, match="nested at most 100 deep"):
        to_body(Reply.model_construct(text="a", parsed=deep))


def test_a_damaged_row_is_named():
    for body, why in (
        ('{"kind": "note", "texd": "a"}', "text: Field required; texd: Extra inputs are not permitted"),
        ('{"kind"', "Invalid JSON: EOF while parsing"),
    ):
        with pytest.raises(StoreError) as caught:
            from_body(Lesson, body, "the lesson les-9")
        assert str(caught.value).startswith(f"the lesson les-9 is in the store but cannot be read ({why}")
        assert str(caught.value).endswith("`seasoned doctor --repair --store FILE` repairs what can be repaired")

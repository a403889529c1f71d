"""What of the engine needs no ARE: how answers are judged, schemas of types."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.lab.benchmarks import serving
from seasoned.lab.benchmarks.gaia2 import ENGINE

engine = serving.load(ENGINE)


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("412", True),
        ("It is 412 euros.", True),
        ("412.", True),
        ("4120", False),
        ("412 or 413", False),
        ("four hundred", False),
        ("412" + " well" * 40, False),
        ("", False),
    ],
)
def test_numbers(said, right):
    assert engine.answers(said, {"words": ["412"], "most": 60}) is right


def test_words_in_any_case():
    wanted = {"words": ["Mara Alderson"], "most": 60}
    assert engine.answers("It is mara  ALDERSON!", wanted)
    assert not engine.answers("Mara Aldersons", wanted)
    assert engine.answers("anything", {})


@settings(max_examples=40)
@given(said=st.text(), words=st.lists(st.text(min_size=1), min_size=1))
def test_any_text_is_judged(said, words):
    assert engine.answers(said, {"words": words, "most": 50}) in (True, False)


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("str", {"type": "string"}),
        ("str | None", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("int | float | None", {"type": "number"}),
        ("list[str] | None", {"type": "array", "items": {"type": "string"}}),
        ("dict[str, Any]", {"type": "object"}),
        ("bool", {"type": "boolean"}),
        ("Any", {}),
    ],
)
def test_schemas(kind, schema):
    assert engine.schema_of(kind) == schema


def test_what_the_user_said_without_head_and_foot():
    text = "Received at: now\nSender: User\nMessage: Buy milk.\nAnd bread.\nAlready read: True\nRead at: now"
    assert engine.words_of(text) == "Buy milk.\nAnd bread."
    assert engine.words_of("plain") == "plain"


def test_a_talk_asks_and_goes_on():
    talk = engine.Talk()

    def work():
        text, _ = talk.ask([{"role": "user", "content": "Right?"}])
        return {"said": text}

    assert talk.run(work) == {"ask": [{"role": "user", "content": "Right?"}]}
    assert talk.told("yes") == {"said": "yes"}
    with pytest.raises(ZeroDivisionError):
        talk.run(lambda: 1 / 0)

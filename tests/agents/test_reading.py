import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.agents.reading import Turn, bare, read_turn
from seasoned.retrieve.render import clean


@pytest.mark.parametrize(
    ("text", "thought", "action"),
    [
        ("go to desk 1", "", "go to desk 1"),
        ("Thought: a pen is on a desk.\nAction: go to desk 1", "a pen is on a desk.", "go to desk 1"),
        ("Thought 3: look there.\nAction 3: Search[Ada Lovelace]", "look there.", "Search[Ada Lovelace]"),
        ("**Thought:** look.\n**Action:** `open drawer 2`", "look.", "open drawer 2"),
        ("> go to shelf 2", "", "go to shelf 2"),
        ('Action: "go to bed 1"', "", "go to bed 1"),
        ("Action: take pen 1 from desk 1\nAction: go to bed 1", "", "take pen 1 from desk 1"),
        ("Action: go to bed 1\nObservation: You see a lamp.\nAction: use lamp", "", "go to bed 1"),
        ("think: the pen is not here", "the pen is not here", ""),
        ("Action: think: the pen is not here\nAction: go to bed 1", "the pen is not here", "go to bed 1"),
        ("THINK[where is the pen]", "where is the pen", ""),
        ("I should look on the bed.\n> go to bed 1", "I should look on the bed.", "go to bed 1"),
        ("Thought: I should look on the bed.\n> go to bed 1", "I should look on the bed.", "go to bed 1"),
        ("I look for her.\nSearch[Ada Lovelace]", "I look for her.", "Search[Ada Lovelace]"),
        ("```\nAction: look\n```", "", "look"),
        ("1. go to desk 1\n2. take pen 1 from desk 1", "", "go to desk 1"),
        ("Thought: only thinking", "only thinking", ""),
        ("Action:", "", ""),
        ("", "", ""),
        ("Observation: you win", "", ""),
    ],
)
def test_what_models_really_send(text, thought, action):
    assert read_turn(text) == Turn(thought, action)


@given(st.text() | st.lists(st.sampled_from(["Thought:", "Action 2:", "Observation", ">", "`", "\n", "go", "[", "**"])))
def test_any_text_gives_a_turn_made_of_its_pieces(given):
    text = given if isinstance(given, str) else " ".join(given)
    turn = read_turn(text)
    assert "\n" not in turn.action
    assert all(word in clean(text, 10**6) for word in turn.action.removesuffix("…").split())


@given(st.text())
def test_an_action_laid_bare_stays_as_it_is(text):
    once = bare(text)
    assert bare(once) == once


def test_a_long_reply_is_read_in_no_time():
    assert read_turn("Thought: " + "a " * 200_000 + "\nAction: look").action == "look"

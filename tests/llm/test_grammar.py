import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ParseError
from seasoned.llm.grammar import choose, grammar, is_choice
from seasoned.text import storable
from seasoned.types import Reply

WORDS = st.lists(st.text(min_size=1).filter(storable), min_size=1)


def test_one_of_the_texts_and_nothing_around_it():
    assert grammar(["go to desk 1", "look"]) == 'root ::= "go to desk 1" | "look"'


def test_signs_that_mean_something_in_a_grammar_are_escaped():
    assert grammar(['say "a\\b"\n']) == 'root ::= "say \\"a\\\\b\\"\\n"'


@pytest.mark.parametrize(
    ("schema", "is_one"),
    [
        ({"type": "string", "enum": ["a", "b"]}, True),
        ({"type": "string"}, False),
        ({"enum": []}, False),
        ({"enum": ["a", 1]}, False),
        ({"enum": ["a", ""]}, False),
        ({"type": "array", "items": {"enum": ["a"]}}, False),
    ],
)
def test_which_schema_asks_for_one_of_some_texts(schema, is_one):
    assert is_choice(schema) is is_one


@given(WORDS, st.data())
def test_the_choice_is_given_back_letter_by_letter(words, data):
    said = data.draw(st.sampled_from(words))
    reply = choose(lambda prompt, form: Reply(text=storable(said)), [], words)
    assert reply.parsed in words
    assert storable(reply.parsed) == storable(said)


@given(WORDS)
def test_a_grammar_is_one_line_whatever_the_texts(words):
    assert "\n" not in grammar(words)


def test_the_odds_of_choices_of_one_character_are_parts_of_one():
    asked = []

    def send(prompt, form):
        asked.append(form["odds"])
        return Reply(text="7", odds={"7": 0.6, "8": 0.2, "The": 0.1})

    assert choose(send, [], ["7", "8", "9"]).odds == pytest.approx({"7": 0.75, "8": 0.25, "9": 0.0})
    assert choose(send, [], ["7", "10"]).odds == {}
    assert asked == [True, False]


def test_a_server_that_tells_no_odds_gives_none():
    assert choose(lambda prompt, form: Reply(text="7"), [], ["7", "8"]).odds == {}


def test_a_reply_that_was_cut_off_is_told():
    with pytest.raises(ParseError, match="allow more tokens") as caught:
        choose(lambda prompt, form: Reply(text="go to de", model="m"), [], ["go to desk 1"])
    assert caught.value.reply.text == "go to de"

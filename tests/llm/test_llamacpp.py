"""What llama.cpp's server does beyond the protocol: grammars, and prefixes that its slots share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InfrastructureError, ParseError
from seasoned.llm.llamacpp import MIN_PREFIX_CHARS, SharedPrefixes, choose, grammar, is_choice
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


RULES = "Be kind. " * MIN_PREFIX_CHARS


def prompt(head=RULES, question="One?"):
    return [{"role": "system", "content": head}, {"role": "user", "content": question}]


@pytest.fixture
def prefixes(tmp_path):
    return SharedPrefixes("http://127.0.0.1:9", "key", 3, tmp_path)  # nobody listens there


def test_one_leads_and_the_others_wait_for_it(prefixes):
    said, free = [], threading.Event()

    def send(leads):
        said.append(leads)
        if leads:
            free.wait(10)
        return Reply(text="x")

    with ThreadPoolExecutor(3) as threads:
        made = [threads.submit(prefixes.ask, prompt(question=f"{n}?"), send) for n in range(3)]
        while prefixes._known.get(hash(RULES)) is None or prefixes._known[hash(RULES)].waiting < 2:
            pass
        assert said == [True]
        free.set()
        assert [future.result(10).text for future in made] == ["x"] * 3
    assert said == [True, False, False]
    prefixes.ask(prompt(), send)
    assert said[-1] is False


def test_another_prefix_does_not_wait(prefixes):
    def send(leads):
        del leads
        return prefixes.ask(prompt(head="Other. " * MIN_PREFIX_CHARS), lambda leads: Reply(text=f"{leads}"))

    assert prefixes.ask(prompt(), send).text == "True"


def test_a_short_prompt_and_a_single_slot_never_lead(prefixes, tmp_path):
    assert prefixes.ask(prompt(head="Be kind."), lambda leads: Reply(text=f"{leads}")).text == "False"
    single = SharedPrefixes("http://127.0.0.1:9", "key", 1, tmp_path)
    assert single.ask(prompt(), lambda leads: Reply(text=f"{leads}")).text == "False"


def test_where_the_first_fails_the_others_go_on(prefixes):
    started = threading.Event()

    def fails(leads):
        started.set()
        while prefixes._known[hash(RULES)].waiting < 1:
            pass
        raise InfrastructureError("gone")

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(prefixes.ask, prompt(), fails)
        assert started.wait(10)
        second = threads.submit(prefixes.ask, prompt(), lambda leads: Reply(text=f"{leads}"))
        with pytest.raises(InfrastructureError):
            first.result(10)
        assert second.result(10).text == "False"

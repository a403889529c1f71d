"""What a server of chat models answers, whatever that is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.llm.answers import at, odds_of, read_body, usage_of, words_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["usage", "timings", "prompt_tokens", "completion_tokens", "content", "text", "cache_n"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


def test_a_path_leads_as_far_as_it_goes():
    value = {"choices": [{"message": {"content": "yes"}}]}
    assert at(value, "choices", 0, "message", "content") == "yes"
    for path in (("choices", 1), ("choices", "0"), ("choice",), ("choices", 0, "message", "content", 0)):
        assert at(value, *path) is None


def test_words_are_content_or_its_parts_or_a_refusal():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]
    given = [{"content": "a"}, {"content": parts}, {"content": None, "refusal": "No."}, {"content": 3}, None]
    assert [words_of(message) for message in given] == ["a", "ab", "No.", None, None]


def test_the_cost_is_known_only_where_prompt_and_reply_are_counted():
    def used(**usage):
        return usage_of({"usage": usage}, 1.5, model="gpt-4o-mini", base_url=None)

    known = used(prompt_tokens=1000, completion_tokens=10)
    assert known.cost is not None
    assert known.cost > 0
    assert (known.prompt_tokens, known.completion_tokens, known.calls, known.seconds) == (1000, 10, 1, 1.5)
    assert used(prompt_tokens=1000).cost is None
    assert used(prompt_tokens=-1, completion_tokens=True).prompt_tokens == 0


def test_the_odds_are_those_of_the_first_word():
    named = [{"token": "7", "logprob": -0.6931472}, {"token": "8", "logprob": -1.3862944}]
    body = {"choices": [{"logprobs": {"content": [{"top_logprobs": named}, {"top_logprobs": []}]}}]}
    assert odds_of(body) == pytest.approx({"7": 0.5, "8": 0.25})
    assert odds_of({"choices": [{"logprobs": None}]}) == {}


@given(st.lists(st.dictionaries(st.sampled_from(["token", "logprob"]), st.integers() | JSON)) | JSON)
def test_odds_lie_between_0_and_1_whatever_is_named(named):
    odds = odds_of({"choices": [{"logprobs": {"content": [{"top_logprobs": named}]}}]})
    assert all(isinstance(word, str) and odd >= 0 for word, odd in odds.items())
    assert odds_of(named) == {}
    assert (
        odds_of({"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "a", "logprob": -(10**400)}]}]}}]})
        == {}
    )


@given(JSON)
def test_any_json_is_read(value):
    words = words_of(value)
    assert words is None or isinstance(words, str)
    used = usage_of(value, 0.0, model="m", base_url="http://127.0.0.1/v1")
    assert 0 <= used.cached_tokens <= used.prompt_tokens


@given(st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_body(content):
    read_body(content)

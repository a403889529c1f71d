"""A server of chat models: what is sent, what it answers whatever that is, what it refuses, and what a call costs."""

import gc
import json
import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.agents.react import React
from seasoned.errors import (
    AuthError,
    ConfigError,
    ContextLengthError,
    InfrastructureError,
    LLMError,
    NotFoundError,
    ParseError,
    RefusedError,
    RequestError,
)
from seasoned.llm.openai import OpenAIChat, at, cost, first_model, odds_of, read_body, usage_of, words_of
from seasoned.types import Guidance, Task

ASK = [{"role": "user", "content": "hello"}]
EMOJI = {"type": "string", "enum": ["qx", "zz"]}
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def test_a_reply_with_its_usage(server, chat):
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 16}}
    server.script(server.saying("hi 👋🏽", usage=usage))
    reply = chat(seed=3, extra_body={"cache_prompt": True}).chat(ASK, stop=["\n"], max_tokens=9, temperature=0.5)
    assert (reply.text, reply.finish_reason, reply.model, reply.parsed) == ("hi 👋🏽", "stop", "served-model", None)
    used = reply.usage
    assert (used.prompt_tokens, used.cached_tokens, used.completion_tokens, used.calls) == (20, 16, 5, 1)
    assert used.cost is None
    assert 0 < used.seconds < 10
    sent = {"model": "m", "messages": ASK, "seed": 3, "stop": ["\n"], "max_tokens": 9, "temperature": 0.5}
    assert server.requests == [sent | {"cache_prompt": True}]


def test_what_is_not_wished_is_not_sent(server, chat):
    chat(seed=None).chat(ASK)
    assert server.requests == [{"model": "m", "messages": ASK, "temperature": 0.0}]


def test_the_cache_figure_of_llama_cpp_is_read(server, chat):
    server.script(server.saying("x", timings={"cache_n": 5}))
    assert chat().chat(ASK).usage.cached_tokens == 5


@pytest.mark.parametrize(
    "usage", [{}, "none", {"prompt_tokens": -4, "completion_tokens": True}, {"prompt_tokens": "9"}]
)
def test_odd_usage_counts_as_unknown(server, chat, usage):
    server.script(server.saying("x", usage=usage))
    used = chat().chat(ASK).usage
    assert (used.tokens, used.calls, used.cost) == (0, 1, None)


def test_text_that_cannot_be_encoded_is_replaced_both_ways(server, chat):
    server.script(server.sending(b'{"choices": [{"message": {"content": "a\\ud800b\\u0000 \\ud83d\\ude00"}}]}'))
    assert chat().chat([{"role": "user", "content": "\ud800!"}]).text == "a\ufffdb\ufffd 😀"
    assert server.requests[0]["messages"][0]["content"] == "\ufffd!"


@pytest.mark.parametrize(
    ("content", "finish", "text"),
    [("", "stop", ""), (None, "length", ""), (None, "stop", ""), ([{"type": "text", "text": "hi"}, 3], "stop", "hi")],
)
def test_odd_content_is_a_reply(server, chat, content, finish, text):
    server.script(server.saying(content, finish))
    reply = chat().chat(ASK)
    assert (reply.text, reply.finish_reason, reply.usage.calls) == (text, finish, 1)


def test_a_megabyte_is_a_reply(server, chat):
    server.script(server.saying("é" * 1_000_000))
    assert len(chat().chat(ASK).text) == 1_000_000


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Welcome</html>",
        b"",
        b"null",
        b'{"choices": []}',
        b'{"choices": [null]}',
        b'{"choices": "abc"}',
        b'{"choices": [{"message": "hi"}]}',
        b'{"choices": [{"message": {"content": null}}]}',
        b"\xff\xfe\x00",
        b"[" * 200_000,
    ],
)
def test_what_is_no_chat_reply_is_an_infrastructure_error(server, chat, body):
    server.script(server.sending(body))
    with pytest.raises(InfrastructureError, match="did not answer with a chat reply") as caught:
        chat().chat(ASK)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"code": 502, "message": "upstream is down"}}', "upstream is down"),
        (b'{"choices": [{"message": {"content": "I th"}, "finish_reason": "error"}]}', "finish_reason is error"),
        (b'{"choices": [{"message": {"content": ""}, "error": {"message": "too busy"}}]}', "too busy"),
        (b'{"choices": [{"message": {"content": ""}, "error": ["sk-1"]}]}', "does not say what"),
        (b'{"choices": [{"message": {"content": ""}, "error": "bad sk-1"}]}', r"bad \*\*\*"),
    ],
)
def test_an_error_in_place_of_a_reply_is_an_infrastructure_error(server, chat, body, said):
    server.script(server.sending(body))
    with pytest.raises(InfrastructureError, match=f"instead of a reply.*{said}"):
        chat(api_key="sk-1").chat(ASK)


@pytest.mark.parametrize("body", [b"", b'{"choices": [{"mess', b'{"error": {"message": "upstream is down"}}'])
def test_an_answer_that_is_no_reply_is_asked_for_again(server, chat, body, monkeypatch):
    monkeypatch.setattr("seasoned.llm.openai._PAUSES", (0.0, 0.0, 0.0))
    server.script(server.sending(body))
    assert chat(max_retries=1).chat(ASK).text == "ok"
    server.script(*[server.sending(body)] * 3)
    assert chat(max_retries=6).chat(ASK).text == "ok"
    server.script(*[server.sending(body)] * 4)
    with pytest.raises(InfrastructureError):
        chat(max_retries=6).chat(ASK)
    server.script(server.sending(body))
    with pytest.raises(InfrastructureError):
        chat(max_retries=0).chat(ASK)
    assert len(server.requests) == 2 + 4 + 4 + 1


def test_an_error_that_is_none_is_no_error(server, chat):
    server.script(server.saying("hi", error=None))
    assert chat().chat(ASK).text == "hi"


def test_a_page_that_is_no_json_at_all(server, chat):
    server.script(server.sending(b"hello", headers={"Content-Type": "text/plain"}))
    with pytest.raises(InfrastructureError, match=r"'hello'.*base_url"):
        chat().chat(ASK)


def test_no_key():
    with pytest.raises(AuthError, match="OPENAI_API_KEY"):
        OpenAIChat("gpt-5-mini").chat(ASK)


def test_a_given_server_needs_no_key(server, chat):
    assert chat().chat(ASK).text == "ok"


def test_the_key_comes_from_the_environment(server, chat, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " sk-env\n")
    chat().chat(ASK)
    assert server.headers[0]["authorization"] == "Bearer sk-env"


def test_the_address_comes_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    model = OpenAIChat("m", max_retries=0)
    assert model.chat(ASK).text == "ok"
    model.close()


def test_a_key_that_cannot_be_one_is_not_shown(chat):
    with pytest.raises(AuthError) as caught:
        chat(api_key="sk-sécret").chat(ASK)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://", "http://h:99999/v1", "http://[::1"])
def test_an_address_that_is_none(url):
    with pytest.raises(ConfigError, match="base_url"):
        OpenAIChat("m", base_url=url)


def test_a_password_in_the_address_is_not_shown(chat):
    model = chat(base_url="http://me:secret@127.0.0.1:9/v1?key=secret")
    with pytest.raises(InfrastructureError) as caught:
        model.chat(ASK)
    assert "secret" not in str(caught.value) + repr(model)


def test_a_proxy_in_the_environment_does_not_get_loopback_calls(server, chat, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert chat().chat(ASK).text == "ok"


def test_one_client_for_many_threads(server, chat):
    server.answer = lambda body: server.saying(body["messages"][0]["content"])
    model = chat()
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: model.chat([{"role": "user", "content": str(n)}]).text, range(40)))
    assert texts == [str(n) for n in range(40)]


def test_it_opens_again_after_closing_and_leaves_no_socket_open(server):
    model = OpenAIChat("m", base_url=server.url)
    model.chat(ASK)
    model.close()
    assert model.chat(ASK).text == "ok"
    del model
    gc.collect()  # an open socket would be a ResourceWarning, which is an error here


def test_a_schema_is_sent_and_read(server, chat):
    server.script(server.saying('{"a": 4}'), server.saying('"qx"'))
    model = chat()
    assert model.chat(ASK, schema=OBJECT).parsed == {"a": 4}
    assert model.chat(ASK, schema=EMOJI).parsed == "qx"
    formats = [request["response_format"] for request in server.requests]
    assert formats[0]["json_schema"] == {"name": "reply", "schema": OBJECT, "strict": True}
    assert formats[1]["json_schema"]["schema"] == EMOJI


def test_the_ladder_is_climbed_down_once(server, chat):
    def answer(body):
        form = body.get("response_format", {})
        if form.get("type") == "json_schema" and form["json_schema"]["schema"]["type"] != "object":
            return server.refusing(400, "Invalid schema for response_format 'reply': schema must be an object")
        if form.get("type") == "json_schema":
            return server.refusing(400, "json_schema is not supported", param="response_format")
        if form:
            return server.refusing(400, "'response_format.type' must be 'text'")
        return server.saying("qx")

    server.answer = answer
    model = chat()
    reply = model.chat(ASK, schema=EMOJI)
    assert reply.parsed == "qx"
    assert reply.usage.calls == 1
    kinds = [request.get("response_format", {}).get("type") for request in server.requests]
    assert kinds == ["json_schema", "json_schema", "json_object", None]
    assert "JSON Schema" in server.requests[-1]["messages"][-1]["content"]
    model.chat(ASK, schema=EMOJI)
    assert len(server.requests) == 5


def test_json_mode_wraps_what_is_no_object_and_unwraps_the_reply(server, chat):
    server.script(
        server.refusing(400, "grammar is not available"),
        server.refusing(400, "grammar is not available"),
        server.saying('{"value": "zz"}'),
    )
    reply = chat().chat(ASK, schema=EMOJI)
    assert (reply.parsed, reply.text) == ("zz", '"zz"')
    assert '"value"' in server.requests[-1]["messages"][-1]["content"]


def test_other_refusals_end_the_ladder(server, chat):
    server.script(server.refusing(400, "the moon is wrong"))
    with pytest.raises(RequestError, match="moon"):
        chat().chat(ASK, schema=EMOJI)
    assert len(server.requests) == 1


def test_a_wrong_reply_is_asked_for_again_with_the_error(server, chat):
    server.script(server.saying('{"a": "four"}'), server.saying('{"a": 4}'))
    reply = chat().chat(ASK, schema=OBJECT)
    assert reply.parsed == {"a": 4}
    assert (reply.usage.calls, reply.usage.prompt_tokens) == (2, 14)
    again = server.requests[1]["messages"]
    assert again[0] == ASK[0]
    assert again[1] == {"role": "assistant", "content": '{"a": "four"}'}
    assert "reply.a must be of type integer" in again[2]["content"]


@pytest.mark.parametrize("text", ["", "no", "x" * 1_000_000, '{"a": ' * 5000])
def test_a_second_wrong_reply_is_a_parse_error_that_knows_what_was_paid(server, chat, text):
    server.script(server.saying(text), server.saying(text))
    with pytest.raises(ParseError, match="asked twice") as caught:
        chat().chat(ASK, schema=OBJECT)
    assert len(str(caught.value)) < 1500
    assert caught.value.reply.usage.calls == 2
    assert len(json.dumps(server.requests[1])) < 5000


def test_first_model(server):
    assert first_model(server.url) == "served-model"
    server.models.clear()
    with pytest.raises(InfrastructureError, match=r"names no model.*-c llm\.model=NAME"):
        first_model(server.url)
    with pytest.raises(NotFoundError, match=r"lists no models.*-c llm\.model=NAME") as caught:
        first_model(f"{server.url}/elsewhere")
    assert "''" not in str(caught.value)
    with pytest.raises(LLMError, match="cannot be reached"):
        first_model("http://127.0.0.1:9/v1", timeout=1)


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


def test_wrong_key(server, chat):
    server.script(server.refusing(401, "Incorrect API key provided: sk-very-secret", code="invalid_api_key"))
    model = chat(api_key="sk-very-secret")
    with pytest.raises(AuthError, match="OPENAI_API_KEY") as caught:
        model.chat(ASK)
    assert "secret" not in str(caught.value) + repr(model) + repr(vars(caught.value))
    assert caught.value.__cause__ is None
    assert server.headers[0]["authorization"] == "Bearer sk-very-secret"


def test_unreachable(chat):
    with socket.socket() as held:  # bound and not listening: refuses
        held.bind(("127.0.0.1", 0))
        with pytest.raises(InfrastructureError, match=r"cannot be reached.*2 tries.*running"):
            chat(base_url=f"http://127.0.0.1:{held.getsockname()[1]}/v1", max_retries=1).chat(ASK)


def test_silence(server, chat):
    server.script(server.hanging(), server.hanging())
    began = time.monotonic()
    with pytest.raises(InfrastructureError, match=r"did not answer within 0.1 s \(2 tries\)"):
        chat(timeout=0.1, max_retries=1).chat(ASK)
    assert time.monotonic() - began < 5
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failing_server_is_tried_again(server, chat, status):
    server.script(server.refusing(status, "busy"), server.refusing(status, "busy"), server.saying("there"))
    assert chat(max_retries=2).chat(ASK).text == "there"
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 500])
def test_a_server_that_keeps_failing(server, chat, status):
    server.script(*[server.refusing(status, "busy")] * 3)
    with pytest.raises(InfrastructureError, match=rf"status {status} \(3 tries\): busy"):
        chat(max_retries=2).chat(ASK)


def test_the_pause_that_a_server_asks_for_is_kept(server, chat):
    quick = {"retry-after-ms": "junk", "Retry-After": "0.3"}
    server.script(server.refusing(429, "slow down", quick), server.saying("there"))
    reply = chat(max_retries=1).chat(ASK)
    assert reply.text == "there"
    assert reply.usage.seconds >= 0.3


def test_a_cut_reply_is_asked_for_again(server, chat):
    server.script(server.cutting(), server.saying("whole"))
    assert chat(max_retries=1).chat(ASK).text == "whole"


def test_replies_that_stay_cut(server, chat):
    server.script(server.cutting(), server.cutting())
    with pytest.raises(InfrastructureError, match=r"cut the connection \(2 tries"):
        chat(max_retries=1).chat(ASK)


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("too long", {"code": "context_length_exceeded"}),
        ("request (5000 tokens) exceeds it", {"code": 400, "type": "exceed_context_size_error", "n_ctx": 4096}),
        ("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens", {"code": 400}),
        ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", {}),
        ("Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", {}),
        ("The input token count (5000) exceeds the maximum number of tokens allowed (4096).", {}),
        ("Please reduce the length of the messages or completion.", {}),
    ],
)
def test_prompts_that_are_too_long(server, chat, message, more):
    server.script(server.refusing(400, message, **more))
    with pytest.raises(ContextLengthError, match="shorten"):
        chat().chat(ASK)
    assert len(server.requests) == 1


def test_a_request_that_is_too_large_is_a_prompt_that_is_too_long(server, chat):
    server.script(
        server.sending(b"<html>413 Request Entity Too Large</html>", 413, {"Content-Type": "text/html"}),
        server.sending(b'[{"error": {"code": 400, "message": "The input token count (12) exceeds the maximum"}}]', 400),
        server.refusing(400, "Provider returned error", metadata={"raw": "maximum context length is 8192"}),
    )
    model = chat()
    for _ in range(3):
        with pytest.raises(ContextLengthError, match="shorten"):
            model.chat(ASK)


def test_a_prompt_that_is_moderated_is_no_wrong_key(server, chat):
    server.script(
        server.refusing(403, 'x requires moderation. Your input was flagged for "violence"'),
        server.refusing(403, "no access to this model"),
    )
    model = chat()
    with pytest.raises(RefusedError, match="flagged"):
        model.chat(ASK)
    with pytest.raises(AuthError):
        model.chat(ASK)


@pytest.mark.parametrize(
    "message",
    [
        "invalid temperature: only 1 is allowed for this model",
        "`temperature` is deprecated for this model.",
        "Input validation error: `temperature` must be strictly positive",
        [{"error": {"message": 'Invalid JSON payload received. Unknown name "temperature": Cannot find field.'}}],
    ],
)
def test_a_temperature_that_is_not_taken_is_left_out(server, chat, message):
    refusal = (
        server.refusing(400, message) if isinstance(message, str) else server.sending(json.dumps(message).encode(), 400)
    )
    server.script(refusal, server.saying("there"))
    assert chat().chat(ASK).text == "there"
    assert "temperature" not in server.requests[1]


def test_a_model_that_does_not_exist(server, chat):
    server.script(server.refusing(404, "The model 'm' does not exist", code="model_not_found"))
    with pytest.raises(RequestError, match=r"404.*does not exist.*'m'"):
        chat().chat(ASK)


def test_other_refusals_carry_the_servers_words_shortened(server, chat):
    server.script(
        server.refusing(400, "bad " * 1000),
        server.sending(b'{"detail": [{"loc": ["body"], "msg": "field odd"}]}', 422),
        server.sending(b'{"object": "error", "message": "plain odd", "code": 400}', 400),
        server.sending(b"no \xff way", 418, {"Content-Type": "text/plain"}),
    )
    model = chat()
    for words in ("bad bad", "field odd", "plain odd", "no "):
        with pytest.raises(RequestError, match=words) as caught:
            model.chat(ASK)
        assert len(str(caught.value)) < 900


def test_parameters_that_a_model_refuses_are_given_up_once_and_for_all(server, chat, caplog):
    def answer(body):
        if "max_tokens" in body:
            return server.refusing(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
                param="max_tokens",
                code="unsupported_parameter",
            )
        if "temperature" in body:
            words = "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value."
            return server.refusing(400, words, param="temperature", code="unsupported_value")
        if "stop" in body:
            return server.refusing(400, "Unsupported parameter: 'stop' is not supported with this model.")
        return server.saying("one\ntwo")

    server.answer = answer
    model = chat("gpt-5-mini")
    with caplog.at_level(logging.WARNING):
        assert model.chat(ASK, max_tokens=5, stop=["\n"]).text == "one"
    assert len(server.requests) == 4
    assert len(caplog.records) == 3
    assert model.chat(ASK, max_tokens=6, stop=["tw"]).text == "one\n"
    assert len(server.requests) == 5
    assert server.requests[-1] == {"model": "gpt-5-mini", "messages": ASK, "seed": 0, "max_completion_tokens": 6}


def test_a_refusal_that_only_names_a_parameter_is_a_refusal(server, chat):
    server.script(server.refusing(400, "max_tokens is too large: 5000", param="max_tokens"))
    with pytest.raises(RequestError, match="too large"):
        chat().chat(ASK, max_tokens=5000)
    assert len(server.requests) == 1


@pytest.mark.parametrize("style", ["act", "react", "choose"])
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "it exceeds the available context size", "type": "exceed_context_size_error"}),
        (400, {"message": "too long", "code": "context_length_exceeded"}),
        (500, {"message": "Context size has been exceeded."}),
    ],
)
def test_a_prompt_that_outgrows_the_server_ends_the_attempt_as_a_failure(server, chat, style, status, error):
    """Each action brings a longer observation, until the server refuses."""

    class Endless:
        def reset(self, task, *, seed=None):
            return task.text, {"choices": ["on"]}

        def step(self, action):
            return "and on " * 100, 0.0, False, False, {"choices": ["on"]}

    def answer(body):
        long = sum(len(message["content"]) for message in body["messages"]) > 2000
        said = {"act": "on", "react": "Thought: go.\nAction: on", "choose": '"on"'}[style]
        return server.refusing(status, **error) if long else server.saying(said)

    server.answer = answer
    agent = React(llm=chat(max_retries=1), instruction="Go.", style=style, repeats=None)
    made = agent.run(Task(id="t", text="Go on."), Endless(), Guidance())
    assert (made.outcome.success, made.outcome.reason) == (False, "context")
    assert "does not fit into the context" in made.outcome.detail
    refused = len(server.requests) - len(made.steps)
    assert (len(made.steps), refused) == (3, 1 if status == 400 else 2)


def test_prices():
    tokens = {"prompt_tokens": 1_000_000, "cached_tokens": 0, "completion_tokens": 0}
    full = cost("gpt-4o-mini", None, **tokens)
    assert full == pytest.approx(0.15)
    assert cost("gpt-4o-mini", "https://api.openai.com/v1", **tokens) == full
    assert 0 < cost("gpt-4o-mini", None, **(tokens | {"cached_tokens": 900_000})) < full
    assert cost("gpt-4o-mini", "http://127.0.0.1:8080/v1", **tokens) is None
    assert cost("no-such-model", None, **tokens) is None
    assert cost("gpt-4o-mini", None, **(tokens | {"prompt_tokens": -1})) is None
    assert cost("", "http://\0", **tokens) is None

import gc
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from seasoned.errors import (
    AuthError,
    ConfigError,
    InfrastructureError,
    LLMError,
    NotFoundError,
    ParseError,
    RequestError,
)
from seasoned.llm.openai import OpenAIChat, first_model

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
    with pytest.raises(InfrastructureError, match="no chat reply") as caught:
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
    with pytest.raises(InfrastructureError, match=f"in place of a reply.*{said}"):
        chat(api_key="sk-1").chat(ASK)


@pytest.mark.parametrize("body", [b"", b'{"choices": [{"mess', b'{"error": {"message": "upstream is down"}}'])
def test_an_answer_that_is_no_reply_is_asked_for_once_more(server, chat, body):
    server.script(server.sending(body))
    assert chat(max_retries=1).chat(ASK).text == "ok"
    server.script(server.sending(body), server.sending(body))
    with pytest.raises(InfrastructureError):
        chat(max_retries=4).chat(ASK)
    server.script(server.sending(body))
    with pytest.raises(InfrastructureError):
        chat(max_retries=0).chat(ASK)
    assert len(server.requests) == 2 + 2 + 1


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

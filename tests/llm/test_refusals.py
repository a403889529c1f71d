import json
import logging
import socket
import time

import pytest

from seasoned.agents.react import React
from seasoned.errors import AuthError, ContextLengthError, InfrastructureError, RefusedError, RequestError
from seasoned.types import Guidance, Task

ASK = [{"role": "user", "content": "hello"}]


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

"""A server's address, the key for it, and what its errors mean. What it does over the wire: tests/llm, tests/embed."""

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.endpoint import OPENAI_URL, Endpoint, said_in
from seasoned.errors import AuthError, ConfigError, InfrastructureError, NotFoundError, RefusedError, RequestError

REQUEST = httpx.Request("POST", "http://127.0.0.1:9/v1/chat/completions")


def endpoint(base_url="http://127.0.0.1:9/v1", api_key="sk-secret"):
    return Endpoint(base_url, api_key, timeout=3.0, max_retries=0)


def refusal(status, body):
    return openai.APIStatusError("as the SDK says it", response=httpx.Response(status, request=REQUEST), body=body)


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_the_address_is_the_given_one_or_that_of_the_environment_or_openais(monkeypatch):
    assert endpoint(None).where == OPENAI_URL
    assert endpoint(None).base_url is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://[::1]:8080/v1")
    assert (endpoint(None).where, endpoint(None).host) == ("http://[::1]:8080/v1", "::1")
    assert endpoint().where == "http://127.0.0.1:9/v1"


def test_a_password_is_not_shown_and_an_address_that_is_none_is_refused():
    assert repr(endpoint("http://me:pass@127.0.0.1:9/v1?x=pass")) == "Endpoint('http://127.0.0.1:9/v1')"
    for wrong in ("ftp://x", "localhost:8080", "http://", "http://h:99999/v1", "http://[::1"):
        with pytest.raises(ConfigError, match="base_url"):
            endpoint(wrong)


def test_the_key(monkeypatch):
    assert endpoint(api_key=None).key() == "no-key"
    assert endpoint(api_key=" k ").key() == "k"
    with pytest.raises(AuthError, match="export OPENAI_API_KEY"):
        endpoint(None, None).key()
    with pytest.raises(AuthError, match="not allowed in keys") as caught:
        endpoint(api_key="sk-\u00e9t\u00e9").key()
    assert "\u00e9" not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", "of the environment")
    assert endpoint(api_key=None).key() == "of the environment"


def test_one_client_until_it_is_closed():
    made = endpoint()
    first = made.client()
    assert made.client() is first
    made.close()
    assert made.client() is not first
    made.close()
    made.close()


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, AuthError, "check OPENAI_API_KEY"),
        (403, AuthError, "check OPENAI_API_KEY"),
        (402, RequestError, "add credit to the account"),
        (404, NotFoundError, "check the model's name 'm'"),
        (400, RefusedError, "status 400: no *** here"),
        (422, RefusedError, "status 422"),
        (409, InfrastructureError, "Try again later"),
        (429, InfrastructureError, r"status 429 \(1 try\)"),
        (503, InfrastructureError, "Try again later"),
    ],
)
def test_a_status_is_an_error_of_ours_without_the_key(status, kind, says):
    told = endpoint().translated(refusal(status, {"message": "no sk-secret here"}), "m")
    assert type(told) is kind
    assert "secret" not in str(told)
    with pytest.raises(kind, match=says.replace("***", r"\*\*\*")):
        raise told


def test_what_never_reached_the_server():
    made = endpoint()
    assert "did not answer within 3 s" in str(made.translated(openai.APITimeoutError(REQUEST), "m"))
    assert "cannot be reached" in str(made.translated(openai.APIConnectionError(request=REQUEST), "m"))
    assert "the client for" in str(made.translated(openai.OpenAIError("sk-secret broke"), "m"))


def test_what_the_server_said():
    bodies = [{"message": "a"}, {"detail": "b"}, {"error": "c"}, {"detail": [1]}, "d", "", None]
    said = [said_in(refusal(400, body)) for body in bodies]
    assert said == ["a", "b", "c", '{"detail": [1]}', "d", "as the SDK says it", "as the SDK says it"]


@given(st.text() | st.text(alphabet="\ud800 \0\n", min_size=1), st.integers(1, 50))
def test_a_servers_words_are_one_short_line_that_can_be_stored(text, times):
    line = endpoint().safe(f"{text}sk-secret" * times * 20)
    line.encode("utf-8")
    assert "\n" not in line
    assert "\0" not in line
    assert "secret" not in line
    assert len(line) < 600

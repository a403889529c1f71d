"""The endpoint embedder against a real HTTP server on loopback that says what a test wants."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.embed.openai import OpenAIEmbedder, _read
from seasoned.errors import (
    AuthError,
    ConfigError,
    ContextLengthError,
    InfrastructureError,
    RequestError,
)

KEY = "sk-a-very-secret-key"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests = []
        self.answer = good

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], body))
        status, said = self.server.answer(body)
        said = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *args):
        pass


def good(body):
    data = [{"index": place, "embedding": [float(len(text)), 1.0, 0.0]} for place, text in enumerate(body["input"])]
    return 200, {"data": data[::-1], "model": body["model"]}


def refuse(status, message):
    return lambda body: (status, {"error": {"message": message}})


@pytest.fixture
def server():
    made = _Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def make(server):
    open_now = []

    def made(**options):
        options = {"base_url": server.url, "api_key": KEY, "dim": 3, "max_retries": 0, **options}
        open_now.append(OpenAIEmbedder("words", **options))
        return open_now[-1]

    yield made
    for each in open_now:
        each.close()


def test_batches_in_order_with_blanks_left_out(server, make):
    matrix = make(batch=2).embed(["abc", "", "de", "f", " \n"])
    assert [body["input"] for _, _, body in server.requests] == [["abc", "de"], ["f"]]
    assert {path for path, _, _ in server.requests} == {"/v1/embeddings"}
    assert {key for _, key, _ in server.requests} == {f"Bearer {KEY}"}
    assert matrix.dtype == np.float32
    assert np.allclose(matrix[[0, 2, 3]], [np.array([n, 1, 0]) / (n * n + 1) ** 0.5 for n in (3, 2, 1)])
    assert matrix[[1, 4]].tolist() == [[1, 0, 0]] * 2


def test_nothing_is_asked_for_nothing(server, make):
    assert make().embed([]).shape == (0, 3)
    assert server.requests == []


def test_an_unknown_dimension_is_asked_for_once(server, make):
    made = make(dim=None)
    assert made.dim == 3
    made.embed(["a"])
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "said", "error"),
    [
        (401, "bad key " + KEY, AuthError),
        (403, "not for you", AuthError),
        (404, "no such model", RequestError),
        (400, "input must be text", RequestError),
        (400, "maximum context length is 8192 tokens", ContextLengthError),
        (500, "input is too large to process", ContextLengthError),
        (429, "slow down", InfrastructureError),
        (500, "oops", InfrastructureError),
        (503, "loading", InfrastructureError),
    ],
)
def test_what_a_server_refuses_is_one_sentence_without_the_key(server, make, status, said, error):
    server.answer = refuse(status, said)
    with pytest.raises(error) as caught:
        make().embed(["a"])
    assert KEY not in str(caught.value)
    assert str(status) in str(caught.value) or error is ContextLengthError


def test_a_busy_server_is_asked_again(server, make):
    server.answer = lambda body: good(body) if len(server.requests) > 1 else (503, {"error": {"message": "loading"}})
    assert make(max_retries=1).embed(["abc"]).shape == (1, 3)


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>hello</html>"),
        (200, b""),
        (200, []),
        (200, {"data": []}),
        (200, {"data": [{"index": 0, "embedding": [1.0, float("nan"), 0.0]}]}),
        (200, {"data": [{"index": 0, "embedding": [10**400, 1, 0]}]}),
        (200, {"data": [{"index": 5, "embedding": [1, 1, 0]}]}),
        (200, {"data": [{"index": 0, "embedding": "AAAA"}]}),
    ],
)
def test_what_are_no_embeddings_is_a_sentence(server, make, answer):
    server.answer = lambda body: answer
    with pytest.raises(InfrastructureError, match="did not answer with 1 embeddings"):
        make().embed(["a"])


def test_another_dimension_than_promised_is_a_sentence(make):
    with pytest.raises(InfrastructureError, match="a vector of 3 numbers, but words should have 5"):
        make(dim=5).embed(["a"])


def test_a_server_that_is_not_there(make):
    with pytest.raises(InfrastructureError, match="cannot be reached"):
        make(base_url="http://127.0.0.1:9/v1").embed(["a"])


def test_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(AuthError, match="export OPENAI_API_KEY"):
        OpenAIEmbedder("text-embedding-3-small").embed(["a"])


def test_no_password_is_shown():
    made = OpenAIEmbedder("words", base_url="http://me:secret@127.0.0.1:9/v1", api_key=KEY, dim=3)
    assert repr(made) == "OpenAIEmbedder('words', at http://127.0.0.1:9/v1)"


@pytest.mark.parametrize("options", [{"base_url": "ftp://x"}, {"base_url": "http://[x"}, {"dim": 0}, {"batch": 0}])
def test_wrong_settings(options):
    with pytest.raises(ConfigError):
        OpenAIEmbedder("words", **{"base_url": "http://127.0.0.1:9/v1", "api_key": KEY, **options})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["data", "index", "embedding", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(body=JSON, data=st.lists(st.dictionaries(st.sampled_from(["index", "embedding"]), JSON), max_size=3))
def test_reading_never_fails_and_gives_vectors_of_one_length(body, data):
    for each in (body, {"data": data}):
        for count in (1, 2):
            found = _read(each, count)
            assert found is None or (len(found) == count and len({len(vector) for vector in found}) == 1)

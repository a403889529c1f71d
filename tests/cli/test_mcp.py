"""`seasoned mcp`: what the command adds to the server (its protocol is tested in tests/mcp/)."""

import sys

import seasoned.mcp


def test_the_memory_that_is_served(cli, monkeypatch):
    served = []
    monkeypatch.setattr(seasoned.mcp, "serve_stdio", lambda memory: served.append(repr(memory)))
    done = cli("mcp", "--store", "m.db", "--namespace", "mine", "--method", "expnote", "--embedder", "hashing")
    assert (done.code, done.out) == (0, "")
    assert len(served) == 1
    assert "namespace='mine'" in served[0]
    assert "method='expnote'" in served[0]


def test_the_address_and_the_token_are_printed(cli, monkeypatch):
    given = {}

    def serve(memory, *, port, token, ready, host):
        assert host == "127.0.0.1"
        given.update(port=port, token=token)
        ready("http://127.0.0.1:1/mcp")

    monkeypatch.setattr(seasoned.mcp, "serve_http", serve)
    words = ("mcp", "--http", "--port", "0", "--method", "expnote", "--embedder", "hashing")
    assert cli(*words[:2], *words[4:]).code == 0
    assert given["port"] == 8765
    first = cli(*words)
    assert first.out == f"http://127.0.0.1:1/mcp\nAuthorization: Bearer {given['token']}\n"
    assert len(given["token"]) >= 32
    assert cli(*words).out != first.out
    monkeypatch.setenv("SEASONED_MCP_TOKEN", "own-token-0123456789")
    assert "own-token" not in cli(*words).out
    assert given == {"port": 0, "token": "own-token-0123456789"}


def test_mistakes_are_sentences(cli):
    done = cli("mcp", "--method", "none", "--embedder", "hashing")
    assert (done.code, done.out) == (1, "")
    assert "there is no method 'none'" in done.err
    assert cli("mcp", "--port", "70000").code == 2
    done = cli("mcp", "--port", "99")
    assert (done.code, done.err) == (1, "seasoned: --port is for --http: add --http, or leave --port out\n")


def test_without_the_sdk_it_says_what_to_install(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    done = cli("mcp", "--method", "expnote", "--embedder", "hashing")
    assert done.code == 1
    assert "pip install 'seasoned[mcp]'" in done.err

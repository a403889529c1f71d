"""Opening the model a recipe names."""

import http.server
import json
import threading

import pytest

from seasoned.errors import AuthError, InfrastructureError, SeasonedError
from seasoned.lab.run.settings import LLMSettings
from seasoned.llm.opening import check_llm, open_llm


@pytest.fixture
def server():
    class Models(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"object": "list", "data": [{"id": "first", "object": "model"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Models) as played:
        thread = threading.Thread(target=played.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{played.server_address[1]}/v1"
        played.shutdown()
        thread.join()


def test_no_key_is_told_before_anything_is_done():
    with pytest.raises(AuthError, match="OPENAI_API_KEY"), open_llm(LLMSettings(model="gpt-5-mini")):
        pass


def test_a_server_given_needs_no_key_and_its_first_model_is_taken(server):
    with open_llm(LLMSettings(base_url=server)) as model:
        assert model.name == "first"
    with open_llm(LLMSettings(base_url=server, model="mine")) as model:
        assert model.name == "mine"


def test_a_closed_port_is_a_sentence(server):
    with (
        pytest.raises(InfrastructureError, match=r"127\.0\.0\.1"),
        open_llm(LLMSettings(base_url="http://127.0.0.1:9/v1")),
    ):
        pass


def test_a_file_of_the_users_that_is_no_model(tmp_path):
    file = tmp_path / "own.gguf"
    file.write_bytes(b"text")
    with pytest.raises(SeasonedError, match=r"own\.gguf"), open_llm(LLMSettings(path=str(file))):
        pass


def test_a_model_is_looked_at_without_being_opened(server, tmp_path, monkeypatch):
    monkeypatch.setenv("SEASONED_CACHE", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    later = [LLMSettings(), LLMSettings(model="gpt-5-mini"), LLMSettings(base_url="http://127.0.0.1:9/v1")]
    for settings in later:
        check_llm(settings, dry=True)
        with pytest.raises(SeasonedError):
            check_llm(settings)
    for wrong in (LLMSettings(path="none.gguf"), LLMSettings(base_url="localhost:11434")):
        with pytest.raises(SeasonedError):
            check_llm(wrong, dry=True)
    check_llm(LLMSettings(base_url=server))

"""A real HTTP server on loopback that plays an OpenAI-compatible chat endpoint from a script."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from seasoned.llm.openai import OpenAIChat

Turn = Callable[["_Handler"], None]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    play: "ChatServer"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.play.lock:
            self.play.requests.append(body)
            self.play.headers.append({name.lower(): value for name, value in self.headers.items()})
            turn = self.play.turns.pop(0) if self.play.turns else None
        if turn is None:
            turn = self.play.answer(body) if self.play.answer else self.play.saying("ok")
        turn(self)

    def do_GET(self) -> None:
        if "elsewhere" in self.path:
            self.send(404, b'{"error": {"message": "no such path"}}')
            return
        models = json.dumps({"object": "list", "data": [{"id": name} for name in self.play.models]})
        self.send(200, models.encode())

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (
            {"Content-Type": "application/json", "Content-Length": str(len(body))} | (headers or {})
        ).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@dataclass
class ChatServer:
    """Plays `turns` in order; then `answer(body)` makes the turn, or "ok" is said."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], Turn] | None = None
    models: list[str] = field(default_factory=lambda: ["served-model"])
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    def script(self, *turns: Turn) -> None:
        self.turns += turns

    def saying(self, text: Any, finish: Any = "stop", usage: Any = None, **extra: Any) -> Turn:
        used = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10} if usage is None else usage
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        body = {"id": "c", "object": "chat.completion", "model": "served-model", "choices": [choice], "usage": used}
        return self.sending(json.dumps(body | extra).encode())

    def sending(self, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Turn:
        return lambda handler: handler.send(status, body, headers)

    def refusing(self, status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Turn:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None} | more
        return self.sending(json.dumps({"error": error}).encode(), status, {"retry-after-ms": "1"} | (headers or {}))

    def cutting(self) -> Turn:
        """Promises a long reply, sends its beginning, and closes the connection."""

        def turn(handler: _Handler) -> None:
            handler.close_connection = True
            handler.send(200, b'{"choices": [{"mess', {"Content-Length": "5000"})

        return turn

    def hanging(self) -> Turn:
        """Says nothing until the server is shut down."""

        def turn(handler: _Handler) -> None:
            handler.close_connection = True
            self.over.wait()

        return turn


@pytest.fixture
def server() -> Iterator[ChatServer]:
    play = ChatServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"play": play}))
    http.daemon_threads = True
    play.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield play
    finally:
        play.over.set()
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def chat(server: ChatServer) -> Iterator[Callable[..., OpenAIChat]]:
    """Makes models that ask the server; they are closed at the end."""
    models: list[OpenAIChat] = []

    def make(model: str = "m", **options: Any) -> OpenAIChat:
        models.append(OpenAIChat(model, **({"base_url": server.url, "max_retries": 0} | options)))
        return models[-1]

    yield make
    for model in models:
        model.close()

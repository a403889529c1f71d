"""A chat server that answers at once; a separate program, so that it shares no interpreter lock with its client.

It prints its port and serves until its standard input ends; given a number, it waits that many seconds before each
answer. Always holds: it listens on loopback only; a request for one of several values gets the first of them, and any
other request the same short text. After a PUT with a message, that message is the answer to every request, with the
request's number for each NUMBER in it, and a GET returns the requests since the last GET.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

_PAUSE = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
_messages: list[str] = []
_requests: list[Any] = []
_numbers = count()


class Handler(BaseHTTPRequestHandler):
    """Sends answers on connections that stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one packet

    def send(self, body: bytes, status: int = 200, length: int | None = None, **headers: str) -> None:
        """Send an answer; `length` is what its head says, if that is wrong."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class Chat(Handler):
    """Answers every POST with a chat completion."""

    def do_POST(self) -> None:
        """Answer a request."""
        request = json.loads(self._body())
        time.sleep(_PAUSE)
        message = {"role": "assistant", "content": _first_choice(request.get("response_format")) or "joy, relief"}
        if _messages:
            _requests.append(request)
            message = json.loads(_messages[-1].replace("NUMBER", str(next(_numbers))))
        self.send(completion(message, 700, "m"))

    def do_PUT(self) -> None:
        """Set the message that is the answer from now on."""
        _messages.append(self._body().decode())
        self.send(b"{}")

    def do_GET(self) -> None:
        """Return the requests since the last time."""
        requests, _requests[:] = list(_requests), []
        self.send(json.dumps(requests).encode())

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))


def completion(message: dict[str, Any], prompt_tokens: int, model: str) -> bytes:
    """A chat completion with this message, as JSON."""
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    used = {"prompt_tokens": prompt_tokens, "completion_tokens": 5, "total_tokens": prompt_tokens + 5}
    answer = {"id": "c", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
    return json.dumps({**answer, "usage": used}).encode()


def _first_choice(form: Any) -> str:
    """The JSON text of the first value that a schema lists; "" if it lists none."""
    try:
        return json.dumps(form["json_schema"]["schema"]["enum"][0])
    except (TypeError, KeyError, IndexError):
        return ""


class Server(ThreadingHTTPServer):
    """A server that many threads may connect to at once."""

    request_queue_size = 128


def serve(server: ThreadingHTTPServer) -> None:
    """Print the port, and serve until standard input ends."""
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    serve(Server(("127.0.0.1", 0), Chat))

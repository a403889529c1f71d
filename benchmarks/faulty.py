"""A chat server that counts requests and fails on purpose; a separate program, since `make faults` kills its clients.

It prints its port and serves until its standard input ends. Always holds: it listens on loopback only; an answer
follows from its request alone, so that two runs of one recipe get the same; each answer is numbered, and has its number
in the model's name, which a client stores with the reply. POST /set takes {"pause": seconds, "share": share of requests
that fail}; GET /asked returns [number, digest of the request] for each request so far; GET /faults counts the failures;
GET /open counts the other open connections.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress
from http.server import ThreadingHTTPServer
from itertools import count
from typing import Any

from loopback import Handler, completion, serve

KINDS = ("429 with Retry-After", "429", "500", "503", "reset", "cut body", "HTML with 200", "no choices", "empty body")
_state: dict[str, float] = {"pause": 0.0, "share": 0.0}
_asked: list[tuple[int, str]] = []
_open: set[Any] = set()
_failed: Counter[str] = Counter()
_numbers, _chance, _lock = count(), random.Random(5), threading.Lock()
_HTML = b"<html><body><h1>Bad gateway</h1></body></html>"


class Chat(Handler):
    """Answers every POST with a chat completion, or with a failure."""

    def do_POST(self) -> None:  # noqa: N802
        """Answer a request, or set the state."""
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # the client was killed while it sent this, so nothing was asked
            self.close_connection = True
            return
        if self.path.endswith("/set"):
            _state.update(json.loads(body))
            self.send(b"{}")
            return
        with _lock:
            fault = _chance.choice(KINDS) if _chance.random() < _state["share"] else ""
            number = next(_numbers)
            if fault:
                _failed[fault] += 1
            else:
                _asked.append((number, hashlib.sha256(body).hexdigest()))
        time.sleep(_state["pause"])
        if fault:
            self._fail(fault)
            return
        message = {"role": "assistant", "content": _words(json.loads(body))}
        with suppress(OSError):  # the client may be killed
            self.send(completion(message, len(body) // 4, f"m#{number}"))

    def do_GET(self) -> None:  # noqa: N802
        """Return the requests so far, the count of each failure, or the number of other open connections."""
        value = {"asked": _asked, "open": len(_open) - 1}.get(self.path.rpartition("/")[2], _failed)
        self.send(json.dumps(value).encode())

    def _fail(self, fault: str) -> None:
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fault == "cut body":
            self.send(b'{"choices": [{"message": {"con', length=500)
            self.close_connection = True
        elif fault[:3] in ("429", "500", "503"):
            more = {"Retry-After": "0.2"} if "Retry-After" in fault else {}
            self.send(b'{"error": {"message": "on purpose"}}', int(fault[:3]), **more)
        else:
            self.send({"no choices": b'{"id": "c", "choices": []}', "empty body": b""}.get(fault, _HTML))


class Server(ThreadingHTTPServer):
    """Keeps the open connections; accepts them in the order in which they were made."""

    request_queue_size = 512

    def process_request(self, request: Any, client_address: Any) -> None:
        """Count the connection, then answer in a thread."""
        _open.add(client_address)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer until the client is gone."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            _open.discard(client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: clients are killed."""


def _words(request: Any) -> str:
    """A reply that follows from the request: a value of its schema, or a short sentence."""
    last = json.dumps(request.get("messages", [])[-1:])
    chance = random.Random(hashlib.sha256(last.encode()).digest())
    form = request.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema")
    if schema is not None:
        return json.dumps(_value(schema, chance))
    return f"It speaks of {_two(chance)}, so that is what fits best here."


def _value(schema: Any, chance: random.Random) -> Any:
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        return {name: _value(inner, chance) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [_value(schema.get("items", {}), chance) for _ in range(max(1, schema.get("minItems", 1)))]
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    if kind == "boolean":
        return chance.random() < 0.5
    pattern = schema.get("pattern", "")
    begins = re.match(r"\^([\w ]*)", pattern)  # such as a heuristic's action
    text = f"{begins[1] if begins else ''}Look for {_two(chance)} first."[: schema.get("maxLength", 80)]
    return text if re.fullmatch(pattern or ".*", text) else _two(chance).replace(" and ", ": ")


def _two(chance: random.Random) -> str:
    words = ("rain", "home", "loss", "pride", "noise", "friends", "money", "night", "work", "a promise", "bread", "ice")
    return " and ".join(chance.sample(words, 2))


if __name__ == "__main__":
    serve(Server(("127.0.0.1", 0), Chat))

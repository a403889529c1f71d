"""A memory to adapt, what it kept, and a server that speaks OpenAI's chat completions and responses."""

import asyncio
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from seasoned.memory import Memory
from seasoned.store.sql import Store

RULE = "Look the order up before any refund."


@pytest.fixture(autouse=True)
def _loop():
    """An event loop for the `run_sync` of frameworks, which make one otherwise and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    """The bytes of a store without anything in it."""
    path = tmp_path_factory.mktemp("empty") / "memory.db"
    Store(path).close()
    return path.read_bytes()


@pytest.fixture
def memory(tmp_path, empty):
    """A memory without anything in it."""
    (tmp_path / "memory.db").write_bytes(empty)
    with Memory(tmp_path / "memory.db", method="expnote", embedder="hashing") as memory:
        yield memory


@pytest.fixture
def taught(memory):
    """The same memory, with RULE in it."""
    memory.add(RULE)
    return memory


@pytest.fixture
def kept(memory):
    """The attempts that were kept so far, in order."""
    return lambda: memory.pool.trajectories()


@pytest.fixture
def confused():
    """A check that fails."""

    def check(task, answer):
        raise RuntimeError("who knows")

    return check


@pytest.fixture
def lost(kept, caplog):
    """Sees that a run whose check failed was kept as unknown, and that one sentence says so."""

    def look():
        [sentence] = caplog.messages
        assert "its record could not be completed: RuntimeError: who knows" in sentence
        [found] = kept()
        assert (found.outcome.success, found.outcome.detail) == (None, "ended by RuntimeError")
        return True

    return look


@dataclass
class Play:
    """Answers requests with the bodies in `turns`, in order; a number is a refusal with that status."""

    url: str = ""
    turns: list = field(default_factory=list)
    requests: list = field(default_factory=list)

    def says(self, text=None, *calls, **more):
        """A chat completion that says a text, and calls tools: (id, name, arguments)."""
        tools = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
        message = {"role": "assistant", "content": text, **({"tool_calls": tools} if tools else {})}
        choice = {"index": 0, "finish_reason": "tool_calls" if tools else "stop", "message": message}
        base = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        self.turns.append(base | more)

    def responds(self, text=None, *calls):
        """The same as a response."""
        part = {"type": "output_text", "text": text, "annotations": []}
        output = [{"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}]
        output = output if text is not None else []
        output += [{"type": "function_call", "id": "f", "call_id": i, "name": n, "arguments": a} for i, n, a in calls]
        base = {"id": "r", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True}
        self.turns.append(base | {"output": output, "tools": [], "tool_choice": "auto"})


@pytest.fixture
def play():
    """Such a server on loopback."""
    played = Play()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            played.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            turn = played.turns.pop(0)
            body = json.dumps({"error": {"message": "no"}} if isinstance(turn, int) else turn).encode()
            self.send_response(turn if isinstance(turn, int) else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    played.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    yield played
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def rule():
    return RULE

"""A model on loopback that says what a test scripts: OpenAI's chat completions and responses, Anthropic's messages.

A request that wants a stream gets the same reply in small events, over a connection as real servers have it.
"""

import json
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Play:
    """Answers requests with the bodies in `turns`, in order; a number is a refusal with that status.

    Streams wait `pause` seconds before each event, or until `gate`, a semaphore, is released, and lose the connection
    after `cut` events.
    """

    url: str = ""
    turns: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    paths: list = field(default_factory=list)
    refusal: str = "no"
    pause: float = 0.0
    gate: threading.Semaphore | None = None
    cut: int | None = None

    def says(self, text=None, *calls, **more):
        """A chat completion that says a text, and calls tools: (id, name, arguments)."""
        self.turns.append(completion(text, *calls, **more))

    def responds(self, text=None, *calls):
        """The same as a response."""
        part = {"type": "output_text", "text": text, "annotations": []}
        output = [{"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}]
        output = output if text is not None else []
        output += [{"type": "function_call", "id": "f", "call_id": i, "name": n, "arguments": a} for i, n, a in calls]
        base = {"id": "r", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True}
        self.turns.append(base | {"status": "completed", "output": output, "tools": [], "tool_choice": "auto"})

    def replies(self, text=None, *calls):
        """The same as a message of Anthropic's."""
        content = [{"type": "text", "text": text}] if text is not None else []
        content += [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a)} for i, n, a in calls]
        reply = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
        usage = {"input_tokens": 1, "output_tokens": 1}
        stop = "tool_use" if calls else "end_turn"
        self.turns.append(reply | {"stop_reason": stop, "stop_sequence": None, "usage": usage})

    def turn(self, path, body):
        """The next turn, for this request."""
        self.requests.append(body)
        self.paths.append(path)
        return self.turns.pop(0)


def completion(text, *calls, **more):
    tools = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    message = {"role": "assistant", "content": text, **({"tool_calls": tools} if tools else {})}
    choice = {"index": 0, "finish_reason": "tool_calls" if tools else "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]} | more


@contextmanager
def model_server(played=None):
    """Such a server, on loopback."""
    played = played or Play()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = played.turn(self.path, body)
            with suppress(ConnectionError):  # of an agent that reads no further
                if body.get("stream") and isinstance(turn, dict):
                    self.stream(turn)
                else:
                    self.answer(turn)

        def do_GET(self):
            self.answer(played.turns.pop(0))

        def answer(self, turn):
            refused = {"error": {"type": "refused", "message": played.refusal}}
            body = json.dumps(refused if isinstance(turn, int) else turn).encode()
            self.send_response(turn if isinstance(turn, int) else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def stream(self, turn):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for place, event in enumerate(events_of(turn)):
                if place == played.cut:
                    self.close_connection = True
                    return
                time.sleep(played.pause)
                if played.gate is not None and not played.gate.acquire(timeout=5):
                    raise TimeoutError("the agent has not seen the last event")
                data = event.encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *args):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request, client_address):

            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(request, client_address)

    http = Server(("127.0.0.1", 0), Handler)
    played.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield played
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def events_of(body):
    """The events that a server sends for a reply, as they stand on the wire."""
    if body.get("object") == "response":
        return [_event(e["type"], {**e, "sequence_number": n}) for n, e in enumerate(_of_response(body))]
    if body.get("type") == "error":
        return [_event("error", body)]
    if body.get("type") == "message":
        return [_event(e["type"], e) for e in _of_message(body)]
    return [*(f"data: {json.dumps(chunk)}\n\n" for chunk in _of_chat(body)), "data: [DONE]\n\n"]


def _event(name, data):
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _pieces(text, size=4):
    return [text[at : at + size] for at in range(0, len(text or ""), size)]


def _of_chat(body):
    if "choices" not in body:  # an error, say
        return [body]
    message, finish = body["choices"][0]["message"], body["choices"][0]["finish_reason"]
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in _pieces(message["content"]))]
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        deltas.append(
            {"tool_calls": [{**call, "index": index, "function": {"name": function["name"], "arguments": ""}}]}
        )
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": p}}]} for p in _pieces(function["arguments"])
        ]
    base = {**body, "object": "chat.completion.chunk"}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]


def _of_response(body):
    empty = {**body, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": empty}
    for place, item in enumerate(body["output"]):
        at = {"output_index": place, "item_id": item["id"]}
        said = item["type"] == "message"
        bare = {**item, **({"content": []} if said else {"arguments": ""}), "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": place, "item": bare}
        if said:
            part = item["content"][0]
            inside = {**at, "content_index": 0}
            yield {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}}
            for piece in _pieces(part["text"]):
                yield {"type": "response.output_text.delta", **inside, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.done", **inside, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **inside, "part": part}
        else:
            for piece in _pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **at, **done}
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    yield {"type": "response.completed", "response": body}


def _of_message(body):
    yield {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}
    for place, block in enumerate(body["content"]):
        if block["type"] == "text":
            bare, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": p} for p in _pieces(block["text"])]
        else:
            pieces = _pieces(json.dumps(block["input"]))
            bare, deltas = {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in pieces]
        yield {"type": "content_block_start", "index": place, "content_block": bare}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}

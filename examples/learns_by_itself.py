"""An agent that is wrong on its first day and right on its second. Run it: python examples/learns_by_itself.py

A server on this machine plays the model, so this needs no key. For real ones: plain = openai.OpenAI(), llm=plain.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import openai

from seasoned import Memory
from seasoned.adapters.openai import remembering

RULE = {"analysis": "I paid at once.", "trigger": "a refund is asked for", "action": "call look_up before you pay"}
TOOLS = {"look_up": "shipped yesterday", "pay": "the bank took it back"}


def agent(client, task):
    messages = [{"role": "user", "content": task}]
    while True:
        said = name = arguments = ""
        for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
            said += chunk.choices[0].delta.content or ""
            for piece in chunk.choices[0].delta.tool_calls or ():
                name, arguments = name + (piece.function.name or ""), arguments + (piece.function.arguments or "")
        if not name:
            return said
        call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": "1", "content": TOOLS[name]})


class Clerk(BaseHTTPRequestHandler):
    """Pays at once, unless the prompt says to look the order up."""

    def do_POST(self):
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        parts = [{"name": "look_up" if RULE["action"] in str(messages) else "pay", "arguments": ""}]
        parts += [{"arguments": piece} for piece in ('{"order"', ": 17}")]
        deltas = [{"tool_calls": [{"index": 0, "id": "1", "type": "function", "function": part}]} for part in parts]
        if messages[-1]["role"] == "tool":
            deltas = [{"content": word} for word in ["not "] * (parts[0]["name"] == "look_up") + ["refunded"]]
        self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        for delta in deltas:
            self.wfile.write(f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode())


Path("learns_by_itself.db").unlink(missing_ok=True)  # so that the example can be run again
server = HTTPServer(("127.0.0.1", 0), Clerk)
threading.Thread(target=server.serve_forever, daemon=True).start()
with server, openai.OpenAI(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}/v1") as plain:
    for day, order in ("first day: ", 17), ("second day:", 18):
        with Memory("learns_by_itself.db", llm=lambda messages: json.dumps(RULE), embedder="hashing") as memory:
            client = remembering(memory, plain, check=lambda task, answer: answer == "not refunded")
            print(day, agent(client, f"refund order {order}"))
    server.shutdown()

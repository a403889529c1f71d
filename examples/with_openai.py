"""OpenAI's client, remembering. Run it: python examples/with_openai.py

A server on this machine plays the model, so this needs no key. For a real one: client = openai.OpenAI().
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import openai

from seasoned import Memory, ScriptedModel
from seasoned.adapters.openai import remembering

REFLECTION = "I refunded before I knew the state of the order. Next time, look the order up first."


class Clerk(BaseHTTPRequestHandler):
    """Refunds at once, unless the prompt tells it to look the order up."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        message = {"role": "assistant", "content": "refunded"}
        if asked[-1]["role"] == "tool":
            message["content"] = "refused"
        elif "look the order up" in asked[0]["content"]:
            function = {"name": "lookup_order", "arguments": '{"order": 17}'}
            message |= {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode())

    def log_message(self, *args):
        pass


def run(client, task):
    messages = [{"role": "user", "content": task}]
    while True:
        message = client.chat.completions.create(model="m", messages=messages).choices[0].message
        if not message.tool_calls:
            return message.content
        messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "shipped"}]


with (
    HTTPServer(("127.0.0.1", 0), Clerk) as server,
    Memory("with_openai.db", method="reflexion", llm=ScriptedModel([REFLECTION]), embedder="hashing") as memory,
    openai.OpenAI(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}/v1") as plain,
):
    threading.Thread(target=server.serve_forever, daemon=True).start()
    memory.forget(everything=True)  # so that the example can be run again; leave this out in your own agent
    client = remembering(memory, plain, check=lambda task, answer: answer == "refused")
    print("monday: ", run(client, "refund order 17"))
    print("learned:", memory.learn().lessons[0].text)
    print("tuesday:", run(client, "refund order 17"))
    server.shutdown()

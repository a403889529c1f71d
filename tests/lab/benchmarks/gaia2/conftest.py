"""The engine of Gaia2, where it is installed, and a program that stands in for it."""

import sys

import pytest

from seasoned.lab.benchmarks.gaia2 import workers
from seasoned.lab.benchmarks.worker import Workers

STAND_IN = """
import json, os
print(json.dumps({"id": 0, "versions": {}}), flush=True)
steps = 0
for line in iter(input, None):
    request = json.loads(line)
    do = request["do"]
    QUIRK
    over = request.get("tool", "").endswith("send_message_to_user")
    if do == "load":
        steps, soft = 0, request["soft"]
        tool = {"name": "Notes__read", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}
        reply = {"observation": request["scenario"], "time": "It is noon.", "tools": [tool]}
    elif do == "oracle":
        reply = {"calls": [{"name": "Notes__read", "arguments": {}}]}
    elif over and soft:
        reply = {"ask": [{"role": "user", "content": "Is it right?"}]}
    elif do == "told" or over:
        won = request["text"] == "yes" if do == "told" else steps > 1
        reply = {"observation": "Over.", "invalid": False, "over": True, "success": won, "why": "no read"}
    elif request["tool"] == "Notes__read":
        steps += 1
        reply = {"observation": f"Read {steps}.", "invalid": False, "over": False}
    else:
        reply = {"observation": "No such tool.", "invalid": True, "over": False}
    print(json.dumps({"id": request["id"], **reply}), flush=True)
"""


@pytest.fixture
def stand_in(tmp_path):
    """Makes workers that know one scenario: read twice, then tell the user. `quirk` is run at each request."""
    made = []

    def workers_with(quirk="pass"):
        script = tmp_path / "stand_in.py"
        mark = str(tmp_path / "happened")
        once = f"not os.path.exists({mark!r}) and not open({mark!r}, 'w').close()"
        script.write_text(STAND_IN.replace("QUIRK", quirk.replace("ONCE", once)), encoding="utf-8")
        made.append(Workers((sys.executable, str(script)), name="ARE", timeout=20.0))
        return made[-1]

    yield workers_with
    for pool in made:
        pool.close()


@pytest.fixture(scope="session")
def are(are_python):
    """Workers of the real engine."""
    pool = workers(are_python, 120.0)
    yield pool
    pool.close()

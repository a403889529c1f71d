"""The program of a worker, with engine files of a few lines."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks.alfworld import ENGINE
from seasoned.lab.benchmarks.serving import answer, load, serve
from seasoned.lab.benchmarks.worker import SERVING, engine_workers

COUNTER = """
from __future__ import annotations
from dataclasses import dataclass

PACKAGES = ("pytest",)
print("loading")

@dataclass
class Counter:
    number: int = 0

    def add(self, n):
        self.number += n
        return {"number": self.number}

    def leave(self):
        raise SystemExit("no more")

def begin():
    counter = Counter()
    return {"add": counter.add, "leave": counter.leave}
"""


@pytest.fixture
def counter(tmp_path):
    """An engine that counts."""
    path = tmp_path / "counter.py"
    path.write_text(COUNTER, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ({"id": 1, "do": "add", "n": 2}, {"id": 1, "number": 2}),
        ({"id": 3, "do": "leave"}, {"id": 3, "error": "SystemExit: no more", "kind": "data"}),
        ({"id": 4, "do": "fly"}, {"id": 4, "error": "ValueError: unknown request 'fly'", "kind": "request"}),
        ({"do": "add"}, {"id": None, "error": "KeyError: 'id'", "kind": "request"}),
    ],
)
def test_requests_and_replies(counter, request_, reply):
    assert answer(load(counter).begin(), json.dumps(request_)) == reply


def test_what_does_not_fit_the_function_is_told(counter):
    reply = answer(load(counter).begin(), '{"id": 5, "do": "add", "m": 1}')
    assert (reply["id"], reply["kind"]) == (5, "data")
    assert "unexpected keyword argument" in reply["error"]


JSON = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.text() | JSON.map(json.dumps))
def test_whatever_comes_is_answered(line):
    assert answer({}, line)["kind"] == "request"


def test_only_an_interruption_ends_it():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer({"stop": stop}, '{"id": 1, "do": "stop"}')


def test_it_serves_until_the_end(counter):
    said = []
    serve(counter, ['{"id": 1, "do": "add", "n": 1}', "x", '{"id": 2, "do": "add", "n": 1}'], said.append)
    assert said[0] == {"id": 0, "versions": {"pytest": pytest.__version__}}
    assert said[1] == {"id": 1, "number": 1}
    assert said[2]["kind"] == "request"
    assert said[3] == {"id": 2, "number": 2}


def test_what_an_engine_prints_is_no_reply(counter):
    lines = '{"id": 1, "do": "add", "n": 1}\n'
    done = subprocess.run([sys.executable, SERVING, counter], input=lines, capture_output=True, text=True, check=True)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1]
    assert "loading" in done.stderr


def test_a_python_without_the_engine_says_so():
    done = subprocess.run([sys.executable, SERVING, ENGINE], input="", capture_output=True, text=True, check=True)
    reply = json.loads(done.stdout)
    assert (reply["id"], reply["kind"]) == (0, "install")
    assert "textworld" in reply["error"]


def test_workers_of_an_engine_file(counter):
    workers = engine_workers("counter", sys.executable, counter, name="the counter", timeout=20.0)
    with workers.lent() as worker:
        assert worker.ask("add", n=3) == {"id": 1, "number": 3}
    workers.close()

"""The program that runs in the engine's own environment, with modules that stand in for the engine's."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks.alfworld import engine
from seasoned.lab.benchmarks.alfworld.engine import answer, evaluate, serve

SCRIPT = Path(engine.__file__)
O = SimpleNamespace(name="mug 1", indefinite="a", id="Mug", _secret="x")  # noqa: E741
NO_NAME = SimpleNamespace(name="", id="Shelf")


class Engine:
    """Loads any game but `broken`, and says back what it is told."""

    def load(self, game):
        if game == "broken":
            raise SystemExit("no parse")
        return {"observation": game, "won": False}

    def step(self, command):
        if command == "stop":
            raise KeyboardInterrupt
        return {"observation": command, "won": command == "win"}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("o.name", "mug 1"),
        (" o.indefinite + ' ' + o.name ", "a mug 1"),
        ("r.name or r.id", "Shelf"),
        ("r.name and r.id", ""),
        ("o.name or r.id", "mug 1"),
        ("'text'", "text"),
    ],
)
def test_expressions_of_a_grammar(expression, value):
    assert evaluate(expression, {"o": O, "r": NO_NAME}) == value


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "__import__('os').system('true')",
            "o._secret",
            "o.__class__",
            "o.name.upper()",
            "print",
            "open('x')",
            "o.name * 9",
        ),
        *("[x for x in (1,)]", "lambda: 1", "1 + 2", "f'{o}'", "x", "o.name if o else r", "(o := 1)", "", "o."),
    ],
)
def test_nothing_else_is_run(expression):
    with pytest.raises((ValueError, SyntaxError)):
        evaluate(expression, {"o": O, "r": NO_NAME})


@given(st.text(max_size=40))
def test_no_text_is_run(text):
    try:
        value = evaluate(text, {})
    except (ValueError, SyntaxError):
        return
    assert isinstance(value, str)


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ({"id": 1, "do": "load", "game": "g"}, {"id": 1, "observation": "g", "won": False}),
        ({"id": 2, "do": "step", "command": "win"}, {"id": 2, "observation": "win", "won": True}),
        ({"id": 3, "do": "load", "game": "broken"}, {"id": 3, "error": "SystemExit: no parse", "kind": "game"}),
        ({"id": 4, "do": "fly"}, {"id": 4, "error": "ValueError: unknown request 'fly'", "kind": "request"}),
        ({"id": 5, "do": "step"}, {"id": 5, "error": "KeyError: 'command'", "kind": "game"}),
        ({"do": "step"}, {"id": None, "error": "KeyError: 'id'", "kind": "request"}),
        ([1], {"id": None, "error": "TypeError: list indices must be integers or slices, not str", "kind": "request"}),
    ],
)
def test_requests_and_replies(request_, reply):
    assert answer(Engine(), json.dumps(request_)) == reply


def test_what_is_no_request():
    assert answer(Engine(), "no json")["kind"] == "request"
    with pytest.raises(KeyboardInterrupt):
        answer(Engine(), '{"id": 1, "do": "step", "command": "stop"}')


def test_it_serves_until_the_end(monkeypatch):
    said = []
    monkeypatch.setattr(engine, "Games", Engine)
    monkeypatch.setattr(engine, "version", lambda package: f"{package}-1")
    serve(['{"id": 1, "do": "step", "command": "win"}', "x"], said.append)
    assert said[0] == {"id": 0, "versions": {"alfworld": "alfworld-1", "textworld": "textworld-1"}}
    assert said[1]["won"] is True
    assert said[2]["kind"] == "request"


def test_a_python_without_the_engine_says_so():
    done = subprocess.run([sys.executable, SCRIPT], input="", capture_output=True, text=True, check=True)
    reply = json.loads(done.stdout)
    assert (reply["id"], reply["kind"]) == (0, "install")
    assert "textworld" in reply["error"]


def test_it_stands_alone(tmp_path):
    """Packages are not shadowed by the modules beside the script, and what they print is not taken for a reply."""
    for name, text in {
        "textworld/__init__.py": "def EnvInfos(**how): print('loading', flush=True)",
        "textworld/envs/__init__.py": "class PddlEnv:\n    def __init__(self, infos): pass",
        "textworld/envs/pddl/__init__.py": "",
        "textworld/envs/pddl/textgen.py": "class EvalSymbol: pass\ndef _parse_and_convert(text): pass",
        "fast_downward.py": "def pddl2sas(*texts): pass",
        "alfworld/__init__.py": "",
        "alfworld/agents/__init__.py": "",
        "alfworld/agents/environment/__init__.py": "",
        "alfworld/agents/environment/alfred_tw_env.py": """
class AlfredDemangler:
    def __init__(self, env): pass
    def load(self, game): print('{"id": 7}', flush=True)
    def reset(self): return {"feedback": "room", "won": 0}
    def step(self, command): return {"feedback": command, "won": 1}, 0, False
""",
        "alfworld-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: alfworld\nVersion: 1",
        "textworld-2.dist-info/METADATA": "Metadata-Version: 2.1\nName: textworld\nVersion: 2",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    requests = [{"do": "step", "command": "x"}, {"do": "load", "game": "g"}, {"do": "step", "command": "ä"}]
    lines = "".join(f"{json.dumps({'id': n, **request})}\n" for n, request in enumerate(requests, 1))
    done = subprocess.run(
        [sys.executable, SCRIPT],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(tmp_path), "PYTHONUTF8": "1"},
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"id": 0, "versions": {"alfworld": "1", "textworld": "2"}},
        {"id": 1, "error": "ValueError: no game was begun", "kind": "game"},
        {"id": 2, "observation": "room", "won": False},
        {"id": 3, "observation": "ä", "won": True},
    ]
    assert "loading" in done.stderr

"""The program that runs in the engine's own environment, with modules that stand in for the engine's."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks.alfworld import ENGINE
from seasoned.lab.benchmarks.alfworld.engine import evaluate
from seasoned.lab.benchmarks.worker import SERVING

O = SimpleNamespace(name="mug 1", indefinite="a", id="Mug", _secret="x")  # noqa: E741
NO_NAME = SimpleNamespace(name="", id="Shelf")


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


def test_it_stands_alone(tmp_path):
    """Packages are not shadowed by the modules beside the programs, and what they print is not taken for a reply."""
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
    requests = [{"do": "load", "game": "g"}, {"do": "step", "command": "ä"}]
    lines = "".join(f"{json.dumps({'id': n, **request})}\n" for n, request in enumerate(requests, 1))
    done = subprocess.run(
        [sys.executable, SERVING, ENGINE],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(tmp_path), "PYTHONUTF8": "1"},
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"id": 0, "versions": {"alfworld": "1", "textworld": "2"}},
        {"id": 1, "observation": "room", "won": False},
        {"id": 2, "observation": "ä", "won": True},
    ]
    assert "loading" in done.stderr

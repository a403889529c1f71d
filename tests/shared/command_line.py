import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main
from model_server import Play, completion, model_server

import seasoned
from seasoned.cli import main
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run import experiment
from seasoned.llm import opening
from seasoned.llm.scripted import ScriptedModel

RECIPE = """
name = "small"
conditions = ["disabled", "expnote"]
train = 6
test = 5
workers = 2
[benchmark]
name = "emoji"
symbols = "codes"
"""

ACTS = """
name = "source-hotpotqa"
conditions = ["react", "expel-insights"]
baseline = "react"
train = 3
test = 3
folds = 2
curve = [1]
embedder = "hashing"
workers = 1
[benchmark]
name = "hotpotqa"
[gather]
retries = 0
[agent]
examples = 0
"""
ADAPTED = "Judge the claim by both pages."


@dataclass
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder that commands are called in, with a recipe."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "small.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path


_tree = functools.cache(typer.main.get_command)
"""The tree of commands, whose making takes four fifths of a short command's time."""


@pytest.fixture
def cli(monkeypatch, capsys):
    """Calls the command line in this process. No command may ever show a traceback."""

    monkeypatch.setattr(sys, "path", [*sys.path])  # the program adds the current folder
    monkeypatch.setattr(typer.main, "get_command", _tree)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["seasoned", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Done(int(caught.value.code or 0), said.out, said.err)

    return call


@pytest.fixture
def opens(monkeypatch):
    """Makes the given model every model that a run opens."""

    def use(made):
        @contextmanager
        def opened(settings):
            yield made

        monkeypatch.setattr(opening, "open_llm", opened)
        for module in (experiment, opening):
            monkeypatch.setattr(module, "check_llm", lambda settings, dry=False: None)
        return made

    return use


@pytest.fixture
def model(apprentice, opens):
    """Every model that a run opens is the apprentice of tests/conftest.py."""
    return opens(ScriptedModel(apprentice, name="apprentice"))


class Player:
    """Solves every task of HotpotQA, has one insight in each pool, and adapts whatever there is."""

    def __init__(self):
        self.calls = 0
        self.lock = threading.Lock()
        self.adapted = [{"number": 1, "text": ADAPTED}]
        data = load_benchmark("hotpotqa", {}, seed=0)
        self.answers = {task.text: task.data["answer"] for task in (*data.train, *data.test)}

    def __call__(self, messages):
        with self.lock:
            self.calls += 1
        whole = "\n".join(message["content"] for message in messages)
        if "You adapt insights" in whole:
            return json.dumps(self.adapted)
        if "New task." not in whole:
            return "ADD: Read both pages where two are named."
        last = messages[-1]["content"]
        answer = next((self.answers[text] for text in self.answers if text in last), "SUPPORTS")
        return f"Thought: so.\nAction: Finish[{answer}]"


@pytest.fixture
def player():
    return Player()


@pytest.fixture
def acting(player, opens, folder):
    """Every model that a run opens is the player; there is a recipe for it beside the other one."""
    (folder / "source.toml").write_text(ACTS, encoding="utf-8")
    return opens(ScriptedModel(player, name="player"))


def heeds_ctrl_c():
    """What a shell starts in the background ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def process():
    """Starts the command line as a process of its own."""
    begun = []
    source = str(Path(seasoned.__file__).parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))

    def start(*words, **environment):
        env = {**os.environ, "PYTHONPATH": path, "SEASONED_TRACE": "", **environment}
        command = [sys.executable, "-W", "error", "-c", "from seasoned.cli import main; main()", *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        begun.append(subprocess.Popen(command, env=env, preexec_fn=heeds_ctrl_c, **pipes))
        return begun[-1]

    yield start
    for one in begun:
        if one.poll() is None:
            one.kill()
            one.wait()
        one.stdout.close()
        one.stderr.close()


class Played(Play):
    """An OpenAI-compatible server on loopback, played by the apprentice; `pause` is in seconds a reply.

    `slow` holds the requests that came while there was a pause.
    """

    def __init__(self, apprentice):
        super().__init__()
        self.apprentice, self.status, self.slow = apprentice, 200, []

    def turn(self, path, body):
        if self.pause:
            self.slow.append(body)
        time.sleep(self.pause)
        used = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        ok = self.status == 200
        return completion(self.apprentice(body["messages"]), model="played", usage=used) if ok else self.status


@pytest.fixture
def server(apprentice):
    with model_server(Played(apprentice)) as played:
        yield played

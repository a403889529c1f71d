import re
import threading

import pytest

from seasoned.llm.scripted import ScriptedModel
from seasoned.runner.recipe import make_recipe
from seasoned.store.sql import Store


class Apprentice:
    """Plays a model that knows nothing but what its notes say, so that notes alone decide whether it is right."""

    def __init__(self):
        self.calls = 0
        self.lock = threading.Lock()

    def __call__(self, messages):
        with self.lock:
            self.calls += 1
        last = messages[-1]["content"]
        if last.endswith("THINK"):
            return "glad"
        if last.endswith("NOTE"):
            answer = re.search(r"right answer is (\S+)\.", last)
            return f"{answer[1]}: glad" if answer else "none: nothing"
        asked = [i for i, m in enumerate(messages) if "THINK" in m["content"]]
        case = "\n".join(m["content"] for m in messages[asked[-1] if len(asked) > 1 else -1 :])
        noted = re.findall(r"^- (\S+): glad", case, re.MULTILINE)
        line = next(line for line in case.splitlines() if re.fullmatch(r"\S\S(  \S\S){3}", line))
        known = [code for code in line.split() if code in noted]
        return known[0] if known else line.split()[0]


@pytest.fixture
def apprentice():
    return Apprentice()


@pytest.fixture
def model(apprentice):
    return ScriptedModel(apprentice, name="apprentice")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "seasoned.db") as opened:
        yield opened


@pytest.fixture
def recipe():
    def make(**changes):
        raw = {
            "name": "small",
            "benchmark": {"name": "emoji", "symbols": "codes"},
            "conditions": ["disabled", "expnote"],
            "train": 6,
            "test": 5,
            "workers": 2,
        }
        return make_recipe({**raw, **changes})

    return make

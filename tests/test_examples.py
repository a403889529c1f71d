"""Every example runs as a user would run it: beside the others, most of them twice, with warnings as errors."""

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from seasoned.errors import ConfigError
from seasoned.sandbox import find_walls
from seasoned.store.sql import Store

EXAMPLES = Path(__file__).parents[1] / "examples"
MONDAY = ["monday:  refunded", "learned: I refunded before I knew", "tuesday: refused"]
SAYS = {
    "first_loop.py": ["before: 0 of 3", "learned: When a refund is wanted", "tuesday: True", "after: 3 of 3"],
    "notes_in_ten_lines.py": ["first case: 'water it', right: False", "- basil: too wet", "'let it dry', right: True"],
    "learns_by_itself.py": ["first day:  refunded", "second day: not refunded"],
    "remember.py": ["monday:    False", "tuesday:   True", "- Before any refund, look the order up."],
    "facts_of_my_library.py": [">>> price_tag(3 * 100)", "12 facts still hold, 17 do not", "now: '0.03 EUR'"],
    "is_it_helping.py": ["day 15: ", "was retired: evidence of harm", "disabled: Promise a date for every refund."],
    "own_benchmark.py": ["ExpNote solved 8 of 8, 8 more than without notes (0; exact McNemar p = 0.008)"],
    "own_method.py": ["disabled  0 of 8", "answers   8 of 8", "twice     8 of 8"],
    "with_function.py": [*MONDAY, "- I refunded before I knew"],
    "with_langgraph.py": MONDAY,
    "with_openai.py": MONDAY,
    "with_openai_agents.py": MONDAY,
    "with_pydantic_ai.py": MONDAY,
    "with_smolagents.py": MONDAY,
}
NEEDS = {
    "with_langgraph.py": "langgraph",
    "with_openai_agents.py": "agents",
    "with_pydantic_ai.py": "pydantic_ai",
    "with_smolagents.py": "smolagents",
}


STARTS_OVER = ("is_it_helping.py", "facts_of_my_library.py")  # deletes what it stored, so one slow run is enough


@pytest.fixture
def run(tmp_path, monkeypatch, capsys, without_figures):
    """Runs an example in this process, which has the libraries already, and returns what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    modules = set(sys.modules)

    def run_here(name):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    yield run_here
    for name in {path.stem for path in EXAMPLES.glob("*.py")} & (sys.modules.keys() - modules):
        del sys.modules[name]


def test_every_example_is_run_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_example_says_what_it_should_each_time_and_fits_on_a_screen(name, run):
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < 60
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    if name == "facts_of_my_library.py":
        try:
            find_walls()
        except ConfigError as error:
            pytest.skip(str(error))
    for _ in range(1 if name in STARTS_OVER else 2):
        said = run(name)
        for words in SAYS[name]:
            assert words in said
    if name == "own_method.py":  # what it stores is the answer alone
        with Store("own_method.db") as store:
            stored = {lesson.text for lesson in store.lessons(kind="insight")}
        assert {"lamp: shelf 2", "wire: shelf 9"} < stored
        assert all(re.fullmatch(r"\w+: shelf \d", text) for text in stored)


def test_an_example_is_a_program(tmp_path):
    # `src` comes first, so that what is tested is this checkout.
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "src")}
    command = [sys.executable, "-W", "error", str(EXAMPLES / "first_loop.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "after: 3 of 3" in done.stdout

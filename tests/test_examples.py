"""Every example runs as a user would run it: as a program, beside the others, once more, with warnings as errors."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from seasoned.errors import ConfigError
from seasoned.sandbox import find_walls
from seasoned.store.sql import Store

ROOT = Path(__file__).parents[1]
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


def run(name: str, folder: Path) -> str:
    # `src` comes first, so that what is tested is this checkout; the folder of the user's runs and data stays out.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SEASONED_", "OPENAI_"))}
    environment["PYTHONPATH"] = str(ROOT / "src")
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / name)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run_here():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(SAYS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("examples")


@pytest.mark.parametrize("name", sorted(SAYS))
def test_example_says_what_it_should_each_time(name, folder):
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    if name == "facts_of_my_library.py":
        try:
            find_walls()
        except ConfigError as error:
            pytest.skip(str(error))
    for said in (run(name, folder), run(name, folder)):
        for words in SAYS[name]:
            assert words in said


@pytest.mark.parametrize("name", sorted(SAYS))
def test_example_fits_on_a_screen(name):
    assert len((ROOT / "examples" / name).read_text(encoding="utf-8").splitlines()) < 60


def test_what_a_method_of_ones_own_stores_is_the_answer_alone(tmp_path):
    run("own_method.py", tmp_path)
    with Store(tmp_path / "own_method.db") as store:
        stored = {lesson.text for lesson in store.lessons(kind="insight")}
    assert {"lamp: shelf 2", "wire: shelf 9"} < stored
    assert all(re.fullmatch(r"\w+: shelf \d", text) for text in stored)

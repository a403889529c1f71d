import sqlite3

import pytest
from command_line import process, server  # noqa: F401 - fixtures

from seasoned.lab.benchmarks.alfworld.games import generate
from seasoned.lab.run.experiment import run
from seasoned.lab.run.recipe import make_recipe
from seasoned.llm.scripted import ScriptedModel
from seasoned.store.sql import Store


@pytest.fixture
def model(apprentice):
    """The apprentice of tests/conftest.py as a model: it learns codes through its notes alone."""
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


@pytest.fixture
def go(store, model, tmp_path):
    """Runs a recipe in a folder of the test's own, with the apprentice unless another model is given."""

    def start(recipe, **options):
        return run(recipe, **{"store": store, "runs_dir": tmp_path / "runs", "quiet": True, "llm": model} | options)

    return start


@pytest.fixture
def journal(tmp_path):
    """The scopes of the journal's replies, read by SQLite itself."""

    def read():
        with sqlite3.connect(tmp_path / "seasoned.db") as connection:
            rows = connection.execute("SELECT scope FROM journal ORDER BY scope").fetchall()
        connection.close()
        return [scope for (scope,) in rows]

    return read


@pytest.fixture(scope="session")
def games(tmp_path_factory, engine_python):
    """A folder with a few new games of ALFWorld in two splits."""
    folder = tmp_path_factory.mktemp("games")
    generate(2, 11, folder / "valid_seen", python=engine_python)
    generate(2, 12, folder / "valid_unseen", python=engine_python)
    return folder


@pytest.fixture(autouse=True)
def quick_reports(without_figures):
    """No test here looks at a plot."""

"""A store and two runs that version 0.1.0 wrote before the laboratory had a folder of its own: they open as before.

version1.tar.gz holds seasoned.db, a complete run ("small"), one that was stopped before its tests ("half"), both with
a scripted model, and a memory "default".
"""

import json
import tarfile
from pathlib import Path

import pytest

from seasoned.lab.run.experiment import run
from seasoned.lab.run.rundir import read_rows, read_summary, recipe_of
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import Memory
from seasoned.store.sql import Store

FILES = Path(__file__).with_name("version1.tar.gz")


@pytest.fixture
def old(tmp_path):
    with tarfile.open(FILES) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def only(old, name):
    (found,) = (old / "runs").glob(f"*-{name}-*")
    return found


def test_the_store_opens_and_is_sound(old):
    with Store(old / "seasoned.db") as store:
        assert store.check() == []
        assert "memory/default" in store.scopes()


def test_a_memory_recalls_what_it_knew(old):
    with Memory(old / "seasoned.db", method="expnote", embedder=None) as memory:
        text = memory.attempt("refund order 17").guidance.text
        assert "- order 17: shipped" in text
        assert "- Look up the order before you promise a refund." in text
        assert list(memory.learn().skipped.values()) == ["no outcome is known"]  # it came after the memory had learned


def test_a_complete_run_is_read_and_costs_nothing_when_it_is_resumed(old):
    directory = only(old, "small")
    before = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert len(read_rows(directory)) == 16
    assert read_summary(directory)
    model = ScriptedModel([], name="scripted")
    with Store(old / "seasoned.db") as store:
        run(recipe_of(directory), store=store, resume=directory, llm=model, quiet=True)
    assert model.requests == []
    after = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    for name in ("name", "n", "successes", "errors", "tokens", "trained_on", "lessons"):
        assert [one[name] for one in after["conditions"]] == [one[name] for one in before["conditions"]]
    assert (after["headline"], after["baseline"]) == (before["headline"], before["baseline"])


def test_a_run_that_was_stopped_goes_on_and_learns_nothing_twice(old):
    directory = only(old, "half")
    model = ScriptedModel(lambda messages: "ANSWER[a]", name="scripted")
    with Store(old / "seasoned.db") as store:
        trained = {key: attempt.id for key, attempt in store.episodes(directory.name).items()}
        lessons = {lesson.id for lesson in store.lessons(f"{directory.name}/s0f0/erl")}
        assert len(trained) == 4
        assert lessons
        run(recipe_of(directory), store=store, resume=directory, llm=model, quiet=True)
        after = {key: attempt.id for key, attempt in store.episodes(directory.name).items()}
        assert trained.items() <= after.items()
        assert {lesson.id for lesson in store.lessons(f"{directory.name}/s0f0/erl")} == lessons
    assert len(after) == 16
    assert read_summary(directory)

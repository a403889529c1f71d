"""`seasoned lessons contradicted` on a store with a lesson that successes speak against."""

import json

import pytest
from tests.proof.test_record import BAD, GOOD, RECORD

from seasoned.store.sql import Store


@pytest.fixture
def address(tmp_path):
    with Store(tmp_path / "notes.db") as store:
        store.add_trajectories("memory/default", RECORD)
        store.add_lessons("memory/default", [GOOD, BAD], who="model", why="learned")
    return str(tmp_path / "notes.db")


def test_what_the_record_contradicts_is_listed_first(cli, address):
    result = cli("lessons", "contradicted", "--store", address, "--json")
    found = json.loads(result.out)
    assert (found["by"], found["attempts"]) == ("words", 12)
    assert [one["lesson"] for one in found["lessons"]] == [BAD.id, GOOD.id]
    text = cli("lessons", "contradicted", "--namespace", "default", "--store", address).out
    assert "12 attempts with a known outcome contradict 1 of 2 lessons" in text


def test_lessons_of_a_run_are_compared_with_its_training_attempts(cli, tmp_path):
    with Store(tmp_path / "run.db") as store:
        store.add_trajectories("r/s0f0/training", RECORD)
        lessons = [BAD.model_copy(update={"sources": (RECORD[0].id,)})]
        store.add_lessons("r/s0f0/expel", lessons, who="model", why="learned")
    found = json.loads(cli("lessons", "contradicted", "--store", str(tmp_path / "run.db"), "--json").out)
    assert found["attempts"] == 12

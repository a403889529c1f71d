import numpy as np
import pytest

from seasoned.errors import StoreError
from seasoned.store.sql import Store
from seasoned.types import Lesson, Reply, Trajectory


@pytest.fixture
def filled(store):
    """A store with one of everything."""
    lesson, made = Lesson(id="les-1", kind="note", text="a"), Trajectory(id="tra-1", task_id="t", task="x")
    store.add_run("run-1", "n", "p", {})
    store.add_lessons("s", [lesson], who="model")
    store.save_episode("run-1", "k", "s", made)
    store.put_vectors("lesson", ["les-1"], "e", np.ones((1, 2)))
    store.put_vectors("trajectory", ["tra-1"], "e", np.ones((1, 2)))
    store.journal_put("s", "k", Reply(text="r"))
    store.mark("s", "m", [1])
    assert store.check() == []
    return store


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE lessons SET body = '{'", "the lesson les-1 is in the store but cannot be read"),
        ("UPDATE lessons SET status = 'disabled'", "les-1 has another status in its column than in its body"),
        ("DELETE FROM lesson_history", "les-1 is at version 1, and its history ends at 0"),
        ("UPDATE trajectories SET body = '[]'", "the trajectory tra-1 is in the store but cannot be read"),
        (
            "UPDATE trajectories SET task_id = 'u'",
            "tra-1 has another task_id in its column than in its body",
        ),
        ("UPDATE vectors SET dim = 3 WHERE owner = 'lesson'", "lesson les-1 by e should have 12 bytes, and has 8"),
        (
            "UPDATE vectors SET id = 'z' WHERE owner = 'trajectory'",
            "belongs to the trajectory z, which is not in the store",
        ),
        ("UPDATE journal SET body = ''", "the journalled reply k of 's' is in the store but cannot be read"),
        ("UPDATE marks SET value = ''", "the mark 'm' of 's' is in the store but cannot be read"),
        ("UPDATE runs SET config = '{'", "the run run-1 is in the store but cannot be read"),
        ("UPDATE seasoned_version SET version_num = '0999'", "layout version 0999"),
    ],
)
def test_check_finds_what_is_wrong(filled, damage, words):
    with filled._write() as connection:
        connection.exec_driver_sql(damage)
    problems = filled.check()
    assert len(problems) == 1
    assert words in problems[0]


def test_check_finds_an_episode_without_its_trajectory(path):
    with Store(path) as store:
        store.add_run("run-1", "n", "p", {})
        store.save_episode("run-1", "k", "s", Trajectory(task_id="t", task="x"))
        with store._read() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            raw.execute("COMMIT") if raw.in_transaction else None
            raw.execute("PRAGMA foreign_keys=OFF")
            raw.execute("DELETE FROM trajectories")
        problems = store.check()
    assert any("of the table episodes points to a row of trajectories that is gone" in p for p in problems)
    assert "the episode k of the run run-1 has no trajectory; drop it with drop_episodes" in problems


def test_a_damaged_row_does_not_hide_behind_a_traceback(filled):
    with filled._write() as connection:
        connection.exec_driver_sql("UPDATE journal SET body = 'x'")
    with pytest.raises(StoreError, match="the journalled reply k is in the store but cannot be read"):
        filled.journal_get("s", "k")


def test_the_end_of_the_block_closes_the_store(address):
    with Store(address) as store:
        assert repr(store) == f"Store({store.where!r})"
        assert store.check() == []
    with pytest.raises(StoreError, match="was closed"):
        store.runs()

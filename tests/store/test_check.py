import sqlite3

import numpy as np
import pytest

from seasoned.errors import StoreError
from seasoned.pool import ExperiencePool
from seasoned.store import check
from seasoned.store.check import repair
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Reply, Trajectory


@pytest.fixture
def filled(store):
    """A store with one of everything, and a lesson with two versions."""
    store.add_run("run-1", "n", "p", {})
    [lesson] = store.add_lessons("s", [Lesson(id="les-1", kind="note", text="first", sources=("tra-1",))], who="model")
    store.update_lesson(lesson.model_copy(update={"text": "second"}), who="person")
    store.add_lessons("s", [Lesson(id="les-2", kind="note", text="other")], who="model")
    store.save_episode("run-1", "k", "s", Trajectory(id="tra-1", task_id="t", task="x", lesson_ids=("les-1",)))
    store.put_vectors("lesson", ["les-1"], "e", np.ones((1, 2)))
    store.journal_put("s", "k", Reply(text="r"))
    store.mark("s", "m", [1])
    assert store.check() == []
    return store


def test_a_sound_store_is_left_alone(filled, tmp_path):
    before = sorted(tmp_path.iterdir())
    assert repair(filled) == []
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE lessons SET body = '{' WHERE id = 'les-1'", "could not be read, so its version 2 was restored"),
        ("UPDATE lessons SET status = 'disabled', importance = 7", "set to the values in its body"),
        ("UPDATE lessons SET body = replace(body, 'les-1', 'les-9')", "set to the values in its body"),
        ("DELETE FROM lesson_history WHERE version = 2", "was added to its history as version 2"),
        ("UPDATE lesson_history SET version = 9 WHERE version = 2", "added to its history as version 10"),
        ("UPDATE trajectories SET task_id = 'u', success = TRUE", "set to the values in its body (task_id, success)"),
        ("UPDATE trajectories SET body = replace(body, 'tra-1', 'tra-9')", "set to the values in its body (body)"),
        ("UPDATE vectors SET dim = 3", "1 vectors of a wrong size"),
        ("UPDATE vectors SET id = 'z'", "1 vectors belonged to no lesson"),
        ("UPDATE journal SET body = ''", "the journalled reply k of 's' could not be read"),
        ("UPDATE marks SET value = '{'", "the mark 'm' of 's' could not be read and was removed"),
    ],
)
def test_what_can_be_mended_is_mended(filled, damage, words):
    with filled._write() as connection:
        connection.exec_driver_sql(damage)
    assert filled.check()
    done = repair(filled)
    assert any(words in sentence for sentence in done), done
    assert filled.check() == []
    assert repair(filled) == []
    lesson = filled.get_lesson("les-1")
    assert (lesson.id, lesson.text, lesson.status) == ("les-1", "second", "active")
    assert filled.history("les-1")[-1].lesson == lesson
    assert [t.id for t in filled.trajectories("s")] == ["tra-1"]


def test_rows_that_point_nowhere_go(path):
    with Store(path) as store:
        store.add_run("run-1", "n", "p", {})
        store.save_episode("run-1", "k", "s", Trajectory(id="tra-1", task_id="t", task="x", lesson_ids=("les-1",)))
        store.mark_learned("m", ["tra-1"])
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM trajectories")
    raw.close()
    with Store(path) as store:
        assert store.check()
        done = repair(store)
        assert {word for word in ("episodes", "learned", "lesson_uses") if any(word in said for said in done)} == {
            "episodes",
            "learned",
            "lesson_uses",
        }
        assert store.check() == []


def test_what_cannot_be_mended_is_left_and_named(filled):
    with filled._write() as connection:
        connection.exec_driver_sql("UPDATE lessons SET body = '{' WHERE id = 'les-2'")
        connection.exec_driver_sql("UPDATE lesson_history SET body = '{' WHERE lesson_id = 'les-2'")
        connection.exec_driver_sql("UPDATE trajectories SET body = '{'")
        connection.exec_driver_sql("UPDATE journal SET body = ''")
    repair(filled)
    left = filled.check()
    assert len(left) == 3
    assert any("the lesson les-2 is in the store but cannot be read" in problem for problem in left)
    assert any("version 1 of the lesson les-2" in problem for problem in left)
    assert any("the trajectory tra-1 is in the store but cannot be read" in problem for problem in left)


def test_a_pool_sees_what_was_repaired(filled):
    pool = ExperiencePool(filled, "s")
    with filled._write() as connection:
        connection.exec_driver_sql("UPDATE lessons SET status = 'disabled' WHERE id = 'les-2'")
    assert len(pool.lessons()) == 2
    repair(filled)
    assert [lesson.text for lesson in pool.lessons()] == ["second", "other"]


def test_a_copy_is_made_first(path):
    with Store(path) as store:
        store.journal_put("s", "k", Reply(text="r"))
        store.add_trajectories("s", [Trajectory(id="tra-1", task_id="t", task="x", outcome=Outcome(success=True))])
        with store._write() as connection:
            connection.exec_driver_sql("UPDATE journal SET body = ''")
        done = repair(store)
    copy = path.parent / done[0].rpartition("copied to ")[2].rpartition("/")[2]
    with Store(copy) as kept:
        assert len(kept.check()) == 1
        assert [t.id for t in kept.trajectories("s")] == ["tra-1"]


def test_nothing_is_changed_where_there_is_no_room_for_the_copy(path, monkeypatch):
    with Store(path) as store:
        store.journal_put("s", "k", Reply(text="r"))
        with store._write() as connection:
            connection.exec_driver_sql("UPDATE journal SET body = ''")

        def full(path):
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(check.sqlite3, "connect", full)
        with pytest.raises(StoreError, match="disk is full; nothing was changed"):
            repair(store)
        monkeypatch.undo()
        assert len(store.check()) == 1

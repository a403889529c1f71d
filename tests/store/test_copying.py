"""A store copied to another database and back holds the same, by digest."""

import numpy as np
import pytest

from seasoned.errors import StoreError
from seasoned.pool import ExperiencePool
from seasoned.store.copying import copy, digest
from seasoned.store.sql import Store
from seasoned.types import Lesson, Reply, Trajectory


def filled(path):
    store = Store(path)
    store.add_run("run-1", "emoji", "/runs/a", {"seeds": [0]})
    attempt = Trajectory(task_id="t", task="what \u00e9 is", lesson_ids=("les-a",))
    store.save_episode("run-1", "k", "memory/ann", attempt)
    lessons = [Lesson(id=f"les-{x}", kind="note", key=x, text=f"{x} \u2603", sources=(attempt.id,)) for x in "abc"]
    store.add_lessons("memory/ann", lessons, who="model", why="seen")
    store.update_lesson(lessons[0].model_copy(update={"importance": 0.1 + 0.2}), who="person")
    store.put_vectors("lesson", ["les-a"], "e", np.array([[0.1, -0.0]], dtype=np.float32), digests=["x"])
    store.add_snapshot("memory/ann", "monday", who="person")
    store.journal_put("run-1", "k", Reply(text="hi", parsed={"a": [1, 2.5]}))
    store.mark("memory/ann", "count", {"n": 3})
    store.mark_learned("erl", [attempt.id])
    return store


@pytest.fixture
def source(tmp_path):
    with filled(tmp_path / "notes.db") as store:
        yield store


def test_a_store_goes_to_postgres_and_back_and_goes_on(source, postgres, tmp_path):
    with Store(postgres) as there, Store(tmp_path / "back.db") as back:
        counts, one = copy(source, there)
        assert counts["lessons"] == 3
        assert counts["lesson_history"] == 4
        assert copy(there, back)[1] == one == digest(source) == digest(there) == digest(back)
        for store in (there, back):
            assert store.lessons() == source.lessons()
            vectors = [each.get_vectors("lesson", None, "e")[1].tolist() for each in (store, source)]
            assert vectors[0] == vectors[1]
            pool = ExperiencePool(store, "memory/ann")
            [new] = pool.add(Lesson(kind="note", key="d", text="after"))
            assert pool.lessons()[-1] == new
            assert digest(store) != one


def test_a_copy_goes_into_an_empty_store_alone(source, tmp_path):
    with filled(tmp_path / "full.db") as full, pytest.raises(StoreError, match="is not empty"):
        copy(source, full)
    with pytest.raises(StoreError, match="into itself"):
        copy(source, source)


def test_what_differs_afterwards_is_no_copy(source, tmp_path):
    with Store(tmp_path / "new.db") as new:
        with new._write() as connection:
            connection.exec_driver_sql(
                "CREATE TRIGGER spoil AFTER INSERT ON journal BEGIN UPDATE journal SET body = 'x'; END"
            )
        with pytest.raises(StoreError, match="so nothing was copied"):
            copy(source, new)
        assert new.lessons() == []

import threading

import pytest

from seasoned.errors import StoreError
from seasoned.store.backup import backup, restore
from seasoned.store.copying import digest
from seasoned.store.sql import Store
from seasoned.store.tokens import add_token, tokens
from seasoned.types import Lesson, Trajectory


@pytest.fixture
def store(tmp_path):
    made = [Lesson(kind="heuristic", text=f"{i} " * 200) for i in range(300)]
    with Store(tmp_path / "s.db") as opened:
        opened.add_lessons("memory/default", made, who="x")
        yield opened


def texts(path):
    with Store(path) as opened:
        return {lesson.text for lesson in opened.lessons()}


def test_there_and_back(store, tmp_path):
    before = digest(store)
    assert backup(store, tmp_path / "b.db") > 100_000
    store.add_lessons("memory/default", [Lesson(kind="heuristic", text="later")], who="x")
    assert restore(tmp_path / "b.db", str(tmp_path / "new.db")) is None
    with Store(tmp_path / "new.db") as made:
        assert digest(made) == before
        assert made.check() == []
    store.close()
    kept = restore(tmp_path / "b.db", str(tmp_path / "s.db"), replace=True)
    assert "later" not in texts(tmp_path / "s.db")
    assert "later" in texts(kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.db", "new.db", "s.db", kept.name]


def test_a_backup_is_whole_while_others_write(store, tmp_path):
    ended = threading.Event()

    def write():
        while not ended.is_set():
            store.add_lessons(
                "memory/busy", [Lesson(kind="heuristic", text="a"), Lesson(kind="note", text="b")], who="x"
            )

    thread = threading.Thread(target=write)
    thread.start()
    try:
        backup(store, tmp_path / "b.db")
    finally:
        ended.set()
        thread.join()
    with Store(tmp_path / "b.db") as made:
        assert made.check() == []
        assert len(made.lessons("memory/default")) == 300
        assert len(made.lessons("memory/busy")) % 2 == 0


def test_nothing_is_written_over(store, tmp_path):
    (tmp_path / "b.db").write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        backup(store, tmp_path / "b.db")
    assert (tmp_path / "b.db").read_text() == "mine"
    with pytest.raises(StoreError, match="cannot be copied to"):
        backup(store, tmp_path / "no" / "b.db")
    backup(store, tmp_path / "c.db")
    with pytest.raises(StoreError, match="add --replace"):
        restore(tmp_path / "c.db", str(tmp_path / "s.db"))
    with pytest.raises(StoreError, match="there is no file"):
        restore(tmp_path / "none.db", str(tmp_path / "new.db"))
    with pytest.raises(StoreError):
        restore(tmp_path / "b.db", str(tmp_path / "new.db"))
    with pytest.raises(StoreError, match="into itself"):
        restore(tmp_path / "c.db", str(tmp_path / "c.db"), replace=True)


def test_a_damaged_store_is_named_and_not_kept(store, tmp_path):
    with store._write() as connection:
        connection.exec_driver_sql("UPDATE lessons SET body = '{' WHERE seq = 1")
    with pytest.raises(StoreError, match="is damaged"):
        backup(store, tmp_path / "b.db")
    assert sorted(path.name for path in tmp_path.iterdir() if "s.db" not in path.name) == []


def test_there_and_back_with_postgres(store, postgres, tmp_path):
    add_token(store, "ann", "editor")
    store.add_trajectories("memory/default", [Trajectory(id="tra-1", task_id="t", task="Öffne 🌷\n")])
    before = digest(store)
    backup(store, tmp_path / "b.db")
    assert restore(tmp_path / "b.db", postgres) is None
    with Store(postgres) as server:
        assert digest(server) == before
        assert backup(server, tmp_path / "c.db") > 100_000
        server.add_lessons("memory/default", [Lesson(kind="heuristic", text="later")], who="x")  # its numbers go on
    with Store(tmp_path / "c.db") as made:
        assert (digest(made), made.check()) == (before, [])
        assert [one.task for one in made.trajectories()] == ["Öffne 🌷\n"]
        assert [one.name for one in tokens(made)] == ["ann"]
    for replace in (False, True):
        with pytest.raises(StoreError, match="is not empty"):
            restore(tmp_path / "b.db", postgres, replace=replace)
    assert "later" in texts(postgres)
    assert sorted(path.name for path in tmp_path.iterdir() if "s.db" not in path.name) == ["b.db", "c.db"]


def test_a_backup_of_postgres_is_whole_while_others_write(postgres, tmp_path):
    ended, many = threading.Event(), [Lesson(kind="heuristic", text=f"{i} " * 50) for i in range(1500)]

    def write():
        with Store(postgres) as other:
            while not ended.is_set():
                pair = [Lesson(kind="heuristic", text="a"), Lesson(kind="note", text="b")]
                other.add_lessons("memory/busy", pair, who="x")

    with Store(postgres) as store:
        store.add_lessons("memory/default", many, who="x")
        thread = threading.Thread(target=write)
        thread.start()
        try:
            while not store.lessons("memory/busy"):
                assert thread.is_alive()
            backup(store, tmp_path / "b.db")
        finally:
            ended.set()
            thread.join()
    with Store(tmp_path / "b.db") as made:
        assert made.check() == []
        assert len(made.lessons("memory/default")) == 1500
        assert len(made.lessons("memory/busy")) % 2 == 0


def test_a_server_that_is_away_leaves_nothing(store, tmp_path):
    backup(store, tmp_path / "b.db")
    with pytest.raises(StoreError):
        restore(tmp_path / "b.db", "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2")
    assert restore(tmp_path / "b.db", str(tmp_path / "new.db")) is None

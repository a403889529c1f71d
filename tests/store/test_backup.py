import threading

import pytest

from seasoned.errors import StoreError
from seasoned.store.backup import backup, restore
from seasoned.store.copying import digest
from seasoned.store.sql import Store
from seasoned.types import Lesson


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
    with pytest.raises(StoreError, match="is there already"):
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

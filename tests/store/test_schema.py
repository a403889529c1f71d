import sqlite3

import pytest

from seasoned.store import schema
from seasoned.store.sql import Store
from seasoned.types import Lesson, Trajectory


def test_a_person_can_read_the_file(path):
    with Store(path) as store:
        store.add_lessons("s", [Lesson(id="les-1", kind="note", key="sky", text="blue")], who="person", why="I know")
        store.add_trajectories("s", [Trajectory(id="tra-1", task_id="t", task="x", lesson_ids=("les-1",))])
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT kind, key, json_extract(body, '$.text') FROM lessons").fetchall() == [
            ("note", "sky", "blue")
        ]
        assert file.execute("SELECT who, why FROM lesson_history").fetchall() == [("person", "I know")]
        assert file.execute("SELECT * FROM lesson_uses").fetchall() == [("les-1", "tra-1")]
        names = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    file.close()
    assert names == {*schema.metadata.tables, schema.VERSION_TABLE}


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"scope": "s"},
        {"kind": "note"},
        {"status": "active"},
        {"scope": "s", "kind": "note", "status": "active"},
        {"scope": "s", "key": "k"},
    ],
)
def test_a_page_of_lessons_is_cut_in_an_index(path, filters, monkeypatch):
    """A plan is checked instead of a time: rows that are passed over are not read, and nothing is sorted."""
    with Store(path) as store:
        said = []
        real = store._read

        def plans():
            with real() as connection:
                raw = connection.connection.dbapi_connection
                assert raw is not None
                raw.set_trace_callback(said.append)
            return real()

        monkeypatch.setattr(store, "_read", plans)
        store.lessons(**filters, limit=10, offset=5)
        monkeypatch.undo()
        asked = next(statement for statement in said if statement.startswith("SELECT lessons.id"))
        with store._read() as connection:
            plan = [row[3] for row in connection.exec_driver_sql("EXPLAIN QUERY PLAN " + asked)]
    inner = plan[next(i for i, line in enumerate(plan) if "SUBQUERY" in line) + 1 :]
    assert any("USING COVERING INDEX lessons_by" in line for line in inner), plan
    assert not any("TEMP B-TREE" in line for line in inner), plan

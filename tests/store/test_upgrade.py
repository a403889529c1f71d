import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

import seasoned
from seasoned.errors import StoreError, StoreLockedError, StoreVersionError
from seasoned.pool import ExperiencePool
from seasoned.store import schema, upgrade
from seasoned.store.sql import Store
from seasoned.types import Lesson

TODAY = schema.VERSIONS
NEXT = """
from alembic import op
from sqlalchemy import Column, Text

revision = "0005"
down_revision = "0004"


def upgrade():
    op.add_column("lessons", Column("mood", Text))
    with op.batch_alter_table("lessons") as batch:  # rebuilds the table in SQLite
        batch.alter_column("category", server_default="none")
"""


def test_the_migrations_make_the_tables_of_the_schema(store):
    with store._read() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE})
        assert compare_metadata(context, schema.metadata) == []
        asked = inspect(connection)
        for name, table in schema.metadata.tables.items():
            found = {index["name"]: index["column_names"] for index in asked.get_indexes(name)}
            wanted = {index.name: [column.name for column in index.columns] for index in table.indexes}
            assert wanted.items() <= found.items()
            keys = {(tuple(k["constrained_columns"]), k["referred_table"]) for k in asked.get_foreign_keys(name)}
            assert keys == {((k.parent.name,), k.column.table.name) for k in table.foreign_keys}


def test_the_newest_migration_is_the_head():
    config = Config()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [schema.HEAD]
    assert tuple(script.revision for script in scripts.walk_revisions())[::-1] == schema.VERSIONS


def test_opening_a_store_of_today_needs_no_alembic(path):
    Store(path).close()
    code = (
        "import sys; from seasoned.store.sql import Store; Store(sys.argv[1]).close(); print('alembic' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


def test_a_store_of_today_is_opened_and_read_while_somebody_else_writes(path):
    with Store(path) as store:
        store.add_lessons("s", [Lesson(kind="note", text="a")], who="person")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store(path, timeout=0.2) as store:
        assert [lesson.text for lesson in store.lessons()] == ["a"]
        with pytest.raises(StoreLockedError, match="wait until it ends, or close it, and try again"):
            store.add_lessons("s", [Lesson(kind="note", text="b")], who="person")
    other.execute("ROLLBACK")
    other.close()


def test_a_store_of_a_newer_seasoned(address):
    with Store(address) as store, store._write() as connection:
        connection.exec_driver_sql(f"UPDATE {schema.VERSION_TABLE} SET version_num = '0999'")
    with pytest.raises(
        StoreVersionError, match=r"has layout version 0999.*knows versions up to 0004.*install a newer"
    ) as caught:
        Store(address)
    assert seasoned.__version__ in str(caught.value)


def test_a_database_of_somebody_else_is_left_alone(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a store of Seasoned: it has the tables bookmarks"):
        Store(path)
    assert path.read_bytes() == before


def test_a_store_that_lost_its_version(address):
    with Store(address) as store, store._write() as connection:
        connection.exec_driver_sql(f"DROP TABLE {schema.VERSION_TABLE}")
    with pytest.raises(StoreError, match="is a database, but not a store of Seasoned"):
        Store(address)


@pytest.fixture
def tomorrow(tmp_path, monkeypatch):
    """A Seasoned with one migration more."""

    def make(script):
        folder = tmp_path / "migrations 100%"
        shutil.copytree(upgrade.MIGRATIONS, folder)
        (folder / "versions" / "0005_next.py").write_text(script)
        monkeypatch.setattr(upgrade, "MIGRATIONS", folder)
        monkeypatch.setattr(schema, "HEAD", "0005")
        monkeypatch.setattr(schema, "VERSIONS", (*TODAY, "0005"))

    return make


def columns(store):
    with store._read() as connection:
        return {column["name"] for column in inspect(connection).get_columns("lessons")}


def test_an_older_store_is_migrated_and_keeps_everything(address, tomorrow):
    lesson = Lesson(kind="note", text="a", sources=("tra-1",))
    with Store(address) as store:
        store.add_lessons("s", [lesson], who="person")
    tomorrow(NEXT)
    with Store(address) as store:
        assert "mood" in columns(store)
        assert store.lessons("s") == [lesson]
        assert len(store.history(lesson.id)) == 1  # foreign keys did not delete it when the table was rebuilt
        with store._read() as connection:
            assert upgrade.stored_version(connection, "it") == "0005"
    Store(address).close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(address, tomorrow, monkeypatch):
    with Store(address) as store:
        store.add_lessons("s", [Lesson(kind="note", text="a")], who="person")
    with monkeypatch.context():
        tomorrow(NEXT + '    op.execute("INSERT INTO nowhere VALUES (1)")\n')
        with pytest.raises(StoreError, match="nowhere"):
            Store(address)
    for name, value in (("HEAD", TODAY[-1]), ("VERSIONS", TODAY)):
        monkeypatch.setattr(schema, name, value)
    with Store(address) as store:
        assert "mood" not in columns(store)
        assert len(store.lessons("s")) == 1


def test_a_store_of_the_first_layout(address, monkeypatch):
    with monkeypatch.context() as then:
        then.setattr(schema, "HEAD", "0001")
        then.setattr(schema, "VERSIONS", ("0001",))
        with Store(address) as store, store._write() as connection:
            lesson = Lesson(id="les-1", kind="note", text="a", created="2026-01-01", updated="2026-01-01")
            names = ", ".join(column.name for column in schema.lessons.columns if column.name != "seq")
            connection.exec_driver_sql(
                f"INSERT INTO lessons ({names}) VALUES ('les-1', 's', 1, 'note', '', '', 'active', 1.0, FALSE, 'model',"
                f" '', 1, '2026-01-01', '2026-01-01', 'a', '{lesson.model_dump_json()}')"
            )
            connection.exec_driver_sql(
                "INSERT INTO lesson_history (lesson_id, version, at, who, why, body) "
                f"VALUES ('les-1', 1, '2026-01-01', 'model', 'seen', '{lesson.model_dump_json()}')"
            )
            connection.exec_driver_sql("INSERT INTO scopes VALUES ('s', 1, 0)")
    with Store(address) as store:
        assert store.check() == []
        store.add_snapshot("s", "as it was", who="person")
        store.update_lesson(lesson.model_copy(update={"text": "b"}), who="person")
        assert store.lessons_at("s", "as it was") == [lesson]


def test_a_store_of_the_second_layout_keeps_its_marks(path):
    """The file was written by a Seasoned whose marks were replies in the journal that no model gave."""
    with sqlite3.connect(path) as file:
        file.executescript((Path(__file__).parent / "layout_0002.sql").read_text(encoding="utf-8"))
    file.close()
    with Store(path) as store:
        assert store.check() == []
        pool, made = "run-1/s0f0/erl", [f"tra-{n}" for n in range(4)]
        assert store.marked(pool, "learned") == {"from": made[:3], "problems": ["a reply was no heuristic"]}
        assert store.marked("run-1/s0f0/expnote", "learned") == {}
        assert store.marked("run-1/s0f0/training", "replaced") == ["tra-2"]
        assert ExperiencePool(store, pool).verdicts() == {"tra-0": False, "tra-1": True}
        replies = [reply.text for _, reply in store.journal_ending("run-1/", "")]
        assert replies == ['{"trigger": "a name is unknown"}', "learned, said a model"]
        assert store.journal_usage("run-1/").calls == 2
        assert [t.id for t in store.episodes("run-1").values()] == made
        assert [change.who for change in store.history("les-1")] == ["model", "person"]
        assert store.lesson_uses("les-1") == [("tra-3", True)]
        assert [t.id for t in store.unlearned("run-1/s0f0/training", "erl")] == made[1:]
        assert store.get_vectors("lesson", None, "e")[0] == ["les-1"]
        assert store.lessons_at(pool, "before") == store.lessons(pool)


def test_threads_may_open_one_new_store_at_once(address):
    opened, failed = [], []

    def work():
        try:
            opened.append(Store(address))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert all(store.check() == [] for store in opened)
    for store in opened:
        store.close()

"""How a store is reached: files and servers, and what a connection is set to."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sqlalchemy import create_engine, event, make_url, text
from sqlalchemy.exc import OperationalError

from seasoned.errors import MissingExtraError, StoreError
from seasoned.store.connections import connections
from seasoned.store.faults import translate
from seasoned.store.sql import Store
from seasoned.types import Lesson, Reply


def note(text):
    return Lesson(kind="note", text=text)


def test_a_missing_file_and_its_folders_are_made(tmp_path):
    path = tmp_path / "new folder" / "ü? #%" / "a.db"
    with Store(path) as store:
        store.add_lessons("s", [note("a")], who="person")
        assert store.path == path
    assert [p.name for p in path.parent.iterdir()] == ["a.db"]  # no -wal and no -shm is left
    with Store(f"sqlite:///{tmp_path / 'b.db'}") as store:
        assert store.lessons() == []
    assert (tmp_path / "b.db").is_file()


def test_settings_that_keep_what_is_promised(path):
    with Store(path, timeout=3) as store:
        with store._read() as connection:
            asked = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
            }
        assert asked == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1, "busy_timeout": 3000}
        store.add_lessons("s", [note("a")], who="person")
        with store._write() as connection:
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 3000


def test_a_journalled_reply_outlives_a_power_cut_and_other_writes_are_quick(path):
    at_commit = []

    def ask(connection):
        at_commit.append(connection.exec_driver_sql("PRAGMA synchronous").scalar())

    with Store(path) as store:
        event.listen(store._engine, "commit", ask)
        store.journal_put("s", "k", Reply(text="paid for"))
        store.add_lessons("s", [note("a")], who="person")  # on the same connection
        with store.transaction():
            store.journal_put("s", "l", Reply(text="a mark"))
        store.journal_put("s", "m", Reply(text="paid for"))
    assert at_commit == [2, 1, 1, 2]  # FULL or NORMAL


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (":memory:", "not :memory:"),
        ("sqlite://", "not sqlite"),
        ("mysql://me:secret@host/name", "not mysql"),
        ("postgresql://me:secret@host:port/name", "written? as|write it as"),
        ("a\x00b", "cannot be used"),
        ("x" * 5000, "cannot be used"),
        ("", "should be a file"),
    ],
)
def test_an_address_that_is_none(address, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=words) as caught:
        Store(address)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_and_a_file_in_the_place_of_a_folder(tmp_path):
    with pytest.raises(StoreError, match="should be a file, but is a folder"):
        Store(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        Store(tmp_path / "file" / "a.db")


def test_postgres_without_its_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"psycopg.*seasoned\[postgres\]"):
        Store("postgresql://me:secret@127.0.0.1:1/name")


def test_a_postgres_that_does_not_answer():
    pytest.importorskip("psycopg")
    with pytest.raises(
        StoreError, match=r"postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/name cannot be reached"
    ) as caught:
        Store("postgresql://me:secret@127.0.0.1:1/name")
    assert "secret" not in str(caught.value)


@pytest.fixture
def limited(postgres):
    """The URL of a role that may have two connections to the server."""
    owner = create_engine(make_url(postgres).set(drivername="postgresql+psycopg"))
    role = f"few_{make_url(postgres).query['options'][-6:]}"
    with owner.begin() as connection:
        connection.execute(text(f"CREATE ROLE {role} LOGIN PASSWORD 'secret' CONNECTION LIMIT 2"))
    yield make_url(postgres).set(drivername="postgresql+psycopg", username=role, password="secret")
    with owner.begin() as connection:
        connection.execute(text(f"DROP ROLE {role}"))
    owner.dispose()


def test_a_server_without_a_free_connection_is_waited_for(limited):
    held, waiting = connections(limited, 30.0), connections(limited, 30.0)
    first, second = held.connect(), held.connect()

    def ask():
        with waiting.connect() as connection:
            return connection.exec_driver_sql("SELECT 7").scalar()

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask)
        assert not wait([answer], 0.5).done
        first.detach()
        first.close()
        assert answer.result(20) == 7
    second.close()
    held.dispose()
    waiting.dispose()


def test_a_server_that_has_none_for_too_long_is_named_with_what_helps(limited):
    held, waiting = connections(limited, 30.0), connections(limited, 0.1)
    open_ones = [held.connect(), held.connect()]
    with pytest.raises(OperationalError) as refused:
        waiting.connect()
    said = translate(refused.value, "postgresql://..", 0.1)
    assert "too many connections at the server" in str(said)
    assert "max_connections" in str(said)
    for connection in open_ones:
        connection.close()
    held.dispose()
    waiting.dispose()


def test_a_process_never_has_more_than_ten_connections(postgres):
    with Store(postgres) as store, ThreadPoolExecutor(32) as pool:
        now, most, lock = [0], [0], threading.Lock()

        def opened(*_):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])

        def closed(*_):
            with lock:
                now[0] -= 1

        store._engine.dispose()
        event.listen(store._engine, "connect", opened)
        event.listen(store._engine, "close", closed)
        assert list(pool.map(lambda n: store.lessons(f"s{n}"), range(200))) == [[]] * 200
        assert 1 <= most[0] <= 10

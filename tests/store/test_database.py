import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress

import pytest

from seasoned.errors import StoreError, StoreLockedError
from seasoned.store.database import chunks
from seasoned.store.sql import Store
from seasoned.types import Lesson, Reply


def note(text):
    return Lesson(kind="note", text=text)


@pytest.mark.parametrize("content", [b"hello", b"\x80\x04\x95" * 2000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"other than an SQLite database|damaged"):
        Store(path)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(path):
    path.write_bytes(b"")
    with Store(path) as store:
        assert store.check() == []


def test_a_damaged_file(path):
    with Store(path) as store:
        store.add_lessons("s", [note("x" * 3000) for _ in range(50)], who="person")
    content = bytearray(path.read_bytes())
    content[20_000:] = os.urandom(len(content) - 20_000)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"), Store(path) as store:
        store.lessons()


def test_check_reports_damage_and_does_not_raise(path):
    with Store(path) as store:
        store.add_lessons("s", [note("x" * 3000) for _ in range(50)], who="person")
    content = bytearray(path.read_bytes())
    content[-30_000:] = os.urandom(30_000)
    path.write_bytes(content)
    with Store(path) as store:
        assert any("damaged" in problem for problem in store.check())


def test_a_cut_file(path):
    with Store(path) as store:
        store.add_lessons("s", [note("x" * 3000) for _ in range(50)], who="person")
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(StoreError, match="damaged"), Store(path) as store:
        store.lessons()


def test_a_read_only_file_and_folder(open_folder, as_nobody):
    path = open_folder / "a.db"
    with Store(path) as store:
        store.add_lessons("s", [note("a")], who="person")
    path.chmod(0o444)
    open_folder.chmod(0o555)
    try:
        with as_nobody(), pytest.raises(StoreError, match=r"read-only|may read and write"), Store(path) as store:
            store.add_lessons("s", [note("b")], who="person")
        with as_nobody(), pytest.raises(StoreError, match="may read and write"):
            Store(open_folder / "new.db")
        with as_nobody(), pytest.raises(StoreError, match=r"cannot be used: .*[Pp]ermission denied"):
            Store(open_folder / "new" / "a.db")
        path.chmod(0o000)
        with as_nobody(), pytest.raises(StoreError, match="may read and write"):
            Store(path)
    finally:
        open_folder.chmod(0o755)


@pytest.mark.parametrize("inside", [False, True])
def test_a_full_disk_keeps_nothing_of_the_write_and_breaks_nothing(path, inside):
    with Store(path) as store:
        store.add_lessons("s", [note("a")], who="person")
        with store._read() as connection:  # the only one in use, so the next write gets it again
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 4}")
        with pytest.raises(StoreError, match="disk is full"), store.transaction() if inside else nullcontext():
            store.add_lessons("s", [Lesson(kind="note", text="x" * 200_000)], who="person")
        assert not store.in_transaction
        assert [lesson.text for lesson in store.lessons()] == ["a"]
        store.journal_put("s", "k", Reply(text="small"))
        assert store.check() == []


def test_a_full_disk_cannot_split_a_transaction(path):
    def go_on_regardless():
        with store.transaction():
            store.add_lessons("s", [note("before")], who="person")
            with store._read() as connection:
                pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
                connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 4}")
            with pytest.raises(StoreError, match="disk is full"):
                store.add_lessons("s", [note("x" * 200_000)], who="person")
            with suppress(StoreError):
                store.add_lessons("s", [note("after")], who="person")

    with Store(path) as store:
        with pytest.raises(StoreError, match=r"nothing of it was kept: .*disk is full"):
            go_on_regardless()
        assert store.lessons() == []
        store.add_lessons("s", [note("later")], who="person")
        assert len(store.lessons()) == 1


def test_a_store_that_another_program_holds(path):
    with Store(path, timeout=0.2) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError, match=r"another program has locked the store .* for more than 0\.2 s"):
            store.add_lessons("s", [note("a")], who="person")
        assert store.lessons() == []  # reading goes on
        other.execute("COMMIT")
        other.close()
        store.add_lessons("s", [note("a")], who="person")


def test_a_thread_that_holds_the_store_for_too_long(path):
    with Store(path, timeout=0.2) as store, store.transaction():
        caught = []

        def write():
            try:
                store.add_lessons("s", [note("a")], who="person")
            except StoreLockedError as error:
                caught.append(str(error))

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert "keep model calls" in caught[0]


def test_a_closed_store(address):
    store = Store(address)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="was closed; open it again"):
        store.lessons()


def test_a_store_is_not_carried_into_another_process(path):
    with Store(path) as store:
        store._pid += 1
        with pytest.raises(StoreError, match="opened in another process"):
            store.lessons()


def test_a_transaction_keeps_all_or_nothing(store):
    def fail():
        store.add_lessons("s", [note("a")], who="person")
        assert [lesson.text for lesson in store.lessons()] == ["a"]
        assert store.in_transaction
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), store.transaction():
        fail()
    assert not store.in_transaction
    assert store.lessons() == []
    assert store.changes("s") == (0, 0)
    with store.transaction():
        store.add_lessons("s", [note("b")], who="person")
        with store.transaction():
            store.add_lessons("s", [note("c")], who="person")
    assert [lesson.text for lesson in store.lessons()] == ["b", "c"]


def test_two_that_write_to_the_same_scopes_in_another_order_do_not_block_one_another(address):
    begun, failed = threading.Barrier(2, timeout=10), []

    def write(*scopes):
        try:
            with Store(address) as store:
                begun.wait()
                for n in range(5):
                    with store.transaction("a", "b"), store.transaction("b"):
                        for scope in scopes:
                            store.add_lessons(scope, [note(f"{scopes} {n}")], who="model")
                            time.sleep(0.01)
        except Exception as error:
            failed.append(error)

    with Store(address) as store:
        writers = [threading.Thread(target=write, args=scopes) for scopes in (("a", "b"), ("b", "a"))]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert failed == []
        assert len(store.lessons("a")) == len(store.lessons("b")) == 10


def test_a_write_that_fails_inside_a_transaction_leaves_the_others(store):
    lesson = note("a")
    with store.transaction():
        store.add_lessons("s", [lesson], who="person")
        with pytest.raises(StoreError, match="already in the store"):
            store.add_lessons("s", [note("b"), lesson], who="person")
        store.add_lessons("s", [note("c")], who="person")
    assert [lesson.text for lesson in store.lessons()] == ["a", "c"]
    assert store.check() == []


def test_threads_share_a_store(store):
    failed = []

    def write(n):
        try:
            for i in range(20):
                store.add_lessons("s", [note(f"{n}/{i}")], who="rule")
                store.lessons("s", limit=2)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert {lesson.text for lesson in store.lessons("s")} == {f"{n}/{i}" for n in range(8) for i in range(20)}
    assert store.changes("s") == (160, 0)


def _write_many(address, n):
    with Store(address) as store:
        for i in range(200):
            store.add_lessons("s", [Lesson(kind="note", text=f"{n}/{i}")], who="rule")


def test_processes_share_a_store(address):
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_many, args=(address, n)) for n in range(4)]  # a new store: they make it, too
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    with Store(address) as store:
        assert {lesson.text for lesson in store.lessons("s")} == {f"{n}/{i}" for n in range(4) for i in range(200)}
        assert store.changes("s") == (800, 0)
        assert store.check() == []


KILLED = """
import itertools, sys
from seasoned.store.sql import Store
from seasoned.types import Reply
store = Store(sys.argv[1])
for i in itertools.count():
    store.journal_put("s", str(i), Reply(text=f"reply {i}"))
    print(i, flush=True)
"""


def test_what_was_journalled_is_there_after_kill_9(address):
    child = subprocess.Popen([sys.executable, "-c", KILLED, address], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, child.stdout:
        said = [int(child.stdout.readline()) for _ in range(50)]
        child.send_signal(signal.SIGKILL)
        said += [int(line) for line in child.stdout.read().split()]
    assert child.returncode == -signal.SIGKILL
    with Store(address) as store:
        assert [store.journal_get("s", str(i)) for i in said] == [Reply(text=f"reply {i}") for i in said]
        assert store.check() == []


def test_chunks():
    assert [len(part) for part in chunks(range(1200))] == [500, 500, 200]
    assert list(chunks([])) == []

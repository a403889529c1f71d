import sqlite3
import threading
import time
from contextlib import contextmanager

import pytest
from page import TOKEN, visit
from starlette.testclient import TestClient

from seasoned.embed import embedder
from seasoned.errors import ConfigError
from seasoned.types import Lesson
from seasoned.web.app import make_app, serve


def test_an_unknown_address_is_a_sentence(client):
    answer = client.get("/no/such/page")
    assert answer.status_code == 404
    assert "no page at this address" in answer.text
    assert client.post("/lessons", data={"a": "b"}).status_code == 405


def test_a_busy_store_says_so_and_keeps_the_text(client, store):
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    form = {"id": "les-1", "version": "1", "text": "My <words>\nin two lines", "key": "", "category": "", "why": "w"}
    answer = client.post("/lesson/edit", data=form)
    assert answer.status_code == 503
    assert "Try again" in answer.text
    assert "My &lt;words&gt;\nin two lines" in answer.text
    assert 'name="version" value="1"' in answer.text
    assert client.get("/lesson?id=les-1").status_code == 200  # reading goes on meanwhile
    other.execute("ROLLBACK")
    other.close()
    assert client.post("/lesson/edit", data=form).status_code == 200
    assert store.get_lesson("les-1").text.startswith("My <words>")


def test_a_full_disk_says_so(client, store):
    with store._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    from sqlalchemy import event

    def small(dbapi, _record, _proxy):
        dbapi.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(store._engine, "checkout", small)
    try:
        answer = client.post("/lesson/add", data={"scope": "s", "kind": "heuristic", "text": "x " * 4900})
        answer = client.post("/lesson/add", data={"scope": "s", "kind": "heuristic", "text": "y " * 4900})
    finally:
        event.remove(store._engine, "checkout", small)
    assert answer.status_code == 503
    assert "the disk is full" in answer.text
    assert "Try again" in answer.text


def test_a_store_that_is_no_longer_one_is_a_sentence(client, store):
    raw = sqlite3.connect(store.path)
    raw.execute("UPDATE lessons SET body = '{' WHERE id = 'les-1'")
    raw.commit()
    raw.close()
    answer = client.get("/lesson?id=les-1")
    assert answer.status_code == 400
    assert "cannot be read" in answer.text
    assert "Traceback" not in answer.text


def test_a_fault_of_ours_is_a_sentence_too(store, runs, monkeypatch):
    from seasoned.web import lessons

    monkeypatch.setattr(lessons.pages, "lesson_counts", lambda *_: 1 / 0)
    client = visit(make_app(store, token=TOKEN, runs_folder=runs), raise_server_exceptions=False)
    answer = client.get("/lessons")
    assert answer.status_code == 500
    assert "Internal error" in answer.text
    assert "ZeroDivision" not in answer.text


def test_a_short_token_or_a_bad_port_is_refused(store, runs):
    with pytest.raises(ConfigError, match="16 characters"):
        make_app(store, token="short", runs_folder=runs)
    app = make_app(store, token=TOKEN, runs_folder=runs)
    with pytest.raises(ConfigError, match="cannot be used"):
        serve(app, host="no.such.host.invalid", port=0, ready=print)


def test_many_lessons_stay_fluent(client, store):
    """Five thousand here, for time; benchmarks tell of a hundred thousand. No page may read them all."""
    store.add_lessons("many", [Lesson(kind="note", text=f"text {i} " * 10) for i in range(5000)], who="rule")
    client.get("/lessons")
    began = time.process_time()
    for path in ("/lessons", "/lessons?scope=many&q=text", "/lessons?scope=many&before=50"):
        assert len(client.get(path).content) < 60_000
    assert time.process_time() - began < 1.5


def test_what_the_program_gives_stands_around_the_first_search_by_meaning(store, runs):
    begun, ended = threading.Event(), threading.Event()

    @contextmanager
    def warming():
        begun.set()
        yield
        ended.set()

    app = make_app(store, token=TOKEN, runs_folder=runs, embedder=embedder("hashing"), warming=warming)
    assert not begun.is_set()
    with TestClient(app):
        assert begun.wait(20)
        assert ended.wait(20)

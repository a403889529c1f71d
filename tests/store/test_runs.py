import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from seasoned.errors import StoreError
from seasoned.store.body import clean_text
from seasoned.types import Reply, Usage

any_text = st.text(st.characters())
with_store = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)


def test_a_run_from_start_to_end(store):
    store.add_run("run-1", "emoji", "/runs/a", {"seeds": [0, 1], "llm": {"model": "m"}})
    run = store.get_run("run-1")
    assert run is not None
    assert (run.name, run.path, run.status, run.finished, run.summary) == ("emoji", "/runs/a", "running", None, None)
    assert run.config == {"seeds": [0, 1], "llm": {"model": "m"}}
    store.finish_run("run-1", "complete", {"n": 5})
    ended = store.get_run("run-1")
    assert ended is not None
    assert (ended.status, ended.summary, ended.created) == ("complete", {"n": 5}, run.created)
    assert ended.finished is not None
    assert ended.finished >= run.created
    assert store.get_run("run-none") is None
    store.finish_run("run-1", "stopped")
    assert store.runs()[0].summary is None


def test_a_resumed_run_runs_again(store):
    store.add_run("run-1", "a", "p", {"x": 1})
    store.finish_run("run-1", "stopped", {"n": 1})
    first = store.get_run("run-1")
    store.add_run("run-1", "b", "q", {"x": 2})
    again = store.get_run("run-1")
    assert first is not None
    assert again is not None
    assert (again.name, again.path, again.config, again.status) == ("b", "q", {"x": 2}, "running")
    assert (again.created, again.finished, again.summary) == (first.created, None, None)
    assert len(store.runs()) == 1


def test_runs_newest_first_in_pages(store):
    for i in range(5):
        store.add_run(f"run-{i}", "n", "p", {})
        with store._write() as connection:
            connection.exec_driver_sql(f"UPDATE runs SET created = '2026-01-0{i + 1}' WHERE run_id = 'run-{i}'")
    assert [run.run_id for run in store.runs(limit=2)] == ["run-4", "run-3"]
    assert [run.run_id for run in store.runs(limit=2, offset=3)] == ["run-1", "run-0"]
    assert len(store.runs(limit=None)) == 5
    with pytest.raises(StoreError, match="offset should be 0 or more, but is -1"):
        store.runs(offset=-1)


def test_an_unknown_run_and_what_json_cannot_hold(store):
    with pytest.raises(StoreError, match="run-9 is not in the store"):
        store.finish_run("run-9", "complete")
    with pytest.raises(StoreError, match="the config of a run cannot be stored as JSON"):
        store.add_run("run-1", "n", "p", {"x": object()})
    with pytest.raises(StoreError, match="the summary of a run cannot be stored as JSON"):
        store.finish_run("run-1", "complete", {"x": {1, 2}})


@with_store
@given(scope=any_text, key=any_text, text=any_text)
def test_any_reply_comes_out_of_the_journal_as_it_went_in(store, scope, key, text):
    reply = Reply(
        text=text,
        parsed={"a": [1, None, text]},
        model=text,
        usage=Usage(prompt_tokens=3, calls=1, cost=None, seconds=0.1),
    )
    store.journal_put(scope, key, reply)
    found = store.journal_get(scope, key)
    assert found is not None
    assert found.text == found.model == found.parsed["a"][2] == clean_text(text)
    assert found.usage == reply.usage
    store.journal_drop(scope)


def test_the_first_reply_under_a_key_stays(store):
    store.journal_put("s", "k", Reply(text="first"))
    store.journal_put("s", "k", Reply(text="second"))
    assert store.journal_get("s", "k") == Reply(text="first")
    assert store.journal_get("s", "other") is None
    assert store.journal_get("other", "k") is None


def test_a_journal_can_be_dropped(store):
    for key in "abc":
        store.journal_put("s", key, Reply(text=key))
    store.journal_put("t", "a", Reply(text="t"))
    assert store.journal_drop("s") == 3
    assert store.journal_get("s", "a") is None
    assert store.journal_get("t", "a") is not None


def test_keys_with_an_end_are_found_in_all_scopes_of_a_run(store):
    kept = [("r/b", "1_x"), ("r/a", "2_x"), ("r/a", "3"), ("other", "4_x"), ("r/a", "5ax")]
    for number, (scope, key) in enumerate(kept):
        store.journal_put(scope, key, Reply(text=key))
        with store._write() as connection:
            moment = f"2026-01-0{number + 1}"
            connection.exec_driver_sql(f"UPDATE journal SET created = '{moment}' WHERE key = '{key}'")
    assert store.journal_ending("r/", "_x") == [("r/b", Reply(text="1_x")), ("r/a", Reply(text="2_x"))]
    assert store.journal_ending("r%", "x") == []


def test_threads_journal_at_once(store):
    def put(n):
        for i in range(20):
            store.journal_put("s", f"{n}/{i}", Reply(text=f"{n}/{i}"))
            store.journal_put("s", "same", Reply(text="same"))

    threads = [threading.Thread(target=put, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.journal_drop("s") == 121


def test_marks(store):
    assert (store.marked("s", "m"), store.marks("s")) == (None, {})
    store.mark("s", "m", {"ids": ["ü", 1, None]})
    store.mark("s", "a")
    store.mark("other", "m", [])
    assert (store.marked("s", "m"), store.marked("other", "m")) == ({"ids": ["ü", 1, None]}, [])
    assert store.marks("s") == {"a": True, "m": {"ids": ["ü", 1, None]}}
    store.mark("s", "a", 2)
    store.mark("s", "a", 3, replace=False)
    assert store.marked("s", "a") == 2
    with pytest.raises(StoreError, match="the mark 'a' of 's' cannot be stored as JSON"):
        store.mark("s", "a", object())
    assert (store.unmark("s", "m"), store.marks("s")) == (1, {"a": 2})
    assert (store.unmark("s"), store.marks("s"), store.marks("other")) == (1, {}, {"m": []})
    assert store.journal_ending("", "") == []


@with_store
@given(scope=any_text, name=any_text, text=any_text)
def test_any_text_can_be_a_mark(store, scope, name, text):
    store.mark(scope, name, [text])
    assert store.marked(scope, name) == [clean_text(text)]
    assert store.unmark(scope, name) == 1


def test_replies_of_many_threads_share_their_commits(store):
    """Each is there when its call returns; a thread that writes takes along what waits."""
    commits, at_work = [], threading.Event()
    event.listen(store._engine, "commit", lambda connection: (commits.append(1), at_work.wait(0.02)))

    def put(n):
        store.journal_put("s", str(n), Reply(text=str(n)), {f"{n}/asked": Reply(text="asked")})
        assert store.journal_get("s", str(n)).text == str(n)
        assert store.journal_get("s", f"{n}/asked").text == "asked"

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(put, range(64)))
    assert len(commits) < 40


def test_a_failed_write_is_told_to_all_who_waited_and_the_next_one_is_kept(store):
    with store._engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE journal RENAME TO hidden")
        connection.commit()

    def put(n):
        with pytest.raises(StoreError):
            store.journal_put("s", str(n), Reply(text=str(n)))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(put, range(8)))
    with store._engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE hidden RENAME TO journal")
        connection.commit()
    store.journal_put("s", "k", Reply(text="kept"))
    assert store.journal_get("s", "k").text == "kept"

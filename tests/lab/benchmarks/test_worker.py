"""Processes that are asked in JSON lines, with a program that stands in for an engine."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from seasoned.errors import ConfigError, DataError, InfrastructureError
from seasoned.lab.benchmarks.worker import Episode, Workers


@pytest.fixture
def pool(engine):
    """Makes a pool of workers with a quirk; its workers are stopped at the end."""
    made = []

    def make(quirk="pass", **settings):
        made.append(Workers(engine(quirk), name="the engine", **{"timeout": 20.0, **settings}))
        return made[-1]

    yield make
    for workers in made:
        workers.close()


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_one_worker_serves_one_request_after_the_other(pool):
    workers = pool()
    with workers.lent() as worker:
        assert worker.versions == {"engine": "1"}
        assert "you see a desk 1" in worker.ask("load", game="x")["observation"]
        assert worker.ask("step", command="go to desk 1")["observation"].endswith("a mug 1.")
        pid = worker.pid
    with workers.lent() as worker:
        assert worker.pid == pid


def test_as_many_as_are_used_at_once(pool):
    workers = pool()
    one, other = workers.take(), workers.take()
    assert one.pid != other.pid
    workers.give(one)
    assert workers.take() is one


def test_one_that_was_used_often_is_replaced(pool):
    workers = pool(recycle=2)
    pids = []
    for _ in range(4):
        with workers.lent() as worker:
            pids.append(worker.pid)
    assert pids[0] == pids[1] != pids[2] == pids[3]
    assert gone(pids[0])


def test_one_that_died_while_it_waited_is_replaced(pool):
    workers = pool()
    with workers.lent() as worker:
        pid = worker.pid
    os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)
    with workers.lent() as worker:
        assert worker.pid != pid
        assert worker.ask("load", game="x")["won"] is False


@pytest.mark.parametrize(
    ("quirk", "says"),
    [
        ("print('I cannot go on', file=sys.stderr, flush=True); os._exit(3)", "has died; it last said: I cannot go on"),
        ("time.sleep(60)", "did not answer within 0.5 seconds"),
        (
            "print('not json'); print('[1]'); print('{\"id\": 99}'); print('9' * 9000, flush=True); os._exit(0)",
            "has died",
        ),
        ("os.close(1); time.sleep(60)", "has died"),
    ],
)
def test_what_fails_is_stopped_and_is_no_answer(pool, quirk, says):
    workers = pool(quirk)
    worker = workers.take()
    worker._timeout = 0.5 if "within" in says else 20.0
    with pytest.raises(InfrastructureError) as caught:
        worker.ask("load", game="x")
    assert f"the engine {says}" in str(caught.value)
    assert gone(worker.pid)
    with pytest.raises(InfrastructureError):
        worker.ask("load", game="x")
    workers.give(worker)
    assert workers.take() is not worker


def test_what_is_no_reply_is_passed_over(pool):
    junk = ("loading..", '{"id": 0}', "[1, 2]", '{"id"', "\x00\xff", "")
    with pool(f"print(*{junk!r}, sep=chr(10), flush=True)").lent() as worker:
        assert worker.ask("load", game="x")["won"] is False
        assert worker.ask("step", command="open drawer 1")["observation"].startswith("You open")


def test_an_endless_line_ends_with_the_time(pool):
    worker = pool("[sys.stdout.write('x' * 4096) for _ in iter(int, 1)]").take()
    worker._timeout = 0.5
    with pytest.raises(InfrastructureError, match="did not answer"):
        worker.ask("load", game="x")
    assert gone(worker.pid)


def test_an_error_of_the_worker_is_of_the_data_and_leaves_it_alive(pool):
    with pool("if command == 'x': say(id=request['id'], error='no such game', kind='game'); continue").lent() as worker:
        with pytest.raises(DataError, match="the engine: no such game"):
            worker.ask("step", command="x")
        assert worker.ask("load", game="x")["won"] is False


@pytest.mark.parametrize(
    ("program", "error", "says"),
    [
        ('print(\'{"id": 0, "error": "No module named textworld"}\')', ConfigError, "No module named textworld"),
        ("raise SystemExit('broken')", InfrastructureError, "broken"),
    ],
)
def test_one_that_cannot_begin(program, error, says):
    with pytest.raises(error, match=says):
        Workers([sys.executable, "-c", program], name="the engine", timeout=20.0).take()


def test_no_such_program(tmp_path):
    with pytest.raises(ConfigError, match="cannot be started"):
        Workers([str(tmp_path / "none")], name="the engine").take()


def test_it_gets_no_keys(pool, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with pool("say(id=request['id'], has=dict(os.environ)); continue", environ={"OWN": "1"}).lent() as worker:
        has = worker.ask("load", game="x")["has"]
    assert has["OWN"] == "1"
    assert has["PYTHONHASHSEED"] == "0"
    assert "secret" not in str(has)


def test_one_that_is_dropped_is_stopped(pool):
    worker = pool().take()
    pid = worker.pid
    del worker
    gc.collect()
    assert gone(pid)


def test_none_outlives_the_process(engine):
    program = (
        "import sys; from seasoned.lab.benchmarks.worker import Episode, Workers\n"
        f"pool = Workers({engine()!r}, name='the engine'); one, other = pool.take(), pool.take(); pool.give(other)\n"
        "print(one.pid, other.pid)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert all(gone(int(pid)) for pid in done.stdout.split())


def test_an_episode_goes_on_where_its_worker_died(pool):
    workers = pool()
    episode = Episode(workers)
    assert episode.pid is None
    assert "your task" in episode.begin("load", game="x")["observation"].casefold()
    episode.ask("step", command="take mug 1 from desk 1")
    first = episode.pid
    os.kill(first, signal.SIGKILL)
    assert episode.ask("step", command="move mug 1 to shelf 1")["won"] is True
    assert episode.pid not in (None, first)
    episode.close()
    episode.close()
    assert episode.pid is None


def test_an_episode_that_fails_twice_is_an_infrastructure_error(pool):
    episode = Episode(pool("if command == 'x': print('so long', file=sys.stderr, flush=True); os._exit(3)"))
    episode.begin("load", game="x")
    with pytest.raises(InfrastructureError, match="the engine has died; it last said: so long"):
        episode.ask("step", command="x")
    assert episode.pid is None
    assert episode.begin("load", game="x")["won"] is False
    episode.close()


def test_what_an_engine_refuses_is_not_asked_again(pool):
    refuses = "if command == 'x': say(id=request['id'], error='no such command', kind='data'); continue"
    episode = Episode(pool(refuses))
    episode.begin("load", game="x")
    with pytest.raises(DataError, match="no such command"):
        episode.ask("step", command="x")
    os.kill(episode.pid, signal.SIGKILL)
    assert episode.ask("step", command="open drawer 1")["observation"].startswith("You open")
    episode.close()


def test_many_threads(pool):
    workers, said = pool(), []

    def work():
        for _ in range(3):
            with workers.lent() as worker:
                said.append(worker.ask("step", command="open drawer 1")["observation"])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 9
    assert set(said) == {"You open the drawer 1. The drawer 1 is open. In it, you see nothing."}

"""Jobs on threads: order, errors, and an end that loses nothing."""

import asyncio
import contextvars
import threading
import time

import pytest

from seasoned import jobs
from seasoned.jobs import afterwards, heed_ctrl_c, jobs_at_work, off_loop, run_jobs, waited
from seasoned.llm.budget import Metered
from seasoned.llm.scripted import ScriptedModel


@pytest.mark.parametrize("workers", [0, 1, 2, 8])
def test_results_come_in_the_order_of_the_jobs(workers):
    def work(n):
        time.sleep(0.002 * (5 - n))
        return n * n

    assert run_jobs(work, range(5), workers) == [0, 1, 4, 9, 16]
    assert run_jobs(work, [], workers) == []


def test_as_many_at_once_as_there_are_workers():
    together = threading.Barrier(3, timeout=5)
    assert run_jobs(lambda _: together.wait() >= 0, range(6), 3) == [True] * 6


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
@pytest.mark.parametrize("workers", [1, 2])
def test_after_an_error_no_new_job_starts_and_those_at_work_end(workers, error):
    begun, ended = [], []

    def work(n):
        begun.append(n)
        if n == 1:
            raise error
        time.sleep(0.05)
        ended.append(n)

    with pytest.raises(type(error)):
        run_jobs(work, range(50), workers)
    assert len(begun) <= 1 + 2 * workers
    assert sorted(ended) == sorted(n for n in begun if n != 1)


def test_after_ctrl_c_those_at_work_get_their_reply_and_ask_no_more(monkeypatch, capsys):
    under_way, pressed, ended = threading.Barrier(3, timeout=5), threading.Event(), []

    def press(futures, return_when):
        under_way.wait()
        raise KeyboardInterrupt

    def say(messages):
        if not pressed.is_set():
            under_way.wait()
            assert pressed.wait(5)
        return "a reply"

    model = ScriptedModel(say)
    metered = Metered(model, scope="run", before=heed_ctrl_c)

    def work(n):
        ended.append(metered.chat([]).text)
        ended.append(metered.chat([]).text)

    real = jobs.tell_at_work
    monkeypatch.setattr(jobs, "wait", press)
    monkeypatch.setattr(jobs, "tell_at_work", lambda n: (real(n), pressed.set()))
    with pytest.raises(KeyboardInterrupt):
        run_jobs(work, range(9), 2)
    assert ended == ["a reply"] * 2
    assert len(model.requests) == 2
    assert metered.usage.calls == 2
    assert "Stopping: waiting for 2 replies (Ctrl-C again" in capsys.readouterr().err
    assert not jobs_at_work()
    heed_ctrl_c()  # this thread is at no job


def test_coroutines_share_few_threads_and_work_that_was_begun_is_done():
    seen, name = set(), contextvars.ContextVar("name")

    def work(number):
        seen.add(threading.current_thread())
        time.sleep(0.01)
        return name.get(), number

    async def both():
        name.set("mine")
        found = await asyncio.gather(*(off_loop(work, number) for number in range(40)))
        assert found == [("mine", number) for number in range(40)]
        done = threading.Event()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(off_loop(lambda: time.sleep(0.1) or done.set()), 0.01)
        with pytest.raises(ZeroDivisionError):
            await off_loop(lambda: 1 / 0)
        assert done.wait(2)

    asyncio.run(both())
    assert len(seen) <= 4


def test_what_waits_for_the_event_loop_is_done_there_afterwards():
    done = []

    async def later():
        done.append(threading.current_thread().name)

    async def main():
        assert await off_loop(lambda: (threading.current_thread().name, afterwards(later))) != ()
        assert done == [threading.current_thread().name]

    asyncio.run(main())
    assert not afterwards(later)


def test_a_coroutine_is_waited_for_with_and_without_an_event_loop():
    async def seven():
        await asyncio.sleep(0)
        return 7

    async def main():
        return waited(seven())

    async def wrong():
        raise KeyError("x")

    assert (waited(seven()), waited(8), asyncio.run(main())) == (7, 8, 7)
    with pytest.raises(KeyError):
        waited(wrong())

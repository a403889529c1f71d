"""Jobs on threads: order, errors, and an end that loses nothing."""

import threading
import time

import pytest

from seasoned.runner.executors import run_jobs


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

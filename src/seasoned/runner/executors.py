"""Runs jobs on threads, keeps their order, and stops cleanly.

Always holds: results come back in the order of the jobs; after an error or Ctrl-C no new job starts, those at work are
waited for, and what they finished is kept by their own doing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def run_jobs(work: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> list[Result]:
    """Apply `work` to every job on `workers` threads.

    Raises:
        Whatever the first failing job raised, once the jobs at work have ended.
    """
    if workers <= 1:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="seasoned") as pool:
        futures = [pool.submit(work, job) for job in jobs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            for future in futures:
                future.cancel()
        for future in futures:
            if not future.cancelled() and (error := future.exception()) is not None:
                raise error
        return [future.result() for future in futures]

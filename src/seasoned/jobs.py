"""Runs jobs on threads, keeps their order, and stops cleanly; does for coroutines what waits for a disk or a model.

Always holds: results come back in the order of the jobs; after an error or Ctrl-C no new job starts, those at work are
waited for, and what they finished is kept by their own doing; after Ctrl-C those at work ask no model again. A second
Ctrl-C waits for nothing, so a program that gets it should end without its threads.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, ParamSpec, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
Given = ParamSpec("Given")

_THREADS = "seasoned-job"
_of_this_thread = threading.local()
After = Callable[[], Coroutine[Any, Any, None]]
_after: ContextVar[list[After] | None] = ContextVar("seasoned-after", default=None)


def run_jobs(work: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> list[Result]:
    """Apply `work` to every job on `workers` threads.

    Raises:
        Whatever the first failing job raised, once the jobs at work have ended.
    """
    if workers <= 1:
        return [work(job) for job in jobs]
    stopping = threading.Event()
    pool = ThreadPoolExecutor(workers, _THREADS, setattr, (_of_this_thread, "stopping", stopping))
    futures = [pool.submit(work, job) for job in jobs]
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
        pool.shutdown(cancel_futures=True)
    except KeyboardInterrupt:
        # No `with` and no `finally`: they would wait again, whenever a second Ctrl-C comes.
        stopping.set()
        tell_at_work(sum(future.running() for future in futures))
        pool.shutdown(cancel_futures=True)
        raise
    for future in futures:
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error
    return [future.result() for future in futures]


@contextmanager
def heeding(stopping: threading.Event) -> Iterator[None]:
    """A job on a thread of somebody else's, who sets the event to stop it."""
    _of_this_thread.stopping = stopping
    try:
        yield
    finally:
        del _of_this_thread.stopping


def heed_ctrl_c() -> None:
    """What a job does before it asks a model.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed since the job began.
    """
    stopping: threading.Event | None = getattr(_of_this_thread, "stopping", None)
    if stopping is not None and stopping.is_set():
        raise KeyboardInterrupt


async def off_loop(work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """Do work that takes a moment, such as a store's, while the event loop goes on; it sees the caller's context.

    All coroutines of a process share four threads. What was begun is done, also where the caller is cancelled.
    """
    context, after = copy_context(), list[After]()
    context.run(_after.set, after)
    loop = asyncio.get_running_loop()
    result = await asyncio.shield(loop.run_in_executor(_beside(), lambda: context.run(work, *given, **named)))
    for each in after:
        await each()
    return result


def afterwards(work: After) -> bool:
    """Have the event loop do this once what `off_loop` does here is done; False where no event loop waits for it."""
    after = _after.get()
    if after is not None:
        after.append(work)
    return after is not None


def waited(given: Any) -> Any:
    """What a coroutine gives, whether or not this thread has an event loop; anything else as it is."""
    if not inspect.isawaitable(given):
        return given
    result: Future[Any] = Future()

    async def coming() -> Any:
        return await given

    def wait() -> None:
        try:
            result.set_result(asyncio.run(coming()))
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=wait, name="seasoned-waiting")
    thread.start()
    thread.join()
    return result.result()


@cache
def _beside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, "seasoned-beside")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_beside.cache_clear)  # a child has none of the threads


def jobs_at_work() -> bool:
    """Whether jobs were left behind: only after a second Ctrl-C."""
    return any(thread.name.startswith(_THREADS) for thread in threading.enumerate())


def tell_at_work(at_work: int) -> None:
    """Say on standard error what a stop waits for."""
    replies = "1 reply" if at_work == 1 else f"{at_work} replies"
    leave = "Ctrl-C again to leave now; nothing on disk is lost"
    if at_work:
        print(f"\nStopping: waiting for {replies} ({leave}).", file=sys.stderr, flush=True)

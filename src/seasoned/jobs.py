"""Runs jobs on threads, keeps their order, and stops cleanly; runs blocking work for coroutines on threads.

Always holds: results have the order of the jobs; after an error or Ctrl-C, no new job starts and the running jobs are
waited for (each job stores its own results); after Ctrl-C, running jobs send no more requests to models. A second
Ctrl-C stops the wait, so the program should then end without its threads.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, ParamSpec, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
Params = ParamSpec("Params")

_THREAD_PREFIX = "seasoned-job"
_thread_state = threading.local()
After = Callable[[], Coroutine[Any, Any, None]]
_after: ContextVar[list[After] | None] = ContextVar("seasoned-after", default=None)


def run_jobs(work: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> list[Result]:
    """Apply `work` to every job on `workers` threads.

    Raises:
        Exception: as the first failed job raised it, once the running jobs have ended.
    """
    if workers <= 1:
        return [work(job) for job in jobs]
    stopping = threading.Event()
    pool = ThreadPoolExecutor(workers, _THREAD_PREFIX, setattr, (_thread_state, "stopping", stopping))
    futures = [pool.submit(work, job) for job in jobs]
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
        pool.shutdown(cancel_futures=True)
    except KeyboardInterrupt:
        # No `with` and no `finally`: they would wait again after a second Ctrl-C.
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
    """Run the block as a job on a thread of another library; setting the event stops it, as Ctrl-C would."""
    _thread_state.stopping = stopping
    try:
        yield
    finally:
        del _thread_state.stopping


def heed_ctrl_c() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed after the job began; a job checks before it asks a model."""
    stopping: threading.Event | None = getattr(_thread_state, "stopping", None)
    if stopping is not None and stopping.is_set():
        raise KeyboardInterrupt


async def off_loop(work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
    """Run blocking work, such as a store's, on a thread, while the event loop goes on; it sees the caller's context.

    All coroutines of a process share four threads. Work that has begun is finished, even if the caller is cancelled.
    """
    context, after = copy_context(), list[After]()
    context.run(_after.set, after)
    loop = asyncio.get_running_loop()
    result = await asyncio.shield(loop.run_in_executor(_shared_threads(), lambda: context.run(work, *args, **kwargs)))
    for each in after:
        await each()
    return result


def afterwards(work: After) -> bool:
    """Schedule a coroutine for after the current work of `off_loop`, on its event loop; False outside `off_loop`."""
    after = _after.get()
    if after is not None:
        after.append(work)
    return after is not None


def waited(given: Any) -> Any:
    """The result of an awaitable, whether or not this thread has an event loop; anything else is returned as it is."""
    if not inspect.isawaitable(given):
        return given

    async def await_it() -> Any:
        return await given

    thread = ThreadPoolExecutor(1, "seasoned-waiting")
    result = thread.submit(asyncio.run, await_it())
    thread.shutdown(wait=False)  # no `with`: after Ctrl-C, it would wait for the result
    return result.result()


@cache
def _shared_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, "seasoned-beside")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared_threads.cache_clear)  # a forked child has no threads of its parent


def jobs_at_work() -> bool:
    """Whether jobs are still running; after `run_jobs`, only if a second Ctrl-C ended it."""
    return any(thread.name.startswith(_THREAD_PREFIX) for thread in threading.enumerate())


def tell_at_work(at_work: int) -> None:
    """Print on standard error for how many replies a stop waits."""
    replies = "1 reply" if at_work == 1 else f"{at_work} replies"
    leave = "Ctrl-C again to leave now; nothing on disk is lost"
    if at_work:
        print(f"\nStopping: waiting for {replies} ({leave}).", file=sys.stderr, flush=True)

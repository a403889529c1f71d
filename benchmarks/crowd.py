"""Many processes and threads record and recall in one store at once: what is lost, what fails, and how long it takes.

This file is also the program of one such process: python crowd.py STORE THREADS ATTEMPTS NAME. Always holds: a process
continues after a failed attempt, and prints the stored ids, the number of failures, and the seconds of each attempt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from seasoned.errors import SeasonedError
from seasoned.memory import Memory
from seasoned.store.sql import Store


@dataclass(frozen=True)
class Counts:
    """Attempts that were stored, lost of these, or failed; problems of the store; sorted seconds of each attempt."""

    stored: int
    lost: int
    failed: int
    problems: int
    waits: list[float]
    seconds: float


def counted(where: str, processes: int, threads: int, attempts: int) -> Counts:
    """Let processes record into the store at this address, each with `attempts` in each of its threads."""
    Store(where).close()
    command = [sys.executable, __file__, where, str(threads), str(attempts)]
    began = time.monotonic()
    started = [subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True) for n in range(processes)]
    results = [json.loads(process.communicate()[0]) for process in started]
    seconds = time.monotonic() - began
    with Store(where) as store:
        kept = {one.id for one in store.trajectories("memory/default")}
        problems = len(store.check())
    stored = {name for one in results for name in one["stored"]}
    waits = sorted(wait for one in results for wait in one["seconds"])
    return Counts(len(stored), len(stored - kept), sum(one["failed"] for one in results), problems, waits, seconds)


def main() -> None:
    """Record attempts, and print the results."""
    store, threads, attempts, name = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    stored: list[str] = []
    seconds: list[float] = []
    failed: list[str] = []

    def work(memory: Memory, thread: int) -> None:
        for number in range(attempts):
            began = time.monotonic()
            try:
                with memory.attempt(f"refund order {number % 100} of {name}, {thread}") as attempt:
                    attempt.step(action=f"lookup_order({number})", observation="shipped")
                    stored.append(attempt.finish(success=number % 2 == 0).id)
            except SeasonedError as error:
                failed.append(str(error))
            seconds.append(time.monotonic() - began)

    with Memory(store, method="expnote", embedder=None) as memory, ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, memory, thread) for thread in range(threads)]:
            done.result()
    if failed:
        print(failed[0], file=sys.stderr)
    print(json.dumps({"stored": stored, "seconds": seconds, "failed": len(failed)}))


if __name__ == "__main__":
    main()

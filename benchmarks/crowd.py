"""One of several processes whose threads record and recall in one store: python crowd.py STORE THREADS NUMBER.

Always holds: it prints the stored ids, the number of failed attempts, and the seconds of each attempt.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from seasoned.errors import SeasonedError
from seasoned.memory import Memory

_EACH = 10


def main() -> None:
    """Record attempts, and print the results."""
    store, threads, process = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    stored: list[str] = []
    seconds: list[float] = []
    failed: list[str] = []

    def work(memory: Memory, thread: int) -> None:
        for number in range(_EACH):
            began = time.monotonic()
            try:
                with memory.attempt(f"refund order {number} of {process}, {thread}") as attempt:
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

"""Records attempts into a store, as one of several programs that do so at once: python attempts.py STORE NUMBER.

Always holds: it continues after a failed attempt, and prints the number of failures.
"""

from __future__ import annotations

import sys

from seasoned.errors import SeasonedError
from seasoned.memory import Memory


def main() -> None:
    """Record attempts, and print how many failed."""
    failed = 0
    with Memory(sys.argv[1], method="expnote", embedder=None) as memory:
        for number in range(int(sys.argv[2])):
            try:
                with memory.attempt(f"refund order {number % 100}") as attempt:
                    attempt.step(action=f"lookup_order({number})", observation="shipped")
                    attempt.finish(success=number % 2 == 0)
            except SeasonedError:
                failed += 1
    print(failed)


if __name__ == "__main__":
    main()

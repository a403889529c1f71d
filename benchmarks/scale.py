"""What 100,000 episodes on 64 workers cost: `python benchmarks/scale.py` measures our share, and simulates the rest.

Measured is the time of a core that a call takes in the process that makes it, and, where Ray is installed, what an
episode takes in the run that hands it out. The simulation is a queue of calls before a server that takes so many a
second, with workers that need a core before and after each call. Always holds: the server of the measurement runs in a
process of its own, and a core's time does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import heapq
import importlib.util
import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import killing
from calls import answering

from seasoned.lab.run.experiment import run
from seasoned.store.sql import Store

_SEEDS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, simulate, print."""
    parser = argparse.ArgumentParser(description="What 100,000 episodes on many workers cost.")
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--rate", type=float, default=200.0, help="calls a second that the server takes")
    parser.add_argument("--cores", type=int, default=1, help="that our processes have, all together")
    asked = parser.parse_args(arguments)
    found = measured()
    print(json.dumps(found, indent=2))
    print("\n| a call alone | hours | calls/s | server busy | our cores busy |\n|---:|---:|---:|---:|---:|")
    own = found["core ms a call"] / 1e3
    for latency in (0.1, 0.25, 0.5, 1.0):
        seconds, calls = simulated(asked, latency, own, found["calls an episode"])
        busy = calls / asked.rate / seconds, calls * own / asked.cores / seconds
        rate = f"{seconds / 3600:.2f} | {calls / seconds:.0f}"
        print(f"| {latency:g} s | {rate} | {busy[0]:.0%} | {busy[1]:.0%} |")
    return 0


def measured() -> dict[str, float]:
    """Our share, in milliseconds of a core and in bytes."""
    found: dict[str, float] = {}
    with TemporaryDirectory(prefix="seasoned-scale-") as name, answering(program=killing.SERVER) as url:
        folder, server = Path(name), killing.Server(url)
        # Nothing learns here, so all that is counted is of episodes; the one of few episodes counts the rest.
        spent, sizes, calls, places = [], [], [], ["", "ray"] if importlib.util.find_spec("ray") else [""]
        for place in places:
            for test in (10, 110):
                settings = killing.recipe(
                    url, conditions=["disabled", "cot"], train=0, test=test, seeds=[*range(_SEEDS)]
                )
                file, before, asked = folder / f"{place}{test}.db", _core(), len(server.asked())
                with Store(file) as store:
                    run(settings, store=store, runs_dir=folder / "runs", quiet=True, on=place)
                spent.append(_core() - before)
                sizes.append(file.stat().st_size)
                calls.append(len(server.asked()) - asked)
        episodes = 2 * _SEEDS * 100
        found["calls an episode"] = (calls[1] - calls[0]) / episodes
        found["core ms a call"] = round(1e3 * (spent[1] - spent[0]) / (calls[1] - calls[0]), 2)
        found["bytes of the store an episode"] = round((sizes[1] - sizes[0]) / episodes)
        if len(places) > 1:
            found["core ms an episode of the run that hands it out"] = round(1e3 * (spent[3] - spent[2]) / episodes, 2)
    return found


def _core() -> float:
    """Seconds of a core that this process has had."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def simulated(asked: argparse.Namespace, latency: float, own: float, calls_each: float) -> tuple[float, int]:
    """Seconds until all calls are answered, and how many they are.

    Each worker takes a core for `own` seconds, then asks; the server takes one request each 1/rate seconds, in turn,
    and answers `latency` seconds after it took it.
    """
    calls = round(asked.episodes * calls_each)
    free_cores, free_server, end = [0.0] * asked.cores, 0.0, 0.0
    heap = [0.0] * min(asked.workers, calls)
    for _ in range(calls):
        ready = heapq.heappop(heap)
        began = max(ready, heapq.heappop(free_cores))
        heapq.heappush(free_cores, began + own)
        taken = max(began + own, free_server)
        free_server = taken + 1 / asked.rate
        end = max(end, taken + latency)
        heapq.heappush(heap, taken + latency)
    return end, calls


if __name__ == "__main__":
    sys.exit(main())

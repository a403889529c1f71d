"""The cost of 100,000 episodes on 64 workers: `python benchmarks/scale.py` measures our share and simulates the rest.

It measures the processor time of a call in the process that makes it and, if Ray is installed, of an episode in the
run that distributes it. The simulation is a queue of calls before a server with a limited rate, with workers that need
a core before and after each call. Always holds: the server of the measurement runs in its own process, and processor
time does not depend on other work on the machine.
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
    """Measure, simulate and print."""
    parser = argparse.ArgumentParser(description="The cost of 100,000 episodes on many workers.")
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--rate", type=float, default=200.0, help="calls a second that the server takes")
    parser.add_argument("--cores", type=int, default=1, help="cores of our processes, all together")
    args = parser.parse_args(arguments)
    figures = measured()
    print(json.dumps(figures, indent=2))
    print("\n| a call alone | hours | calls/s | server busy | our cores busy |\n|---:|---:|---:|---:|---:|")
    own = figures["core ms a call"] / 1e3
    for latency in (0.1, 0.25, 0.5, 1.0):
        seconds, calls = simulated(args, latency, own, figures["calls an episode"])
        busy = calls / args.rate / seconds, calls * own / args.cores / seconds
        rate = f"{seconds / 3600:.2f} | {calls / seconds:.0f}"
        print(f"| {latency:g} s | {rate} | {busy[0]:.0%} | {busy[1]:.0%} |")
    return 0


def measured() -> dict[str, float]:
    """Our share, in milliseconds of processor time and in bytes."""
    figures: dict[str, float] = {}
    with TemporaryDirectory(prefix="seasoned-scale-") as name, answering(program=killing.SERVER) as url:
        folder, server = Path(name), killing.Server(url)
        # Nothing is learned, so only episodes are counted; the run of few episodes measures the fixed costs.
        spent, sizes, calls, places = [], [], [], ["", "ray"] if importlib.util.find_spec("ray") else [""]
        for place in places:
            for test in (10, 110):
                settings = killing.recipe(
                    url, conditions=["disabled", "cot"], train=0, test=test, seeds=[*range(_SEEDS)]
                )
                file, before, requests = folder / f"{place}{test}.db", _core(), len(server.asked())
                with Store(file) as store:
                    run(settings, store=store, runs_dir=folder / "runs", quiet=True, on=place)
                spent.append(_core() - before)
                sizes.append(file.stat().st_size)
                calls.append(len(server.asked()) - requests)
        episodes = 2 * _SEEDS * 100
        figures["calls an episode"] = (calls[1] - calls[0]) / episodes
        figures["core ms a call"] = round(1e3 * (spent[1] - spent[0]) / (calls[1] - calls[0]), 2)
        figures["bytes of the store an episode"] = round((sizes[1] - sizes[0]) / episodes)
        if len(places) > 1:
            figures["core ms an episode of the run that hands it out"] = round(
                1e3 * (spent[3] - spent[2]) / episodes, 2
            )
    return figures


def _core() -> float:
    """The processor time of this process, in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def simulated(args: argparse.Namespace, latency: float, own: float, calls_each: float) -> tuple[float, int]:
    """The seconds until all calls are answered, and the number of calls.

    Each worker takes a core for `own` seconds, then makes a call; the server accepts one request each 1/rate seconds,
    in turn, and answers it `latency` seconds later.
    """
    calls = round(args.episodes * calls_each)
    free_cores, free_server, end = [0.0] * args.cores, 0.0, 0.0
    heap = [0.0] * min(args.workers, calls)
    for _ in range(calls):
        ready = heapq.heappop(heap)
        began = max(ready, heapq.heappop(free_cores))
        heapq.heappush(free_cores, began + own)
        taken = max(began + own, free_server)
        free_server = taken + 1 / args.rate
        end = max(end, taken + latency)
        heapq.heappush(heap, taken + latency)
    return end, calls


if __name__ == "__main__":
    sys.exit(main())

"""The cost of τ²-bench besides its engine: the framework's share of an episode, parallel workers, and memory.

Run with `python benchmarks/tau2.py` after `seasoned bench install tau2`. The agent `tools` works on each ticket of
telecom with a scripted model that makes the calls known to solve it, so no model takes time. Prints JSON: `cpu_share`
is the framework's part of the processor time of an episode; `share` is the part of its wall time that is neither the
engine nor waiting for it (other programs on the machine increase it); `speedup` compares 4 workers with one;
`worker_mib` is the peak memory of a worker.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from seasoned.agents.tools import ToolCaller
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.benchmarks.install import interpreter
from seasoned.lab.benchmarks.tau2 import load, workers
from seasoned.lab.benchmarks.worker import Worker
from seasoned.loop import attempt
from seasoned.protocols import Environment
from seasoned.types import Guidance, Message, Reply, Task, ToolCall, Trajectory

REPEATS = 2
AT_ONCE = 4


class Solver:
    """Makes the calls of a plan, one a turn, and then ends."""

    name = "solver"

    def __init__(self, plan: list[dict[str, Any]]) -> None:
        self.calls = [*(ToolCall(name=one["name"], arguments=one["arguments"]) for one in plan), ToolCall(name="done")]

    def chat(self, messages: list[Message], tools: Any = None, tool_choice: str = "auto", **options: Any) -> Reply:
        """The next call."""
        del messages, tools, tool_choice, options
        return Reply(text="", calls=(self.calls.pop(0),))


class Clock:
    """Adds up the time of requests to workers."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.peak: dict[int, int] = {}
        self.cpu: dict[int, float] = {}
        real = Worker.ask

        def ask(worker: Worker, do: str, **values: Any) -> dict[str, Any]:
            begun = time.perf_counter()
            try:
                return real(worker, do, **values)
            finally:
                self.seconds += time.perf_counter() - begun
                if do == "score":
                    self.peak[worker.pid], self.cpu[worker.pid] = _mib(worker.pid), _cpu(worker.pid)

        Worker.ask = ask  # type: ignore[method-assign]


def _mib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def work_on(benchmark: Benchmark, env: Environment, task: Task, plan: list[dict[str, Any]]) -> Trajectory:
    """One episode."""
    agent = ToolCaller(Solver(list(plan)), benchmark.instruction, benchmark.trajectories, max_steps=40, repeats=None)
    return attempt(agent, env, task, lambda progress: Guidance())


def main() -> None:
    """Measure and print."""
    benchmark = load({}, seed=0)
    tasks = [*benchmark.train, *benchmark.test]
    with closing(workers(str(interpreter("tau2")), 60.0)) as engine, engine.lent() as worker:
        plans = {
            task.id: worker.ask("plan", domain="telecom", solo=True, task=task.data["task"])["calls"] for task in tasks
        }
    clock = Clock()

    def one(task: Task) -> bool:
        with closing(benchmark.make_env(False)) as env:
            return bool(work_on(benchmark, env, task, plans[task.id]).outcome.success)

    def all_at_once(n: int) -> float:
        with ThreadPoolExecutor(n) as pool:
            list(pool.map(one, tasks[:n]))  # start the workers
            begun = time.perf_counter()
            solved = sum(pool.map(one, tasks * REPEATS))
        assert solved == len(tasks) * REPEATS
        return time.perf_counter() - begun

    one(tasks[0])
    before, own = sum(clock.cpu.values()), time.process_time()
    clock.seconds, begun = 0.0, time.perf_counter()
    assert all(one(task) for task in tasks)
    wall = time.perf_counter() - begun
    asked, own, engine_cpu = clock.seconds, time.process_time() - own, sum(clock.cpu.values()) - before
    alone, together = all_at_once(1), all_at_once(AT_ONCE)
    print(
        json.dumps(
            {
                "episodes": len(tasks),
                "cpu_share": round(own / (own + engine_cpu), 4),
                "share": round(1 - asked / wall, 4),
                "ms_an_episode": round(1000 * wall / len(tasks), 1),
                "speedup": round(alone / together, 2),
                "workers": AT_ONCE,
                "cores": os.cpu_count(),
                "worker_mib": max(clock.peak.values()),
            }
        )
    )


if __name__ == "__main__":
    main()

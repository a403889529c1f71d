"""Figures of whole experiments: the framework's share of an attempt's wall time, and many threads.

Always holds: search, journal and record are included, in a file or in Postgres; the time of the server and the
connection counts as the framework's; if the ideal is known, the figure is relative to it.
"""

from __future__ import annotations

import json
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from calls import answering, answering_model, ask_raw, emoji_prompt
from openai import OpenAI
from samples import fresh_store
from timing import Figure, Sizes, seconds

from seasoned.errors import MissingExtraError
from seasoned.jobs import run_jobs
from seasoned.lab.run.experiment import run
from seasoned.lab.run.recipe import make_recipe
from seasoned.llm.openai import OpenAIChat

_TASKS = 3
_ACTS = {"role": "assistant", "content": "Thought: another page may say it.\nAction: Search[page NUMBER]"}
TARGET = 5.0
"""Percent of an attempt's wall time."""


def shares(sizes: Sizes) -> list[Figure]:
    """The share for ReAct, and for Reflexion with its reflections, in percent, one attempt at a time."""
    results = []
    for condition in ("react", "reflexion"):
        if sizes.repeats > 1:
            _share(condition, 0.001)  # warm-up: loads what is loaded once, such as the plot library
        samples = tuple(_share(condition, sizes.reply_seconds) for _ in range(min(sizes.repeats, 2)))
        what = f"own share of an attempt at HotpotQA, {condition}, {1000 * sizes.reply_seconds:g} ms a reply"
        results.append(Figure(what, samples, unit="%", target=TARGET))
    return results


def _share(condition: str, pause: float) -> float:
    """Percent of the attempts' wall time that is not the model's.

    The time before and after the attempts is left out: an experiment with one task is subtracted from one with all.
    """
    raw = {"name": "share", "benchmark": {"name": "hotpotqa"}, "conditions": [condition], "baseline": condition}
    raw |= {"train": 0, "workers": 1, "method": {"trials": 1}}
    with answering_model(pause, _ACTS) as model:
        some, all_of_them = (_experiment({**raw, "test": tasks}, model) for tasks in (1, 1 + _TASKS))
    calls, wall = (b - a for a, b in zip(some, all_of_them, strict=True))
    return 100 * (1 - pause * calls / wall)


def _experiment(raw: dict[str, Any], model: OpenAIChat, kind: str = "SQLite") -> tuple[int, float]:
    """The model calls and the wall time, in seconds, of an experiment."""
    with TemporaryDirectory(prefix="seasoned-bench-") as folder, fresh_store(kind) as store:
        began = time.perf_counter()
        made = run(make_recipe(raw), store=store, runs_dir=Path(folder), quiet=True, llm=model)
        wall = time.perf_counter() - began
        rows = [json.loads(line) for line in (made / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    return sum(row["usage"]["calls"] for row in rows), wall


def threads(sizes: Sizes) -> list[Figure]:
    """Jobs and episodes on up to 64 threads; the ideal is the waiting time of all calls, shared by the threads."""
    one, results = sizes.job_seconds, []
    for at_once in sizes.at_once:
        taken = seconds(partial(run_jobs, lambda _: time.sleep(one), range(64), at_once), min(sizes.repeats, 5))
        ideal = one * 64 / at_once
        results.append(Figure(f"64 jobs of {one * 1e3:g} ms on {at_once} threads", taken, target=1.05 * ideal))
    for workers in sizes.at_once:
        what = f"{sizes.calls * 25:,} calls of the raw client alone, {workers} threads, over the ideal"
        results.append(Figure(what, tuple(_raw(workers, sizes) for _ in range(min(sizes.repeats, 2))), unit="x"))
    for kind in sizes.kinds:
        for workers in sizes.at_once:
            target = 1.05 if workers == 16 else 1.3
            what = f"{sizes.calls * 25:,} episodes of EMOJI on {workers} threads, {kind}, over the ideal"
            try:
                over = tuple(_episodes(kind, workers, sizes) for _ in range(min(sizes.repeats, 2)))
            except MissingExtraError as error:
                results.append(Figure(what, unit="x", target=target, missing=str(error)))
                continue
            results.append(Figure(what, over, unit="x", target=target))
    return results


def _raw(workers: int, sizes: Sizes) -> float:
    """The time of calls of the raw client as a multiple of the ideal."""
    with answering(sizes.job_seconds) as url, closing(OpenAI(base_url=url, api_key="none", max_retries=0)) as client:
        ask = partial(ask_raw, client, emoji_prompt())
        run_jobs(ask, range(workers), workers)  # opens the connections
        began = time.perf_counter()
        run_jobs(ask, range(sizes.calls * 25), workers)
        return (time.perf_counter() - began) * workers / (sizes.calls * 25 * sizes.job_seconds)


def _episodes(kind: str, workers: int, sizes: Sizes) -> float:
    """An experiment's time as a multiple of the ideal; a run of few episodes is subtracted, for start and report."""
    spent = []
    for episodes in (2, sizes.calls * 25):
        raw = {"name": "bench", "conditions": ["cot"], "baseline": "cot", "train": 0, "workers": workers}
        raw |= {"test": min(episodes, 100), "seeds": [*range(max(episodes // 100, 1))]}
        raw |= {"benchmark": {"name": "emoji", "symbols": "codes"}}
        with answering_model(sizes.job_seconds) as model:
            spent.append(_experiment(raw, model, kind))
    (calls_few, few), (calls, wall) = spent
    return (wall - few) / ((calls - calls_few) * sizes.job_seconds / workers)

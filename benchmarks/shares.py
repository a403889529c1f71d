"""The framework's share of an attempt's wall time, with a model that takes a quarter of a second for each reply.

Always holds: the attempts are those of a whole experiment on HotpotQA's questions, one at a time, with search, journal
and record; the time of the server and the connection counts as the framework's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import openai
from calls import answering
from timing import Figure, Sizes

from seasoned.lab.run.experiment import run
from seasoned.lab.run.recipe import make_recipe
from seasoned.llm.openai import OpenAIChat
from seasoned.store.sql import Store

_TASKS = 3
_ACTS = {"role": "assistant", "content": "Thought: another page may say it.\nAction: Search[page NUMBER]"}
TARGET = 5.0
"""Percent of an attempt's wall time."""


def figures(sizes: Sizes) -> list[Figure]:
    """The share for ReAct, and for Reflexion with its reflections, in percent."""
    results = []
    for condition in ("react", "reflexion"):
        _share(condition, 0.001)  # warm-up: loads what is loaded once, such as the plot library
        samples = tuple(_share(condition, sizes.reply_seconds) for _ in range(min(sizes.repeats, 2)))
        what = f"own share of an attempt at HotpotQA, {condition}, {1000 * sizes.reply_seconds:g} ms a reply"
        results.append(Figure(what, samples, unit="%", target=TARGET))
    return results


def _share(condition: str, pause: float) -> float:
    """Percent of the attempts' wall time that is not the model's.

    The time before and after the attempts is left out: an experiment with one task is subtracted from one with all.
    """
    with _acting(pause) as model:
        some, all_of_them = (_experiment(condition, tasks, model) for tasks in (1, 1 + _TASKS))
    calls, wall = (b - a for a, b in zip(some, all_of_them, strict=True))
    return 100 * (1 - pause * calls / wall)


def _experiment(condition: str, tasks: int, model: OpenAIChat) -> tuple[int, float]:
    """The model calls and the wall time, in seconds, of an experiment with this number of tasks."""
    settings = {"conditions": [condition], "baseline": condition, "train": 0, "test": tasks, "workers": 1}
    settings["method"] = {"trials": 1}
    recipe = make_recipe({"name": "share", "benchmark": {"name": "hotpotqa"}, **settings})
    with TemporaryDirectory(prefix="seasoned-bench-") as folder, Store(Path(folder) / "seasoned.db") as store:
        began = time.perf_counter()
        made = run(recipe, store=store, runs_dir=Path(folder) / "runs", quiet=True, llm=model)
        wall = time.perf_counter() - began
        rows = [json.loads(line) for line in (made / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    return sum(row["usage"]["calls"] for row in rows), wall


@contextmanager
def _acting(pause: float) -> Iterator[OpenAIChat]:
    """A model that searches for another page at each turn, and answers after `pause` seconds."""
    with answering(pause) as url, closing(OpenAIChat("m", base_url=url, max_retries=0)) as model:
        with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
            client.put("/told", body=_ACTS, cast_to=object)
        yield model

"""The work that each library does, in its own environment: python work.py SIDE JOB.json RESULT.json.

SIDE is one of the files `with_*.py` here. Always holds: every side gets the same texts, vectors, queries and replies in
the same order; the differences between sides are in their files; numbers are seconds.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
import urllib.request
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

NEAREST = 10
BATCH = 1000
LESSON = ("refunding an order", "look the order NUMBER up first, and refuse what was shipped more than 30 days ago")
"""The trigger and the action that the model replies, in the form of the side."""


@dataclass
class Job:
    """The work: how many lessons, with which material, where, and for how many seconds at most."""

    size: int
    texts: str
    vectors: str
    queries: list[str]
    fresh: int
    repeats: int
    folder: str
    url: str
    more: bool
    budget: float


class Given:
    """The precomputed vectors, by text. Any other text gets its own random unit vector."""

    def __init__(self, texts: list[str], matrix: Any) -> None:
        self.dim = int(matrix.shape[1])
        self._matrix, self._place = matrix, {text: i for i, text in enumerate(texts)}

    def row(self, text: str) -> Any:
        place = self._place.get(text)
        if place is not None:
            return self._matrix[place]
        made = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dim).astype(np.float32)
        return made / np.linalg.norm(made)

    def rows(self, texts: list[str]) -> Any:
        return np.stack([self.row(text) for text in texts])

    def lists(self, texts: list[str]) -> list[list[float]]:
        return [self.row(text).tolist() for text in texts]


@dataclass
class Side:
    """The functions of a library; None for a missing one, with the reason in `why`.

    `search` returns the texts of the ten nearest, best first; `recall` makes a text for a prompt. `learn` takes one
    attempt as chat messages and stores a lesson; `reply` is the message that its model answers with. `jobs` calls a
    function 64 times on 16 threads.
    """

    store: str
    fill: Callable[[list[str]], object]
    search: Callable[[str], list[str]]
    recall: Callable[[str], object] | None = None
    add: Callable[[str], object] | None = None
    filled: Callable[[], object] = lambda: None
    learn: Callable[[list[dict[str, str]]], object] | None = None
    reply: dict[str, Any] = field(default_factory=dict)
    jobs: Callable[[Callable[[int], None]], object] | None = None
    close: Callable[[], object] = lambda: None
    why: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def main() -> None:
    """Do the job in a file, and write the result."""
    side_name, _, option = sys.argv[1].partition(":")
    job = Job(**json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
    texts = json.loads(Path(job.texts).read_text(encoding="utf-8"))[: job.size + job.fresh]
    vectors = np.load(job.vectors, mmap_mode="r")  # the queries' vectors are last
    given = Given([*texts, *job.queries], np.concatenate([vectors[: len(texts)], vectors[-len(job.queries) :]]))
    before = _megabytes()
    side: Side = importlib.import_module(f"with_{side_name}").open_side(job, given, option)
    result: dict[str, Any] = {"store": side.store, "notes": side.notes}
    result |= _filled(side, texts[: job.size], job.budget)
    result |= _searched(side, job)
    result |= _added(side, iter(texts[job.size : job.size + job.fresh]), job)
    result |= {"memory_given": before, "memory": _megabytes(), "python": sys.version.split()[0]}
    result |= _learned(side, job)
    if job.more:
        result |= _jobs(side)
    side.close()
    result["why"] = side.why
    Path(sys.argv[3]).write_text(json.dumps(result), encoding="utf-8")


def _filled(side: Side, texts: list[str], budget: float) -> dict[str, Any]:
    began, done = time.perf_counter(), 0
    while done < len(texts) and time.perf_counter() - began < budget:
        side.fill(texts[done : done + BATCH])
        done += min(BATCH, len(texts) - done)
    side.filled()
    return {"size": done, "fill": (time.perf_counter() - began) / done}


def _timed(work: Callable[[Any], Any], inputs: Sequence[Any], budget: float) -> tuple[list[float], list[Any]]:
    """The seconds and the results of some work for each input, until `budget` seconds are spent; after a warm-up."""
    work(inputs[0])
    taken: list[float] = []
    results = []
    for each in inputs:
        if sum(taken) > budget:
            break
        start = time.perf_counter()
        results.append(work(each))
        taken.append(time.perf_counter() - start)
    return taken, results


def _searched(side: Side, job: Job) -> dict[str, Any]:
    taken, found = _timed(side.search, job.queries, job.budget / 10)
    recalled = _timed(side.recall, job.queries, job.budget / 10)[0] if side.recall else []
    return {"search": taken, "found": found, "recall": recalled}


def _added(side: Side, fresh: Any, job: Job) -> dict[str, Any]:
    if side.add is None:
        return {"add": [], "again": []}
    alone, again = [], []
    began = time.perf_counter()
    for number, text in enumerate(fresh):
        if alone and again and time.perf_counter() - began > job.budget / 10:
            break
        start = time.perf_counter()
        side.add(text)
        if number % 2:
            alone.append(time.perf_counter() - start)
        else:  # the new text must be found at once
            matches = side.search(text)
            again.append(time.perf_counter() - start)
            assert matches[0] == text, (matches[0], text)
    return {"add": alone, "again": again}


def _learned(side: Side, job: Job) -> dict[str, Any]:
    """Learn from one attempt at a time; for comparison, the raw client then repeats the requests."""
    if side.learn is None:
        return {"learn": []}
    import openai

    raw = openai.OpenAI(base_url=job.url, api_key="none", max_retries=0)
    _ask(job.url, json.dumps(side.reply).encode())
    learning, bare, calls, characters = [], [], 0, 0
    began = time.perf_counter()
    for number in range(job.repeats + 2):
        if learning and time.perf_counter() - began > job.budget / 10:
            break
        messages = attempt(number)
        _ask(job.url)
        start = time.perf_counter()
        side.learn(messages)
        between = time.perf_counter()
        requests = _ask(job.url)
        start_raw = time.perf_counter()
        for request in requests:
            raw.chat.completions.create(**request)
        ended = time.perf_counter()
        if number >= 2:
            learning.append(between - start)
            bare.append(ended - start_raw)
            calls, characters = len(requests), sum(map(_characters, requests))
    matches = side.search(attempt(0)[0]["content"])
    return {"learn": learning, "raw": bare, "calls": calls, "tokens": characters / 4, "after": matches[:2]}


def _jobs(side: Side) -> dict[str, Any]:
    jobs = side.jobs
    return {"jobs": _timed(lambda _: jobs(lambda _number: time.sleep(0.1)), range(2), 60.0)[0] if jobs else []}


def attempt(number: int) -> list[dict[str, str]]:
    """A failed attempt as chat messages."""
    order = 1000 + number
    return [
        {"role": "user", "content": f"A customer wants order {order} refunded. Decide, and say why."},
        {"role": "assistant", "content": f"I look at the customer's message first. Action: read_message({order})"},
        {"role": "user", "content": f"Order {order} came late and the box was open. I want my money back."},
        {"role": "assistant", "content": f"That sounds fair, so I refund at once. Action: refund({order})"},
        {"role": "user", "content": "The refund was refused: the order was shipped 41 days ago; the limit is 30 days."},
        {"role": "assistant", "content": f"Order {order} cannot be refunded; I told the customer the wrong thing."},
        {"role": "user", "content": "The attempt failed: the order should have been looked up before any promise."},
    ]


def _characters(request: dict[str, Any]) -> int:
    contents = sum(len(str(message.get("content") or "")) for message in request["messages"])
    calls = [message["tool_calls"] for message in request["messages"] if message.get("tool_calls")]
    forms = [request[name] for name in ("tools", "response_format") if request.get(name)]
    return contents + sum(len(json.dumps(each)) for each in (*calls, *forms))


def _ask(url: str, body: bytes | None = None) -> Any:
    request = urllib.request.Request(url, data=body, method="PUT" if body else "GET")
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def _megabytes() -> float:
    """The peak memory of this process, in megabytes."""
    status = Path("/proc/self/status")
    if status.is_file():  # ru_maxrss includes the parent's memory at the start of this process
        return int(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


if __name__ == "__main__":
    sys.modules["work"] = sys.modules["__main__"]
    main()

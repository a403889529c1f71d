"""Figures of the page: how long `seasoned serve` takes to answer when the store is big.

The real program serves a real store over loopback. Always holds: an answer is timed from the request to the last byte
of its body, and has status 200; each search differs from the one before it.
"""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode, urlsplit

from samples import texts
from timing import Figure, Sizes, seconds

from seasoned.embed import embedder
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Step, Trajectory

_SCOPE = "memory/default"
_RUNS = 200  # the length of the page's list
_TARGET = 0.1
_SERVE = "from seasoned.cli import main; main()"


def figures(sizes: Sizes) -> list[Figure]:
    """The main pages, each several times, and a search by meaning right after a start."""
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        why = "the extra web is not installed"
        return [Figure(f"page: lessons, {sizes.vectors:,} in the store", target=_TARGET, missing=why)]
    name = "static" if find_spec("wordllama") else "hashing"
    with TemporaryDirectory(prefix="seasoned-bench-") as folder:
        path = Path(folder) / "memory.db"
        shown = _fill(path, sizes)
        _embed(path, name)
        with _served(path, name) as get:
            return _pages(get, sizes, shown)


def _pages(get: Callable[..., bytes], sizes: Sizes, shown: list[str]) -> list[Figure]:
    turn, queries = count(), [text.split() for text in texts(50)]
    syllables = ("ba", "fo", "gu", "je", "lo", "pe", "so", "we")
    began = time.perf_counter()
    get("/lessons")
    opened = time.perf_counter()
    get("/lessons", q="an order that was shipped", by="meaning")
    first, searched = opened - began, time.perf_counter() - opened
    while b"is getting ready" in get("/lessons", q="an order that was shipped", by="meaning"):
        time.sleep(0.2)
    ready = time.perf_counter() - began
    requests: dict[str, Callable[[], object]] = {
        "lessons": lambda: get("/lessons"),
        "lessons, far down": lambda: get("/lessons", before=sizes.vectors // 2 - next(turn)),
        "search by words, in every lesson": lambda: get("/lessons", q=syllables[next(turn) % 8]),
        "search by words, in few lessons": lambda: get("/lessons", q=queries[next(turn) % 50][0]),
        "search by words, in no lesson": lambda: get("/lessons", q=f"xyz{next(turn)}"),
        "search by words in one pool, in no lesson": lambda: get("/lessons", q=f"xyz{next(turn)}", scope=_SCOPE),
        "search by meaning": lambda: get("/lessons", q=" ".join(queries[next(turn) % 50][:6]), by="meaning"),
        "one lesson": lambda: get("/lesson", id=shown[1 + next(turn) % (len(shown) - 1)]),
        "one lesson, shown in every attempt": lambda: get("/lesson", id=shown[0]),
        "attempts": lambda: get("/attempts"),
        "search in attempts, in none": lambda: get("/attempts", q=f"xyz{next(turn)}"),
        "runs": lambda: get("/runs"),
        "snapshots": lambda: get("/snapshots"),
    }
    what = f"page, {sizes.vectors:,} lessons"
    main = [Figure(f"{what}: {name}", seconds(work, sizes.repeats), target=_TARGET) for name, work in requests.items()]
    early = [
        Figure(f"{what}: the first answer of all", (first, first), target=_TARGET),
        Figure(f"{what}: by meaning at the start, by words still", (searched, searched), target=_TARGET),
    ]
    return [*main, *early, Figure(f"{what}: search by meaning, ready after", (ready, ready))]


def _fill(path: Path, sizes: Sizes) -> list[str]:
    """Fill a store with lessons, attempts that show them, and runs; return the ids of some lessons."""
    made = [
        Lesson(id=f"les-{n:012x}", kind="heuristic", text=f"{n} {text}", sources=(f"tra-{n % sizes.lessons}",))
        for n, text in enumerate(texts(sizes.vectors))
    ]
    with Store(path) as store:
        for start in range(0, len(made), 10_000):
            store.add_lessons(_SCOPE, made[start : start + 10_000], who="person", why="made up")
        store.add_trajectories(_SCOPE, [_attempt(n, made) for n in range(sizes.lessons)])
        for n in range(_RUNS):
            store.add_run(f"run-{n}", f"run {n}", "", {"name": "made up"})
            store.finish_run(f"run-{n}", "complete", {"headline": "43 of 50 solved, 86%"})
    return [lesson.id for lesson in made[:: max(1, len(made) // 50)]]


def _attempt(number: int, lessons: list[Lesson]) -> Trajectory:
    shown = (lessons[0].id, *(lessons[(number * 7 + i) % len(lessons)].id for i in range(1, 5)))
    return Trajectory(
        id=f"tra-{number}",
        task_id=f"task-{number}",
        task=f"refund order {number}",
        steps=(Step(action=f"lookup_order({number})", observation="shipped"),),
        outcome=Outcome(success=number % 3 == 0),
        lesson_ids=tuple(dict.fromkeys(shown)),
    )


def _embed(path: Path, name: str) -> None:
    """Store the vectors, as an earlier search or recall does."""
    with Store(path) as store:
        ExperiencePool(store, _SCOPE, embedder=embedder(name)).nearest_lessons("anything", 1)


@contextmanager
def _served(path: Path, name: str) -> Iterator[Callable[..., bytes]]:
    """Run `seasoned serve` during the block; yields a function that requests a page."""
    options = ["--port", "0", "--store", str(path), "--embedder", name, "--runs", str(path.parent / "runs")]
    command = [sys.executable, "-c", _SERVE, "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            address = urlsplit(program.stdout.readline().strip())
            connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)
            connection.request("GET", f"/?{address.query}")
            entry = connection.getresponse()
            entry.read()
            cookie = (entry.getheader("set-cookie") or "").split(";")[0]

            def get(page: str, **parts: object) -> bytes:
                connection.request("GET", f"{page}?{urlencode(parts)}", headers={"cookie": cookie})
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == 200, (page, parts, answer.status, body[-300:])
                return body

            yield get
            connection.close()
        finally:
            program.terminate()

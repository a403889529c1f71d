"""The kills of `make faults`: runs, learning, imports, rollbacks, repairs, and programs that share a memory.

Each kind of work is done once undisturbed, and then with kill -9 at random moments until it is done. Always holds: the
killed process is forked from one that has loaded everything and opened nothing, so that most kills hit the work and few
its start.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from calls import answering
from samples import texts

from seasoned.lab.run.experiment import Stage, run
from seasoned.lab.run.recipe import Recipe, make_recipe
from seasoned.lab.run.rundir import read_summary
from seasoned.memory import Memory
from seasoned.memory.screened import ScreenedPool
from seasoned.store import check
from seasoned.store.sql import Store
from seasoned.traces import read, record

SERVER = Path(__file__).with_name("faulty.py")
_WORKERS = 8
_chance = random.Random(7)


class Server:
    """The counting server at an address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def set(self, **state: float) -> None:
        """Set the pause before an answer, and the share of requests that fail."""
        self._ask("set", json.dumps(state).encode())

    def asked(self) -> list[tuple[int, str]]:
        """The requests that it has answered or is answering: number and digest."""
        return [(int(number), str(digest)) for number, digest in self._ask("asked")]

    def settle(self) -> None:
        """Wait until it has counted all requests of a killed process, that is, until its connections are closed."""
        while self._ask("open"):
            time.sleep(0.01)

    def faults(self) -> dict[str, int]:
        """The number of failed requests, by the kind of failure."""
        return dict(self._ask("faults"))

    def _ask(self, what: str, body: bytes | None = None) -> Any:
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/{what}", body)) as answer:
            return json.loads(answer.read())


def recipe(url: str, **changes: Any) -> Recipe:
    """An experiment of several conditions and seeds: 440 episodes, about 1,100 calls."""
    raw: dict[str, Any] = {
        "name": "faults",
        "benchmark": {"name": "emoji", "symbols": "codes"},
        "conditions": ["disabled", "expnote", "expel", "erl"],
        "train": 30,
        "test": 20,
        "seeds": [0, 1, 2, 3],
        "workers": _WORKERS,
        "llm": {"model": "m", "base_url": url},
    }
    return make_recipe({**raw, **changes})


def start(settings: Recipe, folder: Path, until: Stage = "evaluate") -> None:
    """Run an experiment in this folder, or resume the one that is there."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    with Store(folder / "store.db") as store:
        begun = [place.parent for place in (folder / "runs").glob("*/config.toml")]
        known = [place for place in begun if store.get_run(place.name) or not (place / "manifest.json").is_file()]
        resume = known[0] if known else None
        run(settings, store=store, runs_dir=folder / "runs", resume=resume, quiet=True, until=until)


def outcome(folder: Path) -> dict[str, Any]:
    """The outcome of a run: each episode's verdict, the table, and the lessons."""
    (place,) = [path.parent for path in (folder / "runs").glob("*/config.toml")]
    with Store(folder / "store.db") as store:
        made = store.episodes(place.name)
        lessons = [
            (scope.partition("/")[2], lesson.kind, lesson.key, lesson.text)
            for scope in store.scopes()
            for lesson in store.lessons(scope)
        ]
        problems = store.check()
    table: list[Any] = []
    if (place / "summary.json").is_file():
        columns = ("name", "n", "successes", "errors", "interval")
        table = [{key: row[key] for key in columns} for row in read_summary(place).to_json()["conditions"]]
    return {
        "episodes": {key: one.outcome.success for key, one in made.items()},
        "errors": sum(one.outcome.reason == "error" for one in made.values()),
        "table": table,
        "lessons": sorted(lessons),
        "problems": problems,
    }


def killed(work: Callable[[], None], seconds: float, most: int, server: Server | None = None) -> int:
    """Do some work in forked processes, each killed within `seconds` at random, until it is done; return the kills.

    After `most` kills, a process may finish. The next process begins when the server has counted the last one's
    requests.
    """
    kills = 0
    while True:
        child = _forked(work)
        if kills < most:
            child.join(_chance.uniform(0, seconds))
            child.kill()
        child.join()
        if server is not None:
            server.settle()
        if child.exitcode == 0:
            return kills
        if child.exitcode != -signal.SIGKILL:
            raise RuntimeError(f"the work failed by itself, with status {child.exitcode}")
        kills += 1


def _forked(work: Callable[[], None]) -> BaseProcess:
    child = get_context("fork").Process(target=work)
    child.start()
    return child


def alone(work: Callable[[], None]) -> float:
    """Do some work in a forked process without kills; return the seconds."""
    began = time.monotonic()
    killed(work, 0.0, 0)
    return time.monotonic() - began


def paid_twice(server: Server, folder: Path, since: int = 0) -> dict[str, int]:
    """Count the replies that were requested again, and those of them that the journal had already.

    A reply counts as stored when the journal has it. A reply in transit when the process was killed is requested once
    more, so an answered request that is not in the journal must have an equal, later one that is. Only requests with
    numbers from `since` on are counted.
    """
    asked = server.asked()
    kept = {number for number in journalled(folder) if number >= since}
    last: dict[str, int] = {}
    for number, digest in asked:
        if number in kept:
            last[digest] = max(number, last.get(digest, -1))
    again = [(number, digest) for number, digest in asked if number >= since and number not in kept]
    return {
        "kept": len(kept),
        "asked again": len(again),
        "paid twice": sum(last.get(digest, -1) < number for number, digest in again),
    }


def journalled(folder: Path) -> set[int]:
    """The numbers of the replies in the journal."""
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        rows = connection.execute("SELECT json_extract(body, '$.model') FROM journal WHERE key NOT LIKE '%/asked'")
        return {int(name.partition("#")[2]) for (name,) in rows if "#" in (name or "")}


def runs(folder: Path, kills: int) -> list[dict[str, Any]]:
    """Kills of experiments, and of their learning alone."""
    rows = []
    with answering(program=SERVER) as url:
        settings = recipe(url, seeds=[0, 1] if kills < 50 else [0, 1, 2, 3])
        server = Server(url)
        server.set(pause=0.01)
        seconds = alone(partial(start, settings, folder / "right"))
        right, number, total = outcome(folder / "right"), 0, Counter[str]()
    while total["kills"] < kills:
        number += 1
        with answering(program=SERVER) as url:
            server = Server(url)
            server.set(pause=0.01)
            place, same = folder / f"run{number}", recipe(url, seeds=settings.seeds)
            most = min(kills - total["kills"], max(kills // 5, 1))
            total["kills"] += killed(partial(start, same, place), seconds / 3, most, server)
            result = outcome(place)
            total.update(paid_twice(server, place))
        total["lost"] += len(right["episodes"].keys() - result["episodes"].keys())
        total["other tables"] += result["table"] != right["table"] or result["episodes"] != right["episodes"]
        total["other lessons"] += result["lessons"] != right["lessons"]
        total["problems"] += len(result["problems"])
    rows.append(_row("runs", total, runs=number, episodes=number * len(right["episodes"]), seconds=round(seconds, 1)))
    rows.append(_learning(folder, kills // 4))
    return rows


def _learning(folder: Path, kills: int) -> dict[str, Any]:
    """Kills of learning alone: the attempts are gathered once, and learning runs on copies of the store."""
    total: Counter[str] = Counter()
    with answering(program=SERVER) as url:
        server, settings = Server(url), recipe(url, conditions=["expel", "erl", "expnote"])
        server.set(pause=0.01)
        alone(partial(start, settings, folder / "gathered", "gather"))
        shutil.copytree(folder / "gathered", folder / "taught")
        seconds = alone(partial(start, settings, folder / "taught", "learn"))
        right, number = outcome(folder / "taught"), 0
        while total["kills"] < kills:
            number += 1
            place = folder / f"learn{number}"
            shutil.copytree(folder / "gathered", place)
            since, most = 1 + max(number for number, _ in server.asked()), min(kills - total["kills"], 10)
            total["kills"] += killed(partial(start, settings, place, "learn"), seconds / 2, most, server)
            result = outcome(place)
            total["other lessons"] += result["lessons"] != right["lessons"]
            total["problems"] += len(result["problems"])
            total.update(paid_twice(server, place, since))
    return _row("learning", total, runs=number, lessons=len(right["lessons"]))


def changes(folder: Path, kills: int) -> list[dict[str, Any]]:
    """Kills of an import, a rollback and a repair."""
    return [_import(folder, kills), _rollback(folder, kills), _repair(folder, kills)]


def _import(folder: Path, kills: int) -> dict[str, Any]:
    log = folder / "log.jsonl"
    lines = []
    for number, text in enumerate(texts(500)):
        messages = [{"role": "user", "content": f"{number} {text}"}, {"role": "assistant", "content": text[:40]}]
        lines.append(json.dumps({"messages": messages}))
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def work(path: Path) -> None:
        with Store(path) as store:
            pool = ScreenedPool(store, "default")
            record(read(log, "messages"), pool, pool.scopes)

    def contents(path: Path) -> list[str]:
        with Store(path) as store:
            return [*sorted(one.id for one in store.trajectories("memory/default")), *store.check()]

    return _again("import", folder, kills, work, contents)


def _rollback(folder: Path, kills: int) -> dict[str, Any]:
    path = folder / "versions.db"
    with Memory(path, method="expnote", embedder=None) as memory:
        added = memory.add([f"{n} {text}" for n, text in enumerate(texts(500))])
        memory.snapshot("then")
        memory.forget(*[one.id for one in added[::3]])
        memory.add([f"new {n} {text}" for n, text in enumerate(texts(150))])

    def work(path: Path) -> None:
        with Memory(path, method="expnote", embedder=None) as memory:
            memory.rollback("then")

    def contents(path: Path) -> list[str]:
        with Memory(path, method="expnote", embedder=None) as memory:
            return [*sorted(one.text for one in memory.lessons()), *memory.store.check()]

    return _again("rollback", folder, kills, work, contents, path)


def _repair(folder: Path, kills: int) -> dict[str, Any]:
    path = folder / "damaged.db"
    with Memory(path, method="expnote", embedder=None) as memory:
        memory.add([f"{n} {text}" for n, text in enumerate(texts(500))])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE lessons SET body = '{\"id\": ' WHERE rowid % 7 = 0")
        connection.execute("UPDATE lessons SET status = 'disabled' WHERE rowid % 11 = 0")
    connection.close()

    def work(path: Path) -> None:
        with Store(path) as store:
            check.repair(store)

    def contents(path: Path) -> list[str]:
        with Store(path) as store:
            return [*sorted(one.model_dump_json() for one in store.lessons("memory/default")), *store.check()]

    return _again("doctor --repair", folder, kills, work, contents, path)


def _again(
    what: str,
    folder: Path,
    kills: int,
    work: Callable[[Path], None],
    contents: Callable[[Path], list[str]],
    source: Path | None = None,
) -> dict[str, Any]:
    """Kill work on copies of a store; a kill of a rollback must leave all of it done or nothing."""
    total: Counter[str] = Counter()
    name = "".join(filter(str.isalnum, what))

    def copy(number: int) -> Path:
        path = folder / f"{name}{number}.db"
        if source is not None:
            shutil.copy(source, path)
        return path

    first = copy(0)
    before = contents(first) if what == "rollback" else None
    seconds = alone(partial(work, first))
    right, number = contents(first), 0
    while total["kills"] < kills:
        number += 1
        path = copy(number)
        for _ in range(5):
            try:
                total["kills"] += killed(partial(work, path), 1.2 * seconds, 1)
            except RuntimeError:
                total["failed"] += 1
            now = contents(path)
            total["in between"] += before is not None and now not in (before, right)
            if now == right or total["kills"] >= kills:
                break
        total["other ends"] += now != right
    return _row(what, total, runs=number, things=len(right))


def memories(folder: Path, kills: int, attempts: int) -> dict[str, Any]:
    """Kill four programs that each record `attempts` into one memory and learn; no acknowledged attempt may be lost."""
    path, total = folder / "shared.db", Counter[str]()
    Store(path).close()
    with answering(program=SERVER) as url:
        server = Server(url)
        server.set(pause=0.01)
        os.environ.update(OPENAI_BASE_URL=url, OPENAI_API_KEY="none")
        tails = [folder / f"acknowledged{n}" for n in range(4)]
        works = [partial(_remember, path, tail, attempts) for tail in tails]
        processes = {n: _forked(work) for n, work in enumerate(works)}
        while processes:
            time.sleep(_chance.uniform(0.05, 0.6))
            for n, child in list(processes.items()):
                if not child.is_alive():
                    total["failed"] += child.exitcode != 0
                    del processes[n]
            if processes and total["kills"] < kills:
                n = _chance.choice(sorted(processes))
                processes[n].kill()
                processes[n].join()
                total["kills"] += 1
                processes[n] = _forked(works[n])
        with Memory(path, llm="m", embedder=None, learn="manual") as memory:
            memory.learn()
            kept = [one.id for one in memory.store.trajectories(memory.pool.scope)]
            total["unlearned"] = len(memory.store.unlearned(memory.pool.scope, "erl"))
            total["problems"] = len(memory.store.check())
        acknowledged = [line for tail in tails for line in tail.read_text(encoding="utf-8").split()]
        total["lost"] = len(set(acknowledged) - set(kept))
        total["twice"] = len(kept) - len(set(kept)) + len(acknowledged) - len(set(acknowledged))
        total["asked again"] = max(0, len(server.asked()) - len(kept))
    return _row("a memory of 4 programs", total, attempts=len(acknowledged))


def _remember(path: Path, tail: Path, attempts: int) -> None:
    """Record until `attempts` are acknowledged, and learn now and then; the ids of stored attempts go to `tail`."""
    done = len(tail.read_text(encoding="utf-8").split()) if tail.exists() else 0
    with Memory(path, llm="m", embedder=None, learn="manual") as memory, tail.open("a", encoding="utf-8") as log:
        for number in range(done, attempts):
            with memory.attempt(f"refund order {number % 40}") as attempt:
                attempt.step(action=f"lookup_order({number})", observation="shipped")
                kept = attempt.finish(success=number % 2 == 0)
            log.write(f"{kept.id}\n")
            log.flush()
            if number % 25 == 24:
                memory.learn()


def _row(what: str, total: Counter[str], **more: Any) -> dict[str, Any]:
    faults = ("lost", "paid twice", "other tables", "other lessons", "other ends", "in between", "problems", "twice")
    wrong = sum(total[name] for name in (*faults, "failed", "unlearned"))
    with suppress(KeyError):
        del total["kept"]
    return {"what": what, **more, **dict(total), "ok": not wrong}

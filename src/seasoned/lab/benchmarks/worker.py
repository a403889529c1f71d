"""Worker processes with environments of their own: started, asked, stopped, and replaced when they fail.

A worker is a program that reads one JSON object per line and answers each with one, as `serving.py` does: the same "id"
and its values, or "error" (a sentence) and "kind". It sends reply 0 without a request when it is ready. An `Episode`
holds a worker from the beginning of a task to its end. Always holds: a line that is not such a reply is skipped; a
worker that dies or hangs is killed, which is an InfrastructureError, never an answer; no worker outlives this process
or gets the keys in the user's environment.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from seasoned.errors import ConfigError, DataError, InfrastructureError, SeasonedError
from seasoned.lab.benchmarks.install import interpreter

AT_ONCE = min(2, os.cpu_count() or 1)
"""Tasks that a check plays at once, each with an engine of its own."""
MAX_LINE = 1 << 20
"""The most characters of a worker's line; a longer one is split, and its pieces are not JSON."""
SERVING = Path(__file__).parent / "serving.py"
"""The program that serves an engine file."""
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH")
"""The user's variables that a worker gets; others may be keys."""


def engine_workers(
    benchmark: str, python: str, engine: Path, *, name: str, timeout: float, environ: Mapping[str, str] | None = None
) -> Workers:
    """The workers of an engine file, not yet started; `python` is by default that of the benchmark's environment.

    ConfigError if there is no such environment.
    """
    command = (str(Path(python or interpreter(benchmark)).expanduser()), str(SERVING), str(engine))
    return Workers(command, name=name, timeout=timeout, environ=environ)


def passed_on() -> dict[str, str]:
    """The user's variables that a worker gets."""
    return {key: os.environ[key] for key in PASSED_ON if key in os.environ}


class Worker:
    """One process. `uses` counts the times it was taken from its pool."""

    def __init__(self, command: Sequence[str], name: str, timeout: float, environ: Mapping[str, str]) -> None:
        """Start the process and wait until it is ready.

        ConfigError if there is no such program, or it reports that something is missing; InfrastructureError if it died
        or was not ready in time.
        """
        self.uses = 0
        self.versions: dict[str, str] = {}
        self._name, self._timeout = name, timeout
        self._asked = 0
        self._output: deque[str] = deque(maxlen=5)
        self._replies: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**passed_on(), **environ, "PYTHONHASHSEED": "0"},
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # Ctrl-C is for this process, which then stops its workers
            )
        except OSError as error:
            raise ConfigError(f"{name} cannot be started with {command[0]} ({error.strerror})") from error
        # Neither the threads nor the finaliser may hold the worker itself, or it would never be dropped.
        self._stop = weakref.finalize(self, _end, self._process)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            threading.Thread(target=_read, args=(self._process.stdout, self._output, self._replies), daemon=True),
            threading.Thread(target=_read, args=(self._process.stderr, self._output), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        try:
            self.versions = dict(self._reply(0).get("versions") or {})
        except DataError as error:
            self.close()
            raise ConfigError(f"{error} (in {command[0]})") from error

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return bool(self._stop.alive) and self._process.poll() is None

    def ask(self, do: str, **values: Any) -> dict[str, Any]:
        """Send one request and wait for its reply.

        Raises:
            DataError: the worker replied with an error.
            InfrastructureError: it died, or did not reply in time; it is then stopped.
        """
        self._asked += 1
        line = json.dumps({"id": self._asked, "do": do, **values}) + "\n"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self._failed("has died") from error
        return self._reply(self._asked)

    def close(self) -> None:
        """Stop the process. May be called again."""
        self._stop()

    def _reply(self, number: int) -> dict[str, Any]:
        end = time.monotonic() + self._timeout
        while True:
            try:
                reply = self._replies.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise self._failed(f"did not answer within {self._timeout:g} seconds") from None
            if reply is None:
                raise self._failed("has died")
            if reply.get("id") != number:
                continue
            if "error" in reply:
                raise DataError(f"{self._name}: {reply['error']}")
            return reply

    def _failed(self, how: str) -> InfrastructureError:
        self.close()
        for reader in self._readers:
            reader.join(timeout=1.0)  # its last output may still be unread
        last = " | ".join(self._output)[-300:]
        return InfrastructureError(f"{self._name} {how}" + (f"; it last said: {last}" if last else ""))


class Workers:
    """The workers of one benchmark: one for each task in progress, and idle ones for later tasks."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        timeout: float = 120.0,
        recycle: int = 40,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Start nothing yet.

        A reply may take `timeout` seconds. A worker is replaced after `recycle` uses, since engines leak memory, and
        gets the variables of `environ` in addition to `PASSED_ON`.
        """
        self._worker = partial(Worker, tuple(command), name, timeout, dict(environ or {}))
        self._recycle = recycle
        self._idle: queue.LifoQueue[Worker] = queue.LifoQueue()

    def take(self) -> Worker:
        """Borrow a worker, to be returned later; a new one if none is free, with the errors of `Worker`."""
        while True:
            try:
                worker = self._idle.get_nowait()
            except queue.Empty:
                worker = self._worker()
            if worker.alive:
                worker.uses += 1
                return worker

    def give(self, worker: Worker) -> None:
        """Return a worker."""
        if worker.alive and worker.uses < self._recycle:
            self._idle.put(worker)
        else:
            worker.close()

    @contextmanager
    def lent(self) -> Iterator[Worker]:
        """A worker for the duration of a block."""
        worker = self.take()
        try:
            yield worker
        finally:
            self.give(worker)

    def close(self) -> None:
        """Stop the idle workers."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


class Episode:
    """A worker for one task, from `begin` to `close`, and its requests.

    The engine must be deterministic: a worker that fails is replaced once, and the new one gets all requests again.
    """

    def __init__(self, workers: Workers) -> None:
        """Take no worker yet."""
        self._workers = workers
        self._worker: Worker | None = None
        self._asked: list[tuple[str, dict[str, Any]]] = []

    @property
    def pid(self) -> int | None:
        """The id of the worker's process, if there is one."""
        return self._worker.pid if self._worker else None

    def begin(self, do: str, **values: Any) -> dict[str, Any]:
        """End the previous task, take a worker and send its first request; errors are as in `ask` and end the task."""
        self.close()
        try:
            return self.ask(do, **values)
        except SeasonedError:
            self.close()
            raise

    def ask(self, do: str, **values: Any) -> dict[str, Any]:
        """Send a request to the worker.

        Raises:
            DataError: the worker replied with an error; the task can go on.
            InfrastructureError: the worker and its replacement failed.
        """
        self._asked.append((do, values))
        try:
            return self._worker.ask(do, **values) if self._worker else self._repeated()
        except DataError:
            self._asked.pop()
            raise
        except InfrastructureError:
            self._worker = None
        try:
            return self._repeated()
        except (DataError, InfrastructureError):
            self._worker = None
            raise

    def close(self) -> None:
        """End the task and return its worker. May be called again."""
        worker, self._worker, self._asked = self._worker, None, []
        if worker is not None:
            self._workers.give(worker)

    def _repeated(self) -> dict[str, Any]:
        self._worker, reply = self._workers.take(), {}
        for do, values in self._asked:
            reply = self._worker.ask(do, **values)
        return reply


def _read(stream: IO[str], output: deque[str], replies: queue.SimpleQueue[dict[str, Any] | None] | None = None) -> None:
    """Read a stream to its end: replies go into the queue, then None; other lines are the worker's output."""
    with contextlib.suppress(OSError, ValueError), stream:
        while line := stream.readline(MAX_LINE):
            try:
                reply = json.loads(line) if replies else None
            except (ValueError, RecursionError):
                reply = None
            if replies and isinstance(reply, dict):
                replies.put(reply)
            else:
                output.append(line.strip()[:200])
    if replies:
        replies.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    with contextlib.suppress(OSError):
        if process.stdin:
            process.stdin.close()

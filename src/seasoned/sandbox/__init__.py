"""Runs untrusted code, such as programs that a model wrote, in an isolated worker process.

`Sandbox` imports a library once and runs each program in a fork of that worker. Always holds: a program has no access
to the network, the user's files or the user's environment variables; its time, memory, output and processes are
limited; a program that breaks its worker counts as ended early, and the next program gets a new worker; all text that
the worker returns is untrusted.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self, get_args

from seasoned.errors import ConfigError
from seasoned.sandbox.walls import Started, find_walls, start

__all__ = ["Fault", "Library", "Public", "Ran", "Sandbox", "Traced", "Value", "find_walls"]

Ended = Literal["done", "time", "output", "early"]
"""How a run ended: normally; at its time limit; by too much output; or before it returned an answer."""

SECONDS = 5.0
_LIMITS = {"memory": 1 << 30, "file": 4 << 20, "processes": 64}
_START_SECONDS = 60.0
_EXTRA_SECONDS = 20.0  # to wait for an answer after the time limit of the program
_MAX_BYTES = 8_000_000  # of an answer


@dataclass(frozen=True)
class Library:
    """What programs may import: a module as source text or an installed one; nothing if `name` is "".

    `paths` are folders to search first, such as a project's; `version` distinguishes sources of the same name.
    """

    name: str = ""
    source: str = ""
    paths: tuple[str, ...] = ()
    version: str = ""

    @classmethod
    def of(cls, name: str) -> Library:
        """Find an importable package or module by its name, without importing it.

        Raises:
            ConfigError: no such module exists.
        """
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError) as error:
            raise ConfigError(f"the library {name!r} cannot be found: {error}") from error
        if spec is None:
            raise ConfigError(f"there is no library {name!r} to import: give the name that `import` takes")
        package = importlib.util.find_spec(name.partition(".")[0]) or spec
        places = list(package.submodule_search_locations or ()) or [package.origin or ""]
        return cls(name, paths=tuple(str(Path(place).resolve().parent) for place in places if Path(place).exists()))


@dataclass(frozen=True)
class Fault:
    """An exception: its class, its message on one line, and the line of the program that raised it (0: unknown)."""

    type: str
    text: str
    line: int = 0


@dataclass(frozen=True)
class Value:
    """The value of an expression as text, or its fault; `exact` is whether that text evaluates to the same value."""

    text: str = ""
    exact: bool = False
    type: str = ""
    fault: Fault | None = None


@dataclass(frozen=True)
class Traced:
    """A call of a library function: the lines that make its object, the call, and its result or error."""

    function: str
    setup: tuple[str, ...]
    call: str
    value: str = ""
    error: str = ""


@dataclass(frozen=True)
class Tested:
    """The result of one test: whether it passed, why not, and the last call that it made."""

    passed: bool
    why: str = ""
    last: str = ""


@dataclass(frozen=True)
class Ran:
    """The result of a run. `values` are those of the requested calls, in order, up to where the run ended."""

    ended: Ended
    fault: Fault | None = None
    values: tuple[Value, ...] = ()
    calls: tuple[Traced, ...] = ()
    tests: tuple[Tested, ...] = ()
    output: str = ""


@dataclass(frozen=True)
class Public:
    """A public function, class or method of a library: its name, signature, and first docstring line in `says`."""

    name: str
    signature: str = ""
    says: str = ""
    is_class: bool = False


class Sandbox:
    """An isolated worker with a library, until it is closed. Thread-safe: it runs one program at a time.

    Args:
        library: what programs may import.
        kind: the kind of isolation, one of `walls.KINDS`; "": the first that works here.
        seconds: the time limit of a program, in wall time.
        unsafe: run without isolation if no kind works.

    Raises:
        ConfigError: no kind of isolation works here, or the library cannot be imported.
    """

    def __init__(self, library: Library, *, kind: str = "", seconds: float = SECONDS, unsafe: bool = False) -> None:
        self.library, self.seconds = library, seconds
        self.kind = kind or find_walls(unsafe=unsafe)
        self.version = ""
        self._started: Started | None = None
        self._lock = threading.Lock()
        with self._lock:
            self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *how: object) -> None:
        self.close()

    def run(
        self,
        code: str,
        calls: Sequence[str | Sequence[str]] = (),
        *,
        trace: bool = False,
        apart: bool = False,
        seconds: float | None = None,
    ) -> Ran:
        """Run a program, then evaluate calls in its namespace.

        Args:
            code: the program; its namespace has the library's public names and the library's module.
            calls: expressions, each alone or as the last of some lines that are run before it.
            trace: also return the calls of library functions, with their results.
            apart: hide the names that one call makes from the others.
            seconds: the time limit, in wall time; default: the sandbox's.
        """
        lines = [[call] if isinstance(call, str) else list(call) for call in calls]
        return _ran(self._ask({"kind": "run", "code": code, "calls": lines, "trace": trace, "apart": apart}, seconds))

    def test(
        self, code: str, entry: str, tests: Sequence[str], *, setup: str = "", seconds: float | None = None
    ) -> Ran:
        """Test a program's function; the tests run in another process and see only the function's results.

        Args:
            code: the program.
            entry: the name of its function.
            tests: statements that raise an exception if the function is wrong.
            setup: runs before the tests, such as helpers that they call.
            seconds: the time limit of all tests together, in wall time.
        """
        hidden = json.dumps({"setup": setup, "tests": list(tests)}).encode()
        return _ran(self._ask({"kind": "test", "code": code, "entry": entry, "follows": len(hidden)}, seconds, hidden))

    @cached_property
    def public(self) -> tuple[Public, ...]:
        """The library's public functions, classes and methods, in the order of their definition."""
        rows = _rows(self._ask({"kind": "public"}, None), "public")
        return tuple(
            Public(_text(row, "name"), _text(row, "signature"), _text(row, "says"), bool(row.get("class")))
            for row in rows
        )

    def close(self) -> None:
        """End the worker; does nothing if it is closed already."""
        with self._lock:
            self._stop()

    def _ask(self, request: dict[str, Any], seconds: float | None, hidden: bytes = b"") -> dict[str, Any]:
        limit = self.seconds if seconds is None else seconds
        answer = self._once({**request, "seconds": limit}, hidden)
        if answer.get("ended") == "early":  # the program or the machine is to blame: a second run decides
            answer = self._once({**request, "seconds": limit}, hidden)
        return answer

    def _once(self, request: dict[str, Any], hidden: bytes) -> dict[str, Any]:
        with self._lock:
            if self._started is None:
                self._start()
            assert self._started is not None
            try:
                _send(self._started, json.dumps(request).encode(), hidden)
                answer = _receive(self._started, request["seconds"] + _EXTRA_SECONDS)
            except (OSError, ValueError):
                answer = None
            if answer is None or answer.get("ended") == "early" or (hidden and answer.get("ended") != "done"):
                # It may have broken its worker, or left hidden tests in the pipe: the next program gets a new one.
                self._stop()
            return answer if answer is not None else {"ended": "early"}

    def _start(self) -> None:
        try:
            self._started = start(self.kind, _worker(), self.library.paths)
        except OSError as error:
            raise ConfigError(f"the sandbox {self.kind} does not start: {error}") from error
        config: dict[str, Any] = {"name": self.library.name, "paths": self.library.paths, "limits": _LIMITS}
        if self.library.source:
            config["source"] = self.library.source
        try:
            _send(self._started, json.dumps({**config, **self._started.config}).encode())
            ready = _receive(self._started, _START_SECONDS)
        except (OSError, ValueError):
            ready = None
        if ready is None or not ready.get("ready"):
            self._stop()
            reason = f"the library {self.library.name} cannot be imported: {_text(ready, 'error')}" if ready else ""
            raise ConfigError(f"the sandbox {self.kind} cannot be used: {reason or 'its worker ended at once'}")
        self.version = _text(ready, "version")

    def _stop(self) -> None:
        started, self._started = self._started, None
        if started is None:
            return
        process = started.process
        for act in (process.stdin.close, process.kill, process.wait, process.stdout.close, started.close):
            with suppress(Exception):
                act()


def _worker() -> str:
    """The worker's program: `inside`, after code that defines the module `telling`, which is not a file there."""
    telling, inside = (
        resources.files("seasoned.sandbox").joinpath(f"{name}.py").read_text(encoding="utf-8")
        for name in ("telling", "inside")
    )
    prelude = "import sys, types\nsys.modules['seasoned_telling'] = module = types.ModuleType('seasoned_telling')"
    return f"{prelude}\nexec(compile({telling!r}, '<telling>', 'exec'), vars(module))\n{inside}"


def _send(started: Started, *parts: bytes) -> None:
    first, *rest = parts
    started.process.stdin.write(b"%08d\n" % len(first) + first + b"".join(rest))
    started.process.stdin.flush()


def _receive(started: Started, seconds: float) -> dict[str, Any] | None:
    """The worker's next answer; None if it does not come in time or is malformed."""
    deadline, number, line = time.monotonic() + seconds, started.process.stdout.fileno(), bytearray()
    while not line.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or len(line) > _MAX_BYTES or not select.select([number], [], [], left)[0]:
            return None
        part = os.read(number, 1 << 16)
        if not part:
            return None
        line += part
    answer = json.loads(line)
    return answer if isinstance(answer, dict) else None


def _ran(answer: dict[str, Any]) -> Ran:
    """The run in an answer; raises nothing, whatever the answer holds."""
    ended = answer.get("ended")
    return Ran(
        ended=next((each for each in get_args(Ended) if each == ended), "early"),
        fault=_fault(answer.get("error")),
        values=tuple(
            Value(_text(row, "value"), row.get("exact") is True, _text(row, "type"), _fault(row.get("error")))
            for row in _rows(answer, "values")
        ),
        calls=tuple(
            Traced(
                _text(row, "function"),
                tuple(line for line in _list(row, "setup") if isinstance(line, str)),
                _text(row, "call"),
                _text(row, "value"),
                _text(row, "error"),
            )
            for row in _rows(answer, "calls")
        ),
        tests=tuple(
            Tested(row.get("passed") is True, _text(row, "why"), _text(row, "last")) for row in _rows(answer, "passed")
        ),
        output=_text(answer, "output"),
    )


def _rows(answer: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return [row for row in _list(answer, key) if isinstance(row, dict)]


def _list(row: dict[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    return value if isinstance(value, list) else []


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    # JSON can hold a lone surrogate, which cannot be encoded.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _fault(row: object) -> Fault | None:
    if not isinstance(row, dict):
        return None
    line = row.get("line")
    return Fault(_text(row, "type"), _text(row, "text"), line if isinstance(line, int) else 0)

"""A place to run code safely: programs that a model wrote, and calls of a library, in a worker between walls.

`Sandbox` imports a library once and runs each program in a fork of that worker. Always holds: a program sees no
network, no file of the user's and no environment of his, and its time, memory, output and processes are limited; a
program that breaks its worker is told of as one that ended early, and the next one gets a new worker; what comes back
is untrusted text.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self, get_args

from seasoned.errors import ConfigError
from seasoned.sandbox.walls import Started, find_walls, start

__all__ = ["Fault", "Library", "Public", "Ran", "Sandbox", "Traced", "Value", "find_walls"]

Ended = Literal["done", "time", "output", "early"]
"""How a program's run ended: by itself; at its time limit; it printed too much; or it ended before it had answered."""

SECONDS = 5.0
_LIMITS = {"memory": 1 << 30, "file": 4 << 20, "processes": 64}
_STARTS = 60.0
_PATIENCE = 20.0
_LINE = 8_000_000


@dataclass(frozen=True)
class Library:
    """What programs may use: a module as source text, or one that is installed; nothing where there is no name.

    `paths` are folders that it is looked for in first, such as a project's; `version` tells texts of one name apart.
    """

    name: str = ""
    source: str = ""
    paths: tuple[str, ...] = ()
    version: str = ""

    @classmethod
    def of(cls, name: str) -> Library:
        """An importable package or module by its name; it is found here and not imported.

        Raises:
            ConfigError: there is none.
        """
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError) as error:
            raise ConfigError(f"the library {name!r} cannot be found: {error}") from error
        if spec is None:
            raise ConfigError(f"there is no library {name!r} to import: give the name that `import` takes")
        top = name.partition(".")[0]
        whole = importlib.util.find_spec(top) or spec
        places = list(whole.submodule_search_locations or ()) or [whole.origin or ""]
        return cls(name, paths=tuple(str(Path(place).resolve().parent) for place in places if Path(place).exists()))


@dataclass(frozen=True)
class Fault:
    """An exception: its class, its words on one line, and the line of the program (0: none)."""

    type: str
    text: str
    line: int = 0


@dataclass(frozen=True)
class Value:
    """What an expression gave: as text, and whether that text is the same value again; or its fault."""

    text: str = ""
    exact: bool = False
    type: str = ""
    fault: Fault | None = None


@dataclass(frozen=True)
class Traced:
    """A call of the library's: lines before it that make its object, the call, and what it gave or raised."""

    function: str
    setup: tuple[str, ...]
    call: str
    value: str = ""
    error: str = ""


@dataclass(frozen=True)
class Tested:
    """One test: whether it passed, why not, and the last call that it made."""

    passed: bool
    why: str = ""
    last: str = ""


@dataclass(frozen=True)
class Ran:
    """What a run told. `values` are those of the calls that were asked for, in order, as far as it came."""

    ended: Ended
    fault: Fault | None = None
    values: tuple[Value, ...] = ()
    calls: tuple[Traced, ...] = ()
    tests: tuple[Tested, ...] = ()
    output: str = ""


@dataclass(frozen=True)
class Public:
    """A public function, class or method of a library: its name, its signature, and the first line of its text."""

    name: str
    signature: str = ""
    says: str = ""
    is_class: bool = False


class Sandbox:
    """A worker with a library, for as long as this object is open. Safe in threads: one program at a time.

    Args:
        library: what programs may use.
        kind: the walls, see `walls.KINDS`; "" takes those that work here.
        seconds: wall time of a program.
        unsafe: run without walls where none work.

    Raises:
        ConfigError: no walls work here, or the library cannot be imported.
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
        """Run a program, then evaluate calls where it stands.

        Args:
            code: the program; it finds the library's public names, and those of its module.
            calls: expressions, each alone or after lines that are run before it.
            trace: tell also which functions of the library were called, and what they gave.
            apart: no call sees the names that another one made.
            seconds: wall time; by default the sandbox's.
        """
        lines = [[call] if isinstance(call, str) else list(call) for call in calls]
        return _ran(self._ask({"kind": "run", "code": code, "calls": lines, "trace": trace, "apart": apart}, seconds))

    def test(
        self, code: str, entry: str, tests: Sequence[str], *, setup: str = "", seconds: float | None = None
    ) -> Ran:
        """Test a program's function; the tests run in another process and see only what the function gives.

        Args:
            code: the program.
            entry: the name of its function.
            tests: statements that raise where the function is wrong.
            setup: run before the tests, such as helpers that these call.
            seconds: wall time of all together.
        """
        hidden = json.dumps({"setup": setup, "tests": list(tests)}).encode()
        return _ran(self._ask({"kind": "test", "code": code, "entry": entry, "follows": len(hidden)}, seconds, hidden))

    @cached_property
    def public(self) -> tuple[Public, ...]:
        """The library's public functions, classes and methods, in its own order."""
        told = self._ask({"kind": "public"}, None).get("public")
        rows = [row for row in told if isinstance(row, dict)] if isinstance(told, list) else []
        return tuple(
            Public(_text(row, "name"), _text(row, "signature"), _text(row, "says"), bool(row.get("class")))
            for row in rows
        )

    def close(self) -> None:
        """End the worker. May be called again."""
        with self._lock:
            self._stop()

    def _ask(self, request: dict[str, Any], seconds: float | None, hidden: bytes = b"") -> dict[str, Any]:
        wait = self.seconds if seconds is None else seconds
        answer = self._once({**request, "seconds": wait}, hidden)
        if answer.get("ended") == "early":  # by its own doing, or by that of the machine: the second time tells
            answer = self._once({**request, "seconds": wait}, hidden)
        return answer

    def _once(self, request: dict[str, Any], hidden: bytes) -> dict[str, Any]:
        with self._lock:
            if self._started is None:
                self._start()
            assert self._started is not None
            try:
                _send(self._started, json.dumps(request).encode(), hidden)
                answer = _receive(self._started, request["seconds"] + _PATIENCE)
            except (OSError, ValueError):
                answer = None
            if answer is None or answer.get("ended") == "early" or (hidden and answer.get("ended") != "done"):
                # It may have broken its worker, or left what was hidden in the pipe: the next one gets another.
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
            ready = _receive(self._started, _STARTS)
        except (OSError, ValueError):
            ready = None
        if ready is None or not ready.get("ready"):
            self._stop()
            why = _text(ready, "error") if ready else "its worker ended at once"
            what = f"the library {self.library.name} cannot be imported" if ready else "it"
            raise ConfigError(f"the sandbox {self.kind} cannot be used: {what}: {why}")
        self.version = _text(ready, "version")

    def _stop(self) -> None:
        started, self._started = self._started, None
        if started is None:
            return
        process = started.process
        for act in (process.stdin.close, process.kill, process.wait, process.stdout.close, started.close):
            try:
                act()
            except Exception:
                continue


def _worker() -> str:
    """The worker's program: `inside`, after the module that it imports, which is no file where it runs."""
    telling, inside = (
        resources.files("seasoned.sandbox").joinpath(f"{name}.py").read_text(encoding="utf-8")
        for name in ("telling", "inside")
    )
    module = "import sys, types\nsys.modules['seasoned_telling'] = told = types.ModuleType('seasoned_telling')"
    return f"{module}\nexec(compile({telling!r}, '<telling>', 'exec'), vars(told))\n{inside}"


def _send(started: Started, *parts: bytes) -> None:
    first, *rest = parts
    started.process.stdin.write(b"%08d\n" % len(first) + first + b"".join(rest))
    started.process.stdin.flush()


def _receive(started: Started, seconds: float) -> dict[str, Any] | None:
    """The worker's next answer; None where none came in time, or it is none."""
    until, number, got = time.monotonic() + seconds, started.process.stdout.fileno(), bytearray()
    while not got.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or len(got) > _LINE or not select.select([number], [], [], left)[0]:
            return None
        part = os.read(number, 1 << 16)
        if not part:
            return None
        got += part
    answer = json.loads(got)
    return answer if isinstance(answer, dict) else None


def _ran(answer: dict[str, Any]) -> Ran:
    """The run that an answer tells of; whatever it holds, this raises nothing."""
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
    found = row.get(key)
    return found if isinstance(found, list) else []


def _text(row: dict[str, Any], key: str) -> str:
    found = row.get(key)
    # Half of a pair of characters can be said in JSON, and be written nowhere.
    return found.encode("utf-8", "replace").decode() if isinstance(found, str) else ""


def _fault(found: object) -> Fault | None:
    if not isinstance(found, dict):
        return None
    line = found.get("line")
    return Fault(_text(found, "type"), _text(found, "text"), line if isinstance(line, int) else 0)

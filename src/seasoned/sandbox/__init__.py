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
from typing import Any, Literal, Self, TypeVar

from pydantic import TypeAdapter

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
        """Find an importable package or module by its name, without importing it; ConfigError if there is none."""
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


@dataclass(frozen=True)
class _About:
    """What a worker tells of its library; `fault` if it cannot be imported."""

    ended: Ended
    version: str = ""
    public: tuple[Public, ...] = ()
    fault: Fault | None = None


Answer = TypeVar("Answer", Ran, _About)
_RAN, _ABOUT = TypeAdapter(Ran), TypeAdapter(_About)


class Sandbox:
    """An isolated worker with a library, until it is closed. Thread-safe: it runs one program at a time.

    ConfigError if no kind of isolation works here, or if the library cannot be imported.

    Args:
        library: what programs may import.
        kind: the kind of isolation, one of `walls.KINDS`; "": the first that works here.
        seconds: the time limit of a program, in wall time.
        unsafe: run without isolation if no kind works.
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
        request = {"kind": "run", "code": code, "calls": lines, "trace": trace, "apart": apart}
        return self._ask(_RAN, request, seconds) or Ran("early")

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
        request = {"kind": "test", "code": code, "entry": entry, "follows": len(hidden)}
        return self._ask(_RAN, request, seconds, hidden) or Ran("early")

    @cached_property
    def public(self) -> tuple[Public, ...]:
        """The library's public functions, classes and methods, in the order of their definition."""
        about = self._ask(_ABOUT, {"kind": "public"})
        return about.public if about else ()

    def close(self) -> None:
        """End the worker; does nothing if it is closed already."""
        with self._lock:
            self._stop()

    def _ask(
        self, answers: TypeAdapter[Answer], request: dict[str, Any], seconds: float | None = None, hidden: bytes = b""
    ) -> Answer | None:
        """The worker's answer; None if there is none, or one that the program forged."""
        seconds = self.seconds if seconds is None else seconds
        for _ in range(2):  # the program or the machine is to blame for an early end: a second run decides
            with self._lock:
                if self._started is None:
                    self._start()
                answer = self._exchange(answers, {**request, "seconds": seconds}, seconds + _EXTRA_SECONDS, hidden)
                ended = answer.ended if answer else "early"
                if ended == "early" or (hidden and ended != "done"):
                    # It may have broken its worker, or left hidden tests in the pipe: the next program gets a new one.
                    self._stop()
            if ended != "early":
                break
        return answer

    def _exchange(
        self, answers: TypeAdapter[Answer], request: dict[str, Any], seconds: float, hidden: bytes = b""
    ) -> Answer | None:
        assert self._started is not None
        process, body = self._started.process, json.dumps(request).encode()
        try:
            process.stdin.write(b"%08d\n" % len(body) + body + hidden)
            process.stdin.flush()
            return answers.validate_json(_line(process.stdout.fileno(), seconds), strict=True)
        except (OSError, ValueError):
            return None

    def _start(self) -> None:
        try:
            self._started = start(self.kind, _worker(), self.library.paths)
        except OSError as error:
            raise ConfigError(f"the sandbox {self.kind} does not start: {error}") from error
        config: dict[str, Any] = {"name": self.library.name, "paths": self.library.paths, "limits": _LIMITS}
        if self.library.source:
            config["source"] = self.library.source
        ready = self._exchange(_ABOUT, {**config, **self._started.config}, _START_SECONDS)
        if ready is None or ready.fault:
            self._stop()
            fault = ready.fault.text if ready and ready.fault else ""
            reason = f"the library {self.library.name} cannot be imported: {fault}" if ready else ""
            raise ConfigError(f"the sandbox {self.kind} cannot be used: {reason or 'its worker ended at once'}")
        self.version = ready.version

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


def _line(file: int, seconds: float) -> bytes:
    """The next line of a file; OSError if it does not come in time or is too long."""
    deadline, line = time.monotonic() + seconds, bytearray()
    while not line.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or len(line) > _MAX_BYTES or not select.select([file], [], [], left)[0]:
            raise TimeoutError
        part = os.read(file, 1 << 16)
        if not part:
            raise ConnectionError
        line += part
    return bytes(line)

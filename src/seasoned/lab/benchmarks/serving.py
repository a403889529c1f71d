"""The program of a worker: serves an engine to another process, with one JSON object per line in and out.

It runs as `python serving.py ENGINE.py` with the Python of the engine's own environment and needs nothing of Seasoned.
The engine is a file with `PACKAGES`, the distributions whose versions are reported, and `begin()`, which returns
functions by name. A request {"id": n, "do": name, ..} calls a function with its other values, and the reply is the
dict that it returns, with the same id. After a failure, the reply has an "error" (a sentence) and its "kind": "request"
if the request is wrong, "data" if the engine raised. The first line is the reply 0: {"id": 0, "versions": {..}}, or an
error of the kind "install". Always holds: only replies reach standard output, whatever the engine prints; an error is a
reply; the end of standard input ends the process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

Does = Mapping[str, Callable[..., dict[str, Any]]]
"""The functions of an engine, by name."""

MOST_SAID = 300
"""The most characters of a reported error."""


def answer(does: Does, line: str) -> dict[str, Any]:
    """The reply to one request; an error is a reply, too."""
    number, kind = None, "request"
    try:
        request = json.loads(line)
        number, name = request.pop("id"), request.pop("do")
        if name not in does:
            raise ValueError(f"unknown request {name!r}")
        kind = "data"
        return {"id": number, **does[name](**request)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # some engines raise SystemExit
        return {"id": number, "error": _message(error), "kind": kind}


def serve(engine: Path, lines: Iterable[str], write: Callable[[dict[str, Any]], None]) -> None:
    """Answer requests until the input ends."""
    try:
        module = load(engine)
        does = module.begin()
        versions = {package: version(package) for package in module.PACKAGES}
    except Exception as error:
        write({"id": 0, "error": _message(error), "kind": "install"})
        return
    write({"id": 0, "versions": versions})
    for line in lines:
        write(answer(does, line))


def load(engine: Path) -> ModuleType:
    """Load a file as a module, without its folder on the path."""
    spec = spec_from_file_location("seasoned_engine", engine)
    if spec is None or spec.loader is None:
        raise ImportError(f"{engine} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses need their module there
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Serve on standard input and output; the engine's own output goes to standard error."""
    # The modules beside this file have common names and must not shadow those of the engine's packages.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)

    def write(reply: dict[str, Any]) -> None:
        out.write(json.dumps(reply) + "\n")
        out.flush()

    serve(Path(sys.argv[1]), os.fdopen(os.dup(0), encoding="utf-8", errors="replace"), write)


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:MOST_SAID]}"


if __name__ == "__main__":
    main()

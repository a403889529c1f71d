"""The program of a worker: serves an engine to another process, one JSON object a line in, one a line out.

Run as `python serving.py ENGINE.py` by the Python of the engine's own environment; it needs nothing of Seasoned. The
engine is a file with `PACKAGES`, the distributions whose versions are told, and `begin()`, which gives functions by
name: a request {"id": n, "do": name, ..} calls one with its other values, and what it returns (a dict) is the reply,
with the same id. Else the reply is an "error" (a sentence) and its "kind": "request" where the request is wrong, "data"
where the engine raised. The first line is the reply 0: {"id": 0, "versions": {..}}, or an error of the kind "install".
Always holds: nothing but replies reaches standard output, whatever the engine prints; an error is a reply; the end of
standard input ends the process.
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
"""What an engine does, by name."""

MOST_SAID = 300
"""Characters of a reported error."""


def answer(does: Does, line: str) -> dict[str, Any]:
    """The reply to one request; whatever goes wrong is a reply too."""
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
    except BaseException as error:  # some engines leave with SystemExit
        return {"id": number, "error": _said(error), "kind": kind}


def serve(engine: Path, lines: Iterable[str], write: Callable[[dict[str, Any]], None]) -> None:
    """Answers requests until there are none."""
    try:
        module = load(engine)
        does = module.begin()
        versions = {package: version(package) for package in module.PACKAGES}
    except Exception as error:
        write({"id": 0, "error": _said(error), "kind": "install"})
        return
    write({"id": 0, "versions": versions})
    for line in lines:
        write(answer(does, line))


def load(engine: Path) -> ModuleType:
    """The module of a file, without its folder on the path."""
    spec = spec_from_file_location("seasoned_engine", engine)
    if spec is None or spec.loader is None:
        raise ImportError(f"{engine} is no Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses of the file look themselves up there
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Serves on standard input and output; what the engine prints goes to standard error."""
    # The modules beside this file have plain names, and must not stand in for those of the engine's packages.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)

    def write(reply: dict[str, Any]) -> None:
        out.write(json.dumps(reply) + "\n")
        out.flush()

    serve(Path(sys.argv[1]), os.fdopen(os.dup(0), encoding="utf-8", errors="replace"), write)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:MOST_SAID]}"


if __name__ == "__main__":
    main()

"""ALFWorld's engine for another process: one JSON object a line in, one a line out.

Run by the Python of the engine's own environment; it needs `textworld` and `alfworld` and nothing of Seasoned.
Requests: {"id": n, "do": "load", "game": path} begins a game, {"id": n, "do": "step", "command": text} goes on with it.
A reply has the same id, "observation" and "won", or "error" (a sentence) and "kind" ("game": the file is at fault). The
first line is the reply 0: {"id": 0, "versions": {...}}, or an error. Always holds: nothing but replies reaches standard
output, whatever the engine prints; no expression of a game file is run as Python; the end of standard input ends the
process.
"""

from __future__ import annotations

import ast
import copy
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("alfworld", "textworld")


def evaluate(expression: str, variables: Mapping[str, Any]) -> Any:
    """An expression of a game's grammar, such as `o.indefinite + ' ' + o.name` or `r.name or r.id`.

    The engine hands these to Python's eval, and a game file may come from anywhere.

    Raises:
        ValueError: it is anything but texts, public attributes of variables, `+`, `or` and `and`.
    """

    def value(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name) and node.id in variables:
            return variables[node.id]
        if isinstance(node, ast.Attribute) and not node.attr.startswith("_"):
            return getattr(value(node.value), node.attr)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return value(node.left) + value(node.right)
        if isinstance(node, ast.BoolOp):
            ends = isinstance(node.op, ast.Or)
            parts = [value(part) for part in node.values]
            return next((part for part in parts if bool(part) is ends), parts[-1])
        raise ValueError(f"the expression {expression[:80]!r} is not one of a game of ALFWorld")

    return value(ast.parse(expression.strip(), mode="eval").body)


def tame() -> None:
    """Makes the engine run no expressions of a game file, and do the same work once.

    It parses every template again at each step, and translates a game four times: for a planner that is not used here
    too. All of these are pure functions of their text.
    """
    textgen: Any = import_module("textworld.envs.pddl.textgen")
    planner: Any = import_module("fast_downward")

    def derive(self: Any, context: Any = None) -> list[Any]:
        variables = (context or self.context)["variables"]
        return [textgen.TerminalSymbol(evaluate(self.expression, variables))]

    parsed = functools.lru_cache(4096)(textgen._parse_and_convert)
    translated = functools.lru_cache(1)(planner.pddl2sas)
    textgen.EvalSymbol.derive = derive
    textgen._parse_and_convert = lambda *texts, **how: copy.deepcopy(parsed(*texts, **how))
    planner.pddl2sas = lambda domain, problem, verbose=False, optimize=False: translated(domain, problem)


class Games:
    """The engine with one game in it. A game that is begun again is not read again."""

    def __init__(self) -> None:
        textworld = import_module("textworld")
        engine = import_module("textworld.envs").PddlEnv
        demangler = import_module("alfworld.agents.environment.alfred_tw_env").AlfredDemangler
        tame()
        self._env = demangler(engine(textworld.EnvInfos(feedback=True, won=True)))
        self._game = ""

    def load(self, game: str) -> dict[str, Any]:
        """Begins a game; its first observation."""
        if self._game != game:
            self._game = ""
            self._env.load(game)
        self._game = game
        return self._said(self._env.reset())

    def step(self, command: str) -> dict[str, Any]:
        """Does one command; "Nothing happens." where the engine does not know it."""
        if not self._game:
            raise ValueError("no game was begun")
        return self._said(self._env.step(command)[0])

    def _said(self, state: Any) -> dict[str, Any]:
        return {"observation": str(state["feedback"]), "won": bool(state["won"])}


def answer(games: Games, line: str) -> dict[str, Any]:
    """The reply to one request; whatever goes wrong is a reply too."""
    number, kind = None, "request"
    try:
        request = json.loads(line)
        number = request["id"]
        if request["do"] not in ("load", "step"):
            raise ValueError(f"unknown request {request['do']!r}")
        kind = "game"
        reply = games.load(request["game"]) if request["do"] == "load" else games.step(request["command"])
        return {"id": number, **reply}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the planner's reader of PDDL leaves with SystemExit
        return {"id": number, "error": f"{type(error).__name__}: {str(error)[:300]}", "kind": kind}


def serve(lines: Iterable[str], write: Callable[[dict[str, Any]], None]) -> None:
    """Answers requests until there are none."""
    try:
        games = Games()
        versions = {package: version(package) for package in PACKAGES}
    except Exception as error:
        write({"id": 0, "error": f"{type(error).__name__}: {str(error)[:300]}", "kind": "install"})
        return
    write({"id": 0, "versions": versions})
    for line in lines:
        write(answer(games, line))


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

    serve(os.fdopen(os.dup(0), encoding="utf-8", errors="replace"), write)


if __name__ == "__main__":
    main()

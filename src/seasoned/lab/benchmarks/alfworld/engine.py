"""ALFWorld's engine for another process, as `serving.py` runs it.

It needs `textworld` and `alfworld` and nothing of Seasoned. Requests: {"do": "load", "game": path} begins a game,
{"do": "step", "command": text} executes a command. A reply has "observation" and "won". Always holds: no expression of
a game file is run as Python.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

PACKAGES = ("alfworld", "textworld")


def evaluate(expression: str, variables: Mapping[str, Any]) -> Any:
    """The value of an expression of a game's grammar, such as `o.indefinite + ' ' + o.name` or `r.name or r.id`.

    The engine itself passes these expressions to Python's eval, although a game file may come from anywhere. A
    ValueError if an expression has other parts than texts, public attributes of variables, `+`, `or` and `and`.
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
        raise ValueError(f"{expression[:80]!r} is not an expression of a game of ALFWorld")

    return value(ast.parse(expression.strip(), mode="eval").body)


def tame() -> None:
    """Patch the engine: it runs no expressions of a game file, and caches repeated work.

    Unpatched, it parses every template again at each step and translates a game four times, also for a planner that is
    not used here. All of these are pure functions of their text.
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
    """The engine with one game at a time; to begin the same game again does not read it again."""

    def __init__(self) -> None:
        textworld = import_module("textworld")
        engine = import_module("textworld.envs").PddlEnv
        demangler = import_module("alfworld.agents.environment.alfred_tw_env").AlfredDemangler
        tame()
        self._env = demangler(engine(textworld.EnvInfos(feedback=True, won=True)))
        self._game = ""

    def load(self, game: str) -> dict[str, Any]:
        """Begin a game, and return its first observation."""
        if self._game != game:
            self._game = ""  # if loading fails, no game is there
            self._env.load(game)
            self._game = game
        return self._reply(self._env.reset())

    def step(self, command: str) -> dict[str, Any]:
        """Execute a command; the observation of an unknown one is "Nothing happens."."""
        return self._reply(self._env.step(command)[0])

    def _reply(self, state: Any) -> dict[str, Any]:
        return {"observation": str(state["feedback"]), "won": bool(state["won"])}


def begin() -> dict[str, Callable[..., dict[str, Any]]]:
    """The engine's functions by request."""
    games = Games()
    return {"load": games.load, "step": games.step}

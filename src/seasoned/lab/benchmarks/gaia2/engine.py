"""ARE's engine for another process, as `serving.py` runs it.

It needs `meta-agents-research-environments` and nothing of Seasoned. Requests: {"do": "load", "scenario": text, "soft":
whether a model judges texts} begins a scenario, {"do": "step", "tool": name, "arguments": {..}} calls a tool, and
{"do": "oracle"} returns the calls that solve the scenario. The reply to "load" has "observation", "time" and "tools";
the reply to "step" has "observation", "invalid" and "over", and at the end "success" and "why". If the judge asks a
model, the reply is {"ask": messages} instead, and {"do": "told", "text": ..} passes the model's answer on. Always
holds: the same requests give the same replies, because the simulated clock moves only by steps and ids are drawn from a
seed; nothing waits in real time.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import random
import re
import tempfile
import threading
import uuid
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = ("meta-agents-research-environments",)

TO_USER = "AgentUserInterface__send_message_to_user"
UNUSED = {
    "AgentUserInterface__get_last_message_from_user",
    "AgentUserInterface__get_last_message_from_agent",
    "AgentUserInterface__get_last_unread_messages",
    "AgentUserInterface__get_all_messages",
}
"""Tools that ARE's own agent does not get either: the user's messages arrive as observations."""
EACH_STEP = 1.0
"""Simulated seconds per call."""
LONGEST_WAIT = 120
"""Simulated seconds to wait for the user's first or next message."""

_JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}


class Talk:
    """Runs a function on a thread that can ask for a model's answer and wait for it."""

    def __init__(self) -> None:
        self._out: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._in: queue.SimpleQueue[str] = queue.SimpleQueue()

    def run(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Start the function, and return its result or its first request to a model."""

        def body() -> None:
            try:
                self._out.put(work())
            except BaseException as error:
                self._out.put({"raise": error})

        threading.Thread(target=body, daemon=True).start()
        return self._next()

    def told(self, text: str) -> dict[str, Any]:
        """Continue the function with a model's answer, and return its result or next request."""
        self._in.put(text)
        return self._next()

    def ask(self, messages: Any, **_: Any) -> tuple[str, None]:
        """The judge's model, for ARE, which calls it on the thread."""
        plain = [{"role": str(one["role"]), "content": str(one["content"])} for one in messages]
        self._out.put({"ask": plain})
        return self._in.get(), None

    def _next(self) -> dict[str, Any]:
        reply = self._out.get()
        if "raise" in reply:
            raise reply["raise"]
        return reply


class Scenarios:
    """The engine with one scenario at a time."""

    def __init__(self) -> None:
        """Import all of ARE's modules, to report a missing one at once."""
        logging.disable(logging.CRITICAL)
        self._env_of = import_module("are.simulation.environment")
        self._importer = import_module("are.simulation.data_handler.importer").JsonScenarioImporter
        self._utils = import_module("are.simulation.scenarios.scenario_imported_from_json.utils")
        self._configs = import_module("are.simulation.validation.configs")
        self._notes = import_module("are.simulation.notification_system")
        self._kinds = import_module("are.simulation.types")
        self._files = import_module("are.simulation.apps.sandbox_file_system")
        self._draw = random.Random(0)
        uuid.uuid4 = self._uuid
        self._folder: Any = None
        self._talk: Talk | None = None
        self._scenario: Any = None
        self._answer: dict[str, Any] = {}
        self._said = ""

    def load(self, scenario: str, soft: bool = False) -> dict[str, Any]:
        """Begin a scenario from the text of its JSON file."""
        self._draw.seed(0)
        self._talk = Talk() if soft else None
        extra = json.loads(scenario).get("seasoned") or {}
        self._fill(extra.get("files") or {})
        imported, _, _ = self._importer().import_from_json_to_benchmark(scenario, load_completed_events=False)
        imported.initialize()
        self._utils.preprocess_scenario(
            imported, judge_config=self._judge(imported, extra.get("checks") or {}), max_scenario_duration=3600
        )
        self._draw.seed(1)
        self._scenario, self._turns, self._answer = imported, 0, extra.get("answer") or {}
        self._env = self._environment(imported)
        self._tools = {tool._public_name: tool for tool in imported.get_tools() if tool.name not in UNUSED}
        for app in imported.apps:
            if type(app).__name__ == "AgentUserInterface":
                app.wait_for_user_response = False
        messages = self._next_messages()
        if not messages:
            raise ValueError("this scenario has no first message of the user")
        now = f"It is {self._now():%A, %Y-%m-%d %H:%M} (UTC)."
        return {"observation": messages, "time": now, "tools": [described(tool) for tool in self._tools.values()]}

    def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool."""
        work = partial(self._step, tool, arguments)
        return self._talk.run(work) if self._talk else work()

    def told(self, text: str) -> dict[str, Any]:
        """Pass on the answer of the model that the judge asked."""
        assert self._talk is not None
        return self._talk.told(text)

    def oracle(self) -> dict[str, Any]:
        """The calls that solve the scenario, in the oracle's order."""
        events = [e for e in self._scenario.oracle_run_event_log if e.event_type == self._kinds.EventType.AGENT]
        calls = []
        for event in sorted(events, key=lambda event: event.event_time):
            arguments = {name: value for name, value in event.get_args().items() if name != "self"}
            name = f"{event.action.app.name}__{event.function_name()}"
            if name in self._tools:
                calls.append({"name": name, "arguments": arguments})
        return {"calls": calls}

    def _step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._clock.add_offset(EACH_STEP)
        self._env.tick()
        function = self._tools.get(tool)
        if function is None:
            return self._reply(f"Error: there is no tool {tool!r}", invalid=True)
        try:
            observation, invalid = str(function(**arguments)), False
        except Exception as error:
            observation, invalid = f"Error in {tool}: {error}", True
        if function.name == TO_USER and not invalid:
            self._said = str(arguments.get("content", ""))
            self._turns += 1
            if self._turns >= (self._scenario.nb_turns or 1):
                return self._verdict()
            observation = self._next_messages()
            # After a mistake, the user stays silent.
            return self._reply(observation) if observation else self._verdict()
        if self._env.stop_event.is_set():
            return self._verdict()
        return self._reply("\n".join([observation, *self._news()]), invalid)

    def _verdict(self) -> dict[str, Any]:
        verdict = self._scenario.validate(self._env)
        if verdict.exception is not None:
            raise RuntimeError(f"the judge failed: {verdict.exception}") from verdict.exception
        success, why = bool(verdict.success), " ".join(str(verdict.rationale or "").split())[:300]
        if success and not answers(self._said, self._answer):
            success, why = False, "The answer is another one."
        return self._reply("The task is over.", over=True, success=success, why="" if success else why)

    def _reply(self, observation: str, invalid: bool = False, over: bool = False, **more: Any) -> dict[str, Any]:
        return {"observation": observation, "invalid": invalid, "over": over, **more}

    def _next_messages(self) -> str:
        """Let time pass until the user or an app sends a message."""
        for _ in range(LONGEST_WAIT):
            self._env.tick()
            if messages := self._news():
                return "\n".join(messages)
            if self._env.stop_event.is_set():
                break
            self._clock.add_offset(1.0)
        return ""

    def _now(self) -> Any:
        return self._notes.datetime.fromtimestamp(self._clock.time(), tz=self._notes.timezone.utc)

    def _news(self) -> list[str]:
        """The messages of the user and the apps since the last call."""
        news = []
        for message in self._env.notification_system.message_queue.get_by_timestamp(self._now()):
            if message.message_type == self._notes.MessageType.USER_MESSAGE:
                news.append(words_of(message.message))
            elif message.message_type == self._notes.MessageType.ENVIRONMENT_NOTIFICATION:
                news.append(f"Notification: {message.message}")
        return news

    def _environment(self, scenario: Any) -> Any:
        """ARE's environment; its event loop does not run, because this engine calls `tick`."""
        # Only `add_offset` moves ARE's clock: no real time passes, and a pause changes nothing.
        self._clock = import_module("are.simulation.time_manager").TimeManager()
        self._clock.real_time_passed = lambda: 0.0
        self._clock.pause = self._clock.resume = lambda: None
        self._clock.reset(scenario.start_time or 0.0)
        config = self._env_of.EnvironmentConfig(start_time=scenario.start_time, duration=scenario.duration)
        env = self._env_of.Environment(config=config, notification_system=self._notes.VerboseNotificationSystem())
        env.time_manager = self._clock
        env.notification_system.initialize(self._clock)
        env.register_apps(scenario.apps)
        env.schedule(scenario.events)
        env.state = self._kinds.EnvironmentState.RUNNING
        env.prepare_events_for_start()
        return env

    def _judge(self, scenario: Any, checks: dict[str, Any]) -> Any:
        """The configuration of ARE's judge; without a model, `checks` decide how it compares texts.

        The judge writes prompts for every tool that it knows, which takes seconds, so it gets only the oracle's tools.
        """
        classes = {app.name: type(app).__name__ for app in scenario.apps}
        actions = [event.action_desc for event in scenario.events if type(event).__name__ == "OracleEvent"]
        tools = {f"{classes.get(one.app, one.app)}__{one.function}" for one in actions}
        known = {name: kinds for name, kinds in self._configs.TOOL_ARG_CHECKER_TYPE_REGISTRY.items() if name in tools}
        if self._talk:
            return self._configs.GraphPerEventJudgeConfig(engine=self._talk.ask, per_tool_arg_to_checker_type=known)
        params = {event: [self._check(**one) for one in of_event] for event, of_event in checks.items()}
        return self._configs.ScriptedGraphPerEventJudgeConfig(
            engine=_no_model, event_id_to_checker_params=params, per_tool_arg_to_checker_type=known
        )

    def _check(self, tool: str, argument: str, check: str, **arguments: Any) -> Any:
        return self._configs.ToolCheckerParam(
            tool_name=tool,
            arg_name=argument,
            checker_type=self._configs.CheckerType[check],
            checker_args=arguments,
        )

    def _fill(self, files: dict[str, str]) -> None:
        """Set the folder of the next scenario's files: a new one with its own files, else the one in DEMO_FS_PATH.

        ARE's default folder is on the network, which the engine must not need. ARE creates its apps again at each
        reset, so this sets their default.
        """
        if self._folder:
            self._folder.cleanup()
        self._folder = tempfile.TemporaryDirectory(prefix="seasoned-gaia2-", ignore_cleanup_errors=True)
        for name, text in files.items():
            path = Path(self._folder.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        folder = (not files and os.environ.get("DEMO_FS_PATH")) or self._folder.name
        init = self._files.SandboxLocalFileSystem.__init__
        init.__defaults__ = (*init.__defaults__[:-1], folder)

    def _uuid(self) -> uuid.UUID:
        return uuid.UUID(int=self._draw.getrandbits(128), version=4)


def described(tool: Any) -> dict[str, Any]:
    """A tool for an agent: its name, its description and the JSON schema of its arguments."""
    arguments = [arg for arg in tool.args if arg.name != "kwargs"]
    properties = {arg.name: schema_of(str(arg.arg_type)) for arg in arguments}
    for arg in arguments:
        if arg.description:
            properties[arg.name]["description"] = " ".join(arg.description.split())
        if arg.has_default and arg.default is not None:
            properties[arg.name]["default"] = arg.default
    required = [arg.name for arg in arguments if not arg.has_default]
    text = " ".join((tool._public_description or "").split())
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": tool._public_name, "description": text, "parameters": parameters}


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON schema of an argument's type in ARE's notation, such as "list[str] | None"."""
    schemas: list[dict[str, Any]] = []
    for one in kind.split("|"):
        name, _, inner = one.strip().partition("[")
        if name == "list":
            schemas.append({"type": "array", "items": schema_of(inner.rstrip("]") or "str")})
        elif name in _JSON_TYPES:
            schemas.append({"type": _JSON_TYPES[name]})
    if len(schemas) == 1:
        return schemas[0]
    return {"type": "number"} if {schema["type"] for schema in schemas} == {"integer", "number"} else {}


def words_of(message: str) -> str:
    """The user's text in a message, without ARE's header and footer."""
    _, mark, rest = message.partition("\nMessage: ")
    return rest.rpartition("\nAlready read:")[0] if mark else message


def answers(message: str, answer: dict[str, Any]) -> bool:
    """Whether a message gives the answer: all words as whole words, no other number, and at most `most` characters."""
    if not answer:
        return True
    text = " ".join(message.split()).casefold()
    words = [" ".join(str(word).split()).casefold() for word in answer["words"]]
    whole = all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in words)
    known = {number for word in words for number in re.findall(r"\d+", word)}
    return whole and len(text) <= answer["most"] and known.issuperset(re.findall(r"\d+", text))


def _no_model(*_: Any, **__: Any) -> tuple[str, None]:
    raise RuntimeError("this judge has no model")


def begin() -> dict[str, Callable[..., dict[str, Any]]]:
    """The engine's functions by request."""
    scenarios = Scenarios()
    return {do: getattr(scenarios, do) for do in ("load", "step", "told", "oracle")}

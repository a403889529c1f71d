"""ARE's engine for another process, as `serving.py` runs it.

It needs `meta-agents-research-environments` and nothing of Seasoned. Requests: {"do": "load", "scenario": text, "soft":
whether a model judges texts} begins a scenario, {"do": "step", "tool": name, "arguments": {..}} calls a tool, and
{"do": "oracle"} tells the calls that solve it. The reply of the first has "observation", "time" and "tools"; that of a
step "observation", "invalid" and "over", and at the end "success" and "why". Where the judge asks a model, the reply is
{"ask": messages} instead, and {"do": "told", "text": ..} brings the model's words. Always holds: the simulated clock
moves only by steps, and ids are drawn from a seed, so the same requests give the same replies; nothing waits in real
time.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import random
import re
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable
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
"""Tools that ARE's own agent is not given either: what the user says reaches it as an observation."""
EACH_STEP = 1.0
"""Simulated seconds that a call takes."""
LONGEST_WAIT = 120
"""Simulated seconds in which the user's first or next message has to come."""

_JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}


class Clock:
    """ARE's TimeManager without real time: it moves by `add_offset` alone."""

    is_paused = False

    def __init__(self, start: float) -> None:
        self.start_time, self._passed = start, 0.0

    def time(self) -> float:
        """Seconds since the epoch, simulated."""
        return self.start_time + self._passed

    def time_passed(self) -> float:
        """Simulated seconds since the scenario began."""
        return self._passed

    real_time_passed = time_passed

    def add_offset(self, offset: float) -> None:
        """Moves on."""
        self._passed += offset

    def reset(self, start_time: float | None = None) -> None:
        """Back to the beginning."""
        self.start_time, self._passed = start_time or self.start_time, 0.0

    def pause(self) -> None:
        """Nothing to do: no real time passes."""

    resume = pause


class Talk:
    """A function that may ask for a model's words while it runs: on a thread, which waits for them."""

    def __init__(self) -> None:
        self._out: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._in: queue.SimpleQueue[str] = queue.SimpleQueue()

    def run(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What the function gives, or what it asks first."""

        def body() -> None:
            try:
                self._out.put(work())
            except BaseException as error:
                self._out.put({"raise": error})

        threading.Thread(target=body, daemon=True).start()
        return self._next()

    def told(self, text: str) -> dict[str, Any]:
        """Goes on with these words."""
        self._in.put(text)
        return self._next()

    def ask(self, messages: Any, **_: Any) -> tuple[str, None]:
        """A judge's engine: called on the thread."""
        said = [{"role": str(one["role"]), "content": str(one["content"])} for one in messages]
        self._out.put({"ask": said})
        return self._in.get(), None

    def _next(self) -> dict[str, Any]:
        given = self._out.get()
        if "raise" in given:
            raise given["raise"]
        return given


class Scenarios:
    """The engine with one scenario in it."""

    def __init__(self) -> None:
        """Import what is used, to report anything missing at once."""
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
        self._folder: Path | None = None
        self._talk: Talk | None = None
        self._scenario: Any = None
        self._answer: dict[str, Any] = {}
        self._said = ""

    def load(self, scenario: str, soft: bool = False) -> dict[str, Any]:
        """Begins a scenario: the text of its JSON file."""
        self._draw.seed(0)
        self._talk = Talk() if soft else None
        self._clear()
        extra = json.loads(scenario).get("seasoned") or {}
        self._fill(extra.get("files") or {})
        built, _, _ = self._importer().import_from_json_to_benchmark(scenario, load_completed_events=False)
        built.initialize()
        self._utils.preprocess_scenario(
            built, judge_config=self._judge(built, extra.get("checks") or {}), max_scenario_duration=3600
        )
        self._draw.seed(1)
        self._scenario, self._turns, self._answer = built, 0, extra.get("answer") or {}
        self._env = self._environment(built)
        self._tools = {tool._public_name: tool for tool in built.get_tools() if tool.name not in UNUSED}
        for app in built.apps:
            if type(app).__name__ == "AgentUserInterface":
                app.wait_for_user_response = False
        said = self._awaited()
        if not said:
            raise ValueError("no message of the user begins this scenario")
        now = self._notes.datetime.fromtimestamp(self._clock.time(), tz=self._notes.timezone.utc)
        return {
            "observation": said,
            "time": f"It is {now:%A, %Y-%m-%d %H:%M} (UTC).",
            "tools": [described(tool) for tool in self._tools.values()],
        }

    def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Calls a tool."""
        if self._scenario is None:
            raise ValueError("no scenario was begun")
        if self._talk:
            return self._talk.run(lambda: self._step(tool, arguments))
        return self._step(tool, arguments)

    def told(self, text: str) -> dict[str, Any]:
        """Brings the words of the model that was asked."""
        if not self._talk:
            raise ValueError("no model was asked")
        return self._talk.told(text)

    def oracle(self) -> dict[str, Any]:
        """The calls that solve the scenario, in the order in which the oracle made them."""
        done = [e for e in self._scenario.oracle_run_event_log if e.event_type == self._kinds.EventType.AGENT]
        calls = []
        for event in sorted(done, key=lambda event: event.event_time):
            arguments = {name: value for name, value in event.get_args().items() if name != "self"}
            name = f"{event.action.app.name}__{event.function_name()}"
            if name in self._tools:
                calls.append({"name": name, "arguments": arguments})
        return {"calls": calls}

    def _step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._clock.add_offset(EACH_STEP)
        self._env.tick()
        called = self._tools.get(tool)
        if called is None:
            return self._reply(f"Error: there is no tool {tool!r}", invalid=True)
        try:
            observation, invalid = str(called(**arguments)), False
        except Exception as error:
            observation, invalid = f"Error in {tool}: {error}", True
        if called.name == TO_USER and not invalid:
            self._said = str(arguments.get("content", ""))
            self._turns += 1
            if self._turns >= (self._scenario.nb_turns or 1):
                return self._judged()
            observation = self._awaited()
            if not observation:  # the user says no more, as what was done was wrong
                return self._judged()
            return self._reply(observation)
        if self._env.stop_event.is_set():
            return self._judged()
        return self._reply("\n".join([observation, *self._news()]), invalid)

    def _judged(self) -> dict[str, Any]:
        verdict = self._scenario.validate(self._env)
        if verdict.exception is not None and not isinstance(verdict.exception, Exception):
            raise verdict.exception
        if verdict.exception is not None:
            raise RuntimeError(f"the judge failed: {verdict.exception}")
        success, why = bool(verdict.success), " ".join(str(verdict.rationale or "").split())[:300]
        if success and not answers(self._said, self._answer):
            success, why = False, "The answer is another one."
        return self._reply("The task is over.", over=True, success=success, why="" if success else why)

    def _reply(self, observation: str, invalid: bool = False, over: bool = False, **more: Any) -> dict[str, Any]:
        return {"observation": observation, "invalid": invalid, "over": over, **more}

    def _awaited(self) -> str:
        """Lets time pass until the user, or an app, says something."""
        for _ in range(LONGEST_WAIT):
            self._env.tick()
            if said := self._news():
                return "\n".join(said)
            if self._env.stop_event.is_set():
                break
            self._clock.add_offset(1.0)
        return ""

    def _news(self) -> list[str]:
        """What the user and the apps have said since the last time."""
        moment = self._notes.datetime.fromtimestamp(self._clock.time(), tz=self._notes.timezone.utc)
        said = []
        for message in self._env.notification_system.message_queue.get_by_timestamp(moment):
            if message.message_type == self._notes.MessageType.USER_MESSAGE:
                said.append(words_of(message.message))
            elif message.message_type == self._notes.MessageType.ENVIRONMENT_NOTIFICATION:
                said.append(f"Notification: {message.message}")
        return said

    def _environment(self, built: Any) -> Any:
        """ARE's environment, its event loop not started: `tick` is called here."""
        self._clock = Clock(built.start_time or 0.0)
        config = self._env_of.EnvironmentConfig(start_time=built.start_time, duration=built.duration)
        env = self._env_of.Environment(config=config, notification_system=self._notes.VerboseNotificationSystem())
        env.time_manager = self._clock
        env.notification_system.initialize(self._clock)
        env.register_apps(built.apps)
        env.schedule(built.events)
        env.state = self._kinds.EnvironmentState.RUNNING
        env.prepare_events_for_start()
        return env

    def _judge(self, built: Any, checks: dict[str, Any]) -> Any:
        """Checks alone where no model judges: then texts are compared by what a scenario of ours says of them.

        The judge writes prompts for every tool that it knows, which takes seconds: so it gets only the oracle's.
        """
        classes = {app.name: type(app).__name__ for app in built.apps}
        done = [event.action_desc for event in built.events if type(event).__name__ == "OracleEvent"]
        tools = {f"{classes.get(one.app, one.app)}__{one.function}" for one in done}
        known = {name: kinds for name, kinds in self._configs.TOOL_ARG_CHECKER_TYPE_REGISTRY.items() if name in tools}
        if self._talk:
            return self._configs.GraphPerEventJudgeConfig(engine=self._talk.ask, per_tool_arg_to_checker_type=known)
        kinds = self._configs.CheckerType
        params = {
            event: [
                self._configs.ToolCheckerParam(
                    arg_name=one["argument"],
                    checker_type=kinds[one["check"]],
                    tool_name=one["tool"],
                    checker_args={"targets": one["targets"]} if "targets" in one else {},
                )
                for one in wanted
            ]
            for event, wanted in checks.items()
        }
        return self._configs.ScriptedGraphPerEventJudgeConfig(
            engine=_no_model, event_id_to_checker_params=params, per_tool_arg_to_checker_type=known
        )

    def _fill(self, files: dict[str, str]) -> None:
        """Says where the files of the next scenario lie: those it brings, else where DEMO_FS_PATH says.

        ARE's own default is a place on the network, which nothing here may need. Apps are made anew whenever they are
        reset, so it is their default that is set.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="seasoned-gaia2-"))
        for name, text in files.items():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        place = str(self._folder) if files else os.environ.get("DEMO_FS_PATH") or str(self._folder)
        made = self._files.SandboxLocalFileSystem.__init__
        made.__defaults__ = (*made.__defaults__[:-1], place)

    def _clear(self) -> None:
        self._scenario = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _uuid(self) -> uuid.UUID:
        return uuid.UUID(int=self._draw.getrandbits(128), version=4)


def described(tool: Any) -> dict[str, Any]:
    """A tool as an agent is offered it: name, description, and a JSON schema of its arguments."""
    properties, required = {}, []
    for arg in tool.args:
        if arg.name == "kwargs":
            continue
        properties[arg.name] = schema_of(str(arg.arg_type))
        if arg.description:
            properties[arg.name]["description"] = " ".join(arg.description.split())
        if arg.has_default:
            if arg.default is not None:
                properties[arg.name]["default"] = arg.default
        else:
            required.append(arg.name)
    text = " ".join((tool._public_description or "").split())
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": tool._public_name, "description": text, "parameters": parameters}


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON schema of an argument's type, as ARE writes it: "list[str] | None"."""
    kinds = [one.strip() for one in kind.split("|")]
    schemas = []
    for one in kinds:
        name, _, inner = one.partition("[")
        if name == "list":
            schemas.append({"type": "array", "items": schema_of(inner.rstrip("]") or "str")})
        elif name in _JSON_TYPES:
            schemas.append({"type": _JSON_TYPES[name]})
    if len(schemas) == 1:
        return schemas[0]
    types = {str(schema["type"]) for schema in schemas}
    return {"type": "number"} if types == {"integer", "number"} else {}


def words_of(message: str) -> str:
    """What the user said, without ARE's head and foot."""
    _, mark, rest = message.partition("\nMessage: ")
    return rest.rpartition("\nAlready read:")[0] if mark else message


def answers(said: str, wanted: dict[str, Any]) -> bool:
    """Whether a message gives the answer: all its words as whole words, few enough others, and no other number."""
    if not wanted:
        return True
    text = " ".join(said.split()).casefold()
    words = [" ".join(str(word).split()).casefold() for word in wanted["words"]]
    if len(text) > wanted["most"]:
        return False
    if not all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in words):
        return False
    numbers = set(re.findall(r"\d+", text))
    return numbers <= {number for word in words for number in re.findall(r"\d+", word)}


def _no_model(*_: Any, **__: Any) -> tuple[str, None]:
    raise RuntimeError("this judge has no model")


def begin() -> dict[str, Callable[..., dict[str, Any]]]:
    """What the engine does."""
    scenarios = Scenarios()
    return {do: getattr(scenarios, do) for do in ("load", "step", "told", "oracle")}

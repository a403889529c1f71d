"""A memory over the Model Context Protocol: recall, record, note and list, on standard input and output or over HTTP.

Built on the official SDK (extra `mcp`), which is imported when a server is made. Always holds: over HTTP it listens on
this machine alone and answers nobody without the token; what a client sends is untrusted: its size is bounded, secrets
in it are masked, and what seems aimed at the model waits in quarantine; an argument that a tool does not have is
refused; an error is a sentence and no traceback.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seasoned.errors import ConfigError, MissingExtraError, SeasonedError
from seasoned.memory import Memory
from seasoned.memory.attempt import outcome_of
from seasoned.memory.guidance import framed
from seasoned.retrieve.render import bullets
from seasoned.traces.source import task_name
from seasoned.trust import mask
from seasoned.types import Lesson, LessonKind, Step, Trajectory

if TYPE_CHECKING:
    from mcp.server import MCPServer

MAX_TEXT = 20_000
"""Characters of a task or an answer; a longer one is refused. Texts of steps are cut there."""
MAX_STEPS = 1000
PATH = "/mcp"

_KINDS = dict.fromkeys(("erl", "nearestcases", "reflexion"), "")
_KINDS |= {"expnote": "note", "expel": "insight", "autoguide": "guideline"}
"""What a method recalls of what a client may note, beside heuristics, which every memory recalls."""

_INSTRUCTIONS = (
    "What earlier attempts taught. Before a task, call recall with its text and use what fits; it is advice, not an "
    "order. After it, call record with what was done and whether it worked. Call note for something worth knowing next "
    "time."
)

App = Callable[..., Awaitable[None]]
"""An ASGI application: called with scope, receive and send."""


class StepGiven(BaseModel):
    """One step of an attempt, as a client tells it."""

    model_config = ConfigDict(extra="forbid")

    action: str = ""
    observation: str = ""
    thought: str = ""
    reward: float = 0.0


class LessonTold(BaseModel):
    """A lesson, as a client is told it."""

    id: str
    kind: str
    key: str
    text: str
    importance: float
    status: str


class Recalled(BaseModel):
    """What was learned for a task: `guidance` for the prompt ("": nothing yet), and the lessons in it."""

    guidance: str
    lessons: list[LessonTold]


class Recorded(BaseModel):
    """An attempt as it was stored; `flags` say why lessons from it will wait for a person."""

    id: str
    steps: int
    success: bool | None
    flags: list[str]


class Listed(BaseModel):
    """Lessons, and how many there are in all."""

    lessons: list[LessonTold]
    total: int


def make_server(memory: Memory) -> MCPServer[Any]:
    """A server with the tools recall, record, note and list over a memory, which stays open.

    Raises:
        MissingExtraError: when the SDK is not installed.
    """
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as error:
        raise MissingExtraError("mcp", "mcp") from error
    from seasoned import __version__

    tools = _Tools(memory)
    offered: dict[str, Callable[..., Any]] = {"recall": tools.recall, "record": tools.record}
    offered |= {"note": tools.note, "list": tools.listed}

    class Server(MCPServer[Any]):
        """Tells what was wrong with a call in a sentence."""

        async def call_tool(self, name: str, arguments: dict[str, Any], *more: Any, **named: Any) -> Any:
            if name in offered and (wrong := _unknown(arguments, inspect.signature(offered[name]).parameters)):
                raise ToolError(f"the call does not fit the tool {name}: {wrong}")
            try:
                return await super().call_tool(name, arguments, *more, **named)
            except ToolError as error:
                cause = error.__cause__
                if isinstance(cause, ValidationError):
                    raise ToolError(_wrong(cause)) from error
                if isinstance(cause, ToolError):
                    raise ToolError(str(cause)) from error
                raise

    def told(tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        def call(*args: Any, **more: Any) -> Any:
            try:
                return tool(*args, **more)
            except SeasonedError as error:
                raise ToolError(str(error)) from error

        return call

    server = Server("seasoned", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    for name, tool in offered.items():
        server.tool(name)(told(tool))
    return server


class _Tools:
    """The tools; a class because they share the memory. Their docstrings are what a client's model reads."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def recall(
        self,
        task: Annotated[str, Field(description="The text of the task.")],
        k: Annotated[int, Field(description="At most this many lessons.", ge=1, le=50)] = 10,
        category: Annotated[str, Field(description="The family of tasks it belongs to.")] = "",
    ) -> Recalled:
        """What was learned for a task. Call it before you begin, and use of the guidance what fits."""
        guidance = self.memory.recall(_bounded("task", task), _bounded("category", category, 200))
        text = guidance.text
        if len(guidance.lessons) > k:
            text = framed(bullets(lesson.text for lesson in guidance.lessons[:k]), MAX_TEXT)
        return Recalled(guidance=text, lessons=[_told(lesson) for lesson in guidance.lessons[:k]])

    def record(
        self,
        task: Annotated[str, Field(description="The text of the task, as it was given to recall.")],
        steps: Annotated[list[StepGiven], Field(description="What was done, in order.")],
        success: Annotated[bool | None, Field(description="Whether it worked; leave it out if unknown.")] = None,
        reward: Annotated[float | None, Field(description="How well it worked, from 0 to 1.")] = None,
        answer: Annotated[str, Field(description="The answer that was given.")] = "",
        category: Annotated[str, Field(description="The family of tasks it belongs to.")] = "",
        lessons: Annotated[
            list[str] | None, Field(description="The ids of the recalled lessons that were used.")
        ] = None,
    ) -> Recorded:
        """Keep an attempt, so that lessons can be learned from it. Call it when the task is over, failed or not."""
        if len(steps) > MAX_STEPS:
            raise ConfigError(f"an attempt has at most {MAX_STEPS} steps, and this has {len(steps)}: leave some out")
        masked = mask(_bounded("task", task))
        name, store = task_name(masked), self.memory.store
        trial = sum(store.count_trajectories(scope, name) for scope in self.memory.pool.scopes)
        outcome = outcome_of(reward if success is None else success, _bounded("answer", answer), "", 1.0)
        made = Trajectory(
            task_id=name,
            task=masked,
            category=_bounded("category", category, 200),
            agent="mcp",
            steps=tuple(_step(step) for step in steps),
            outcome=outcome if reward is None else outcome.model_copy(update={"reward": reward}),
            lesson_ids=tuple(self._own(lessons or [])),
            meta={"source": "mcp", "trial": trial},
        )
        kept = self.memory.record(made)
        flags = [str(flag) for flag in kept.meta.get("flags", ())]
        return Recorded(id=kept.id, steps=len(kept.steps), success=kept.outcome.success, flags=flags)

    def note(
        self,
        text: Annotated[str, Field(description="What is worth knowing next time, in one or two sentences.")],
        key: Annotated[str, Field(description="The words it is looked up by; for the kind note alone.")] = "",
        kind: Annotated[
            LessonKind,
            Field(description="heuristic: advice, which is always recalled; note: a fact under a key, if notes are."),
        ] = "heuristic",
        category: Annotated[str, Field(description="The family of tasks it is for.")] = "",
    ) -> LessonTold:
        """Keep a lesson in your own words. One that seems aimed at the model waits until a person releases it."""
        self._recallable(kind, key)
        given = {"key": _bounded("key", key, 200), "category": _bounded("category", category, 200)}
        (made,) = self.memory.add(text, kind=kind, who="model", why="noted over MCP", **given)
        return _told(made)

    def listed(
        self,
        kind: Annotated[LessonKind | None, Field(description="Only this kind.")] = None,
        query: Annotated[str, Field(description="Only those whose text or key contains this.")] = "",
        limit: Annotated[int, Field(description="At most this many.", ge=1, le=200)] = 20,
    ) -> Listed:
        """The lessons in the memory, the most important first."""
        found = self.memory.lessons(kind, query=_bounded("query", query, 1000) or None)
        found = sorted(found, key=lambda lesson: -lesson.importance)
        return Listed(lessons=[_told(lesson) for lesson in found[:limit]], total=len(found))

    def _recallable(self, kind: LessonKind, key: str) -> None:
        """Refuse what would be kept and never recalled; a guideline with a key is for the middle of an attempt."""
        name = type(self.memory.method).__name__.lower()
        if kind != "heuristic" and (kind != _KINDS.get(name, kind) or (kind == "guideline" and key)):
            raise ConfigError(
                f"this memory recalls with {name}, which would never recall this {kind}: leave `kind` out, and it is "
                "kept as a heuristic, which is always recalled; or start the server with another --method"
            )

    def _own(self, ids: Any) -> list[str]:
        """Those of the ids that are lessons of this memory."""
        store, scope = self.memory.store, self.memory.pool.scope
        return [name for name in dict.fromkeys(ids[:100]) if store.scope_of(name) == scope]


def serve_stdio(memory: Memory) -> None:
    """Speak MCP on standard input and output until the input ends.

    Raises:
        MissingExtraError: when the SDK is not installed.
    """
    make_server(memory).run("stdio")


def serve_http(memory: Memory, *, port: int, token: str, ready: Callable[[str], None]) -> None:
    """Speak MCP over HTTP on this machine until the program is stopped.

    Args:
        memory: what is served.
        port: 0 for a free one.
        token: clients send it as `Authorization: Bearer TOKEN`.
        ready: called with the address once the port is held.

    Raises:
        ConfigError: the port cannot be had, or the token is empty.
        MissingExtraError: when the SDK is not installed.
    """
    server = make_server(memory)
    import uvicorn

    inner: Any = server.streamable_http_app(streamable_http_path=PATH, json_response=True, stateless_http=True)
    app: Any = guarded(inner, token)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind(("127.0.0.1", port))
            held.listen()
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"port {port} cannot be used ({error}): give another with --port, or 0 for any"
            ) from error
        ready(f"http://127.0.0.1:{held.getsockname()[1]}{PATH}")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[held])


def guarded(app: App, token: str) -> App:
    """The app behind a token: a request without it gets 401 and reaches nothing.

    Raises:
        ConfigError: the token is shorter than 16 characters.
    """
    if len(token) < 16:
        raise ConfigError("the token of the MCP server has at least 16 characters: leave it out, and one is made")
    wanted = f"Bearer {token}".encode()

    async def guard(scope: Mapping[str, Any], receive: Any, send: App) -> None:
        given = b"".join(value for name, value in scope.get("headers", ()) if name.lower() == b"authorization")
        if scope["type"] == "lifespan" or (scope["type"] == "http" and secrets.compare_digest(given, wanted)):
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"send the server's token as: Authorization: Bearer TOKEN\n"})

    return guard


def _bounded(name: str, text: str, limit: int = MAX_TEXT) -> str:
    if len(text) > limit:
        raise ConfigError(f"the {name} has at most {limit:,} characters, and this has {len(text):,}: shorten it")
    if name == "task" and not text.strip():
        raise ConfigError("the task is empty: give its text")
    return text


def _step(given: StepGiven) -> Step:
    said = (given.thought, given.action, given.observation)
    thought, action, seen = (text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…" for text in said)
    return Step(thought=thought, action=action, observation=seen, reward=given.reward)


def _told(lesson: Lesson) -> LessonTold:
    return LessonTold(**{name: getattr(lesson, name) for name in LessonTold.model_fields})


def _wrong(error: ValidationError) -> str:
    """What is wrong with a call's arguments, as a sentence."""
    faults = []
    for fault in error.errors()[:3]:
        place = [str(part) for part in fault["loc"]] or ["the call"]
        if fault["type"] == "extra_forbidden":
            faults.append(f"{'.'.join(place[:-1])}: {_unknown(place[-1:], StepGiven.model_fields)}")
        else:
            faults.append(f"{'.'.join(place)}: {fault['msg'].lower()}")
    return f"the call does not fit the tool: {'; '.join(faults)}; see the tool's input schema"


def _unknown(given: Iterable[str], known: Iterable[str]) -> str:
    """What is wrong with the first name that is not among those known; "" where there is none."""
    names = list(known)
    wrong = next((name for name in given if name not in names), None)
    if wrong is None:
        return ""
    near = difflib.get_close_matches(wrong, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    return f"there is no {wrong[:60]!r}; {hint}"

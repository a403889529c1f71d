"""A memory over the Model Context Protocol: its tools, on standard input and output or over HTTP.

Uses the official SDK (extra `mcp`), which is imported when a server is made. Always holds: over HTTP, the server
listens only on this machine unless `host` says otherwise, and answers no request without a token; input of clients is
untrusted: its size is bounded, its secrets are masked, and suspected prompt injections are quarantined; an unknown
argument of a tool is refused; an error is a sentence without a traceback.
"""

from __future__ import annotations

import inspect
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from seasoned.errors import ConfigError, MissingExtraError, SeasonedError
from seasoned.mcp.tools import CALLER, Tools, unknown, wrong
from seasoned.memory import Memory
from seasoned.store.tokens import Visitor, door

if TYPE_CHECKING:
    from mcp.server import MCPServer

PATH = "/mcp"

_INSTRUCTIONS = (
    "What earlier attempts taught. Before a task, call recall with its text and use what fits; it is advice, not an "
    "order. After it, call record with what was done and whether it worked. Call note for something worth knowing next "
    "time."
)

App = Callable[..., Awaitable[None]]
"""An ASGI application: called with scope, receive and send."""


def make_server(memory: Memory) -> MCPServer[Any]:
    """A server with the tools of `Tools`; the memory stays open. MissingExtraError if the SDK is not installed."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as error:
        raise MissingExtraError("mcp", "mcp") from error
    from seasoned import __version__

    tools = Tools(memory)
    offered: dict[str, Callable[..., Any]] = {"recall": tools.recall, "record": tools.record, "outcome": tools.outcome}
    offered |= {"learn": tools.learn, "note": tools.note, "list": tools.listed, "effect": tools.effect}

    class Server(MCPServer[Any]):
        """Answers an invalid call with a sentence that says what is wrong."""

        async def call_tool(self, name: str, arguments: dict[str, Any], *more: Any, **named: Any) -> Any:
            if name in offered and (fault := unknown(arguments, inspect.signature(offered[name]).parameters)):
                raise ToolError(f"the call does not fit the tool {name}: {fault}")
            try:
                return await super().call_tool(name, arguments, *more, **named)
            except ToolError as error:
                cause = error.__cause__
                if isinstance(cause, ValidationError | SeasonedError):
                    raise ToolError(wrong(cause) if isinstance(cause, ValidationError) else str(cause)) from error
                raise

    server = Server("seasoned", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    for name, tool in offered.items():
        server.tool(name)(tool)
    return server


def serve_stdio(memory: Memory) -> None:
    """Speak MCP on standard input and output until the input ends; raises as `make_server`."""
    make_server(memory).run("stdio")


def serve_http(memory: Memory, *, port: int, token: str, ready: Callable[[str], None], host: str = "127.0.0.1") -> None:
    """Speak MCP over HTTP until the program is stopped.

    Args:
        memory: the memory to serve.
        port: 0 for a free one.
        token: clients send it, or one of the store's named tokens, as `Authorization: Bearer TOKEN`.
        ready: called with the address once the server listens.
        host: the address to listen on.

    Raises ConfigError if the port cannot be used or the token is too short, and as `make_server`.
    """
    server = make_server(memory)
    import uvicorn

    inner: Any = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, host=host
    )
    app: Any = guarded(inner, token, door(memory.store, token))
    try:
        listener = socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        raise ConfigError(f"port {port} cannot be used ({error}): give another with --port, or 0 for any") from error
    with listener:
        ready(f"http://{host}:{listener.getsockname()[1]}{PATH}")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


def guarded(app: App, token: str, who: Callable[[str], Visitor | None]) -> App:
    """Protect an app by tokens: a request without a valid one gets 401; for the others, `CALLER` is set.

    ConfigError if the token is shorter than 16 characters.
    """
    from starlette.responses import PlainTextResponse

    if len(token) < 16:
        raise ConfigError("the token of the MCP server needs at least 16 characters: leave it out to get a new one")
    advice = "send the server's token as: Authorization: Bearer TOKEN\n"
    refusal = PlainTextResponse(advice, 401, {"www-authenticate": "Bearer"})

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        header = b"".join(value for name, value in scope.get("headers", ()) if name.lower() == b"authorization")
        kind, _, sent_token = header.decode("latin-1").partition(" ")
        visitor = who(sent_token) if kind == "Bearer" else None
        if scope["type"] == "http" and visitor is None:
            await refusal(scope, receive, send)
        elif scope["type"] in ("http", "lifespan"):
            CALLER.set(visitor or Visitor())
            await app(scope, receive, send)

    return guard

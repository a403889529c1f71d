"""`seasoned mcp`: serves a memory over the Model Context Protocol.

Always holds: without --http, only the protocol is written to standard output.
"""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack
from typing import Annotated

import typer

from seasoned.cli.shared import STORE, MethodOption, StoreOption, open_store
from seasoned.errors import ConfigError

TOKEN = "SEASONED_MCP_TOKEN"
PORT = 8765


def mcp(
    namespace: Annotated[str, typer.Option(help="The memory to serve.")] = "default",
    method: MethodOption = None,
    llm: Annotated[
        str | None, typer.Option(help="The model that learns in the background from recorded attempts, such as local.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder for search by meaning. Default: static if installed, else hashing.")
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP on this machine, with a token.")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help=f"For --http; {PORT} without it, 0 for a free one.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="For --http: the address to listen on; warns if it is not loopback.")
    ] = "127.0.0.1",
    store: StoreOption = STORE,
) -> None:
    """Serve a memory over MCP. Its tools recall, record, set outcomes, learn, note, list and show the effect."""
    from seasoned.embed import default_embedder
    from seasoned.mcp import serve_http, serve_stdio
    from seasoned.memory import Memory
    from seasoned.memory.opening import usual_method

    if port is not None and not http:
        raise ConfigError("--port is for --http: add --http, or leave --port out")
    embedder = embedder or default_embedder()
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store))
        method = method or usual_method(opened, namespace)
        memory = stack.enter_context(Memory(opened, method=method, llm=llm, namespace=namespace, embedder=embedder))
        if not http:
            serve_stdio(memory)
            return
        env_token = os.environ.get(TOKEN, "")
        token = env_token or secrets.token_urlsafe(24)

        if host != "127.0.0.1":
            typer.echo(f"seasoned: other machines can reach {host}, and nothing is encrypted", err=True)

        def ready(address: str) -> None:
            typer.echo(address)
            typer.echo(f"Authorization: Bearer {f'(the value of {TOKEN})' if env_token else token}")

        serve_http(memory, port=PORT if port is None else port, token=token, ready=ready, host=host)

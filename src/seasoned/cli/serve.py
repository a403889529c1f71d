"""`seasoned serve|mcp`: the page on which people read and correct lessons, and a memory over MCP.

Always holds: without --http, `mcp` writes only the protocol to standard output.
"""

from __future__ import annotations

import gc
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from seasoned.cli.shared import RUNS, STORE, MethodOption, RunsOption, StoreOption, is_missing, open_store
from seasoned.embed import default_embedder
from seasoned.embed import embedder as make_embedder
from seasoned.errors import ConfigError

TOKEN = "SEASONED_MCP_TOKEN"
PORT = 8765


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8764,
    host: Annotated[str, typer.Option(help="The address to listen on; warns if it is not loopback.")] = ("127.0.0.1"),
    embedder: Annotated[
        str | None, typer.Option(help="The embedder for search by meaning. Default: static if installed.")
    ] = None,
    llm: Annotated[
        str | None, typer.Option(help="The model for the button Learn now: local, or a server's model.")
    ] = None,
    method: MethodOption = None,
    runs: RunsOption = RUNS,
    store: StoreOption = STORE,
    postgres: Annotated[
        Path | None, typer.Option(help="Run a Postgres server with its data in this folder, and show the store in it.")
    ] = None,
) -> None:
    """Open a web page on this machine.

    Read and correct lessons, attempts and runs there. Ctrl-C stops it.
    """
    from seasoned.web import app as page

    token = secrets.token_urlsafe(24)
    with ExitStack() as stack:
        if postgres is not None:
            from seasoned.store.server import postgres_in

            store = stack.enter_context(postgres_in(postgres, roomy=True))
            typer.echo(f"While this program runs, other programs on this machine can use the store {store}")
        if is_missing(store):
            typer.echo(f"seasoned: there was no store at {store}, so an empty one was created", err=True)
        opened = stack.enter_context(open_store(store))
        vectors = make_embedder(embedder or "static") if embedder or find_spec("wordllama") else None
        options: dict[str, Any] = {"host": host, "warming": _low_latency, "llm": llm, "method": method}
        app = page.make_app(opened, token=token, runs_folder=runs, embedder=vectors, **options)
        if host not in page.LOOPBACK:
            _warn(host, ": whoever reads the address can change every lesson")
        page.serve(app, host=host, port=port, ready=lambda address: typer.echo(f"{address}?token={token}"))


def _warn(host: str, more: str = "") -> None:
    typer.echo(f"seasoned: other machines can reach {host}, and nothing is encrypted{more}", err=True)


@contextmanager
def _low_latency() -> Iterator[None]:
    """Set up the process so that reading all vectors in a thread does not delay answers."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)  # by default, each answer waits 5 ms at a time for that thread
    gc.disable()  # a collection delays every answer by 0.2 s at 100,000 lessons
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        gc.freeze()
        gc.enable()


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
            _warn(host)

        def ready(address: str) -> None:
            typer.echo(address)
            typer.echo(f"Authorization: Bearer {f'(the value of {TOKEN})' if env_token else token}")

        serve_http(memory, port=PORT if port is None else port, token=token, ready=ready, host=host)

"""`seasoned serve`: the page on which people read and correct lessons."""

from __future__ import annotations

import gc
import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import RUNS, STORE, MethodOption, RunsOption, StoreOption, is_missing, open_store

if TYPE_CHECKING:
    from seasoned.protocols import Embedder


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
        Path | None,
        typer.Option(help="Run a Postgres server with its data in this folder, and show the store in it."),
    ] = None,
) -> None:
    """Open a web page on this machine.

    Read and correct lessons, attempts and runs there. Ctrl-C stops it.
    """
    with ExitStack() as stack:
        if postgres is not None:
            from seasoned.store.server import postgres_in

            store = stack.enter_context(postgres_in(postgres))
            typer.echo(f"While this program runs, other programs on this machine can use the store {store}")
        _serve(port, host, embedder, (llm, method), runs, store)


def _serve(
    port: int,
    host: str,
    embedder: str | None,
    learning: tuple[str | None, str | None],
    runs: Path,
    store: str,
) -> None:
    from seasoned.web.app import LOOPBACK, make_app
    from seasoned.web.app import serve as serve_page

    token = secrets.token_urlsafe(24)
    if is_missing(store):
        typer.echo(f"seasoned: there was no store at {store}, so an empty one was created", err=True)
    with open_store(store) as opened:
        app = make_app(
            opened,
            token=token,
            runs_folder=runs,
            embedder=_embedder(embedder),
            host=host,
            warming=_low_latency,
            llm=learning[0],
            method=learning[1],
        )
        if host not in LOOPBACK:
            typer.echo(
                f"seasoned: other machines can reach {host}, and nothing is encrypted: whoever reads the address can "
                "change every lesson",
                err=True,
            )
        serve_page(app, host=host, port=port, ready=lambda address: typer.echo(f"{address}?token={token}"))


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


def _embedder(name: str | None) -> Embedder | None:
    from importlib.util import find_spec

    if name is None and not find_spec("wordllama"):
        return None
    from seasoned.embed import embedder

    return embedder(name or "static")

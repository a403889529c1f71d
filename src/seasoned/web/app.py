"""The page's app and its server.

Always holds: an error is a sentence on a page, never a traceback, with a button to try again if that can help; the
server listens only on this machine unless `host` says otherwise.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from importlib import resources
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from seasoned.errors import ConfigError, ConflictError, SeasonedError, StoreError, StoreLockedError
from seasoned.llm.clients import AnyModel
from seasoned.plugins import loaded
from seasoned.protocols import Embedder
from seasoned.store.faults import DATABASE_ERRORS
from seasoned.store.pages import lesson_page
from seasoned.store.sql import Store
from seasoned.store.tokens import door
from seasoned.web import attempts, effect, lessons, snapshots
from seasoned.web.guard import FORM, App, guarded
from seasoned.web.site import Site, show, templates

LOOPBACK = ("127.0.0.1", "localhost", "::1")

_PAGES: dict[str, Callable[[Request], Response]] = {
    "/": effect.overview,
    "/lessons": lessons.lesson_list,
    "/lesson": lessons.lesson_page,
    "/lesson/add": lessons.add_form,
    "/lesson/edit": lessons.edit_form,
    "/attempts": attempts.attempt_list,
    "/attempt": attempts.attempt_page,
    "/learn": attempts.learn_page,
    "/effect": effect.effect_page,
    "/snapshots": snapshots.snapshot_list,
    "/diff": snapshots.diff_page,
}
_WRITES: dict[str, Callable[[Request], Response]] = {
    "/lesson/add": lessons.add,
    "/lesson/edit": lessons.edit,
    "/lesson/do": lessons.do,
    "/lessons/do": lessons.bulk,
    "/attempt/outcome": attempts.outcome,
    "/learn": attempts.learn_now,
    "/effect/resume": effect.resume,
    "/snapshots": snapshots.add_snapshot,
    "/rollback": snapshots.rollback,
}


def make_app(
    store: Store,
    *,
    token: str,
    runs_folder: Path,
    embedder: Embedder | None = None,
    host: str = "127.0.0.1",
    warming: Callable[[], AbstractContextManager[object]] = nullcontext,
    llm: AnyModel | None = None,
    method: str | None = None,
) -> App:
    """The page as an ASGI application.

    Args:
        store: the store to show and change; it stays open.
        token: the secret in the page's address; ConfigError if it has fewer than 16 characters.
        runs_folder: the folder with the runs' directories.
        embedder: for search by meaning.
        host: the address to listen on; other machines are answered only if this is not a loopback address.
        warming: makes a context for the first search by meaning, which reads all vectors in its own thread; it may
            change settings of the process, which the app itself never does.
        llm: the model of the button "Learn now"; None for no button.
        method: the method of that button; None for the one that each memory learned with last, else erl.
    """
    if len(token) < 16:
        raise ConfigError("the token of the page needs at least 16 characters: leave it out to get a new one")
    pages = dict(_PAGES)
    for _, make_pages in loaded("pages"):
        pages |= make_pages()
    app = Starlette(
        routes=[
            *(Route(path, page, methods=["GET"]) for path, page in pages.items()),
            *(Route(path, page, methods=["POST"]) for path, page in _WRITES.items()),
            Mount("/static", StaticFiles(directory=str(resources.files("seasoned.web") / "static"))),
        ],
        lifespan=_lifespan,
        exception_handlers={SeasonedError: _failure_page, HTTPException: _not_found_page, Exception: _bug_page},
    )
    app.state.site = Site(store, runs_folder, embedder, around=warming)
    app.state.learner = attempts.Learner(store, llm, method, embedder)
    return guarded(app, token, door(store, token), "" if host in LOOPBACK else host)


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Prepare the app before its first request, and wait for learning at the end.

    Templates and the store's caches are loaded first. A thread then reads all vectors (seconds for 100,000), so that
    the first search by meaning need not.
    """
    site = app.state.site
    await run_in_threadpool(_prepare, site)
    if site.embedder is not None:
        site.warming = True
        threading.Thread(target=site.warm, name="seasoned-warming", daemon=True).start()
    yield
    await run_in_threadpool(app.state.learner.close)


def _prepare(site: Site) -> None:
    for name in templates().list_templates():
        templates().get_template(name)
    with suppress(SeasonedError, *DATABASE_ERRORS):
        lesson_page(site.store, query="anything", limit=1)


def serve(app: App, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve the app from `make_app` until the program is stopped; ConfigError if the port (0: a free one) is not free.

    `ready` is called with the address, without the token, once the server listens.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"{host} with port {port} cannot be used ({error}): give another with --port, or 0 for any"
        ) from error
    with listener:
        url_host = f"[{host}]" if ":" in host else host
        ready(f"http://{url_host}:{listener.getsockname()[1]}/")
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3
        )
        uvicorn.Server(config).run(sockets=[listener])


def _failure_page(request: Request, error: Exception) -> Response:
    """A `SeasonedError` as a page; a write that failed can be sent again with its fields."""
    status, title = 400, "That did not work"
    if isinstance(error, lessons.Missing):
        status, title = 404, "Not there"
    elif isinstance(error, ConflictError):
        status, title = 409, "Changed meanwhile"
    elif isinstance(error, StoreLockedError):
        status, title = 503, "The store is busy"
    elif isinstance(error, StoreError) and isinstance(error.__cause__, DATABASE_ERRORS):
        status, title = 503, "The store refused"
    text, again = str(error), status == 503
    fields: dict[str, str] = request.scope.get(FORM, {})
    return _message(
        request,
        status,
        title,
        text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else "."),
        post=request.method == "POST" and again,
        again=str(request.url.path) + (f"?{request.url.query}" if request.url.query else "") if again else "",
        fields=fields,
        lesson_id=str(fields.get("id", "")) if status == 409 else "",
    )


def _not_found_page(request: Request, error: Any) -> Response:
    missing = error.status_code == 404
    sentence = "There is no page at this address." if missing else "This address does not accept such requests."
    return _message(request, error.status_code, "Not there", sentence)


def _bug_page(request: Request, _error: Exception) -> Response:
    sentence = "This is a bug in Seasoned. The terminal where it runs shows the details. Nothing was half saved."
    return _message(request, 500, "Internal error", sentence)


def _message(request: Request, status: int, title: str, sentence: str, **values: Any) -> Response:
    values = {"post": False, "again": "", "fields": {}, "lesson_id": "", **values}
    return show(request, "message.html.j2", status, title=title, sentence=sentence, **values)

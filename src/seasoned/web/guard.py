"""The door of the page: who may ask, for what, and what every answer carries.

Always holds: nothing but the stylesheet and scripts is given to anybody without a token; a request that names another
host is refused (a foreign name that points here, "DNS rebinding"), and so is a write that another page or a reader
sent; no answer may run a script of its own, be framed, be cached or tell another site where it was.
"""

from __future__ import annotations

import hashlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from seasoned.store.tokens import Visitor

App = Callable[..., Awaitable[None]]
"""An ASGI application: called with scope, receive and send."""

VISITOR = "seasoned.visitor"
"""Where in a request's scope it stands who asks."""
FORM = "seasoned.form"
"""Where in a request's scope the fields of its form are: names to texts."""
MAX_BODY = 16_000_000
"""Bytes of a form; a megabyte of text takes up to nine of them when it is sent."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    # Not "no-referrer": with that, a browser sends `Origin: null` with a form, and there is nothing left to check.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_ENTRY = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Seasoned</title>
<meta http-equiv="refresh" content="0;url=/"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/style.css"></head>
<body><main class="plain"><p><a href="/">Go on to the page</a></p></main></body></html>"""
_REFUSAL = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Seasoned</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/style.css">
</head><body><main class="plain"><h1>{title}</h1><p>{sentence}</p></main></body></html>"""


def guarded(
    app: App,
    token: str,
    who: Callable[[str], Visitor | None],
    names: Iterable[str] = (),
    *,
    anywhere: bool = False,
) -> App:
    """The app behind its door.

    Args:
        app: what is guarded; it finds a form's fields in `scope[FORM]`.
        token: the secret of the address; a browser that brought one once keeps it as a cookie.
        who: tells whose token a text is; see `seasoned.store.tokens.door`.
        names: further host names that requests may be for.
        anywhere: the page is offered to other machines, so any IP address may be its host; a name of others may not.
    """
    cookie = f"seasoned-{hashlib.sha256(token.encode()).hexdigest()[:8]}"
    known = {"localhost", *(name.lower() for name in names)}

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        told = _telling(send)
        if not _host_fits(headers.get("host", ""), known, anywhere):
            await _refuse(told, 421, "Another host", "This page answers only under the address that was printed.")
            return
        if scope["method"] in ("GET", "HEAD") and scope["path"].startswith("/static/"):
            await app(scope, receive, told)
            return
        try:
            given = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=100).get("token", [""])[-1]
        except ValueError:
            await _refuse(told, 400, "Too long", "An address of this page has a few parts, and this has too many.")
            return
        if given and scope["method"] == "GET" and who(given):
            kept = f"{cookie}={given}; HttpOnly; SameSite=Strict; Path=/"
            await _send(told, 200, _ENTRY, [(b"set-cookie", kept.encode())])
            return
        visitor = who(_cookie(headers.get("cookie", ""), cookie))
        if visitor is None:
            sentence = "Open the whole address that <code>seasoned serve</code> printed; it ends with a token."
            await _refuse(told, 403, "No token", sentence)
            return
        scope = {**scope, VISITOR: visitor}
        if scope["method"] in ("GET", "HEAD"):
            await app(scope, receive, told)
            return
        if visitor.role == "reader":
            await _refuse(told, 403, "A reader", "Your token may only read. Ask for one of an editor.")
            return
        await _written(app, scope, receive, told, headers)

    return guard


async def _written(app: App, scope: Any, receive: Any, send: App, headers: dict[str, str]) -> None:
    """Let a write through, if this page sent it."""
    if scope["method"] != "POST":
        await _refuse(send, 405, "Not here", "Pages are read with GET and changed with POST.")
        return
    if headers.get("origin", "").lower() != f"{scope['scheme']}://{headers['host'].lower()}":
        await _refuse(send, 403, "Another origin", "A change was asked for by another page, and was not made.")
        return
    if headers.get("content-type", "").split(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        await _refuse(send, 415, "Not a form", "A change is sent as a form, and this was something else.")
        return
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY:
            await _refuse(send, 413, "Too long", f"A form has at most {MAX_BODY:,} bytes. Nothing was changed.")
            return
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=500, errors="replace")
    except ValueError:
        await _refuse(send, 400, "Not a form", "The form could not be read. Nothing was changed.")
        return

    async def over() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app({**scope, FORM: {name: values[-1] for name, values in fields.items()}}, over, send)


def _host_fits(host: str, known: set[str], anywhere: bool) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name in known:
            return True
        address = ipaddress.ip_address(name)
    except ValueError:
        return anywhere and bool(host) and name_of_here() == host.rsplit(":", 1)[0].lower()
    return address.is_loopback or anywhere


def name_of_here() -> str:
    """What this machine calls itself."""
    return socket.gethostname().lower()


def _cookie(header: str, name: str) -> str:
    """A cookie's value. By hand: a library stops at the first odd one, and programs on other ports set those, too."""
    parts = (part.strip().partition("=") for part in header.split(";"))
    return next((value.strip().strip('"') for key, _, value in parts if key == name), "")


def _telling(send: App) -> App:
    """Send, with the headers that every answer carries unless it has its own."""

    async def told(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in own]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return told


async def _refuse(send: App, status: int, title: str, sentence: str) -> None:
    await _send(send, status, _REFUSAL.format(title=title, sentence=sentence), [])


async def _send(send: App, status: int, page: str, headers: list[tuple[bytes, bytes]]) -> None:
    body = page.encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

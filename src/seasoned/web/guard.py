"""Access control of the page: checks tokens, hosts and origins, and adds security headers to every answer.

Always holds: without a token, only the stylesheet and scripts are served; a request for another host is refused (a
foreign name that points here, "DNS rebinding"), and so is a write from another page or a reader; no answer runs inline
scripts, is framed or cached, or sends its address to other sites.
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
"""The key of the visitor in a request's scope."""
FORM = "seasoned.form"
"""The key of the form's fields, names to texts, in a request's scope."""
MAX_BODY = 16_000_000
"""The most bytes of a form; encoding makes a megabyte of text up to nine."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    # Not "no-referrer": with it, a browser sends `Origin: null` with a form, which cannot be checked.
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
<body><main class="plain"><p><a href="/">Continue to the page</a></p></main></body></html>"""
_REFUSAL = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Seasoned</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/style.css">
</head><body><main class="plain"><h1>{title}</h1><p>{sentence}</p></main></body></html>"""


def guarded(
    app: App, token: str, who: Callable[[str], Visitor | None], names: Iterable[str] = (), *, anywhere: bool = False
) -> App:
    """The app with access control.

    Args:
        app: the app to protect; it gets a form's fields in `scope[FORM]`.
        token: the secret in the page's address; a browser keeps the token that it sent as a cookie.
        who: maps a token to its visitor; see `seasoned.store.tokens.door`.
        names: further host names that the page answers to.
        anywhere: the page is open to other machines, so its host may be any IP address or this machine's name.
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
        answer = _with_headers(send)
        if not _host_fits(headers.get("host", ""), known, anywhere):
            await _refuse(answer, 421, "Another host", "This page answers only under the address that was printed.")
            return
        if scope["method"] in ("GET", "HEAD") and scope["path"].startswith("/static/"):
            await app(scope, receive, answer)
            return
        try:
            sent_token = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=100).get("token", [""])[-1]
        except ValueError:
            await _refuse(answer, 400, "Too long", "This address has too many parts.")
            return
        if sent_token and scope["method"] == "GET" and who(sent_token):
            value = f"{cookie}={sent_token}; HttpOnly; SameSite=Strict; Path=/"
            await _send(answer, 200, _ENTRY, [(b"set-cookie", value.encode())])
            return
        visitor = who(_cookie(headers.get("cookie", ""), cookie))
        if visitor is None:
            sentence = "Open the full address that <code>seasoned serve</code> printed; it ends with a token."
            await _refuse(answer, 403, "No token", sentence)
            return
        scope = {**scope, VISITOR: visitor}
        if scope["method"] in ("GET", "HEAD"):
            await app(scope, receive, answer)
            return
        if visitor.role == "reader":
            await _refuse(answer, 403, "Only reading", "Your token may only read. Ask for a token of an editor.")
            return
        await _pass_write(app, scope, receive, answer, headers)

    return guard


async def _pass_write(app: App, scope: Any, receive: Any, send: App, headers: dict[str, str]) -> None:
    """Pass a write to the app, if this page sent it."""
    if scope["method"] != "POST":
        await _refuse(send, 405, "Not here", "Pages are read with GET and changed with POST.")
        return
    if headers.get("origin", "").lower() != f"{scope['scheme']}://{headers['host'].lower()}":
        await _refuse(send, 403, "Another origin", "Another page asked for this change. Nothing was changed.")
        return
    if headers.get("content-type", "").split(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        await _refuse(send, 415, "Not a form", "A change is sent as a form. Nothing was changed.")
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

    async def no_more() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app({**scope, FORM: {name: values[-1] for name, values in fields.items()}}, no_more, send)


def _host_fits(host: str, known: set[str], anywhere: bool) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name in known:
            return True
        address = ipaddress.ip_address(name)
    except ValueError:
        return anywhere and bool(host) and socket.gethostname().lower() == host.rsplit(":", 1)[0].lower()
    return address.is_loopback or anywhere


def _cookie(header: str, name: str) -> str:
    """A cookie's value. Not by a library, which stops at an odd cookie that a program on another port may have set."""
    parts = (part.strip().partition("=") for part in header.split(";"))
    return next((value.strip().strip('"') for key, _, value in parts if key == name), "")


def _with_headers(send: App) -> App:
    """A send function that adds `_HEADERS`, except those that the answer sets."""

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in own]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_with_headers


async def _refuse(send: App, status: int, title: str, sentence: str) -> None:
    await _send(send, status, _REFUSAL.format(title=title, sentence=sentence), [])


async def _send(send: App, status: int, page: str, headers: list[tuple[bytes, bytes]]) -> None:
    body = page.encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

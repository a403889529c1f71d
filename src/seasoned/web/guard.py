"""Access control of the page: checks tokens, hosts and origins, and adds security headers to every answer.

Always holds: without a token, only the stylesheet and scripts are served; a request for another host is refused (a
foreign name that points here, "DNS rebinding"), and so is a write from another page or a reader; no answer runs inline
scripts, is framed or cached, or sends its address to other sites.
"""

from __future__ import annotations

import hashlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse

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
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Seasoned</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{head}<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/style.css"></head><body><main class="plain">{main}</main></body></html>"""
_ENTRY = _PAGE.format(
    head='<meta http-equiv="refresh" content="0;url=/">', main='<p><a href="/">Continue to the page</a></p>'
)
_READS = ("GET", "HEAD")


def guarded(app: App, token: str, who: Callable[[str], Visitor | None], host: str = "") -> App:
    """The app with access control; it gets the visitor and a form's fields in the scope.

    Args:
        app: the app to protect.
        token: the secret in the page's address; a browser keeps the token that it sent as a cookie.
        who: maps a token to its visitor; see `seasoned.store.tokens.door`.
        host: the address that the page is open on to other machines; then, a request's host may be any IP address or
            this machine's name. "" if only this machine is answered.
    """
    cookie = f"seasoned-{hashlib.sha256(token.encode()).hexdigest()[:8]}"

    async def answer(request: Request) -> HTMLResponse | None:
        """The guard's own answer; None if the app answers."""
        if not _host_fits(request.headers.get("host", ""), host):
            return _refusal(421, "Another host", "This page answers only under the address that was printed.")
        reads = request.method in _READS
        if reads and request.scope["path"].startswith("/static/"):
            return None
        try:
            sent_token = parse_qs(request.scope["query_string"].decode("latin-1"), max_num_fields=100).get(
                "token", [""]
            )[-1]
        except ValueError:
            return _refusal(400, "Too long", "This address has too many parts.")
        if sent_token and request.method == "GET" and who(sent_token):
            entry = HTMLResponse(_ENTRY)
            entry.set_cookie(cookie, sent_token, httponly=True, samesite="strict")
            return entry
        visitor = who(request.cookies.get(cookie, ""))
        if visitor is None:
            sentence = "Open the full address that <code>seasoned serve</code> printed; it ends with a token."
            return _refusal(403, "No token", sentence)
        request.scope[VISITOR] = visitor
        if not reads and visitor.role == "reader":
            return _refusal(403, "Only reading", "Your token may only read. Ask for a token of an editor.")
        return None if reads else await _read_form(request)

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope, send = {**scope}, _with_headers(send)
            await (await answer(Request(scope, receive)) or app)(scope, receive, send)
        elif scope["type"] == "lifespan":
            await app(scope, receive, send)

    return guard


async def _read_form(request: Request) -> HTMLResponse | None:
    """Put a form's fields into the request's scope; the refusal if this page did not send it."""
    if request.method != "POST":
        return _refusal(405, "Not here", "Pages are read with GET and changed with POST.")
    if request.headers.get("origin", "").lower() != f"{request.scope['scheme']}://{request.headers['host'].lower()}":
        return _refusal(403, "Another origin", "Another page asked for this change. Nothing was changed.")
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return _refusal(415, "Not a form", "A change is sent as a form. Nothing was changed.")
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                return _refusal(413, "Too long", f"A form has at most {MAX_BODY:,} bytes. Nothing was changed.")
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=500, errors="replace")
    except (ClientDisconnect, ValueError):
        return _refusal(400, "Not a form", "The form could not be read. Nothing was changed.")
    request.scope[FORM] = {name: values[-1] for name, values in fields.items()}
    return None


def _host_fits(asked: str, host: str) -> bool:
    try:
        name = urlsplit(f"//{asked}").hostname or ""
        if name in ("localhost", host.lower()):
            return bool(name)
        address = ipaddress.ip_address(name)
    except ValueError:
        return bool(host and asked) and socket.gethostname().lower() == asked.rsplit(":", 1)[0].lower()
    return address.is_loopback or bool(host)


def _with_headers(send: App) -> App:
    """A send function that adds `_HEADERS`, except those that the answer sets."""

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


def _refusal(status: int, title: str, sentence: str) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(head="", main=f"<h1>{title}</h1><p>{sentence}</p>"), status)

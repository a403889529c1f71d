"""A server that speaks OpenAI's protocol: its address, the key for it, its connections, and what its errors mean.

Always holds: every error of the SDK becomes one sentence of the LLMError tree; no key and no password of an address is
in a message, a repr or a log; what is meant for this machine goes through no proxy.
"""

from __future__ import annotations

import json
import os
import re
import threading
import weakref
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from seasoned.errors import (
    AuthError,
    ConfigError,
    InfrastructureError,
    LLMError,
    NotFoundError,
    RefusedError,
    RequestError,
)

if TYPE_CHECKING:
    import openai

OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "no-key"
_CONNECT_TIMEOUT = 10.0  # seconds
_MOST_SAID = 500  # characters of a server's words
_REFUSALS: dict[int, type[RequestError]] = {400: RefusedError, 403: RefusedError, 404: NotFoundError, 422: RefusedError}
_MODERATED = re.compile(r"moderation|flagged|content.?(?:policy|filter)", re.IGNORECASE)


class Endpoint:
    """One server. Safe to share between threads. `where` is its address as it can be shown, `host` its name.

    Args:
        base_url: the server's address, such as "http://127.0.0.1:8080/v1"; None is `OPENAI_BASE_URL`, or else OpenAI.
        api_key: None is `OPENAI_API_KEY`. A server given by `base_url` may need none.
        timeout: seconds without a sign of the server before a try counts as failed.
        max_retries: tries after the first one, with growing pauses, or the pause a server asks for.
        client: the SDK's client to use, in place of all these; it is never closed here.

    Raises:
        ConfigError: `base_url` is no http address.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        *,
        timeout: float,
        max_retries: int,
        client: openai.OpenAI | None = None,
    ) -> None:
        if client is not None:
            base_url, api_key = str(client.base_url).rstrip("/"), str(client.api_key or "") or None
        self._given = client
        self.base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self.host, self.where = _place(self.base_url or OPENAI_URL)
        self._api_key, self._timeout, self._max_retries = api_key, timeout, max_retries
        self._client: openai.OpenAI | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Endpoint({self.where!r})"

    def client(self) -> openai.OpenAI:
        """The SDK's client, the same one until `close`.

        Raises:
            AuthError: as `key`.
        """
        import openai

        if self._given is not None:
            return self._given
        with self._lock:
            if self._client is None:
                # A proxy that the environment names must not get what is meant for this machine.
                local = self.host in ("localhost", "::1") or self.host.startswith("127.")
                http = openai.DefaultHttpxClient(trust_env=not local)
                self._client = openai.OpenAI(
                    api_key=self.key(),
                    base_url=self.base_url or OPENAI_URL,
                    timeout=openai.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_TIMEOUT)),
                    max_retries=self._max_retries,
                    http_client=http,
                )
                weakref.finalize(self, http.close)
            return self._client

    def close(self) -> None:
        """Closes the connections; the next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def key(self) -> str:
        """The key that is sent.

        Raises:
            AuthError: there is none and the server is OpenAI's own, or it holds what no key has.
        """
        key = (self._api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if not key and self.base_url is None:
            raise AuthError(
                f"{self.where} needs an API key and there is none: export OPENAI_API_KEY=..., or name another server "
                "with base_url"
            )
        if not (key.isascii() and key.isprintable()):
            raise AuthError("the API key holds characters that no key has: copy it again into OPENAI_API_KEY")
        return key or _NO_KEY

    def safe(self, text: str) -> str:
        """A server's words as they can stand in a message: in one line, short, storable, the keys taken out."""
        for key in (self._api_key, os.environ.get("OPENAI_API_KEY")):
            if key and key.strip():
                text = text.replace(key.strip(), "***")
        line = " ".join(text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8").split())
        return line if len(line) <= _MOST_SAID else f"{line[:_MOST_SAID]}... ({len(line):,} characters)"

    def translated(self, error: openai.OpenAIError, model: str) -> LLMError:
        """The error of our tree for one that the SDK raised after its retries.

        `model` was asked; "" where it was asked for its models.
        """
        import openai

        tries = _tries(error)
        if isinstance(error, openai.APITimeoutError):
            return InfrastructureError(
                f"{self.where} did not answer within {self._timeout:g} s ({tries}): check that it is running and has a "
                "slot free, or allow more time."
            )
        if isinstance(error, openai.APIConnectionError):
            return InfrastructureError(
                f"{self.where} cannot be reached or cut the connection ({tries}; {type(error.__cause__).__name__}): "
                "check the address and that the server is running."
            )
        if not isinstance(error, openai.APIStatusError):
            return InfrastructureError(f"the client for {self.where} failed ({tries}): {self.safe(str(error))}")
        status, said = error.status_code, self.safe(said_in(error))
        if status == 401 or (status == 403 and not _MODERATED.search(said)):
            return AuthError(f"{self.where} refused the API key ({status}: {said}): check OPENAI_API_KEY.")
        if status >= 500 or status in (408, 409, 429):
            return InfrastructureError(
                f"{self.where} failed with status {status} ({tries}): {said}. Try again later, or with fewer requests "
                "at a time."
            )
        refused = f"{self.where} refused the request with status {status}: {said}"
        return _REFUSALS.get(status, RequestError)(f"{refused}{_advice(status, model)}")


def said_in(error: openai.APIStatusError) -> str:
    """What the server said, as it is: it may be long, and hold what it was sent."""
    body = error.body
    if isinstance(body, list) and body:  # Google's servers
        body = body[0].get("error", body[0]) if isinstance(body[0], dict) else body[0]
    if isinstance(body, dict):
        metadata = body.get("metadata")
        if isinstance(metadata, dict) and metadata.get("raw"):  # a gateway: what the server behind it said
            return f"{body.get('message', '')}: {metadata['raw']}"
        for place in ("message", "detail", "error"):
            if isinstance(body.get(place), str):
                return str(body[place])
        return json.dumps(body, default=str)
    return body if isinstance(body, str) and body else error.message


def _advice(status: int, model: str) -> str:
    if status == 402:
        return ": add credit to the account of the key, or take another key (OPENAI_API_KEY)"
    if status == 404 and not model:
        return ": it lists no models, so name one (of an experiment: -c llm.model=NAME), and check the address"
    return f": check the model's name {model!r} and the address" if status == 404 else ""


def _tries(error: openai.OpenAIError) -> str:
    request = getattr(error, "request", None)
    retries = str(request.headers.get("x-stainless-retry-count", "")) if request is not None else ""
    count = int(retries) + 1 if retries.isdecimal() else 1
    return "1 try" if count == 1 else f"{count} tries"


def _place(base_url: str) -> tuple[str, str]:
    """Host, and the address without a password that may be in it."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"base_url must be an address such as http://127.0.0.1:8080/v1, not {base_url!r}")
    shown = f"[{host}]" if ":" in host else host
    return host, f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path}"

"""A server that speaks OpenAI's protocol: its address, its key, its connections, and its errors as ours.

Always holds: every error of the SDK becomes an error of the LLMError tree, in one sentence; no key and no password of
an address is in a message, a repr or a log; requests to this machine use no proxy.
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
_PLACEHOLDER_KEY = "no-key"
_CONNECT_TIMEOUT = 10.0  # seconds
_MAX_MESSAGE = 500  # characters of a server's message
_REFUSALS: dict[int, type[RequestError]] = {400: RefusedError, 403: RefusedError, 404: NotFoundError, 422: RefusedError}
_MODERATED = re.compile(r"moderation|flagged|content.?(?:policy|filter)", re.IGNORECASE)


class Endpoint:
    """One server. Safe to share between threads. `where` is its address without a password, `host` its name.

    The arguments are those of `seasoned.llm.openai.OpenAIChat`; a `client` of the user's is never closed here.
    ConfigError if `base_url` is not an http address.
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
        self.host, self.where = _host_and_address(self.base_url or OPENAI_URL)
        self._api_key, self._timeout, self._max_retries = api_key, timeout, max_retries
        self._client: openai.OpenAI | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Endpoint({self.where!r})"

    def client(self) -> openai.OpenAI:
        """The SDK's client, the same one until `close`; raises as `key`."""
        import openai

        if self._given is not None:
            return self._given
        with self._lock:
            if self._client is None:
                # A proxy named in the environment must not see requests to this machine.
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
        """Close the connections; the next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def key(self) -> str:
        """The key to send; a placeholder for a server that needs none.

        AuthError if it is missing and the server is OpenAI's own, or if it has invalid characters.
        """
        key = (self._api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if not key and self.base_url is None:
            raise AuthError(
                f"{self.where} needs an API key, but none is set: export OPENAI_API_KEY=..., or name another server "
                "with base_url"
            )
        if not (key.isascii() and key.isprintable()):
            raise AuthError("the API key has characters that are not allowed in keys: copy it again to OPENAI_API_KEY")
        return key or _PLACEHOLDER_KEY

    def safe(self, text: str) -> str:
        """A server's text for use in a message: one line, shortened, storable, without the keys."""
        for key in (self._api_key, os.environ.get("OPENAI_API_KEY")):
            if key and key.strip():
                text = text.replace(key.strip(), "***")
        line = " ".join(text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8").split())
        return line if len(line) <= _MAX_MESSAGE else f"{line[:_MAX_MESSAGE]}... ({len(line):,} characters)"

    def translated(self, error: openai.OpenAIError, model: str) -> LLMError:
        """Translate an error that the SDK raised after its retries; `model` is "" for the request of the list."""
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
        status, message = error.status_code, self.safe(said_in(error))
        if status == 401 or (status == 403 and not _MODERATED.search(message)):
            return AuthError(f"{self.where} refused the API key ({status}: {message}): check OPENAI_API_KEY.")
        if status >= 500 or status in (408, 409, 429):
            return InfrastructureError(
                f"{self.where} failed with status {status} ({tries}): {message}. Try again later, or with fewer "
                "requests at a time."
            )
        refusal = f"{self.where} refused the request with status {status}: {message}"
        return _REFUSALS.get(status, RequestError)(f"{refusal}{_advice(status, model)}")


def said_in(error: openai.APIStatusError) -> str:
    """The server's message, unchanged: it may be long, and may repeat the request."""
    body = error.body
    if isinstance(body, list) and body:  # Google's servers
        body = body[0].get("error", body[0]) if isinstance(body[0], dict) else body[0]
    if isinstance(body, dict):
        metadata = body.get("metadata")
        if isinstance(metadata, dict) and metadata.get("raw"):  # a gateway, with the message of the server behind it
            return f"{body.get('message', '')}: {metadata['raw']}"
        for field in ("message", "detail", "error"):
            if isinstance(body.get(field), str):
                return str(body[field])
        return json.dumps(body, default=str)
    return body if isinstance(body, str) and body else error.message


def _advice(status: int, model: str) -> str:
    if status == 402:
        return ": add credit to the account of the key, or use another key (OPENAI_API_KEY)"
    if status != 404:
        return ""
    if not model:
        return ": it lists no models, so name one (of an experiment: -c llm.model=NAME), and check the address"
    return f": check the model's name {model!r} and the address"


def _tries(error: openai.OpenAIError) -> str:
    request = getattr(error, "request", None)
    retries = str(request.headers.get("x-stainless-retry-count", "")) if request is not None else ""
    count = int(retries) + 1 if retries.isdecimal() else 1
    return "1 try" if count == 1 else f"{count} tries"


def _host_and_address(base_url: str) -> tuple[str, str]:
    """The host of an address, and the address without a user name and password."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        raise ConfigError(f"base_url must be an address such as http://127.0.0.1:8080/v1, not {base_url!r}")
    name = f"[{host}]" if ":" in host else host
    return host, f"{parts.scheme}://{name}{f':{port}' if port else ''}{parts.path}"

"""Any server that speaks OpenAI's chat protocol: OpenAI, Ollama, vLLM, llama.cpp, a gateway.

Always holds: whatever the server does ends in a Reply or in one sentence of the LLMError tree; no key is in a message,
a repr or a log; what a server says is read as untrusted data, never as the SDK's types.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from seasoned.errors import AuthError, ConfigError, InfrastructureError, LLMError
from seasoned.llm.grammar import FORM, choose
from seasoned.llm.pricing import OPENAI_URL, cost
from seasoned.llm.refusals import refused_parameter, safe, translated
from seasoned.llm.seeds import shifted
from seasoned.llm.structured import Rung, clean, cut, descend, ladder
from seasoned.types import Message, Reply, Usage

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

_NO_KEY = "no-key"
_CONNECT_TIMEOUT = 10.0  # seconds


class OpenAIChat:
    """A chat model behind an OpenAI-compatible endpoint. Safe to share between threads.

    Args:
        model: the model's name as the server knows it.
        base_url: the server's address, such as "http://127.0.0.1:8080/v1"; None is `OPENAI_BASE_URL`, or else OpenAI.
        api_key: None is `OPENAI_API_KEY`. A server given by `base_url` may need none.
        seed: sent with every request (None: not sent). Servers promise no more than to try.
        timeout: seconds without a sign of the server before a try counts as failed.
        max_retries: tries after the first one, with growing pauses, or the pause a server asks for.
        extra_body: further fields of the request, such as {"cache_prompt": true} for llama.cpp.

    Raises:
        ConfigError: `base_url` is no http address.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        seed: int | None = 0,
        timeout: float = 120.0,
        max_retries: int = 4,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = model
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._host, self._where = _place(self._base_url or OPENAI_URL)
        self._api_key = api_key
        self._seed = seed
        self._timeout = timeout
        self._max_retries = max_retries
        self._extra_body = dict(extra_body or {})
        self._refused: set[str] = set()
        self._rungs: dict[tuple[Rung, ...], tuple[Rung, ...]] = {}
        self._client: openai.OpenAI | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"OpenAIChat({self.name!r}, at {self._where})"

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        stop: Sequence[str] | None = None,
        max_tokens: int | None = None,
        temperature: float = 0.0,
    ) -> Reply:
        """One reply. `usage.seconds` is the time until it was there, retries and their pauses included.

        Raises:
            AuthError: no key, or the server refused it.
            InfrastructureError: the server cannot be reached, keeps failing, or sends what is no chat reply.
            ContextLengthError: the prompt does not fit into the model's context.
            RequestError: the server refused the request for another reason.
            ParseError: with `schema`: the reply does not fit it, nor did the answer to one re-ask.
        """

        def send(prompt: list[Message], form: dict[str, Any] | None) -> Reply:
            return self._send(prompt, form, stop, max_tokens, temperature)

        if schema is None:
            return send(list(messages), None)
        whole = ladder(schema, vendor=f".{self._host}".endswith(".openai.com"))
        rungs = self._rungs.get(whole, whole)
        reply, rung = descend(send, messages, schema, rungs)
        self._rungs[whole] = rungs[rungs.index(rung) :]
        return reply

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, max_tokens: int | None, temperature: float = 0.0
    ) -> Reply:
        """One of the choices, from a server that takes a grammar (llama.cpp). See `seasoned.llm.grammar.choose`."""

        def send(prompt: list[Message], form: dict[str, Any] | None) -> Reply:
            return self._send(prompt, form, None, max_tokens, temperature)

        return choose(send, messages, choices)

    def close(self) -> None:
        """Closes the connections; the next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _send(
        self,
        messages: list[Message],
        form: dict[str, Any] | None,
        stop: Sequence[str] | None,
        max_tokens: int | None,
        temperature: float,
    ) -> Reply:
        import openai

        client = self._connected()
        marks = list(stop) if stop else None
        wishes = {"max_tokens": max_tokens, "temperature": temperature, "stop": marks, "seed": shifted(self._seed)}
        while True:  # each turn drops another parameter, so this ends
            request = self._request(messages, form, wishes)
            began = time.perf_counter()
            try:
                raw = client.chat.completions.with_raw_response.create(**request)
            except openai.OpenAIError as error:
                refused = refused_parameter(error, request)
                if refused is None:
                    raise self._told(error) from None  # the cause's own text may hold a key
                log.warning("%s does not take %s for %s: going on without", self._where, refused, self.name)
                self._refused.add(refused)
                continue
            reply = self._reply(raw.content, time.perf_counter() - began)
            return reply.model_copy(update={"text": cut(reply.text, stop)}) if "stop" in self._refused else reply

    def _request(self, messages: list[Message], form: dict[str, Any] | None, wishes: dict[str, Any]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "messages": [{**message, "content": clean(message["content"])} for message in messages],
        }
        for name, value in wishes.items():
            if value is not None and name not in self._refused:
                request[name] = value
            elif value is not None and name == "max_tokens":
                request["max_completion_tokens"] = value
        extra = dict(self._extra_body)
        if form is not None and form["type"] == FORM:
            extra[FORM] = form[FORM]
        elif form is not None:
            request["response_format"] = form
        if extra:
            request["extra_body"] = extra
        return request

    def _connected(self) -> openai.OpenAI:
        import openai

        with self._lock:
            if self._client is None:
                # A proxy that the environment names must not get what is meant for this machine.
                http = openai.DefaultHttpxClient(trust_env=not _is_loopback(self._host))
                self._client = openai.OpenAI(
                    api_key=self._key(),
                    base_url=self._base_url or OPENAI_URL,
                    timeout=openai.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_TIMEOUT)),
                    max_retries=self._max_retries,
                    http_client=http,
                )
                weakref.finalize(self, http.close)
            return self._client

    def check_key(self) -> None:
        """Raises AuthError when there is no usable key: now, not at the first call."""
        self._key()

    def _key(self) -> str:
        key = (self._api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if not key and self._base_url is None:
            raise AuthError(
                f"{self._where} needs an API key and there is none: export OPENAI_API_KEY=..., or name another server "
                "with base_url"
            )
        if not (key.isascii() and key.isprintable()):
            raise AuthError("the API key holds characters that no key has: copy it again into OPENAI_API_KEY")
        return key or _NO_KEY

    def _reply(self, content: bytes, seconds: float) -> Reply:
        body = _body(content)
        message, finish = _at(body, "choices", 0, "message"), _at(body, "choices", 0, "finish_reason")
        text = _text(message)
        if not isinstance(message, dict) or (text is None and not isinstance(finish, str)):
            said = safe(content.decode(errors="replace"), self._secrets())
            raise InfrastructureError(
                f"{self._where} answered with what is no chat reply: {said!r}. "
                "Check that base_url is the address of an OpenAI-compatible endpoint (it often ends in /v1)."
            )
        model = _at(body, "model")
        return Reply(
            text=clean(text or ""),
            finish_reason=finish if isinstance(finish, str) else "stop",
            model=model if isinstance(model, str) and model else self.name,
            usage=self._usage(body, seconds),
        )

    def _told(self, error: openai.OpenAIError) -> LLMError:
        return translated(error, where=self._where, model=self.name, timeout=self._timeout, secrets=self._secrets())

    def _secrets(self) -> list[str]:
        keys = (self._api_key, os.environ.get("OPENAI_API_KEY"))
        return [key.strip() for key in keys if key and key.strip()]

    def _usage(self, body: Any, seconds: float) -> Usage:
        prompt, completion = _count(body, "usage", "prompt_tokens"), _count(body, "usage", "completion_tokens")
        cached = _count(body, "usage", "prompt_tokens_details", "cached_tokens")
        if cached is None:
            cached = _count(body, "timings", "cache_n")  # llama.cpp's own place for it
        tokens = {
            "prompt_tokens": prompt or 0,
            "cached_tokens": min(cached or 0, prompt or 0),
            "completion_tokens": completion or 0,
        }
        known = prompt is not None and completion is not None
        dollars = cost(self.name, self._base_url, **tokens) if known else None
        return Usage(**tokens, calls=1, cost=dollars, seconds=seconds)


def first_model(base_url: str, *, api_key: str | None = None, timeout: float = 10.0) -> str:
    """The name of the first model that a server offers.

    Raises:
        LLMError: as `OpenAIChat.chat`; an InfrastructureError when the server names no model.
    """
    import openai

    server = OpenAIChat("", base_url=base_url, api_key=api_key, timeout=timeout, max_retries=1)
    try:
        raw = server._connected().models.with_raw_response.list()
    except openai.OpenAIError as error:
        raise server._told(error) from None
    finally:
        server.close()
    name = _at(_body(raw.content), "data", 0, "id")
    if not isinstance(name, str) or not name:
        raise InfrastructureError(f"{server._where} names no model: name one yourself.")
    return name


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


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _body(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _at(value: Any, *path: str | int) -> Any:
    """What lies at a path of keys and indices inside JSON, None where it does not lead on."""
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and len(value) > part:
            value = value[part]
        else:
            return None
    return value


def _count(body: Any, *path: str) -> int | None:
    value = _at(body, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text(message: Any) -> str | None:
    """The words of a chat message: content, its text parts, or a refusal."""
    content = _at(message, "content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(_at(part, "text"), str))
    words = content if isinstance(content, str) else _at(message, "refusal")
    return words if isinstance(words, str) else None

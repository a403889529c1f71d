"""Any server that speaks OpenAI's chat protocol: OpenAI, Ollama, vLLM, llama.cpp, a gateway.

Always holds: every call ends in a Reply, or in an error of the LLMError tree with one sentence; no key is in a message,
a repr or a log; a server's answer is read as untrusted JSON, never as the SDK's types: a field that is missing or of
another type is None; an unknown price is None, never zero.
"""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from seasoned.endpoint import OPENAI_URL, Endpoint, said_in
from seasoned.errors import ContextLengthError, InfrastructureError, LLMError, RequestError
from seasoned.llm.calls import Tool
from seasoned.llm.llamacpp import FORM, choose
from seasoned.llm.seeds import shifted
from seasoned.llm.structured import Rung, cut, descend, ladder
from seasoned.llm.tools import CHOICES, ask_in_words, calls_of
from seasoned.llm.window import listed_window, said_window
from seasoned.text import storable
from seasoned.types import Message, Reply, Usage

if TYPE_CHECKING:
    import openai

_PAUSES = (0.25, 0.5, 1.0, 2.0)  # seconds before an invalid answer is requested again
_LIST_SECONDS = 10.0  # timeout for the list of models, which is optional
_ODDS = 20  # alternatives of the first token to request odds for; at least as many as choices of one character
EMPTY = {"type": "object", "properties": {}}
"""The parameters of a tool that has none."""

_MIN_LOGPROB = -700.0  # below this logarithm, a number is practically 0
_DROPPABLE = ("max_tokens", "temperature", "stop", "seed", "tool_choice", "tools")
_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecognized|unknown|not permitted|only the default|deprecated"
    r"|only .{0,20}(?:is|are) allowed|must be strictly positive|requires --",
    re.I,
)
TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum (context|model|prompt) length|available context size"
    r"|context (window|length|size)|(prompt|input) is too long|reduce the length of the (messages|prompt|input)"
    r"|input token count .{0,40}exceeds|`inputs`? (tokens|must have less)",
    re.I,
)
_NO_TOOLS = re.compile(r"\btools?[ -](?:call|choice)|function[ -]call", re.I)

log = logging.getLogger(__name__)


class OpenAIChat:
    """A chat model behind an OpenAI-compatible endpoint. Safe to share between threads.

    Args:
        model: the model's name as the server knows it.
        base_url: the server's address, such as "http://127.0.0.1:8080/v1"; None is `OPENAI_BASE_URL`, or else OpenAI.
        api_key: None is `OPENAI_API_KEY`. A server given by `base_url` may need none.
        seed: sent with every request (None: not sent). Servers do not guarantee equal replies.
        timeout: seconds without a response before a try counts as failed.
        max_retries: retries, with growing pauses or the pause a server asks for; after an invalid answer, at most four.
        extra_body: further fields of the request, such as {"cache_prompt": true} for llama.cpp.
        client: the user's own client, instead of an address, a key, a timeout and retries.
        window: the model's window in tokens; None: the window in the server's list of models, or in the price list.
        usual_window: the window if neither list has it.

    Raises:
        ConfigError: `base_url` is not an http address.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        seed: int | None = 0,
        timeout: float = 120.0,
        max_retries: int = 6,
        extra_body: Mapping[str, Any] | None = None,
        client: openai.OpenAI | None = None,
        window: int | None = None,
        usual_window: int | None = None,
    ) -> None:
        self.name = model
        self._endpoint = Endpoint(base_url, api_key, timeout=timeout, max_retries=max_retries, client=client)
        self._again = min(max_retries, len(_PAUSES))
        self._seed = seed
        self._extra_body = dict(extra_body or {})
        self._windows: list[int | None] = [window] if window else []
        self._usual_window = usual_window
        self._refused: set[str] = set()
        self._rungs: dict[tuple[Rung, ...], tuple[Rung, ...]] = {}

    def __repr__(self) -> str:
        return f"OpenAIChat({self.name!r}, at {self._endpoint.where})"

    @property
    def window(self) -> int | None:
        """The model's window in tokens, prompt and reply together; the server is asked once. None if unknown."""
        if not self._windows:
            base_url = self._endpoint.base_url
            listed = None if base_url is None else said_window(self._listed_models(), self.name)
            self._windows.append(listed or listed_window(self.name, base_url or OPENAI_URL) or self._usual_window)
        return self._windows[0]

    def _listed_models(self) -> Any:
        import openai

        try:
            client = self._endpoint.client().with_options(max_retries=0, timeout=_LIST_SECONDS)
            return read_body(client.models.with_raw_response.list().content)
        except (openai.OpenAIError, LLMError) as error:
            log.info("%s does not list its models: %s", self._endpoint.where, type(error).__name__)
            return None

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        stop: Sequence[str] | None = None,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        tools: Sequence[Tool] | None = None,
        tool_choice: str = "auto",
    ) -> Reply:
        """Get one reply. `usage.seconds` is the time until it arrived, including retries and their pauses.

        Once a server has refused tools, they are explained in words.

        Raises:
            AuthError: no key, or the server refused it.
            InfrastructureError: the server cannot be reached, keeps failing, or sends no valid chat reply.
            ContextLengthError: the prompt does not fit into the model's context.
            RequestError: the server refused the request for another reason.
            ParseError: with `schema`: neither the reply nor the answer to one re-ask fits it.
        """

        def send(prompt: list[Message], form: dict[str, Any] | None, offered: Mapping[str, Any] | None = None) -> Reply:
            return self._send(prompt, form, stop, max_tokens, temperature, offered)

        if tools:
            try:
                if "tools" not in self._refused:
                    return send(list(messages), None, _offered(tools, tool_choice))
            except RequestError:
                if "tools" not in self._refused:
                    raise
            options = {"stop": stop, "max_tokens": max_tokens, "temperature": temperature}
            return ask_in_words(self.chat, messages, tools=tools, tool_choice=tool_choice, **options)
        if schema is None:
            return send(list(messages), None)
        all_rungs = ladder(schema, vendor=f".{self._endpoint.host}".endswith(".openai.com"))
        rungs = self._rungs.get(all_rungs, all_rungs)
        reply, rung = descend(send, messages, schema, rungs)
        self._rungs[all_rungs] = rungs[rungs.index(rung) :]
        return reply

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, max_tokens: int | None, temperature: float = 0.0
    ) -> Reply:
        """Get one of the choices from a server with grammars (llama.cpp); see `seasoned.llm.llamacpp.choose`."""

        def send(prompt: list[Message], form: dict[str, Any] | None) -> Reply:
            return self._send(prompt, form, None, max_tokens, temperature)

        return choose(send, messages, choices)

    def held(
        self, messages: Sequence[Message], grammar: str, *, max_tokens: int | None, temperature: float = 0.0
    ) -> Reply:
        """Get a reply limited by a grammar, from a server with grammars (llama.cpp).

        Raises:
            LLMError: as in `chat`; RequestError if the server does not support the grammar.
        """
        form = {"type": FORM, FORM: grammar, "odds": False}
        return self._send(list(messages), form, None, max_tokens, temperature)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._endpoint.close()

    def check_key(self) -> None:
        """Raise AuthError if there is no usable key, before the first call."""
        self._endpoint.key()

    def _send(
        self,
        messages: list[Message],
        form: dict[str, Any] | None,
        stop: Sequence[str] | None,
        max_tokens: int | None,
        temperature: float,
        offered: Mapping[str, Any] | None = None,
    ) -> Reply:
        import openai

        client = self._endpoint.client()
        stops = list(stop) if stop else None
        seed = shifted(self._seed, "\n".join(message["content"] for message in messages))
        options = {"max_tokens": max_tokens, "temperature": temperature, "stop": stops, "seed": seed, **(offered or {})}
        began, pauses = time.perf_counter(), list(_PAUSES[: self._again])
        while True:  # each turn drops another parameter or uses up a pause, so this ends
            request = self._request(messages, form, options)
            try:
                raw = client.chat.completions.with_raw_response.create(**request)
            except openai.OpenAIError as error:
                refused = refused_parameter(error, request["extra_body"])
                if refused is not None:
                    where = self._endpoint.where
                    log.warning("%s does not support %s for %s: it is left out", where, refused, self.name)
                    self._refused.add(refused)
                if refused is None or refused == "tools":
                    raise translated(self._endpoint, error, self.name) from None  # the cause's text may contain a key
                continue
            try:
                reply = self._reply(raw.content, time.perf_counter() - began)
            except InfrastructureError as error:
                if not pauses:
                    raise
                log.info("%s Asking again.", error)
                time.sleep(pauses.pop(0))
                continue
            return reply.model_copy(update={"text": cut(reply.text, stop)}) if "stop" in self._refused else reply

    def _request(self, messages: list[Message], form: dict[str, Any] | None, options: dict[str, Any]) -> dict[str, Any]:
        prompt = [{**message, "content": storable(message["content"])} for message in messages]
        body: dict[str, Any] = {"messages": prompt}
        for name, value in options.items():
            if value is not None and name not in self._refused:
                body[name] = value
            elif value is not None and name == "max_tokens":
                body["max_completion_tokens"] = value
        body |= self._extra_body
        if form is not None and form["type"] == FORM:
            body[FORM] = form[FORM]
            if form["odds"]:
                body |= {"logprobs": True, "top_logprobs": _ODDS}
        elif form is not None:
            body["response_format"] = form
        # The SDK checks a request against all its types, which takes longer than sending it; `extra_body` is not
        # checked.
        return {"model": self.name, "messages": [], "extra_body": body}

    def _reply(self, content: bytes, seconds: float) -> Reply:
        body = read_body(content)
        message, finish = at(body, "choices", 0, "message"), at(body, "choices", 0, "finish_reason")
        text, fault = words_of(message), fault_of(body)
        if fault:
            raise InfrastructureError(
                f"{self._endpoint.where} answered with an error instead of a reply: {self._endpoint.safe(fault)}. Try "
                "again later, or with fewer requests at a time."
            )
        if not isinstance(message, dict) or (text is None and not isinstance(finish, str)):
            body_text = self._endpoint.safe(content.decode(errors="replace"))
            raise InfrastructureError(
                f"{self._endpoint.where} did not answer with a chat reply, but with {body_text!r}. "
                "Check that base_url is the address of an OpenAI-compatible endpoint (it often ends in /v1)."
            )
        model = at(body, "model")
        return Reply(
            text=storable(text or ""),
            calls=calls_of(message),
            finish_reason=finish if isinstance(finish, str) else "stop",
            model=model if isinstance(model, str) and model else self.name,
            odds=odds_of(body),
            usage=usage_of(body, seconds, model=self.name, base_url=self._endpoint.base_url),
        )


def first_model(base_url: str, *, timeout: float = 10.0) -> str:
    """The name of the first model in a server's list.

    Raises:
        LLMError: as in `OpenAIChat.chat`; InfrastructureError if the list has no model.
    """
    import openai

    endpoint = Endpoint(base_url, None, timeout=timeout, max_retries=1)
    try:
        raw = endpoint.client().models.with_raw_response.list()
    except openai.OpenAIError as error:
        raise translated(endpoint, error, "") from None
    finally:
        endpoint.close()
    name = at(read_body(raw.content), "data", 0, "id")
    if not isinstance(name, str) or not name:
        raise InfrastructureError(
            f"{endpoint.where} names no model: name one yourself (of an experiment: -c llm.model=NAME)."
        )
    return name


def _offered(tools: Sequence[Tool], choice: str) -> dict[str, Any]:
    """The fields of a request with tools, in OpenAI's form."""
    functions = [
        {"type": "function", "function": {**tool, "parameters": tool.get("parameters") or EMPTY}} for tool in tools
    ]
    chosen = choice if choice in CHOICES else {"type": "function", "function": {"name": choice}}
    return {"tools": functions, "tool_choice": chosen}


def read_body(content: bytes) -> Any:
    """The JSON of a body, or None."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def at(value: Any, *path: str | int) -> Any:
    """The value in JSON at a path of keys and indices, or None."""
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and len(value) > part:
            value = value[part]
        else:
            return None
    return value


def words_of(message: Any) -> str | None:
    """The text of a chat message: its content, the text parts of the content, or a refusal; None if it has none."""
    content = at(message, "content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(at(part, "text"), str))
    text = content if isinstance(content, str) else at(message, "refusal")
    return text if isinstance(text, str) else None


def fault_of(body: Any) -> str:
    """The error in a body that has a success status, as gateways send it; "" if there is none."""
    for error in (at(body, "error"), at(body, "choices", 0, "error")):
        if error:
            message = error if isinstance(error, str) else at(error, "message")
            return message if isinstance(message, str) and message.strip() else "it does not say what"
    return "its finish_reason is error" if at(body, "choices", 0, "finish_reason") == "error" else ""


def odds_of(body: Any) -> dict[str, float]:
    """The probability of each first token of a reply that the server reports as possible."""
    tokens = at(body, "choices", 0, "logprobs", "content", 0, "top_logprobs")
    odds: dict[str, float] = {}
    for each in tokens if isinstance(tokens, list) else ():
        token, logprob = at(each, "token"), at(each, "logprob")
        if isinstance(token, str) and isinstance(logprob, int | float) and _MIN_LOGPROB < logprob <= 0:
            odds[token] = odds.get(token, 0.0) + math.exp(logprob)
    return odds


def usage_of(body: Any, seconds: float, *, model: str, base_url: str | None) -> Usage:
    """The usage of one call; its cost (see `cost`) is known only if the server counts both prompt and reply."""
    prompt, completion = count_at(body, "usage", "prompt_tokens"), count_at(body, "usage", "completion_tokens")
    cached = count_at(body, "usage", "prompt_tokens_details", "cached_tokens")
    if cached is None:
        cached = count_at(body, "timings", "cache_n")  # llama.cpp
    tokens = {
        "prompt_tokens": prompt or 0,
        "cached_tokens": min(cached or 0, prompt or 0),
        "completion_tokens": completion or 0,
    }
    counted = prompt is not None and completion is not None
    return Usage(**tokens, calls=1, cost=cost(model, base_url, **tokens) if counted else None, seconds=seconds)


def count_at(body: Any, *path: str) -> int | None:
    """The count in JSON at a path, or None."""
    value = at(body, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def cost(
    model: str, base_url: str | None, *, prompt_tokens: int, cached_tokens: int, completion_tokens: int
) -> float | None:
    """The cost of one call in US dollars, or None if the price is unknown; the prompt's tokens include cached ones.

    A server of no vendor in the price list, such as one on this machine, has no prices; `base_url` None is OpenAI's.
    """
    address = base_url or OPENAI_URL
    return _cost(model, address, prompt_tokens, cached_tokens, completion_tokens) if _priced(model, address) else None


@lru_cache(maxsize=256)
def _priced(model: str, address: str) -> bool:
    """Whether the price list has the model; a list without it takes long to search."""
    return _cost(model, address, 1, 0, 1) is not None


def _cost(model: str, address: str, prompt: int, cached: int, completion: int) -> float | None:
    try:
        from genai_prices import Usage, calc_price

        used = Usage(input_tokens=prompt, cache_read_tokens=cached, output_tokens=completion)
        return float(calc_price(used, model, provider_api_url=address).total_price)
    except Exception:  # a price that cannot be found must not stop a run
        return None


def translated(endpoint: Endpoint, error: openai.OpenAIError, model: str) -> LLMError:
    """Translate an error that the SDK raised for `model` after its retries."""
    import openai

    if isinstance(error, openai.APIStatusError) and error.status_code not in (401, 403):
        message = said_in(error)
        if error.status_code == 413 or TOO_LONG.search(f"{error.code} {error.type} {message}"):
            return ContextLengthError(
                f"the prompt does not fit into the context of {model} ({error.status_code}: {endpoint.safe(message)}): "
                "shorten the guidance or the history, ask for fewer tokens, or give the model a larger context."
            )
    return endpoint.translated(error, model)


def refused_parameter(error: openai.OpenAIError, request: Mapping[str, Any]) -> str | None:
    """The request parameter that the server says it does not support, or None."""
    import openai

    if not isinstance(error, openai.APIStatusError) or error.status_code not in (400, 422):
        return None
    message = said_in(error)
    if not _UNSUPPORTED.search(f"{error.code} {message}"):
        return None
    sent = [name for name in _DROPPABLE if name in request]
    if error.param:
        return error.param if error.param in sent else None
    if "tools" in sent and _NO_TOOLS.search(message):
        return "tools"
    return next((name for name in sent if re.search(rf"\b{name}\b", message)), None)

"""Models from a user's own objects: a client of OpenAI's or Anthropic's SDK, or any function that answers messages.

Always holds: the object is used as it is and never closed; no request is sent before the first reply is needed; every
error becomes an error of the LLMError tree.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from seasoned.errors import AuthError, ConfigError, ContextLengthError, InfrastructureError, LLMError, RequestError
from seasoned.jobs import waited
from seasoned.llm.openai import TOO_LONG, OpenAIChat, at, cost, count_at, words_of
from seasoned.llm.structured import cut, descend, shorten
from seasoned.protocols import LLM
from seasoned.text import storable
from seasoned.types import Message, Reply, Usage

OPENAI_MODEL = "gpt-5-mini"
ANTHROPIC_MODEL = "claude-haiku-4-5"
MAX_TOKENS = 4096
"""The default limit of a reply from Anthropic, whose servers require one."""


class Client(Protocol):
    """A synchronous client of OpenAI's or Anthropic's SDK."""

    def post(self, path: str, *, cast_to: Any) -> Any: ...  # noqa: D102
    def copy(self) -> Any: ...  # noqa: D102


AnyModel: TypeAlias = str | LLM | Client | Callable[..., Any]
"""A name, a model, an SDK's client, or a function (or coroutine function) from messages to the reply."""


def model_of(given: Any, model: str = "") -> Any:
    """Make a model from a client or a function; names and models are returned as they are.

    Args:
        given: an `openai.OpenAI`, an `anthropic.Anthropic`, or a function that takes a list of messages (`{"role": ..,
            "content": ..}`) and returns a text or the reply of a client.
        model: the model's name. Without it, OPENAI_MODEL is used on OpenAI's server, ANTHROPIC_MODEL on Anthropic's,
            and the first model in the server's list on any other.

    Raises:
        ConfigError: the client is asynchronous.
    """
    if given is None or isinstance(given, str | LLM):
        return given
    names = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(given).__mro__}
    if names & {"openai.AsyncOpenAI", "anthropic.AsyncAnthropic"}:
        kind = type(given).__name__
        raise ConfigError(f"a memory learns on its own thread: give it a synchronous client instead of {kind}")
    if "openai.OpenAI" in names:
        return OpenAIClient(given, model)
    if names & {"anthropic.Anthropic", "anthropic.AnthropicBedrock", "anthropic.AnthropicVertex"}:
        return AnthropicClient(given, model or ANTHROPIC_MODEL)
    return FunctionModel(given) if callable(given) and not isinstance(given, type) else given


class OpenAIClient:
    """A model behind a client of OpenAI's SDK. Safe to share between threads."""

    def __init__(self, client: Any, model: str = "") -> None:
        self._client, self._model = client, model
        self._chat: OpenAIChat | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name, or the server's address if its first model is used."""
        return self._model or (OPENAI_MODEL if self._is_own() else str(self._client.base_url))

    def chat(self, messages: Sequence[Message], **options: Any) -> Reply:
        """As `OpenAIChat.chat`."""
        return self._opened().chat(messages, **options)

    def _is_own(self) -> bool:
        return str(self._client.base_url).startswith("https://api.openai.com/")

    def _opened(self) -> OpenAIChat:
        with self._lock:
            if self._chat is None:
                self._model = self._model or (OPENAI_MODEL if self._is_own() else self._first())
                self._chat = OpenAIChat(self._model, client=self._client)
            return self._chat

    def _first(self) -> str:
        try:
            return str(next(iter(self._client.models.list())).id)
        except Exception as error:
            raise InfrastructureError(
                f"{self._client.base_url} lists no model ({type(error).__name__}): name one, "
                "llm=seasoned.llm.clients.model_of(client, 'NAME')"
            ) from None


class _SchemaInWords:
    """A model that gets a schema as words in the prompt; `_ask` sends one prompt."""

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        stop: Sequence[str] | None = None,
        max_tokens: int | None = None,
        temperature: float = 0.0,
    ) -> Reply:
        """Get one reply; the model uses its own temperature.

        Raises:
            InfrastructureError: the model failed, or gave no text.
            LLMError: the other errors of a server, as in `OpenAIChat.chat`.
            ParseError: with `schema`: neither the reply nor the answer to one re-ask fits it.
        """

        def send(prompt: list[Message], form: Any) -> Reply:
            return self._ask(prompt, stop, max_tokens)

        return send(list(messages), None) if schema is None else descend(send, messages, schema, ("text",))[0]

    def _ask(self, prompt: list[Message], stop: Sequence[str] | None, max_tokens: int | None) -> Reply:
        raise NotImplementedError


class AnthropicClient(_SchemaInWords):
    """A model behind a client of Anthropic's SDK. Safe to share between threads."""

    def __init__(self, client: Any, model: str) -> None:
        self._client, self.name = client, model

    def _ask(self, prompt: list[Message], stop: Sequence[str] | None, max_tokens: int | None) -> Reply:
        import anthropic

        began = time.perf_counter()
        system = "\n\n".join(message["content"] for message in prompt if message["role"] == "system")
        request: dict[str, Any] = {"model": self.name, "max_tokens": max_tokens or MAX_TOKENS}
        request["messages"] = [message for message in prompt if message["role"] != "system"]
        request |= {"system": system} if system else {}
        request |= {"stop_sequences": list(stop)} if stop else {}
        try:
            body = self._client.messages.create(**request).model_dump(warnings=False)
        except anthropic.AnthropicError as error:
            raise self._translated(error) from None
        return self._reply(body, time.perf_counter() - began)

    def _translated(self, error: Any) -> LLMError:
        import anthropic

        problem = f"{self._client.base_url} failed for {self.name}: {shorten(' '.join(str(error).split()), 300)}"
        if isinstance(error, anthropic.AuthenticationError | anthropic.PermissionDeniedError):
            return AuthError(f"{problem}: check ANTHROPIC_API_KEY.")
        if isinstance(error, anthropic.APIStatusError) and error.status_code in (400, 404, 413, 422):
            too_long = error.status_code == 413 or TOO_LONG.search(str(error))
            return ContextLengthError(f"the prompt is too long: {problem}") if too_long else RequestError(problem)
        return InfrastructureError(f"{problem}. Try again later.")

    def _reply(self, body: Any, seconds: float) -> Reply:
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
        read, cached, stored, completion = (count_at(body, "usage", name) or 0 for name in names)
        tokens = {"prompt_tokens": read + cached + stored, "cached_tokens": cached, "completion_tokens": completion}
        price = cost(self.name, "https://api.anthropic.com", **tokens)
        finish = "length" if at(body, "stop_reason") == "max_tokens" else "stop"
        usage = Usage(**tokens, calls=1, cost=price, seconds=seconds)
        return Reply(text=storable(words_of(body) or ""), finish_reason=finish, model=self.name, usage=usage)


class FunctionModel(_SchemaInWords):
    """A function of messages as a model; the function limits the length of its replies itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.name = str(getattr(function, "__name__", "") or type(function).__name__)

    def _ask(self, prompt: list[Message], stop: Sequence[str] | None, max_tokens: int | None) -> Reply:
        began = time.perf_counter()
        try:
            result = waited(self._function([dict(message) for message in prompt]))
        except LLMError:
            raise
        except Exception as error:
            raise InfrastructureError(f"the model {self.name} failed: {type(error).__name__}: {error}") from error
        if isinstance(result, Reply):
            return result
        text = _text_of(result)
        if text is None:
            raise InfrastructureError(f"the model {self.name} gave no text but {shorten(repr(result), 200)}")
        usage = Usage(calls=1, cost=None, seconds=time.perf_counter() - began)
        return Reply(text=storable(cut(text, stop)), model=self.name, usage=usage)


def _text_of(result: Any) -> str | None:
    """The text of a function's result, which is a text or a client's reply; None if it has none."""
    if isinstance(result, str):
        return result
    dump = getattr(result, "model_dump", None)
    body = dump() if callable(dump) else result
    message = at(body, "choices", 0, "message")
    output = at(body, "output_text") or getattr(result, "output_text", None)
    return output if isinstance(output, str) else words_of(message if message is not None else body)

"""What a server's or the SDK's error means: which class of the LLMError tree, and which sentence.

Always holds: every SDK error becomes one of ours; the server's own words are shortened and hold no key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seasoned.errors import AuthError, ContextLengthError, InfrastructureError, LLMError, RequestError
from seasoned.llm.structured import clean, shorten

if TYPE_CHECKING:
    import openai

_DROPPABLE = ("max_tokens", "temperature", "stop", "seed")
_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecognized|unknown|not permitted|only the default", re.I
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|maximum model length|available context size"
    r"|context (window|length|size)|prompt is too long",
    re.I,
)


def translated(
    error: openai.OpenAIError, *, where: str, model: str, timeout: float, secrets: Sequence[str] = ()
) -> LLMError:
    """The error of our tree for one of the SDK's.

    Args:
        error: what the SDK raised, after its retries.
        where: the server's address, for the sentence.
        model: the model that was asked.
        timeout: the seconds a try was given.
        secrets: texts to take out of what the server said.
    """
    import openai

    tries = _tries(error)
    if isinstance(error, openai.APITimeoutError):
        return InfrastructureError(
            f"{where} did not answer within {timeout:g} s ({tries}): check that it is running and has a slot free, or "
            "allow more time."
        )
    if isinstance(error, openai.APIConnectionError):
        return InfrastructureError(
            f"{where} cannot be reached or cut the connection ({tries}; {type(error.__cause__).__name__}): check the "
            "address and that the server is running."
        )
    if not isinstance(error, openai.APIStatusError):
        return InfrastructureError(f"the client for {where} failed ({tries}): {safe(str(error), secrets)}")
    status, said = error.status_code, safe(_message(error), secrets)
    if status in (401, 403):
        return AuthError(f"{where} refused the API key ({status}: {said}): check OPENAI_API_KEY.")
    if _TOO_LONG.search(f"{error.code} {error.type} {_message(error)}"):
        return ContextLengthError(
            f"the prompt does not fit into the context of {model} ({status}: {said}): shorten the guidance or the "
            "history, ask for fewer tokens, or give the model a larger context."
        )
    if status >= 500 or status in (408, 409, 429):
        return InfrastructureError(
            f"{where} failed with status {status} ({tries}): {said}. Try again later, or with fewer requests at a time."
        )
    hint = f": check the model's name {model!r} and the address" if status == 404 else ""
    return RequestError(f"{where} refused the request with status {status}: {said}{hint}")


def refused_parameter(error: openai.OpenAIError, request: Mapping[str, Any]) -> str | None:
    """The parameter of the request that the server says it does not support, None when it says something else."""
    import openai

    if not isinstance(error, openai.APIStatusError) or error.status_code not in (400, 422):
        return None
    said = _message(error)
    if not _UNSUPPORTED.search(f"{error.code} {said}"):
        return None
    sent = [name for name in _DROPPABLE if name in request]
    if error.param:
        return error.param if error.param in sent else None
    return next((name for name in sent if re.search(rf"\b{name}\b", said)), None)


def safe(text: str, secrets: Sequence[str] = ()) -> str:
    """A server's words as they can stand in a message: short, storable, the secrets taken out."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return shorten(clean(text), 500)


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict):
        for place in ("message", "detail", "error"):
            if isinstance(body.get(place), str):
                return str(body[place])
        return json.dumps(body, default=str)
    return body if isinstance(body, str) and body else error.message


def _tries(error: openai.OpenAIError) -> str:
    request = getattr(error, "request", None)
    retries = str(request.headers.get("x-stainless-retry-count", "")) if request is not None else ""
    count = int(retries) + 1 if retries.isdecimal() else 1
    return "1 try" if count == 1 else f"{count} tries"

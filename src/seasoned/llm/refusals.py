"""What a server refuses a chat for: a prompt that is too long, or a parameter that it does not take.

Always holds: what it refuses for other reasons is left to `seasoned.endpoint`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seasoned.endpoint import Endpoint, said_in
from seasoned.errors import ContextLengthError, LLMError

if TYPE_CHECKING:
    import openai

_DROPPABLE = ("max_tokens", "temperature", "stop", "seed")
_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecognized|unknown|not permitted|only the default|deprecated"
    r"|only .{0,20}(?:is|are) allowed|must be strictly positive",
    re.I,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum (context|model|prompt) length|available context size"
    r"|context (window|length|size)|(prompt|input) is too long|reduce the length of the (messages|prompt|input)"
    r"|input token count .{0,40}exceeds|`inputs`? (tokens|must have less)",
    re.I,
)


def translated(endpoint: Endpoint, error: openai.OpenAIError, model: str) -> LLMError:
    """The error of our tree for one that the SDK raised after its retries; `model` was asked."""
    import openai

    if isinstance(error, openai.APIStatusError) and error.status_code not in (401, 403):
        said = said_in(error)
        if error.status_code == 413 or _TOO_LONG.search(f"{error.code} {error.type} {said}"):
            return ContextLengthError(
                f"the prompt does not fit into the context of {model} ({error.status_code}: {endpoint.safe(said)}): "
                "shorten the guidance or the history, ask for fewer tokens, or give the model a larger context."
            )
    return endpoint.translated(error, model)


def refused_parameter(error: openai.OpenAIError, request: Mapping[str, Any]) -> str | None:
    """The parameter of the request that the server says it does not support, None when it says something else."""
    import openai

    if not isinstance(error, openai.APIStatusError) or error.status_code not in (400, 422):
        return None
    said = said_in(error)
    if not _UNSUPPORTED.search(f"{error.code} {said}"):
        return None
    sent = [name for name in _DROPPABLE if name in request]
    if error.param:
        return error.param if error.param in sent else None
    return next((name for name in sent if re.search(rf"\b{name}\b", said)), None)

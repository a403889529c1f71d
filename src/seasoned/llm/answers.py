"""What a server of chat models answers, as untrusted JSON: the words, why they ended, and what they cost.

Always holds: whatever a server sends, nothing here raises; what is not there, or is of another type, is None.
"""

from __future__ import annotations

import json
import math
from typing import Any

from seasoned.llm.pricing import cost
from seasoned.types import Usage

_NEVER = -700.0  # a logarithm below which a number is as good as 0


def read_body(content: bytes) -> Any:
    """The JSON of a body, None where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def at(value: Any, *path: str | int) -> Any:
    """What lies at a path of keys and indices inside JSON, None where it does not lead on."""
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and len(value) > part:
            value = value[part]
        else:
            return None
    return value


def words_of(message: Any) -> str | None:
    """The words of a chat message: content, its text parts, or a refusal."""
    content = at(message, "content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(at(part, "text"), str))
    words = content if isinstance(content, str) else at(message, "refusal")
    return words if isinstance(words, str) else None


def fault_of(body: Any) -> str:
    """What went wrong although the server's status is a good one, as gateways tell it; "" where nothing did."""
    for error in (at(body, "error"), at(body, "choices", 0, "error")):
        if error:
            said = error if isinstance(error, str) else at(error, "message")
            return said if isinstance(said, str) and said.strip() else "it does not say what"
    return "its finish_reason is error" if at(body, "choices", 0, "finish_reason") == "error" else ""


def odds_of(body: Any) -> dict[str, float]:
    """How likely the words were that a reply could have begun with, of those that the server names."""
    named = at(body, "choices", 0, "logprobs", "content", 0, "top_logprobs")
    odds: dict[str, float] = {}
    for each in named if isinstance(named, list) else ():
        token, logprob = at(each, "token"), at(each, "logprob")
        if isinstance(token, str) and isinstance(logprob, int | float) and _NEVER < logprob <= 0:
            odds[token] = odds.get(token, 0.0) + math.exp(logprob)
    return odds


def usage_of(body: Any, seconds: float, *, model: str, base_url: str | None) -> Usage:
    """The tokens of one call; its cost in dollars is known only where the server counts both prompt and reply.

    Args:
        body: the answer's JSON.
        seconds: that it took.
        model: which was asked, for its price.
        base_url: of the server, None for OpenAI's own.
    """
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
    return Usage(**tokens, calls=1, cost=cost(model, base_url, **tokens) if known else None, seconds=seconds)


def _count(body: Any, *path: str) -> int | None:
    value = at(body, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

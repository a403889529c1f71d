"""A model's window, and the room it leaves in a prompt for texts that may be cut.

A model with a small or unknown window gets the room that was used to measure small models. Always holds: a longer
window never gives less room; a model needs only `chat` for this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from seasoned.errors import ContextLengthError
from seasoned.llm.tools import chat_of
from seasoned.protocols import LLM
from seasoned.types import ChatOptions, Message, Reply

MEASURED = 8192
"""The window in tokens up to which the room is the one that was used to measure small models."""
LONG_TEXT = 8000
"""The most characters of one lesson if the window is longer: about 2,000 tokens."""


def window_of(llm: object) -> int | None:
    """A model's window in tokens, prompt and reply together; None if unknown."""
    window = getattr(llm, "window", None)
    return window if isinstance(window, int) and window > 0 else None


def is_roomy(llm: object) -> bool:
    """Whether a model's window is known to be longer than `MEASURED`."""
    return (window_of(llm) or 0) > MEASURED


def room_for(llm: object, measured: int) -> int:
    """The room in a prompt for texts that may be cut, in tokens: three quarters of a long window, else `measured`."""
    return max(measured, 3 * (window_of(llm) or 0) // 4) if is_roomy(llm) else measured


def listed_window(model: str, base_url: str | None = None) -> int | None:
    """The window of a vendor's model in the price list; None if it is not listed."""
    try:
        from genai_prices import data_snapshot

        return data_snapshot.get_snapshot().find_provider_model(model, None, None, base_url)[1].context_window
    except Exception:  # a list that cannot be read must not stop a run
        return None


def said_window(body: Any, model: str) -> int | None:
    """The window of a model in a server's list of models, under any field name that servers use; None if not there."""
    entries = body.get("data") if isinstance(body, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("id") == model:
            for name in ("max_model_len", "context_length", "context_window", "max_context_length"):
                window = entry.get(name)
                if isinstance(window, int) and not isinstance(window, bool) and window > 0:
                    return window
    return None


class WithLonger:
    """A model, and another with a longer window for prompts that the first refuses as too long (ExpeL, appendix D.5).

    `name` is that of the first model; a reply names the model that wrote it.
    """

    def __init__(self, llm: LLM, longer: LLM) -> None:
        self.name = llm.name
        self._llm, self._longer = llm, longer

    @property
    def window(self) -> int | None:
        """The window of the other model."""
        return window_of(self._longer)

    def chat(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        """A reply of the first model, or of the other model if the first refuses the prompt as too long."""
        try:
            return chat_of(self._llm)(messages, **options)
        except ContextLengthError:
            return chat_of(self._longer)(messages, **options)


Cuts = list[tuple[int, int]]
"""For each prompt with shortened texts, the characters before and after."""


def said_of(cuts: Cuts) -> str:
    """A sentence for the report on what was left out of prompts; "" if nothing was."""
    shortened = [(before, after) for before, after in cuts if after < before]
    if not shortened:
        return ""
    before, after = (sum(each) for each in zip(*shortened, strict=True))
    prompts = f"{len(shortened)} prompt{'s' if len(shortened) > 1 else ''}"
    return (
        f"{prompts} had no room for {before - after:,} of {before:,} characters of attempts: a model with a longer "
        "window, or one named under [longer], sees all of them"
    )

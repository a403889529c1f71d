"""How much a model takes at once, and what room that leaves in a prompt for texts that may be cut.

A model with a small window, or one that nobody knows, gets the room that small models were measured with. Always holds:
a longer window never gives less room; a model needs no more than `chat` to be asked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seasoned.errors import ContextLengthError
from seasoned.llm.calls import Tool
from seasoned.llm.tools import ask_with_tools
from seasoned.protocols import LLM
from seasoned.types import Message, Reply

MEASURED = 8192
"""Tokens: up to such a window, room is what it was when small models were measured."""
LONG_TEXT = 8000
"""Characters of one lesson where the window is longer than that: about 2,000 tokens."""


def window_of(llm: object) -> int | None:
    """Tokens of prompt and reply together that a model takes; None where nobody knows."""
    window = getattr(llm, "window", None)
    return window if isinstance(window, int) and window > 0 else None


def is_roomy(llm: object) -> bool:
    """Whether a model is known to take more than small ones do."""
    return (window_of(llm) or 0) > MEASURED


def room_for(llm: object, measured: int) -> int:
    """Tokens of a prompt for texts that may be cut: three quarters of a long window, else what was measured."""
    return max(measured, 3 * (window_of(llm) or 0) // 4) if is_roomy(llm) else measured


def listed_window(model: str, base_url: str | None = None) -> int | None:
    """The window of a vendor's model, as the price list has it; None where it is not listed."""
    try:
        from genai_prices import data_snapshot

        return data_snapshot.get_snapshot().find_provider_model(model, None, None, base_url)[1].context_window
    except Exception:  # a list that cannot be read must not stop a run
        return None


def said_window(body: Any, model: str) -> int | None:
    """The window of a model in a server's list of models, under any of the names that servers have for it."""
    listed = body.get("data") if isinstance(body, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("id") == model:
            for name in ("max_model_len", "context_length", "context_window", "max_context_length"):
                said = entry.get(name)
                if isinstance(said, int) and not isinstance(said, bool) and said > 0:
                    return said
    return None


class WithLonger:
    """A model, and another with a longer window for the prompts that it refuses as too long (ExpeL, appendix D.5).

    `name` is the first one's; a reply names the model that wrote it.
    """

    def __init__(self, llm: LLM, longer: LLM) -> None:
        self.name = llm.name
        self._llm, self._longer = llm, longer

    @property
    def window(self) -> int | None:
        """The longer one's."""
        return window_of(self._longer)

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
        """A reply of the first one, or of the other where that one refuses the prompt as too long.

        Raises:
            LLMError: as the models raise it.
        """
        options: dict[str, Any] = {"stop": stop, "max_tokens": max_tokens, "temperature": temperature}
        options["schema"] = schema
        try:
            return ask_with_tools(self._llm, messages, tools, tool_choice, **options)
        except ContextLengthError:
            return ask_with_tools(self._longer, messages, tools, tool_choice, **options)


Cuts = list[tuple[int, int]]
"""Of each prompt whose texts were shortened: characters that there were, and that were kept."""


def said_of(cuts: Cuts) -> str:
    """What was left out of prompts, in a sentence for the report; "" where nothing was."""
    short = [(whole, kept) for whole, kept in cuts if kept < whole]
    if not short:
        return ""
    whole, kept = (sum(each) for each in zip(*short, strict=True))
    prompts = f"{len(short)} prompt{'s' if len(short) > 1 else ''}"
    return (
        f"{prompts} had no room for {whole - kept:,} of {whole:,} characters of attempts: a model with a longer "
        "window, or one named under [longer], sees all of them"
    )

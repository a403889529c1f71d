"""The model that a memory learns and judges with.

Always holds: it is opened when it is first asked, once; what was opened here is closed here; a reply for a schema has a
`parsed` that fits it, also where somebody's own model gives text alone.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from seasoned.errors import ConfigError
from seasoned.llm.structured import with_parsed
from seasoned.protocols import LLM
from seasoned.types import Message, Reply


class LateModel:
    """A model by name, given, or none: then it says so when it is asked. Safe in threads."""

    def __init__(self, llm: str | LLM | None) -> None:
        """Open nothing yet.

        Args:
            llm: "local" for the bundled model, another name for `OpenAIChat` (address and key from `OPENAI_BASE_URL`
                and `OPENAI_API_KEY`), a model, or None.

        Raises:
            ConfigError: when it is none of these.
        """
        if llm == "" or not isinstance(llm, str | LLM | None):
            raise ConfigError(f"llm should be the name of a model, such as 'local', a model, or None; it was {llm!r}")
        self._llm = llm
        self._opened = None if isinstance(llm, str) else llm
        self._closing = ExitStack()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name, as it was given; "" where there is none."""
        return self._llm if isinstance(self._llm, str) else "" if self._llm is None else self._llm.name

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        stop: Sequence[str] | None = None,
        max_tokens: int | None = None,
        temperature: float = 0.0,
    ) -> Reply:
        """One reply of the model.

        Raises:
            ConfigError: when there is no model.
            LLMError: as the model raises it; a ParseError where it gave no `parsed`, and its text does not fit.
        """
        model = self._open()
        reply = model.chat(messages, schema=schema, stop=stop, max_tokens=max_tokens, temperature=temperature)
        return with_parsed(reply, schema, model.name)

    def close(self) -> None:
        """Close the model if it was opened here; the next question opens it again."""
        with self._lock:
            if isinstance(self._llm, str):
                self._opened = None
            self._closing.close()

    def _open(self) -> LLM:
        with self._lock:
            if self._opened is None:
                if self._llm is None:
                    raise ConfigError(
                        "this method learns with a model, and the memory has none: "
                        "Memory(.., llm='gpt-5-mini'), or llm='local' for the bundled one"
                    )
                from seasoned.llm.opening import ModelSettings, open_llm

                self._opened = self._closing.enter_context(open_llm(ModelSettings(model=str(self._llm))))
            return self._opened

"""Opens a memory's parts: checks its arguments, makes its embedder, and its model for learning and judging.

Always holds: errors are sentences that name the argument; the model is opened once, at its first use, and closed here
if it was opened here; only an unknown outcome is judged, a verdict is marked in `meta["judged"]`, and if the model
fails the outcome stays unknown.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, SupportsFloat, Unpack

from seasoned.errors import ConfigError, LLMError
from seasoned.llm.clients import AnyModel, model_of
from seasoned.llm.structured import closed_object, with_parsed
from seasoned.llm.tools import chat_of
from seasoned.llm.window import listed_window, window_of
from seasoned.methods import method_names
from seasoned.protocols import LLM, Embedder
from seasoned.store.sql import Store
from seasoned.text import prompt_line, render_prompt, transcript
from seasoned.trust import Secret, enclosed
from seasoned.types import ChatOptions, Message, Reply, Trajectory, Usage

log = logging.getLogger(__name__)

ROOM = 8_000
"""Characters of a record in a prompt; longer ones are shortened, the longest observations first."""

_CAP = 600
_METHOD = "method"
_SCHEMA = closed_object({"reason": {"type": "string", "maxLength": _CAP}, "done": {"type": "boolean"}})


def check_arguments(store: object, namespace: object, cap: object, success_at: object, secrets: object) -> None:
    """Raise ConfigError if one of these arguments of `Memory` is invalid."""
    if not store or not isinstance(store, str | Path | Store):
        raise ConfigError(f"the store of a memory must be a file, a postgresql:// address or a Store, not {store!r}")
    if not namespace or not isinstance(namespace, str):
        raise ConfigError(f"a namespace must be a text, such as a user's or a project's name, not {namespace!r}")
    if not isinstance(cap, int) or isinstance(cap, bool) or cap < 1:
        raise ConfigError(f"the cap of guidance must be a number of characters, 1 or more, not {cap!r}")
    if finite(success_at) is None:
        raise ConfigError(f"success_at, the reward that counts as success, must be a finite number, not {success_at!r}")
    listed = isinstance(secrets, Sequence) and all(isinstance(each, Secret) for each in secrets)
    if secrets is not None and not listed:
        raise ConfigError(f"secrets must be a list of seasoned.trust.Secret(name, pattern), not {secrets!r:.200}")


def keep_method(store: Store, scope: str, name: str) -> None:
    """Store the name of the method that a memory learned with, unless it is a user's own."""
    if name in method_names() and store.marked(scope, _METHOD) != name:
        store.mark(scope, _METHOD, name)


def usual_method(store: Store, namespace: str) -> str:
    """The method that a memory learned with last, or "erl"; for programs that did not create the memory."""
    name = store.marked(f"memory/{namespace}", _METHOD)
    return name if name in method_names() else "erl"


def finite(value: object) -> float | None:
    """The value as a finite number, or None; a text gives None."""
    if not isinstance(value, SupportsFloat):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def open_embedder(given: str | Embedder | None) -> Embedder | None:
    """The embedder of a name, or the given one; it remembers its latest vectors. None stays None.

    "auto" is "static" if it is installed, or else "hashing", and the log says once what is missing.

    Raises:
        ConfigError: when it is not an embedder, or the name is unknown.
        MissingExtraError: when one of its libraries is not installed.
    """
    if given is not None and not isinstance(given, str | Embedder):
        raise ConfigError(f"an embedder must be a name such as 'static', an embedder, or None, not {given!r:.80}")
    if given is None:
        return None
    from seasoned.embed.recent import Recent

    if not isinstance(given, str):
        return Recent(given)
    from seasoned.embed import default_embedder, embedder

    if given == "auto":
        given = default_embedder()
        if given == "hashing":
            _say_what_is_missing()
    return Recent(embedder(given))


@cache
def _say_what_is_missing() -> None:
    from seasoned.embed.static import advice

    log.warning(
        "wordllama is not installed, so lessons are found by the words and letters they share with a task, not by "
        "meaning. To install it: %s. To keep it as it is: Memory(.., embedder='hashing')",
        advice(),
    )


class NoModel(ConfigError):  # noqa: N818 - raised when a memory without a model needs one
    """The memory has no model."""


class LateModel:
    """A model that is opened at its first use; without one, any use raises NoModel. Safe in threads.

    `llm` is as for `Memory`; a name other than "local" is for `OpenAIChat`, with the address and key of
    `OPENAI_BASE_URL` and `OPENAI_API_KEY`.
    """

    def __init__(self, llm: AnyModel | None) -> None:
        llm = model_of(llm)
        if llm == "" or not isinstance(llm, str | LLM | None):
            raise ConfigError(
                "llm must be the name of a model, such as 'local', a model, an SDK's client, a function that answers "
                f"messages, or None, not {llm!r}"
            )
        self._llm = llm
        self._opened = None if isinstance(llm, str) else llm
        self._closing = ExitStack()
        self._lock = threading.Lock()
        self.used = Usage()
        self.before: Callable[[Usage], None] | None = None  # called before each call, with the usage so far

    @property
    def name(self) -> str:
        """The model's name as given, or ""."""
        return self._llm if isinstance(self._llm, str) else "" if self._llm is None else self._llm.name

    @property
    def window(self) -> int | None:
        """The model's window in tokens, if known without opening it."""
        return listed_window(self.name) if self._opened is None else window_of(self._opened)

    def chat(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        """One reply of the model.

        Raises:
            ConfigError: when there is no model.
            LLMError: whatever the model raises; a ParseError if it gave no `parsed` and its text does not fit.
        """
        if self.before is not None:
            self.before(self.used)
        model = self._open()
        try:
            reply = chat_of(model)(messages, **options)
        except LLMError as error:
            self._count(getattr(error.reply, "usage", Usage()))
            raise
        self._count(reply.usage)
        schema = None if options.get("tools") else options.get("schema")
        return reply if schema is None else with_parsed(reply, schema, model.name)

    def taken(self) -> Usage:
        """The usage since the last call of this method."""
        with self._lock:
            used, self.used = self.used, Usage()
        return used

    def _count(self, usage: Usage) -> None:
        with self._lock:
            self.used += usage

    def close(self) -> None:
        """Close the model if it was opened here; the next call opens it again."""
        with self._lock:
            if isinstance(self._llm, str):
                self._opened = None
            self._closing.close()

    def _open(self) -> LLM:
        with self._lock:
            if self._opened is None:
                if self._llm is None:
                    raise NoModel(
                        "this method learns with a model, and the memory has none: "
                        "Memory(.., llm='gpt-5-mini'), or llm='local' for the bundled one"
                    )
                from seasoned.llm.opening import ModelSettings, open_llm

                self._opened = self._closing.enter_context(open_llm(ModelSettings(model=str(self._llm))))
            return self._opened


def judge(trajectory: Trajectory, llm: LLM) -> Trajectory:
    """The attempt with the model's verdict as its outcome, and {"done", "reason", "model"} in `meta["judged"]`.

    If the model fails, the attempt stays unknown and `meta["judged"]` is {"error"}.
    """
    if trajectory.outcome.success is not None:
        return trajectory
    answer = prompt_line(trajectory.outcome.answer, _CAP)
    record = transcript(trajectory, limit=ROOM) + (f"\nAnswer: {answer}" if answer else "")
    messages = [
        {"role": "system", "content": render_prompt("seasoned.memory", "judge_system.j2")},
        {"role": "user", "content": render_prompt("seasoned.memory", "judge.j2", record=enclosed(record, "record"))},
    ]
    try:
        reply = llm.chat(messages, schema=_SCHEMA, max_tokens=300)
    except LLMError as error:
        log.warning("an attempt could not be judged and stays unknown: %s", error)
        verdict: dict[str, Any] = {"error": str(error)[:_CAP]}
        return trajectory.model_copy(update={"meta": {**trajectory.meta, "judged": verdict}})
    done, reason = bool(reply.parsed["done"]), prompt_line(str(reply.parsed["reason"]), _CAP)
    verdict = {"done": done, "reason": reason, "model": reply.model or llm.name}
    outcome = trajectory.outcome.model_copy(update={"success": done, "reward": float(done)})
    update = {"outcome": outcome, "usage": trajectory.usage + reply.usage}
    return trajectory.model_copy(update={**update, "meta": {**trajectory.meta, "judged": verdict}})

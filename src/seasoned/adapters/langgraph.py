"""A graph of LangGraph with a memory: guidance is a system message of its state, and the conversation is recorded.

Always holds: the graph and its input stay unchanged; a stream has the same chunks as the graph's own; a state has at
most one message of guidance, that of the last run, also in a thread with a checkpointer.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seasoned.adapters.running import Run, Where, asked, checked
from seasoned.errors import ConfigError
from seasoned.jobs import off_loop
from seasoned.memory import Memory
from seasoned.memory.checks import Check

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

ID = "seasoned-guidance"
"""The id of the message of guidance: LangGraph puts a message in the place of an earlier one of the same id."""


def remembering(where: Where, graph: Any, *, check: Check | None = None, agent: str = "", key: str = "messages") -> Any:
    """Return a copy of a compiled graph, such as one of LangChain's `create_agent`. Each run of the copy is an attempt.

    The task is the last user message of the input. The copy supports all methods of the graph: `invoke`, `stream`,
    `batch`, `astream_events` and so on, with the same chunks.

    Args:
        where: a memory, or an attempt that the runs belong to.
        graph: a compiled graph whose state has messages.
        check: takes the attempt, or the task and the last message's text, and returns the outcome; see `memory.checks`.
        agent: the agent's name, for the record; default: the graph's name.
        key: the field of the state that has the messages; they need the reducer `add_messages`, as in
            `MessagesState`.

    Raises:
        ConfigError: when an argument has the wrong type or value.
        MissingExtraError: when LangGraph is not installed.
    """
    checked(where, check, "langgraph.pregel", "langgraph")
    from langgraph.pregel import Pregel

    if not isinstance(graph, Pregel):
        raise ConfigError(f"the graph should be a compiled one of LangGraph, and is a {type(graph).__name__}")
    remembered = copy.copy(graph)
    remembered.__class__ = _remembering(type(graph), _Runs(where, check, agent or graph.name or "", key))
    return remembered


def _remembering(kind: Any, runs: _Runs) -> Any:
    """A class of graphs whose streams remember; all other ways to run a graph go through these two."""

    class Remembering(kind):  # type: ignore[misc]
        def stream(self, given: Any, config: Any = None, **options: Any) -> Iterator[Any]:
            held = self.get_state(config) if _has_threads(self) else None
            run, full, first = runs.begin(given, held)
            chunks = _Chunks(options, self.stream_mode)
            run.on_error = lambda error: run.attempt.messages(runs.said(chunks.state, first))
            with run:
                for chunk in super().stream(full, config, **chunks.options):
                    yield from chunks.wanted(chunk)
                run.record(runs.end, run, chunks.state, chunks.waits, first)

        async def astream(self, given: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
            held = await self.aget_state(config) if _has_threads(self) else None
            run, full, first = await off_loop(runs.begin, given, held)
            chunks = _Chunks(options, self.stream_mode)
            run.on_error = lambda error: run.attempt.messages(runs.said(chunks.state, first))
            async with run:
                async for chunk in super().astream(full, config, **chunks.options):
                    for each in chunks.wanted(chunk):
                        yield each
                await off_loop(run.record, runs.end, run, chunks.state, chunks.waits, first)

    Remembering.__name__, Remembering.__qualname__ = kind.__name__, kind.__qualname__
    return Remembering


def _has_threads(graph: Any) -> bool:
    return not isinstance(graph.checkpointer, bool | None)


class _Chunks:
    """The chunks of a stream that also says what the graph's state is after each step, which the agent may not want.

    `options` are the stream's, with that; `state` is the state as it was said last, and `waits` whether the graph waits
    for a person then.
    """

    def __init__(self, options: dict[str, Any], usual: Any) -> None:
        mode = options.get("stream_mode") or usual
        self._listed, self._nested = isinstance(mode, list), bool(options.get("subgraphs"))
        self._typed = options.get("version") == "v2"
        self._modes = [mode] if isinstance(mode, str) else list(mode)
        self._place: Any = None
        self.state: Any = None
        self.waits = False
        self.options = {**options, "stream_mode": [*dict.fromkeys([*self._modes, "values"])]}

    def wanted(self, chunk: Any) -> Iterator[Any]:
        """The chunk as the agent asked for it, if it did."""
        if self._typed:
            place, mode, said, waits = chunk["ns"], chunk["type"], chunk["data"], chunk.get("interrupts")
        else:
            place, mode, said = chunk if self._nested else ((), *chunk)
            waits = isinstance(said, dict) and "__interrupt__" in said
        if mode == "values":
            self._place = place if self._place is None else self._place  # its own state is said before all others'
            if place == self._place:
                self.state, self.waits = said, bool(waits)
        if mode in self._modes:
            yield chunk if self._typed or self._listed else (place, said) if self._nested else said


@dataclass(frozen=True)
class _Runs:
    """How the runs of a graph become attempts."""

    where: Where
    check: Check | None
    name: str
    key: str

    def begin(self, given: Any, held: Any) -> tuple[Run, Any, str]:
        """The attempt of a run, its input with guidance, and the id of the first message that is the user's own.

        `held` is the state of the thread that the run goes on with, if any.
        """
        from langchain_core.messages import RemoveMessage, SystemMessage

        messages = _given(given, self.key)
        if not messages and isinstance(self.where, Memory):
            raise ConfigError(
                f"the task of a run is read from its input, which has no {self.key!r}; to go on with a run that was "
                "interrupted, begin an attempt and give that: remembering(attempt, graph)"
            )
        run = Run(self.where, asked(_plain(messages)), check=self.check, agent=self.name)
        if not messages:
            return run, given, ""
        lead: list[BaseMessage] = [SystemMessage(run.guidance, id=ID)] if run.guidance else []
        run.attempt.messages(_plain(_led(messages, lead)))
        if not lead and held and _place(_messages(held.values, self.key), ID) is not None:
            lead = [RemoveMessage(id=ID)]
        return run, {**given, self.key: _led(messages, lead)}, messages[0].id or ""

    def said(self, state: Any, first: str) -> list[dict[str, Any]]:
        """What was said since the input began."""
        said = _messages(state, self.key)
        at = _place(said, first) or 0
        earlier = _place(said[:at], ID)  # in a thread, guidance stays where it first was
        return _plain(said[at:] if earlier is None else _led(said[at:], [said[earlier]]))

    def end(self, run: Run, state: Any, waits: bool, first: str) -> None:
        """Record a run, and finish its attempt unless the graph waits for a person."""
        new = self.said(state, first)
        run.attempt.messages(new)
        if not waits:
            run.ended(str(new[-1].get("content") or "") if new else "")


def _given(given: Any, key: str) -> list[BaseMessage]:
    """The messages of an input, each with an id, so that they are found again in the result."""
    from langchain_core.messages import convert_to_messages

    raw = given.get(key) if isinstance(given, dict) else None
    several = [raw] if raw and not isinstance(raw, list) else raw or []
    return [m.model_copy(update={"id": m.id or str(uuid.uuid4())}) for m in convert_to_messages(several)]


def _led(messages: list[BaseMessage], lead: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages with these after their own system messages; constant text first, for a server's prefix cache."""
    after = next((place for place, message in enumerate(messages) if message.type != "system"), len(messages))
    return [*messages[:after], *lead, *messages[after:]]


def _messages(state: Any, key: str) -> list[Any]:
    return list((state.get(key) if isinstance(state, dict) else getattr(state, key, None)) or ())


def _place(messages: Sequence[Any], wanted: str) -> int | None:
    return next((place for place, message in enumerate(messages) if getattr(message, "id", None) == wanted), None)


def _plain(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    from langchain_core.messages import convert_to_openai_messages

    plain = convert_to_openai_messages(messages)
    return plain if isinstance(plain, list) else [plain]

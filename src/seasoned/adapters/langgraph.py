"""A LangGraph graph with a memory: guidance is a system message in its state, and the conversation is recorded.

Always holds: the graph and its input stay unchanged; a stream has the same chunks as the graph's own; a state has at
most one guidance message, that of the last run, even in a thread with a checkpointer.
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
"""The id of the guidance message: LangGraph replaces an earlier message with the same id."""


def remembering(where: Where, graph: Any, *, check: Check | None = None, agent: str = "", key: str = "messages") -> Any:
    """Return a copy of a compiled graph, such as one of LangChain's `create_agent`. Each run of the copy is an attempt.

    The task is the last user message of the input, and the answer the last message's text. The copy supports all
    methods of the graph: `invoke`, `stream`, `batch`, `astream_events` and so on, with the same chunks. `key` is the
    state's field with the messages; it needs the reducer `add_messages`, as in `MessagesState`. The agent's default
    name is the graph's. See `seasoned.adapters` for the other arguments.
    """
    checked(where, check, "langgraph.pregel", "langgraph")
    from langgraph.pregel import Pregel

    if not isinstance(graph, Pregel):
        raise ConfigError(f"the graph should be a compiled LangGraph graph, and is a {type(graph).__name__}")
    remembered = copy.copy(graph)
    remembered.__class__ = _remembering(type(graph), _Runs(where, check, agent or graph.name or "", key))
    return remembered


def _remembering(kind: Any, runs: _Runs) -> Any:
    """A subclass of graphs whose streams are recorded; all other ways to run a graph call these two methods."""

    class Remembering(kind):  # type: ignore[misc]
        def stream(self, given: Any, config: Any = None, **options: Any) -> Iterator[Any]:
            held = self.get_state(config) if _has_threads(self) else None
            run, full, first = runs.begin(given, held)
            chunks = _Chunks(options, self.stream_mode)
            run.on_error = lambda error: run.attempt.messages(runs.messages(chunks.state, first))
            with run:
                for chunk in super().stream(full, config, **chunks.options):
                    yield from chunks.wanted(chunk)
                run.record(runs.end, run, chunks.state, chunks.waits, first)

        async def astream(self, given: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
            held = await self.aget_state(config) if _has_threads(self) else None
            run, full, first = await off_loop(runs.begin, given, held)
            chunks = _Chunks(options, self.stream_mode)
            run.on_error = lambda error: run.attempt.messages(runs.messages(chunks.state, first))
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
    """The chunks of a stream with the graph's state after each step, which is removed if the caller does not want it.

    `options` are those of the stream, with the stream mode for states; `state` is the last state, and `waits` is
    whether the graph waits for a person there.
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
        """The chunk in the form that the caller asked for; nothing if the caller did not ask for it."""
        if self._typed:
            place, mode, data, waits = chunk["ns"], chunk["type"], chunk["data"], chunk.get("interrupts")
        else:
            place, mode, data = chunk if self._nested else ((), *chunk)
            waits = isinstance(data, dict) and "__interrupt__" in data
        if mode == "values":
            self._place = place if self._place is None else self._place  # the graph's own state is the first
            if place == self._place:
                self.state, self.waits = data, bool(waits)
        if mode in self._modes:
            yield chunk if self._typed or self._listed else (place, data) if self._nested else data


@dataclass(frozen=True)
class _Runs:
    """Begins and ends an attempt for each run of a graph."""

    where: Where
    check: Check | None
    name: str
    key: str

    def begin(self, given: Any, held: Any) -> tuple[Run, Any, str]:
        """The run, its input with guidance, and the id of the input's first message.

        `held` is the state of the thread that the run continues, if any.
        """
        from langchain_core.messages import RemoveMessage, SystemMessage

        messages = _given(given, self.key)
        if not messages and isinstance(self.where, Memory):
            raise ConfigError(
                f"the task of a run is read from its input, which has no {self.key!r}; to continue an interrupted run, "
                "begin an attempt and pass it: remembering(attempt, graph)"
            )
        run = Run(self.where, asked(_plain(messages)), check=self.check, agent=self.name)
        if not messages:
            return run, given, ""
        lead: list[BaseMessage] = [SystemMessage(run.guidance, id=ID)] if run.guidance else []
        run.attempt.messages(_plain(_led(messages, lead)))
        if not lead and held and _place(_messages(held.values, self.key), ID) is not None:
            lead = [RemoveMessage(id=ID)]
        return run, {**given, self.key: _led(messages, lead)}, messages[0].id or ""

    def messages(self, state: Any, first: str) -> list[dict[str, Any]]:
        """The messages since the start of the input."""
        messages = _messages(state, self.key)
        at = _place(messages, first) or 0
        earlier = _place(messages[:at], ID)  # in a thread, guidance keeps its first place
        return _plain(messages[at:] if earlier is None else _led(messages[at:], [messages[earlier]]))

    def end(self, run: Run, state: Any, waits: bool, first: str) -> None:
        """Record a run, and finish its attempt unless the graph waits for a person."""
        new = self.messages(state, first)
        run.attempt.messages(new)
        if not waits:
            run.ended(str(new[-1].get("content") or "") if new else "")


def _given(given: Any, key: str) -> list[BaseMessage]:
    """The messages of an input, each with an id, to find them again in the result."""
    from langchain_core.messages import convert_to_messages

    raw = given.get(key) if isinstance(given, dict) else None
    items = [raw] if raw and not isinstance(raw, list) else raw or []
    return [m.model_copy(update={"id": m.id or str(uuid.uuid4())}) for m in convert_to_messages(items)]


def _led(messages: list[BaseMessage], lead: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages, with these after the leading system messages: constant text first, for a server's prefix cache."""
    after = next((place for place, message in enumerate(messages) if message.type != "system"), len(messages))
    return [*messages[:after], *lead, *messages[after:]]


def _messages(state: Any, key: str) -> list[Any]:
    return list((state.get(key) if isinstance(state, dict) else getattr(state, key, None)) or ())


def _place(messages: Sequence[Any], name: str) -> int | None:
    return next((place for place, message in enumerate(messages) if getattr(message, "id", None) == name), None)


def _plain(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    from langchain_core.messages import convert_to_openai_messages

    plain = convert_to_openai_messages(messages)
    return plain if isinstance(plain, list) else [plain]

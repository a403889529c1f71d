"""A graph of LangGraph that remembers: guidance is a system message of its state, and what was said is recorded.

Always holds: the graph and its input stay as they were; at most one message of guidance is in a state, also in a thread
with a checkpointer, and it is that of the last run.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seasoned.adapters.running import Check, Run, Where, asked, checked
from seasoned.errors import ConfigError
from seasoned.memory import Memory

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable

ID = "seasoned-guidance"
"""The id of the message of guidance: LangGraph puts a message in the place of an earlier one of the same id."""


def remembering(
    where: Where, graph: Any, *, check: Check | None = None, agent: str = "", key: str = "messages"
) -> Runnable[Any, Any]:
    """A runnable that runs a compiled graph, also one of LangChain's `create_agent`; each run is an attempt.

    The task is what the user says last in the input. `invoke`, `ainvoke`, `batch` and `abatch` are those of the graph;
    a stream comes in one piece.

    Args:
        where: a memory, or an attempt that the runs belong to.
        graph: a compiled graph whose state has messages.
        check: told the task and the text of the last message, says whether it was solved.
        agent: who tries, for the record; the graph's name where it is empty.
        key: where in the state the messages are; they need LangGraph's reducer `add_messages`, as in `MessagesState`.

    Raises:
        ConfigError: when an argument has the wrong type or value.
        MissingExtraError: when LangGraph is not installed.
    """
    checked(where, check, "langgraph.pregel", "langgraph")
    from langchain_core.runnables import RunnableConfig, RunnableLambda
    from langgraph.pregel import Pregel

    if not isinstance(graph, Pregel):
        raise ConfigError(f"the graph should be a compiled one of LangGraph, and is a {type(graph).__name__}")
    runs = _Runs(where, check, agent or graph.name or "", key)
    threads = not isinstance(graph.checkpointer, bool | None)

    def invoke(given: Any, config: RunnableConfig, **options: Any) -> Any:
        run, full, first = runs.begin(given, graph.get_state(config) if threads else None)
        with run:
            result = graph.invoke(full, config, **options)
            run.record(runs.end, run, result, first)
        return result

    async def invoke_later(given: Any, config: RunnableConfig, **options: Any) -> Any:
        held = await graph.aget_state(config) if threads else None
        run, full, first = await asyncio.to_thread(runs.begin, given, held)
        with run:
            result = await graph.ainvoke(full, config, **options)
            await asyncio.to_thread(run.record, runs.end, run, result, first)
        return result

    return RunnableLambda(invoke, invoke_later, name=runs.name or None)


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

    def end(self, run: Run, result: Any, first: str) -> None:
        """Record what was said since the input began, and finish the attempt unless the graph waits for a person."""
        said = _messages(result, self.key)
        at = _place(said, first) or 0
        earlier = _place(said[:at], ID)  # in a thread, guidance stays where it first was
        new = _plain(said[at:] if earlier is None else _led(said[at:], [said[earlier]]))
        run.attempt.messages(new)
        if not (isinstance(result, dict) and "__interrupt__" in result):
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
    return list(state.get(key) or ()) if isinstance(state, dict) else []


def _place(messages: Sequence[Any], wanted: str) -> int | None:
    return next((place for place, message in enumerate(messages) if getattr(message, "id", None) == wanted), None)


def _plain(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    from langchain_core.messages import convert_to_openai_messages

    plain = convert_to_openai_messages(messages)
    return plain if isinstance(plain, list) else [plain]

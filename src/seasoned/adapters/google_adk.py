"""A plugin that gives apps of Google's ADK a memory: guidance in the system instruction, and a record of each run.

Always holds: one plugin serves many runs at a time; agents and events stay unchanged; guidance comes after an agent's
own instruction, for all agents of a run; a run that a tool begins inside another run is a step of the outer one.
"""

from __future__ import annotations

import json
import sys
import weakref
from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seasoned.adapters.running import Run, StreamLeft, Where, checked, recording, shown
from seasoned.jobs import off_loop
from seasoned.memory.checks import Check

if TYPE_CHECKING:
    from google.adk.plugins import BasePlugin

_calling: ContextVar[str] = ContextVar("seasoned-adk-calling", default="")
"""The invocation whose tool is running."""


def remembering(where: Where, *, check: Check | None = None, agent: str = "") -> BasePlugin:
    """Return a plugin for an app: `App(name="shop", root_agent=clerk, plugins=[remembering(memory)])`.

    Each invocation of the app is a run, except live ones; the task is the user's message. If you stop reading a run at
    an agent's final response, the run ends with that response. The answer is the last response's text, or a node's
    output if it has one; the agent's default name is that of the run's first agent. See `seasoned.adapters` for the
    arguments.
    """
    checked(where, check, "google.adk.plugins", "google-adk")
    from google.adk.plugins import BasePlugin

    runs: dict[str, _Invocation] = {}

    class Remembering(BasePlugin):  # type: ignore[misc]
        async def before_run_callback(self, *, invocation_context: Any) -> None:
            if _calling.get() in runs or invocation_context.live_request_queue is not None:
                return
            name = invocation_context.invocation_id
            by = agent or getattr(invocation_context.agent, "name", "") or invocation_context.session.app_name
            run = await off_loop(Run, where, _words(invocation_context.user_content), check=check, agent=by)
            runs[name] = _Invocation(run, name, invocation_context.session)
            run.on_error = runs[name].note
            # ADK calls no plugin if the caller of a run is cancelled.
            weakref.finalize(invocation_context, _drop, runs, name).atexit = False

        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            held = runs.get(callback_context.invocation_id) or runs.get(_calling.get())
            if held and held.run.guidance:
                llm_request.append_instructions([held.run.guidance])

        async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
            if tool_context.invocation_id in runs:
                _calling.set(tool_context.invocation_id)  # ADK runs each call in its own context

        async def after_run_callback(self, *, invocation_context: Any) -> None:
            held = runs.pop(invocation_context.invocation_id, None)
            if held and isinstance(sys.exception(), GeneratorExit | CancelledError):
                held.run.record(held.end)  # the event loop may be closing, and a closed stream must not wait
            elif held:
                await off_loop(held.run.record, held.end)

        async def on_run_error_callback(self, *, invocation_context: Any, error: Exception) -> None:
            if held := runs.pop(invocation_context.invocation_id, None):
                await off_loop(held.run.__exit__, type(error), error, None)

    return Remembering("seasoned")


@dataclass(frozen=True)
class _Invocation:
    """A run, and the session with its events."""

    run: Run
    name: str
    session: Any

    def events(self) -> list[Any]:
        return [event for event in self.session.events if event.invocation_id == self.name]

    def note(self, error: BaseException | None = None) -> None:
        self.run.attempt.messages(chat(self.events()))

    def end(self) -> None:
        self.note()
        if (answer := _answer(self.events())) is not None:
            self.run.ended(answer)


def _drop(runs: dict[str, _Invocation], name: str) -> None:
    """Store a run that nothing ended as unknown."""
    if held := runs.pop(name, None):
        with recording(held.run):
            held.run.__exit__(StreamLeft, StreamLeft(), None)


def chat(events: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """ADK's events as OpenAI's chat messages."""
    for event in events:
        for each in event.get_function_responses():
            yield {"role": "tool", "tool_call_id": each.id or "", "content": _result(each)}
        calls = [
            {"id": c.id or "", "function": {"name": c.name, "arguments": c.args}} for c in event.get_function_calls()
        ]
        text = _words(event.content)
        if text or calls:
            role = "user" if event.author == "user" else "assistant"
            yield {"role": role, "content": text, "tool_calls": calls}


def _answer(events: Sequence[Any]) -> Any:
    """The answer of a run; None if it has none: it failed, was abandoned, or waits for a person."""
    replies = [event for event in events if event.error_code or event.output is not None or _parts(event.content)]
    last = replies[-1] if replies else None
    if last is None or last.author == "user" or last.error_code or not last.is_final_response():
        return None
    results = {each.id for event in events for each in event.get_function_responses()}
    if any(set(event.long_running_tool_ids or ()) - results for event in events):
        return None
    if last.output is not None:
        return last.output
    direct = [
        each for each in last.get_function_responses() if any(v is not None for v in (each.response or {}).values())
    ]
    if direct:  # from tools whose results need no summary
        return "\n".join(map(_result, direct))
    return next(filter(None, (_words(e.content) for e in reversed(replies) if e.author != "user")), "")


def _result(response: Any) -> str:
    """A tool's result as text; ADK wraps one that is not a dictionary in a dictionary."""
    value = response.response
    value = value["result"] if isinstance(value, dict) and [*value] == ["result"] else value
    return value if isinstance(value, str) else shown(value, partial(json.dumps, ensure_ascii=False, default=str))


def _words(content: Any) -> str:
    return "".join(map(_part, _parts(content)))


def _parts(content: Any) -> Sequence[Any]:
    return (content.parts if content else None) or ()


def _part(part: Any) -> str:
    """A part's text, except thoughts; pictures and files are named by their type."""
    if part.thought:
        return ""
    code, output, data = part.executable_code, part.code_execution_result, part.inline_data or part.file_data
    label = f"[{data.mime_type or 'file'}]" if data else ""
    return part.text or (code and code.code) or (output and output.output) or label

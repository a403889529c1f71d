"""A capability that gives PydanticAI's agents a memory: guidance as instructions, and a record of each run.

Always holds: one capability serves many runs at a time; an agent's own instructions stay; a run that you stream or
iterate over is recorded like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from seasoned.adapters.running import Run, Where, checked
from seasoned.jobs import off_loop
from seasoned.memory.checks import Check

if TYPE_CHECKING:
    from pydantic_ai.capabilities import AbstractCapability


def remembering(where: Where, *, check: Check | None = None, agent: str = "") -> AbstractCapability[Any]:
    """Return a capability for an agent or for one run: `Agent(model, capabilities=[remembering(memory)])`.

    The answer is the output; the agent's default name is its own. See `seasoned.adapters` for the arguments.
    """
    checked(where, check, "pydantic_ai.capabilities", "pydantic-ai", "pydantic-ai-slim")
    from pydantic_ai import DeferredToolRequests
    from pydantic_ai.capabilities import AbstractCapability

    class Remembering(AbstractCapability[Any]):
        def __init__(self) -> None:
            self.guidance = ""
            self.messages: Sequence[Any] = ()

        async def for_run(self, ctx: Any) -> Remembering:
            return Remembering()

        def get_instructions(self) -> Any:
            return lambda ctx: self.guidance or None

        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            self.messages = ctx.messages  # the only record of a run that breaks off
            return request_context

        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            by = agent or getattr(ctx.agent, "name", None) or ""
            run = await off_loop(Run, where, _task(ctx), check=check, agent=by)
            self.guidance = run.guidance
            known = len(ctx.messages)
            run.on_error = lambda error: run.attempt.messages(chat(self.messages[known:]))
            async with run:
                result = await handler()
                await off_loop(run.record, end, run, result)
            return result

    def end(run: Run, result: Any) -> None:
        run.attempt.messages(chat(result.new_messages()))
        if not isinstance(result.output, DeferredToolRequests):  # otherwise it waits for a person
            run.ended(result.output)

    return Remembering()


def chat(messages: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """PydanticAI's messages as OpenAI's chat messages."""
    for message in messages:
        calls = []
        for part in message.parts:
            kind = part.part_kind
            if kind == "system-prompt":
                yield {"role": "system", "content": part.content}
            elif kind == "user-prompt":
                yield {"role": "user", "content": _text(part.content)}
            elif kind == "tool-return":
                yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
            elif kind == "retry-feedback":
                yield {"role": "user", "content": part.model_response()}
            elif kind == "tool-call":
                function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
                calls.append({"id": part.tool_call_id, "function": function})
        text = "\n".join(part.content for part in message.parts if part.part_kind == "text")
        if text or calls:
            yield {"role": "assistant", "content": text, "tool_calls": calls}


def _task(ctx: Any) -> str:
    if ctx.prompt is not None:
        return _text(ctx.prompt)
    texts = [each["content"] for each in chat(ctx.messages) if each["role"] == "user"]
    return texts[-1] if texts else ""


def _text(content: str | Sequence[Any]) -> str:
    """A prompt's text; pictures and files are named by their kind."""
    if isinstance(content, str):
        return content
    return "\n".join(part if isinstance(part, str) else _part(part) for part in content)


def _part(part: Any) -> str:
    text = getattr(part, "content", None)
    return text if isinstance(text, str) else f"[{getattr(part, 'kind', type(part).__name__)}]"

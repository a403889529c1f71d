"""The OpenAI Agents SDK's runner with a memory: guidance for all agents of a run, and a record of the run.

Always holds: your agents and run configs stay unchanged; guidance comes after an agent's instructions.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from seasoned.adapters.running import Run, Where, asked, checked, led
from seasoned.errors import ConfigError
from seasoned.jobs import off_loop
from seasoned.memory import Memory
from seasoned.memory.checks import Check

if TYPE_CHECKING:
    from agents import Agent, RunResult, RunResultStreaming


def remembering(where: Where, *, check: Check | None = None, agent: str = "") -> RememberingRunner:
    """Return a runner to use in place of the SDK's: `remembering(memory).run_sync(agent, "refund order 17")`.

    The answer is the final output; the agent's default name is that of the run's first agent. See `seasoned.adapters`
    for the arguments.
    """
    checked(where, check, "agents", "openai-agents")
    return RememberingRunner(where, check, agent)


class RememberingRunner:
    """Replaces `agents.Runner`, and has its methods. Made by `remembering`."""

    def __init__(self, where: Where, check: Check | None, agent: str) -> None:
        self._where, self._check, self._agent = where, check, agent

    async def run(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """Run an agent like `Runner.run`, with its options."""
        from agents import Runner

        async with await off_loop(self._begin, starting_agent, input) as run:
            result = await Runner.run(starting_agent, input, **_with_guidance(options, run.guidance))
            await off_loop(run.record, _end, run, result)
        return result

    def run_sync(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """Run an agent like `Runner.run_sync`, with its options."""
        from agents import Runner

        with self._begin(starting_agent, input) as run:
            result = Runner.run_sync(starting_agent, input, **_with_guidance(options, run.guidance))
            run.record(_end, run, result)
        return result

    def run_streamed(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResultStreaming:
        """Run an agent like `Runner.run_streamed`; the run is recorded when its `stream_events()` end."""
        from agents import Runner

        self._check_input(input)
        begun: list[asyncio.Future[Run]] = []

        async def run() -> Run:  # begins at the first call of a model, outside the event loop
            if not begun:
                begun.append(asyncio.ensure_future(off_loop(self._begin, starting_agent, input)))
            return await asyncio.shield(begun[0])

        async def guidance() -> str:
            return (await run()).guidance

        result: Any = Runner.run_streamed(starting_agent, input, **_with_guidance(options, guidance))
        result.stream_events = partial(_recorded, run, result, result.stream_events)
        return result  # type: ignore[no-any-return]

    def _check_input(self, value: Any) -> None:
        if isinstance(self._where, Memory) and not isinstance(value, str | list):
            raise ConfigError(
                f"the task of a run is read from its input, which should be a text or a list, and is a "
                f"{type(value).__name__}; to continue a run, begin an attempt and pass it: remembering(attempt)"
            )

    def _begin(self, starting_agent: Agent[Any], value: Any) -> Run:
        self._check_input(value)
        task = value if isinstance(value, str) else asked(value) if isinstance(value, list) else ""
        run = Run(self._where, task, check=self._check, agent=self._agent or starting_agent.name)
        run.on_error = partial(_broken_off, run)
        return run


def _with_guidance(options: dict[str, Any], guidance: str | Callable[[], Awaitable[str]]) -> dict[str, Any]:
    """The options of a run, with a filter that puts the guidance after the instructions of each model call."""
    if not guidance:
        return options
    from agents.run import CallModelData, ModelInputData, RunConfig

    config: Any = options.get("run_config") or RunConfig()
    config = RunConfig(**config) if isinstance(config, dict) else config
    own_filter = config.call_model_input_filter

    async def lead(data: CallModelData[Any]) -> ModelInputData:
        model: Any = own_filter(data) if own_filter else data.model_data
        model = await model if inspect.isawaitable(model) else model
        text = guidance if isinstance(guidance, str) else await guidance()
        return ModelInputData(input=model.input, instructions=led(model.instructions or "", text)) if text else model

    return {**options, "run_config": replace(config, call_model_input_filter=lead)}


async def _recorded(
    begin: Callable[[], Awaitable[Run]], result: Any, events: Callable[[], AsyncIterator[Any]]
) -> AsyncIterator[Any]:
    """The events of a stream as they arrive; at their end, the run is recorded."""
    del result.stream_events  # a second call gets the SDK's own events, and is not recorded
    run = await begin()
    run.on_error = lambda error: run.attempt.messages(result.to_input_list())
    async with run:
        async for event in events():
            yield event
        await off_loop(run.record, _end, run, result)


def _end(run: Run, result: RunResult | RunResultStreaming) -> None:
    run.attempt.messages(result.to_input_list())
    stopped = result.final_output is None and hasattr(result, "cancel")
    if not result.interruptions and not stopped:  # otherwise it waits for a person
        run.ended(result.final_output)


def _broken_off(run: Run, error: BaseException) -> None:
    """Record the steps before a run broke off, such as by too many turns, if the SDK's error has them."""
    from agents import AgentsException

    data = error.run_data if isinstance(error, AgentsException) else None
    if data is not None:
        messages = [{"role": "user", "content": data.input}] if isinstance(data.input, str) else data.input
        run.attempt.messages([*messages, *(item.to_input_item() for item in data.new_items)])

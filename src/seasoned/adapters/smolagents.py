"""A smolagents agent with a memory: guidance at the end of its system prompt, and a record of its steps.

Always holds: your agent keeps its own `run` and prompt; the copy shares your agent's memory and tools, so do not run
both at once.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from seasoned.adapters.running import Run, Where, checked, led, recording
from seasoned.errors import ConfigError
from seasoned.memory.checks import Check

if TYPE_CHECKING:
    from smolagents import MultiStepAgent

Agent = TypeVar("Agent", bound="MultiStepAgent")


def remembering(where: Where, agent: Agent, *, check: Check | None = None) -> Agent:
    """Return a copy of an agent with a memory. It can stream, and can be the managed agent of another agent.

    The agent is a `CodeAgent`, a `ToolCallingAgent`, or of a subclass; see `seasoned.adapters` for the other arguments.
    """
    checked(where, check, "smolagents", "smolagents")
    from smolagents import MultiStepAgent, RunResult

    if not isinstance(agent, MultiStepAgent):
        raise ConfigError(f"the agent should be a smolagents agent, and is a {type(agent).__name__}")
    copied: Any = copy.copy(agent)
    name = agent.name or type(agent).__name__
    guidance = ""

    def initialize_system_prompt() -> str:
        return led(type(agent).initialize_system_prompt(copied), guidance)

    def begin(task: str, reset: bool) -> tuple[Run, int]:
        nonlocal guidance
        run, known = Run(where, task, check=check, agent=name), 0 if reset else len(copied.memory.steps)
        guidance, run.on_error = run.guidance, lambda error: _record(run, copied, known)
        return run, known

    def end(run: Run, known: int, answer: Any) -> None:
        with recording(run):
            _record(run, copied, known)
        run.record(run.ended, answer)

    def streamed(task: str, reset: bool, options: dict[str, Any]) -> Iterator[Any]:
        run, known = begin(task, reset)
        last = None
        with run:
            for last in type(agent).run(copied, task, stream=True, reset=reset, **options):
                yield last
            end(run, known, getattr(last, "output", None))

    def remembered(task: str, stream: bool = False, reset: bool = True, **options: Any) -> Any:
        if stream:
            return streamed(task, reset, options)
        run, known = begin(task, reset)
        with run:
            result = type(agent).run(copied, task, reset=reset, **options)
            end(run, known, result.output if isinstance(result, RunResult) else result)
        return result

    copied.initialize_system_prompt, copied.run = initialize_system_prompt, remembered
    return copied  # type: ignore[no-any-return]


def _record(run: Run, agent: Any, known: int) -> None:
    """Record the steps of a run: the model's text, its code or tool calls, and their results."""
    tag = (getattr(agent, "code_block_tags", None) or ("",))[0]
    for step in agent.memory.steps[known:]:
        if not hasattr(step, "observations"):  # the task, or a plan
            continue
        text = step.model_output if isinstance(step.model_output, str) else ""
        calls = [f"{call.name}({call.arguments})" for call in step.tool_calls or ()]
        code = getattr(step, "code_action", None)
        thought = text.partition(tag)[0] if code and tag else text
        results = filter(None, (step.observations, str(step.error) if step.error else ""))
        run.attempt.step(thought=thought.strip(), action=code or "\n".join(calls), observation="\n".join(results))

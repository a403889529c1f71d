"""Trajectories as chat JSON lines, the form that models are tuned on and that `traces.messages` reads back.

Always holds: what is written is read back as the same task, steps, conversation and outcome; calls of tools stand in
`tool_calls` as the OpenAI API has them.
"""

from __future__ import annotations

import json
from typing import Any

from seasoned.traces.source import load
from seasoned.types import Message, Trajectory

_BESIDE = ("task_id", "category", "benchmark", "agent", "guidance", "created", "meta")
_ENDED = ("reason", "answer", "detail")


def chat_line(trajectory: Trajectory) -> str:
    """A trajectory as one line of JSON.

    `messages` comes first; a trajectory without a conversation gets one from its steps, in the form that acting agents
    use. Beside it stand the id, the task, the outcome and the steps, where they are not empty.
    """
    line: dict[str, Any] = {"messages": chat_messages(trajectory), "id": trajectory.id, "task": trajectory.task}
    outcome = trajectory.outcome
    line |= {"success": outcome.success, "reward": outcome.reward}
    line |= {name: getattr(outcome, name) for name in _ENDED}
    line |= {name: getattr(trajectory, name) for name in _BESIDE}
    line["steps"] = [step.model_dump(exclude_defaults=True) for step in trajectory.steps]
    kept = {name: value for name, value in line.items() if value not in (None, "", {}, [])}
    return json.dumps(kept, ensure_ascii=False, default=str) + "\n"


def chat_messages(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The conversation of an attempt; made from its steps where it was not recorded."""
    if trajectory.messages:
        return [_message(message) for message in trajectory.messages]
    messages: list[dict[str, Any]] = [{"role": "system", "content": trajectory.guidance}] if trajectory.guidance else []
    said = trajectory.task
    for step in trajectory.steps:
        thought = f"Thought: {step.thought}\nAction: " if step.thought else ""
        messages.append({"role": "user", "content": said})
        messages.append({"role": "assistant", "content": thought + step.action})
        said = step.observation
    return [*messages, {"role": "user", "content": said}] if said and trajectory.steps else messages


def _message(message: Message) -> dict[str, Any]:
    calls, fault = load(message.get("tool_calls", ""))
    return {**message, "tool_calls": calls} if not fault else dict(message)

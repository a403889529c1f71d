"""A model's verdict on attempts whose outcome nobody knows.

Always holds: only an unknown outcome is judged; a verdict is marked as such in `meta["judged"]`; a model that fails
leaves the outcome unknown.
"""

from __future__ import annotations

import logging
from typing import Any

from seasoned.errors import LLMError
from seasoned.protocols import LLM
from seasoned.text import prompt_line, render_prompt, transcript
from seasoned.trust import enclosed
from seasoned.types import Trajectory

log = logging.getLogger(__name__)

ROOM = 8_000
"""Characters of the record that is shown; longer ones are shortened, the longest observations first."""

_CAP = 600
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string", "maxLength": _CAP}, "done": {"type": "boolean"}},
    "required": ["reason", "done"],
    "additionalProperties": False,
}


def judge(trajectory: Trajectory, llm: LLM) -> Trajectory:
    """The attempt with the model's verdict as its outcome, and {"done", "reason", "model"} in `meta["judged"]`.

    Where the model fails, the attempt stays unknown and `meta["judged"]` holds {"error"}.
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
        return _marked(trajectory, {"error": str(error)[:_CAP]})
    done = bool(reply.parsed["done"])
    verdict = {"done": done, "reason": prompt_line(str(reply.parsed["reason"]), _CAP), "model": reply.model or llm.name}
    outcome = trajectory.outcome.model_copy(update={"success": done, "reward": float(done)})
    judged = trajectory.model_copy(update={"outcome": outcome, "usage": trajectory.usage + reply.usage})
    return _marked(judged, verdict)


def _marked(trajectory: Trajectory, verdict: dict[str, Any]) -> Trajectory:
    return trajectory.model_copy(update={"meta": {**trajectory.meta, "judged": verdict}})

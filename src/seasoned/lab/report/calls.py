"""The calls of a run that are no turn of an agent: what was asked to learn, to reflect and to recall, and the replies.

Always holds: a call is shown as the model was asked, its reply last; what the page has no room for is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from seasoned.lab.report.format import gathering
from seasoned.lab.report.reader import LINES, laid_out
from seasoned.text import label, one_line
from seasoned.traces.conversation import spoken
from seasoned.types import Message

ROOM = 4_000_000
"""Characters of all calls of a page."""

Purpose = Literal["learning", "reflecting", "recalling"]


class Call(BaseModel):
    """One line of `calls.jsonl`: what was asked, what came back, and for what.

    `condition` is that of the pool or of the episode, "training", or "" where conditions share what was asked; learning
    is about no task; `trial` is the attempt that a reflection was for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    run_id: str
    purpose: Purpose
    condition: str = ""
    seed: int = 0
    fold: int = 0
    task_id: str = ""
    task: str = ""
    trial: int = 0
    messages: tuple[Message, ...]
    reply: str


def every_call(calls: Sequence[Call], *, room: int = ROOM) -> dict[str, Any]:
    """All calls, by purpose and condition in their order; as `every_episode` returns episodes.

    Args:
        calls: All of them.
        room: Characters of prompts and replies; those for which none is left are named without them.
    """
    named = calls[:LINES]
    told = [
        (_group(call), _view(call, number), str(number), spoken([*call.messages, _said(call)]))
        for number, call in enumerate(named, 1)
    ]
    return laid_out(told, room) | {"unnamed": len(calls) - len(named)}


def readable_calls(everything: Mapping[str, Any]) -> str:
    """One sentence on what the page holds."""
    total = sum(len(group["episodes"]) for group in everything["groups"])
    missing = everything["left_out"] + everything["unnamed"]
    rest = f" The other {missing:,} would not fit." if missing else ""
    shown = f"{total - everything['left_out']:,} model calls that are no turn of an agent, each with its reply."
    return f"{shown}{rest} All that were kept are in calls.jsonl."


def _said(call: Call) -> Message:
    return {"role": "assistant", "content": call.reply}


def _group(call: Call) -> str:
    if not call.condition:
        return f"{call.purpose}, test tasks"
    of = gathering(call.condition) if call.condition == "training" else label(call.condition)
    return f"{call.purpose}, {of}"


def _view(call: Call, number: int) -> dict[str, Any]:
    where = f"seed {call.seed}, fold {call.fold}" if call.seed or call.fold else ""
    about = call.task if call.task_id else call.reply
    parts = (f"call {number}", where, f"for R{call.trial}" if call.trial else "", about)
    return {"title": " · ".join(one_line(part, 120) for part in parts if part)}

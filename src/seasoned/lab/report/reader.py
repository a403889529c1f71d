"""Every episode of a run, laid out for reading: whole conversations, what many of them begin with only once.

Always holds: no message is left out silently - what the page has no room for is named, with the command that shows it;
what is given as an opening stands word for word in front of each conversation that refers to it; an episode whose
demonstrations were exchanged on the way says which they were, and leads to the attempts that they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seasoned.lab.report.episodes import exchanged, usage_line, verdict
from seasoned.lab.report.format import gathering
from seasoned.lab.report.rows import Row
from seasoned.text import cut, label, one_line
from seasoned.traces.conversation import conversation
from seasoned.types import Trajectory

ROOM = 8_000_000
"""Characters of all conversations of a page."""
LINES = 4000
"""Episodes that a page names at most."""
LONGEST = 50_000
"""Characters of one message that are shown."""
_WORTH = 400

Messages = list[tuple[str, str]]
Told = tuple[str, dict[str, Any], str, Messages]
"""A conversation to lay out: its group, what is said of it, what it is about, and its messages."""


def every_episode(rows: Sequence[Row], trajectories: Sequence[Trajectory], *, room: int = ROOM) -> dict[str, Any]:
    """All episodes, condition by condition in the order of the trajectories.

    Args:
        rows: The rows of the run, for condition, trial and verdict.
        trajectories: All of them.
        room: Characters of conversations; those for which none is left are named without their messages.

    Returns:
        groups: list of {name, episodes: list of {id, number, title, trial, success, verdict, reason, answer, usage,
        exchanged, opening, messages}}, where `opening` is the number of an opening or 0, and `messages` what follows
        it, or None where there was no room; openings: list of messages, numbered from 1; left_out: how many have no
        messages; unnamed: how many are not even named; numbers: those of the named episodes by the whole id.
    """
    known = {row.trajectory_id: row for row in rows if row.trajectory_id}
    named = [(known.get(one.id), one) for one in trajectories[:LINES]]
    numbers = {one.id: number for number, (_, one) in enumerate(named, 1)}
    told = [(_group(row, one), _view(row, one, numbers[one.id]), one.task_id, conversation(one)) for row, one in named]
    return laid_out(told, room) | {"unnamed": len(trajectories) - len(named), "numbers": numbers}


def laid_out(told: Iterable[Told], room: int) -> dict[str, Any]:
    """Conversations in groups: what several of them begin with, about different things, is taken out as an opening.

    Args:
        told: The conversations, in order.
        room: As in `every_episode`.

    Returns:
        groups, openings and left_out, as `every_episode` has them.
    """
    cut_short = [(group, view, about, _cut(messages)) for group, view, about, messages in told]
    lengths = _shared_lengths((about, messages) for _, _, about, messages in cut_short)
    openings: dict[tuple[tuple[str, str], ...], int] = {}
    groups: dict[str, list[dict[str, Any]]] = {}
    left_out = 0
    for (group, view, _, messages), shared in zip(cut_short, lengths, strict=True):
        opening = tuple(messages[:shared])
        needed = _size(messages[shared:]) + (0 if opening in openings else _size(opening))
        fits = needed <= room
        room -= needed if fits else 0
        left_out += not fits
        number = openings.setdefault(opening, len(openings) + 1) if fits and opening else 0
        shown = {"opening": number, "messages": messages[shared:] if fits else None}
        groups.setdefault(group, []).append(view | shown)
    return {
        "groups": [{"name": name, "episodes": episodes} for name, episodes in groups.items()],
        "openings": [list(opening) for opening in openings],
        "left_out": left_out,
    }


def _group(row: Row | None, trajectory: Trajectory) -> str:
    if row is None:
        return label(trajectory.agent or "other")
    return label(row.condition if row.split == "test" else gathering(row.condition))


def _view(row: Row | None, trajectory: Trajectory, number: int) -> dict[str, Any]:
    success, words = verdict(row, trajectory)
    where = f"seed {row.seed}, fold {row.fold}" if row and (row.seed or row.fold) else ""
    parts = (trajectory.category, where, trajectory.task)
    return {
        "id": one_line(trajectory.id, 60),
        "number": number,
        "title": " · ".join(one_line(part, 120) for part in parts if part),
        "trial": row.trial if row else 0,
        "success": success,
        "verdict": words,
        "reason": one_line(trajectory.outcome.reason, 40),
        "answer": one_line(trajectory.outcome.answer, 160),
        "usage": usage_line(trajectory),
        "exchanged": exchanged(trajectory),
    }


def _cut(messages: Messages) -> Messages:
    return [(role, cut(text, LONGEST)) for role, text in messages]


def _size(messages: Iterable[tuple[str, str]]) -> int:
    return sum(len(text) for _, text in messages)


def _shared_lengths(told: Iterable[tuple[str, Messages]]) -> list[int]:
    """How many first messages each conversation has in common with one at another task; 0 where that saves little."""
    told = list(told)
    users: dict[int, set[str]] = {}
    for task_id, messages in told:
        for prefix in _prefixes(messages):
            users.setdefault(prefix, set()).add(task_id)
    found = []
    for _, messages in told:
        shared = sum(len(users[prefix]) > 1 for prefix in _prefixes(messages))
        found.append(shared if _size(messages[:shared]) >= _WORTH else 0)
    return found


def _prefixes(messages: Messages) -> list[int]:
    """One number for each beginning of the conversation, the same for the same beginning."""
    found, prefix = [], 0
    for message in messages:
        prefix = hash((prefix, message))
        found.append(prefix)
    return found


def readable(everything: Mapping[str, Any]) -> str:
    """One sentence on what the page holds."""
    total = sum(len(group["episodes"]) for group in everything["groups"])
    whole = total - everything["left_out"]
    missing = everything["left_out"] + everything["unnamed"]
    rest = f" The other {missing:,} would not fit: read one with seasoned replay and its id." if missing else ""
    return f"{whole:,} whole conversations, as the model saw them.{rest} All of them are in trajectories.jsonl."

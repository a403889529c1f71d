"""Which episodes a report shows, and how a conversation is laid out for reading.

Always holds: an episode and the baseline's at the same task, seed, fold and run stand together; a message, however
long, is shown cut to a readable length and says how much is missing; of demonstrations that were exchanged on the way,
those that no longer stand in the conversation are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seasoned.lab.report.rows import EpisodeKey, Row, final
from seasoned.text import count, cut, label, one_line
from seasoned.traces.conversation import conversation
from seasoned.types import Lesson, Trajectory

MESSAGE_LIMIT = 4000
"""Characters of one message that are shown; a reply of a megabyte is cut."""
MESSAGES_LIMIT = 60
"""Messages of one episode that are shown."""
_MOVES = {
    (False, True): ("F=>T", "not solved before, solved now", "gain"),
    (True, False): ("T=>F", "solved before, not solved now", "loss"),
    (False, False): ("F=>F", "not solved before, still not solved", "still"),
    (True, True): ("T=>T", "solved before, solved now", "kept"),
}


def choose_episodes(summary: Mapping[str, Any], rows: Sequence[Row], *, limit: int = 12) -> list[str]:
    """Ids of the trajectories worth reading: the method's episodes and the baseline's at the same tasks.

    Three tasks that the method solved and the baseline did not, two the other way round, one that neither solved;
    short ones first, and those with lessons before those without; each task once of its kind.

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
        rows: The rows it was built from.
        limit: Trajectories at most.

    Returns:
        Trajectory ids, for `seasoned.lab.report.html.render`; empty when there is no method.
    """
    tested = [row for row in final(rows) if row.counted]
    before = {row.key: row for row in tested if row.condition == summary["baseline"]}
    after = [row for row in tested if row.condition == summary["method"]]
    if not before:
        wanted = [row for solved in (True, False) for row in [one for one in after if one.solved is solved][:3]]
        return [row.trajectory_id for row in wanted if row.trajectory_id][:limit]
    after.sort(key=lambda row: (not row.lesson_ids, row.turns, len(row.task), row.key))
    chosen: list[str] = []
    for move, places in (((False, True), 3), ((True, False), 2), ((False, False), 1)):
        alike: dict[str, Row] = {}
        for row in after:
            if row.key in before and (before[row.key].solved, row.solved) == move:
                alike.setdefault(row.task_id, row)
        for row in list(alike.values())[:places]:
            chosen += [row.trajectory_id, before[row.key].trajectory_id]
    return list(dict.fromkeys(one for one in chosen if one))[:limit]


def views(
    summary: Mapping[str, Any], rows: Sequence[Row], trajectories: Sequence[Trajectory], lessons: Sequence[Lesson]
) -> list[dict[str, Any]]:
    """Episodes of one task and run together, the baseline's first; each with what it had recalled."""
    known = {row.trajectory_id: row for row in rows if row.trajectory_id}
    texts = {lesson.id: lesson for lesson in lessons}
    groups: dict[EpisodeKey | str, list[tuple[Row | None, Trajectory]]] = {}
    for trajectory in trajectories:
        row = known.get(trajectory.id)
        groups.setdefault(row.key if row else trajectory.id, []).append((row, trajectory))
    found = []
    for members in groups.values():
        members.sort(key=lambda member: _place(member[0], summary["baseline"]))
        first = members[0]
        solved = [row.solved for row, _ in members if row is not None]
        move = _MOVES[(solved[0], solved[1])] if len(solved) == 2 else None
        found.append(
            {
                "move": move,
                "task": one_line(first[1].task, 160),
                "category": one_line(first[1].category, 40),
                "gold": one_line(first[0].gold, 160) if first[0] else "",
                "attempts": [_attempt(row, trajectory, texts) for row, trajectory in members],
            }
        )
    return found


def _place(row: Row | None, baseline: str) -> tuple[bool, int]:
    return (row is None or row.condition != baseline, row.trial if row else 0)


def _attempt(row: Row | None, trajectory: Trajectory, lessons: Mapping[str, Lesson]) -> dict[str, Any]:
    success, words = verdict(row, trajectory)
    recalled = [lessons[one] for one in trajectory.lesson_ids if one in lessons]
    messages = conversation(trajectory)
    trial = f" R{row.trial}" if row and row.trial else ""
    return {
        "condition": label(row.condition if row else trajectory.agent or "episode") + trial,
        "verdict": words,
        "success": success,
        "reason": one_line(trajectory.outcome.reason, 40),
        "answer": one_line(trajectory.outcome.answer, 160),
        "lessons": [(one_line(one.key, 60), cut(one.text, 400)) for one in recalled[:20]],
        "messages": [(role, cut(text, MESSAGE_LIMIT)) for role, text in messages[:MESSAGES_LIMIT]],
        "left_out": max(0, len(messages) - MESSAGES_LIMIT),
        "exchanged": exchanged(trajectory),
        "usage": usage_line(trajectory),
        "id": one_line(trajectory.id, 60),
    }


def verdict(row: Row | None, trajectory: Trajectory) -> tuple[bool | None, str]:
    """Whether an episode counts as solved, and the words for it."""
    success = row.solved if row and row.counted else trajectory.outcome.success
    return success, {True: "solved", False: "not solved", None: "outcome unknown"}[success]


def usage_line(trajectory: Trajectory) -> str:
    """What an episode used, in a few words."""
    return f"{count(trajectory.usage.prompt_tokens)} tokens in, {count(trajectory.usage.completion_tokens)} out"


def exchanged(trajectory: Trajectory) -> list[tuple[int, list[str]]]:
    """Which demonstrations stood before the task, from which step on (1 is the first); [] where they stayed the same.

    The conversation that was kept begins with the last of them.
    """
    told = trajectory.meta.get("demonstrations")
    found = []
    for one in told if isinstance(told, list) else []:
        step, ids = (one.get("from"), one.get("ids")) if isinstance(one, dict) else (None, None)
        if isinstance(step, int) and isinstance(ids, list):
            found.append((step + 1, [str(each) for each in ids]))
    return found

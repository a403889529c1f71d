"""The choice of episodes for a report, and the layout of conversations and other calls.

Always holds: an episode and the baseline's at the same task, seed, fold and run are shown together; no message is left
out silently: a cut one says how much is missing, and those without room on the page are counted; a shared beginning of
several conversations is shown once, word for word, as an opening to which they refer; an episode whose demonstrations
were exchanged on the way lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from seasoned.lab.report.forms import gathering
from seasoned.lab.report.rows import EpisodeKey, Row, final
from seasoned.lab.report.summary import Summary
from seasoned.text import count, cut, label, one_line
from seasoned.traces.conversation import conversation, spoken
from seasoned.types import Lesson, Message, Trajectory

MESSAGE_LIMIT, MESSAGES_LIMIT = 4000, 60
"""The most characters of a message, and the most messages, shown for a chosen episode."""
WHOLE_MESSAGE_LIMIT = 50_000
"""The most characters of a message shown in the list of all conversations."""
EPISODES_ROOM, CALLS_ROOM = 8_000_000, 4_000_000
"""The most characters of all conversations, and of all other calls, on a page."""
NAMED = 4000
"""The most episodes, and the most calls, that a page names."""
_MIN_SAVED = 400  # characters that an opening must save
_MOVES = {
    (False, True): ("F=>T", "not solved before, solved now", "gain"),
    (True, False): ("T=>F", "solved before, not solved now", "loss"),
    (False, False): ("F=>F", "not solved before, still not solved", "still"),
    (True, True): ("T=>T", "solved before, solved now", "kept"),
}
Messages = list[tuple[str, str]]
Purpose = Literal["learning", "reflecting", "recalling"]


class Call(BaseModel):
    """One line of `calls.jsonl`: the messages, the reply and the purpose of a model call.

    `condition` is the condition of the pool or episode, "training", or "" if conditions share the call; calls for
    learning have no task; `trial` is the attempt that a reflection was for.
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


# Episodes to read


def choose_episodes(summary: Summary, rows: Sequence[Row]) -> list[str]:
    """Ids of at most 12 trajectories worth reading: the method's episodes and the baseline's at the same tasks.

    The choice is three tasks that only the method solved, two that only the baseline solved, and one that neither
    solved; episodes with lessons and short ones come first, and no task is repeated among tasks of one kind. Without a
    method there are none.
    """
    tested = [row for row in final(rows) if row.counted]
    before = {row.key: row for row in tested if row.condition == summary.baseline}
    after = [row for row in tested if row.condition == summary.method]
    if not before:
        examples = [row for solved in (True, False) for row in [one for one in after if one.solved is solved][:3]]
        return [row.trajectory_id for row in examples if row.trajectory_id]
    after.sort(key=lambda row: (not row.lesson_ids, row.turns, len(row.task), row.key))
    chosen: list[str] = []
    for move, places in (((False, True), 3), ((True, False), 2), ((False, False), 1)):
        by_task: dict[str, Row] = {}
        for row in after:
            if row.key in before and (before[row.key].solved, row.solved) == move:
                by_task.setdefault(row.task_id, row)
        for row in list(by_task.values())[:places]:
            chosen += [row.trajectory_id, before[row.key].trajectory_id]
    return list(dict.fromkeys(one for one in chosen if one))


def views(
    summary: Summary, rows: Sequence[Row], trajectories: Sequence[Trajectory], lessons: Sequence[Lesson]
) -> list[dict[str, Any]]:
    """The episodes grouped by task and run, the baseline's first, each with its recalled lessons."""
    row_of = {row.trajectory_id: row for row in rows if row.trajectory_id}
    texts = {lesson.id: lesson for lesson in lessons}
    groups: dict[EpisodeKey | str, list[tuple[Row | None, Trajectory]]] = {}
    for trajectory in trajectories:
        row = row_of.get(trajectory.id)
        groups.setdefault(row.key if row else trajectory.id, []).append((row, trajectory))
    shown = []
    for members in groups.values():
        members.sort(key=lambda one: _order(one[0], summary.baseline))
        row, trajectory = members[0]
        solved = [row.solved for row, _ in members if row is not None]
        shown.append(
            {
                "move": _MOVES[(solved[0], solved[1])] if len(solved) == 2 else None,
                "task": one_line(trajectory.task, 160),
                "category": one_line(trajectory.category, 40),
                "gold": one_line(row.gold, 160) if row else "",
                "attempts": [_attempt(row, trajectory, texts) for row, trajectory in members],
            }
        )
    return shown


def _order(row: Row | None, baseline: str) -> tuple[bool, int]:
    """The sort key: the baseline's episodes first, then by trial."""
    return (row is None or row.condition != baseline, row.trial if row else 0)


def _attempt(row: Row | None, trajectory: Trajectory, lessons: Mapping[str, Lesson]) -> dict[str, Any]:
    recalled = [lessons[one] for one in trajectory.lesson_ids if one in lessons]
    messages = conversation(trajectory)
    trial = f" R{row.trial}" if row and row.trial else ""
    return {
        **_facts(row, trajectory),
        "condition": label(row.condition if row else trajectory.agent or "episode") + trial,
        "lessons": [(one_line(one.key, 60), cut(one.text, 400)) for one in recalled[:20]],
        "messages": [(role, cut(text, MESSAGE_LIMIT)) for role, text in messages[:MESSAGES_LIMIT]],
        "left_out": max(0, len(messages) - MESSAGES_LIMIT),
    }


def _facts(row: Row | None, trajectory: Trajectory) -> dict[str, Any]:
    """The facts shown for every episode."""
    success = row.solved if row and row.counted else trajectory.outcome.success
    used = trajectory.usage
    return {
        "id": one_line(trajectory.id, 60),
        "success": success,
        "verdict": {True: "solved", False: "not solved", None: "outcome unknown"}[success],
        "reason": one_line(trajectory.outcome.reason, 40),
        "answer": one_line(trajectory.outcome.answer, 160),
        "usage": f"{count(used.prompt_tokens)} tokens in, {count(used.completion_tokens)} out",
        "exchanged": exchanged(trajectory),
    }


def exchanged(trajectory: Trajectory) -> list[tuple[int, list[str]]]:
    """The demonstrations before the task, with the step from which on (1 is the first); [] if they stayed the same.

    The stored conversation begins with the last demonstrations.
    """
    kept = trajectory.meta.get("demonstrations")
    sets = []
    for one in kept if isinstance(kept, list) else []:
        step, ids = (one.get("from"), one.get("ids")) if isinstance(one, dict) else (None, None)
        if isinstance(step, int) and isinstance(ids, list):
            sets.append((step + 1, [str(each) for each in ids]))
    return sets


# Every conversation


class Conversation(NamedTuple):
    """A conversation to lay out: its group, the facts to show, the id of its subject (such as a task), its messages."""

    group: str
    view: dict[str, Any]
    about: str
    messages: Messages


def every_episode(
    rows: Sequence[Row], trajectories: Sequence[Trajectory], *, room: int = EPISODES_ROOM
) -> dict[str, Any]:
    """All episodes as `laid_out`, condition by condition.

    There are also `numbers`, the numbers of the named episodes by full id, and a sentence `says`.
    """
    row_of = {row.trajectory_id: row for row in rows if row.trajectory_id}
    numbers = {one.id: number for number, one in enumerate(trajectories[:NAMED], 1)}
    named = []
    for one in trajectories[:NAMED]:
        row = row_of.get(one.id)
        where = f"seed {row.seed}, fold {row.fold}" if row and (row.seed or row.fold) else ""
        about = {"number": numbers[one.id], "title": _title(one.category, where, one.task)}
        view = _facts(row, one) | about | {"trial": row.trial if row else 0}
        named.append(Conversation(_group(row, one), view, one.task_id, conversation(one)))
    laid = laid_out(named, room, len(trajectories))
    missing = laid["missing"]
    rest = f" The other {missing:,} did not fit; read one with seasoned replay and its id." if missing else ""
    says = f"{laid['whole']:,} whole conversations, as the model saw them.{rest} All of them are in trajectories.jsonl."
    return laid | {"numbers": numbers, "says": says}


def every_call(calls: Sequence[Call], *, room: int = CALLS_ROOM) -> dict[str, Any]:
    """All calls outside the agents' turns, each with its reply, by purpose and condition: as `every_episode`."""
    named = []
    for number, call in enumerate(calls[:NAMED], 1):
        owner = gathering(call.condition) if call.condition == "training" else label(call.condition)
        where = f"seed {call.seed}, fold {call.fold}" if call.seed or call.fold else ""
        trial = f"for R{call.trial}" if call.trial else ""
        title = _title(f"call {number}", where, trial, call.task if call.task_id else call.reply)
        messages = spoken([*call.messages, {"role": "assistant", "content": call.reply}])
        group = f"{call.purpose}, {owner if call.condition else 'test tasks'}"
        named.append(Conversation(group, {"title": title}, str(number), messages))
    laid = laid_out(named, room, len(calls))
    rest = f" The other {laid['missing']:,} would not fit." if laid["missing"] else ""
    says = f"{laid['whole']:,} model calls outside the agents' turns, each with its reply."
    return laid | {"says": f"{says}{rest} All that were kept are in calls.jsonl."}


def _title(*parts: str) -> str:
    return " · ".join(one_line(part, 120) for part in parts if part)


def _group(row: Row | None, trajectory: Trajectory) -> str:
    if row is None:
        return label(trajectory.agent or "other")
    return label(row.condition if row.split == "test" else gathering(row.condition))


def laid_out(named: Iterable[Conversation], room: int, total: int) -> dict[str, Any]:
    """Conversations in groups; a beginning that conversations about different subjects share becomes an opening.

    Args:
        named: The conversations, in order.
        room: The most characters; conversations without room have no messages.
        total: The number of all conversations, including those not named.

    Returns:
        groups: list of {name, episodes: list of the facts of each, with `opening` (the number of an opening or 0) and
            `messages` (those after the opening, or None without room)}; openings: list of messages, numbered from 1;
            whole: how many have their messages; missing: how many have not.
    """
    cut_short = [
        one._replace(messages=[(role, cut(text, WHOLE_MESSAGE_LIMIT)) for role, text in one.messages]) for one in named
    ]
    openings: dict[tuple[tuple[str, str], ...], int] = {}
    groups: dict[str, list[dict[str, Any]]] = {}
    whole = 0
    for one, shared in zip(cut_short, _shared_lengths(cut_short), strict=True):
        opening, rest = tuple(one.messages[:shared]), one.messages[shared:]
        needed = _size(rest) + (0 if opening in openings else _size(opening))
        fits = needed <= room
        room -= needed if fits else 0
        whole += fits
        number = openings.setdefault(opening, len(openings) + 1) if fits and opening else 0
        shown = {"opening": number, "messages": rest if fits else None}
        groups.setdefault(one.group, []).append(one.view | shown)
    return {
        "groups": [{"name": name, "episodes": episodes} for name, episodes in groups.items()],
        "openings": [list(opening) for opening in openings],
        "whole": whole,
        "missing": total - whole,
    }


def _size(messages: Iterable[tuple[str, str]]) -> int:
    return sum(len(text) for _, text in messages)


def _shared_lengths(named: Sequence[Conversation]) -> list[int]:
    """How many first messages each conversation shares with one about another subject; 0 if that saves little."""
    users: dict[int, set[str]] = {}
    for one in named:
        for prefix in _prefixes(one.messages):
            users.setdefault(prefix, set()).add(one.about)
    lengths = []
    for one in named:
        shared = sum(len(users[prefix]) > 1 for prefix in _prefixes(one.messages))
        lengths.append(shared if _size(one.messages[:shared]) >= _MIN_SAVED else 0)
    return lengths


def _prefixes(messages: Messages) -> list[int]:
    """A hash for each beginning of the conversation."""
    prefixes, prefix = [], 0
    for message in messages:
        prefix = hash((prefix, message))
        prefixes.append(prefix)
    return prefixes

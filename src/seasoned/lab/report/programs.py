"""A failed program beside one that works, with the facts it used, for benchmarks whose tasks ask for programs.

Always holds: both programs are of one task, seed, fold and run; each line is as the model wrote it, and marked if the
other program lacks it; the fault is in the judge's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from seasoned.lab.report.rows import EpisodeKey, Row
from seasoned.lab.report.summary import Summary
from seasoned.text import cut, label, prompt_line
from seasoned.types import Lesson, Trajectory

MOST = 3
"""The most tasks shown."""
_LINES, _LINE, _FACTS = 30, 160, 4

Marked = list[tuple[str, bool]]


def fixes(
    summary: Summary, rows: Sequence[Row], trajectories: Sequence[Trajectory], lessons: Sequence[Lesson]
) -> list[dict[str, Any]]:
    """Tasks that the baseline failed and the method solved, with both programs; [] if no task asks for a program.

    Args:
        summary: The summary of the run.
        rows: The rows of the summary.
        trajectories: The trajectories that the report shows.
        lessons: The lessons of the run.
    """
    attempts = {one.id: one for one in trajectories if one.agent == "coder"}
    pairs: dict[EpisodeKey, dict[str, Row]] = {}
    for row in rows:
        if row.trajectory_id in attempts:
            pairs.setdefault(row.key, {})[row.condition] = row
    texts = {lesson.id: lesson for lesson in lessons if lesson.kind == "fact"}
    shown = []
    for pair in pairs.values():
        before, after = pair.get(summary.baseline), pair.get(summary.method or "")
        if before is not None and after is not None and after.solved and not before.solved:
            shown.append(_fix(before, after, attempts, texts))
    return shown[:MOST]


def _fix(before: Row, after: Row, attempts: Mapping[str, Trajectory], texts: Mapping[str, Lesson]) -> dict[str, Any]:
    old, new = attempts[before.trajectory_id], attempts[after.trajectory_id]
    lines = [cut(_program(one), 8000).splitlines()[:_LINES] for one in (old, new)]
    removed, added = _marked(*lines)
    known = [texts[one] for one in new.lesson_ids if one in texts]
    used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines[1])))
    facts = [lesson.text for lesson in known if used & set(lesson.key.split("."))]
    return {
        "task": cut(new.task, 600),
        "facts": [cut(text, 400) for text in dict.fromkeys(facts)][:_FACTS],
        "sides": [
            {"name": label(before.condition), "mark": "-", "lines": removed, "solved": False, "says": _fault(old)},
            {"name": label(after.condition), "mark": "+", "lines": added, "solved": True, "says": ""},
        ],
    }


def _program(attempt: Trajectory) -> str:
    """The program that was judged."""
    written = (step.action for step in reversed(attempt.steps) if not step.action.startswith((">>>", "NOTE[", "N/A")))
    return next(written, attempt.outcome.answer)


def _marked(old: Sequence[str], new: Sequence[str]) -> tuple[Marked, Marked]:
    """The lines of both programs, each with whether the other program lacks it."""
    before, after = ([line[:_LINE].rstrip() for line in side] for side in (old, new))
    same = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    in_new = {block.a + n for block in same for n in range(block.size)}
    in_old = {block.b + n for block in same for n in range(block.size)}
    return (
        [(line, place not in in_new) for place, line in enumerate(before)],
        [(line, place not in in_old) for place, line in enumerate(after)],
    )


def _fault(attempt: Trajectory) -> str:
    """The fault: the judge's verdict, or else the last observation."""
    seen = [step.observation for step in attempt.steps if step.observation]
    return prompt_line(str(attempt.meta.get("verdict") or (seen[-1] if seen else "")), 300)

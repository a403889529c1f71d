"""What failed before and what works now, where tasks take a program: the two programs side by side, and the facts.

Always holds: both programs are of one task, seed, fold and run; each line stands as the model wrote it, and is marked
where the other program does not have it; what was wrong is said in the judge's words.
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
"""Tasks that are shown."""
_LINES, _LINE, _FACTS = 30, 160, 4

Marked = list[tuple[str, bool]]


def fixes(
    summary: Summary, rows: Sequence[Row], trajectories: Sequence[Trajectory], lessons: Sequence[Lesson]
) -> list[dict[str, Any]]:
    """Tasks that the baseline failed and the method solved, with both programs; [] where no task takes a program.

    Args:
        summary: Of the run.
        rows: The rows it was built from.
        trajectories: Those that were chosen to be read.
        lessons: Of the run.
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
    gone, come = _marked(*lines)
    known = [texts[one] for one in new.lesson_ids if one in texts]
    used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines[1])))
    facts = [lesson.text for lesson in known if used & set(lesson.key.split("."))]
    return {
        "task": cut(new.task, 600),
        "facts": [cut(text, 400) for text in dict.fromkeys(facts)][:_FACTS],
        "sides": [
            {"name": label(before.condition), "mark": "-", "lines": gone, "solved": False, "says": _says(old)},
            {"name": label(after.condition), "mark": "+", "lines": come, "solved": True, "says": ""},
        ],
    }


def _program(attempt: Trajectory) -> str:
    """The program that was judged."""
    written = (step.action for step in reversed(attempt.steps) if not step.action.startswith((">>>", "NOTE[", "N/A")))
    return next(written, attempt.outcome.answer)


def _marked(old: Sequence[str], new: Sequence[str]) -> tuple[Marked, Marked]:
    """The lines of both, each with whether the other one lacks it."""
    before, after = ([line[:_LINE].rstrip() for line in side] for side in (old, new))
    same = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    kept = {block.a + n for block in same for n in range(block.size)}
    stays = {block.b + n for block in same for n in range(block.size)}
    return (
        [(line, place not in kept) for place, line in enumerate(before)],
        [(line, place not in stays) for place, line in enumerate(after)],
    )


def _says(attempt: Trajectory) -> str:
    """What was wrong: by the judge, or else what was observed last."""
    seen = [step.observation for step in attempt.steps if step.observation]
    return prompt_line(str(attempt.meta.get("verdict") or (seen[-1] if seen else "")), 300)

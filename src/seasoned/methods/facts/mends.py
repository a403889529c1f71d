"""Changes that worked: a line of a program that failed, and its replacement in the program that passed.

Always holds: only an attempt that succeeded after a failed program has changes, each of one line by one line.
"""

from __future__ import annotations

import difflib
import re

from seasoned.types import Trajectory

_MAX_CHARS = 160


def mends_of(trajectory: Trajectory) -> list[tuple[str, str, str, str]]:
    """The lines that an attempt changed before it succeeded: (function, line before, line after, attempt id) each."""
    if not trajectory.outcome.success:
        return []
    programs = [s.action for s in trajectory.steps if s.action.strip() and not s.action.startswith((">>>", "NOTE["))]
    if len(programs) < 2:
        return []
    old, new = programs[-2].splitlines(), programs[-1].splitlines()
    mends = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == 1 == d - c:
            before, after = old[a].strip(), new[c].strip()
            names = [
                name for name in re.findall(r"\b([A-Za-z_]\w{0,60})\(", after) if name not in ("int", "str", "def")
            ]
            if names and max(len(before), len(after)) <= _MAX_CHARS:
                mends.append((names[0], before, after, trajectory.id))
    return mends

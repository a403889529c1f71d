"""What trying again brings: tasks solved by trial, and how those that stay unsolved ended.

The first attempt at a task is trial 0 (R0 in the papers), and a task is tried again until it is solved. Always holds: a
task that is solved stays solved; one that is not tried again stays as its last attempt left it; a task whose last
attempt ended in an error of the server is left out of that trial's rate, never counted as a failure.

One trial: trial, attempts (made in it), n, solved (of n, in this trial or before), accuracy, interval [lo, hi] (Wilson,
95%, with distinct tasks as trials), points (over trial 0, in percent of what both finished) and p (see `stats.paired`),
both null for trial 0, errors (left out of n), reasons {reason: count} (how the last attempt at each unsolved task
ended).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from seasoned.lab.report import stats
from seasoned.lab.report.format import share
from seasoned.lab.report.reliability import interval
from seasoned.lab.report.rows import EpisodeKey, Row, latest, outcomes, until_solved

FINISHED = frozenset({"answered", "won"})
"""Reasons of attempts that came to an end of their own; all others were stopped."""


def by_trial(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Cumulative figures by trial (Reflexion, figures 2 and 3; ExpeL, table 2).

    Args:
        rows: All attempts of one condition, at one number of training cases per seed and fold.

    Returns:
        One dictionary a trial, from 0, as described above; none where no task was tried twice.

    Raises:
        MissingExtraError: SciPy is not installed.
    """
    attempts = latest(rows)
    last = max((row.trial for row in attempts), default=0)
    if last == 0:
        return []
    tasks: dict[EpisodeKey, list[Row]] = {}
    for row in attempts:
        tasks.setdefault(row.key, []).append(row)
    found: list[dict[str, Any]] = []
    first: dict[EpisodeKey, bool] = {}
    for trial in range(last + 1):
        made = [[row for row in tried if row.trial <= trial] for tried in tasks.values()]
        states = [until_solved(tried) for tried in made if tried]
        solved = outcomes(states)
        first = first if trial else solved
        n, successes = len(solved), sum(solved.values())
        rate = share(successes, n)
        test = stats.paired(first, solved) if trial else None
        found.append(
            {
                "trial": trial,
                "attempts": sum(row.trial == trial for row in attempts),
                "n": n,
                "solved": successes,
                "accuracy": rate,
                "interval": list(interval(rate or 0.0, len({key[-1] for key in solved}))),
                "points": test.points if test else None,
                "p": test.p if test and test.n else None,
                "errors": len(states) - n,
                "reasons": dict(Counter(row.reason for row in states if row.counted and not row.solved)),
            }
        )
    return found


def endings(rows: Sequence[Row]) -> dict[str, int]:
    """How tasks ended (ExpeL, figures 25 to 27): solved, failed (it came to an end, a wrong one), or halted.

    Halted is whatever was stopped before an end of its own: by a limit on steps or tokens, in a loop, by the
    environment.
    """
    counted = [row for row in rows if row.counted]
    solved = sum(row.solved for row in counted)
    failed = sum(not row.solved and row.reason in FINISHED for row in counted)
    return {"success": solved, "failed": failed, "halted": len(counted) - solved - failed}

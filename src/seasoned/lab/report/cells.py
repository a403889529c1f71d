"""Cells and columns that several tables of a report have.

Always holds: a figure that is unknown is an em dash.
"""

from __future__ import annotations

from seasoned.lab.report.format import interval, percent
from seasoned.lab.report.forms import Column
from seasoned.lab.report.summary import (
    Score,
    Solved,
    Spent,
)
from seasoned.text import UNKNOWN, count

MAX_CATEGORIES = 40
"""So many categories stand in a table; more are in summary.json."""


def text_column(heading: str, spare: bool = False) -> Column:
    """A column of words."""
    return Column(heading, number=False, spare=spare)


def decimal(value: float | None, digits: int = 1) -> str:
    """A number with so many digits behind the point."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def solved_cell(part: Solved | None) -> str:
    """Solved of how many."""
    return f"{part.successes}/{part.n}" if part else UNKNOWN


def accuracy_cell(score: Score) -> str:
    """The accuracy with its interval."""
    return f"{percent(score.accuracy)} {interval(score.interval)}" if score.n else UNKNOWN


def prompt_cell(spent: Spent) -> str:
    """Prompt tokens, with the part of them that came from a cache."""
    prompt, cached = spent.tokens.prompt, spent.tokens.cached
    return f"{count(prompt)} ({percent(cached / prompt, 0)})" if prompt else count(prompt)


def is_partial(reward: float | None, rate: float | None) -> bool:
    """Whether an attempt earned something between nothing and all: a success earns 1, so the means part then."""
    return reward is not None and rate is not None and abs(reward - rate) > 1e-9

"""The format of figures in every report.

Always holds: an unknown figure is an em dash, never 0.
"""

from __future__ import annotations

from seasoned.lab.report.summary import Score, Solved, Spent
from seasoned.text import UNKNOWN, count

MAX_CATEGORIES = 40
"""The most categories in a table; summary.json has all."""
MINUS = "\N{MINUS SIGN}"
GATHERING = "gathering"


def gathering(name: str) -> str:
    """The name for the attempts of a condition at training tasks."""
    return GATHERING if name == "training" else f"{name}, {GATHERING}"


def percent(rate: float | None, digits: int = 1) -> str:
    """A rate of 0..1 as a percentage."""
    return UNKNOWN if rate is None else f"{100 * rate:.{digits}f}%"


def interval(bounds: tuple[float, float] | list[float] | None) -> str:
    """An interval of rates, in whole percent: [56, 79]."""
    return UNKNOWN if bounds is None else f"[{100 * bounds[0]:.0f}, {100 * bounds[1]:.0f}]"


def signed(value: float | None, digits: int = 1) -> str:
    """A difference with its sign, or without one if it rounds to 0."""
    if value is None:
        return UNKNOWN
    shown = f"{abs(value):.{digits}f}"
    if float(shown) == 0:
        return shown
    return ("+" if value > 0 else MINUS) + shown


def p_value(p: float | None) -> str:
    """A p value for a table cell: <0.001, 0.032, 0.41."""
    if p is None:
        return UNKNOWN
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def p_clause(p: float) -> str:
    """A p value in a sentence: p < 0.001, p = 0.032."""
    shown = p_value(p)
    return f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def cost(dollars: float | None) -> str:
    """US dollars; an em dash if the price is unknown."""
    if dollars is None:
        return UNKNOWN
    if dollars == 0:
        return "$0"
    return f"${dollars:.2f}" if dollars >= 0.995 else f"${dollars:.2g}" if dollars >= 0.0001 else "<$0.0001"


def duration(seconds: float) -> str:
    """Seconds for people: 48 s, 5 min 12 s, 2 h 5 min."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60} s"
    return f"{total // 3600} h {total % 3600 // 60} min"


def share(part: int, whole: int) -> float | None:
    """The part divided by the whole; None if the whole is 0."""
    return part / whole if whole else None


def decimal(value: float | None, digits: int = 1) -> str:
    """A number with `digits` decimal places."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def solved_cell(part: Solved | None) -> str:
    """The number of solved tasks, of all: 12/20."""
    return f"{part.successes}/{part.n}" if part else UNKNOWN


def accuracy_cell(score: Score) -> str:
    """The accuracy with its interval."""
    return f"{percent(score.accuracy)} {interval(score.interval)}" if score.n else UNKNOWN


def prompt_cell(spent: Spent) -> str:
    """Prompt tokens, with the share that came from a cache."""
    prompt, cached = spent.tokens.prompt, spent.tokens.cached
    return f"{count(prompt)} ({percent(cached / prompt, 0)})" if prompt else count(prompt)


def is_partial(reward: float | None, rate: float | None) -> bool:
    """Whether some attempt earned a reward between 0 and 1: then the mean reward differs from the success rate."""
    return reward is not None and rate is not None and abs(reward - rate) > 1e-9

"""How names, figures and foreign text are written in every report.

Always holds: what these functions return can be shown anywhere (no control characters, no characters that turn the
direction of what follows, no half characters), and a figure that is unknown is an em dash, never 0.
"""

from __future__ import annotations

import re

UNKNOWN = "\N{EM DASH}"
MINUS = "\N{MINUS SIGN}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
GATHERING = "gathering"

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_NAMES = {
    "act": "Act",
    "autoguide": "AutoGuide",
    "cot": "CoT",
    "erl": "ERL",
    "expel": "ExpeL",
    "expnote": "ExpNote",
    "react": "ReAct",
    "reflexion": "Reflexion",
    "teachme": "TeachMe",
}


def clean(text: object) -> str:
    """Text that no terminal or browser can be led astray by; line ends become newlines, tabs stay."""
    unified = str(text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _DIRECTION.sub("", unified))


def cut(text: object, limit: int) -> str:
    """At most `limit` characters of it, then how many were left out."""
    whole = str(text)
    if len(whole) <= limit:
        return clean(whole)
    return f"{clean(whole[:limit])}{ELLIPSIS} [{len(whole) - limit:,} characters left out]"


def one_line(text: object, limit: int = 80) -> str:
    """A single line of at most `limit` characters, an ellipsis included."""
    # Far more than a line is never looked at, however long the text is.
    line = " ".join(clean(str(text)[: 8 * limit + 64]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + ELLIPSIS


def label(name: object) -> str:
    """A condition's name as its paper writes it: `expnote-merge` becomes ExpNote-merge."""
    parts = re.split(r"([-_ ]+)", one_line(name, 48))
    return "".join(_NAMES.get(part.lower(), part) for part in parts)


def gathering(name: str) -> str:
    """What the attempts of a condition at training tasks are called."""
    return GATHERING if name == "training" else f"{name}, {GATHERING}"


def percent(rate: float | None, digits: int = 1) -> str:
    """A rate of 0..1 as a percentage."""
    return UNKNOWN if rate is None else f"{100 * rate:.{digits}f}%"


def interval(bounds: tuple[float, float] | list[float] | None) -> str:
    """An interval of rates, in whole percent: [56, 79]."""
    return UNKNOWN if bounds is None else f"[{100 * bounds[0]:.0f}, {100 * bounds[1]:.0f}]"


def signed(value: float | None, digits: int = 1) -> str:
    """A difference with its sign; what rounds to nothing has none."""
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


def count(number: int | None) -> str:
    """A count in a narrow column: 912, 45.6k, 1.21M."""
    if number is None:
        return UNKNOWN
    if number < 1000:
        return str(number)
    if number < 999_500:
        return f"{number / 1000:.3g}k" if number < 99_950 else f"{number / 1000:.0f}k"
    return f"{number / 1e6:.2f}M" if number < 999_500_000 else f"{number / 1e9:.2f}G"


def cost(dollars: float | None) -> str:
    """US dollars; an em dash where the price is unknown."""
    if dollars is None:
        return UNKNOWN
    if dollars == 0:
        return "$0"
    return f"${dollars:.2f}" if dollars >= 0.995 else f"${dollars:.2g}" if dollars >= 0.0001 else "<$0.0001"


def duration(seconds: float) -> str:
    """Seconds for people: 48 s, 5 min 12 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def share(part: int, whole: int) -> float | None:
    """The part of the whole; None where there is no whole."""
    return part / whole if whole else None

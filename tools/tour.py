"""Counts the lines to read for an understanding of Seasoned in an afternoon, and fails if they are too many.

Run it as `python tools/tour.py`. These are the stops of docs/tour.md: the core, and one method or all four.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "seasoned"
PAGE = ROOT / "docs" / "tour.md"

CORE = (
    "errors.py",
    "types.py",
    "protocols.py",
    "text.py",
    "loop.py",
    "asking.py",
    "pool",
    "store/sql.py",  # the Store's public surface
    "memory/__init__.py",  # Memory's public surface
    "memory/attempt.py",
)
METHODS = {
    "ExpNote": "methods/expnote.py",
    "Reflexion": "methods/reflexion.py",
    "ExpeL": "methods/expel",
    "ERL": "methods/erl",
}
ONE, ALL = 4000, 6000
"""The most lines of the core with any one method, and with all four."""


def files(place: str) -> list[Path]:
    """The Python files of a file or folder of the source.

    Raises:
        FileNotFoundError: there is no such file.
    """
    path = SOURCE / place
    modules = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    if not modules or not all(file.is_file() for file in modules):
        raise FileNotFoundError(f"{place} is on the tour and not in the source; correct tools/tour.py and docs/tour.md")
    return modules


def lines(place: str) -> int:
    """The number of lines of a file or folder."""
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files(place))


def problems() -> Iterator[str]:
    """The problems: too many lines, or stops of the tour that the page misses or has in another order."""
    core, methods = sum(map(lines, CORE)), {name: lines(place) for name, place in METHODS.items()}
    longest = max(methods, key=lambda name: methods[name])
    if core + methods[longest] > ONE:
        yield f"the core and {longest} have {core + methods[longest]:,} lines; an afternoon takes {ONE:,}"
    if core + sum(methods.values()) > ALL:
        yield f"the core and all four methods have {core + sum(methods.values()):,} lines; the limit is {ALL:,}"
    page = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    places = [page.find(f"src/seasoned/{place}") for place in (*CORE, *METHODS.values())]
    missing = [place for place, at in zip((*CORE, *METHODS.values()), places, strict=True) if at < 0]
    if missing:
        yield f"docs/tour.md does not lead to {', '.join(missing)}"
    elif places != sorted(places):
        yield "docs/tour.md leads through the files in another order than tools/tour.py"


def main() -> int:
    """Print the stops with their lines, and the totals; the exit status is 1 if there is a problem."""
    total = 0
    for place in CORE:
        total += lines(place)
        print(f"{place:<24}{len(files(place)):>3} {'file ' if len(files(place)) == 1 else 'files'}{lines(place):>7,}")
    print(f"{'the core':<33}{total:>7,}")
    for name, place in METHODS.items():
        print(f"{'the core and ' + name:<33}{total + lines(place):>7,}   at most {ONE:,}")
    print(f"{'the core and all four':<33}{total + sum(map(lines, METHODS.values())):>7,}   at most {ALL:,}")
    wrong = list(problems())
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks that each table and figure of docs/papers.md has a recipe that loads, and each reference figure a place.

Run it as `python tools/check_papers.py`. Always holds: no experiment is run, and no data are read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "papers.md"
RECIPES = ROOT / "experiments" / "paper"

PAPERS = ("ERL", "ExpNote", "ExpeL", "Reflexion")
PLACE = re.compile(r"(table|figure|section|appendix) [A-Z]?[.]?\d+(\.\d+)*[ab]?\b")
_ROW = re.compile(r"^\|\s*((?:table|figure|appendix) [^|]+?)\s*\|([^|]*)\|(.*)\|$", re.MULTILINE)
_RECIPE = re.compile(r"\(\.\./experiments/paper/([\w]+)\.toml\)")


def rows(page: str) -> list[tuple[str, list[str], list[str]]]:
    """The rows of the page's tables: the place in the paper, its recipes, and the other cells."""
    return [
        (place.strip(), _RECIPE.findall(recipes), [cell.strip() for cell in rest.split("|")])
        for place, recipes, rest in _ROW.findall(page)
    ]


def problems(page: str) -> Iterator[str]:
    """The problems of the page, its recipes and the reference figures, in sentences."""
    from seasoned.errors import SeasonedError
    from seasoned.lab.report.reference import blocks
    from seasoned.lab.run.conditions import conditions
    from seasoned.lab.run.recipe import load_recipe

    table = rows(page)
    if not table:
        yield "docs/papers.md has no row that begins with a table or figure"
    named: set[str] = set()
    for place, recipes, cells in table:
        if not recipes:
            yield f"docs/papers.md, {place}: no recipe in experiments/paper/ is linked"
        if not all(cells):
            yield f"docs/papers.md, {place}: an empty cell; say what it needs, what it takes, and what was measured"
        for name in recipes:
            named.add(name)
            try:
                recipe = load_recipe(RECIPES / f"{name}.toml")
                conditions([*recipe.conditions, *({recipe.baseline} - {*recipe.conditions})])
            except SeasonedError as error:
                yield f"docs/papers.md, {place}: {name} does not load: {error}"
                continue
            if recipe.profile != "paper":
                yield f"experiments/paper/{name}.toml: its profile is {recipe.profile}, not paper"
    for name in sorted({file.stem for file in RECIPES.glob("*.toml")} - named):
        yield f"experiments/paper/{name}.toml: no row of docs/papers.md names it"
    for block in blocks():
        if block.paper not in PAPERS or not PLACE.match(block.place):
            yield f"reference.toml: {block.paper}, {block.place!r} is not a table, figure, section or appendix"
        yield from (
            f"reference.toml: {block.paper}, {block.place}: a row has no name" for row in block.rows if not row.row
        )


def main() -> int:
    """Print the problems; the exit status is 1 if there are any."""
    wrong = list(problems(PAGE.read_text(encoding="utf-8")))
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Draws the floors (from pyproject.toml) and the tree of the source (from docstrings) in docs/architecture.md.

Run it as `python tools/tree.py`: it fails if the page differs; `--write` draws both again.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "seasoned"
PAGE = ROOT / "docs" / "architecture.md"
WIDTH = 118
COLUMN = 19  # of the descriptions


def says(file: Path) -> str:
    """The first sentence of a module's docstring, without the full stop."""
    text = " ".join((ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split())
    return re.split(r"\.(?= [A-Z]|$)", text, maxsplit=1)[0]


def entry(name: str, words: str, indent: str) -> Iterator[str]:
    """A name and its description, on as many lines as needed."""
    first = f"{indent}{name}".ljust(COLUMN - 1) + " "
    yield from textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=" " * COLUMN)


def folder(path: Path, indent: str) -> Iterator[str]:
    """A package: its description, its modules, and its packages; `lab` is last."""
    yield from entry(f"{path.name}/", says(path / "__init__.py"), indent)
    yield from entry("", " ".join(sorted({file.name for file in path.glob("*.py")} - {"__init__.py"})), "")
    yield from packages(path, indent + "  ")


def packages(path: Path, indent: str) -> Iterator[str]:
    """The packages in a folder, except the migrations, which are data."""
    inner = sorted(init.parent for init in path.glob("*/__init__.py") if init.parent.name != "migrations")
    for each in sorted(inner, key=lambda one: one.name == "lab"):
        yield from folder(each, indent)


def tree() -> str:
    """The whole tree."""
    modules = [line for file in sorted(SOURCE.glob("*.py")) for line in entry(file.name, says(file), "  ")]
    return "\n".join(["src/seasoned/", *modules, *packages(SOURCE, "  ")])


def floors() -> str:
    """The layers that import-linter holds, from the top."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers: list[str] = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return "\n".join(layer.replace("seasoned.", "") for layer in layers)


def drawn(page: str) -> str:
    """The page with the current floors and tree."""
    for mark, text in (("floors", floors()), ("tree", tree())):
        before, fence, rest = page.partition(f"<!-- {mark} -->\n```text\n")
        page = f"{before}{fence}{text}\n```{rest.partition('```')[2]}"
    return page


def main() -> int:
    """Compare the page, or write it; the exit status is 1 if it differs."""
    page = PAGE.read_text(encoding="utf-8")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(drawn(page), encoding="utf-8")
    elif drawn(page) != page:
        print("the floors or files in docs/architecture.md are out of date: run python tools/tree.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

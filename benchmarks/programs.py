"""Figures of whole programs: the start of an import and of the command line, and the size of an install.

Always holds: each start is a new process of the interpreter that runs the benchmarks; only the install needs a network,
and it is done only on demand.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from timing import Figure, Sizes, above, in_turn

ROOT = Path(__file__).resolve().parent.parent
_HELP = "import sys; sys.argv = ['seasoned', '--help']; from seasoned.cli import main; main()"
_TOOLS = ("pip", "setuptools", "wheel")


def starts(sizes: Sizes) -> list[Figure]:
    """A bare interpreter, the imports of the package and of its memory, and `seasoned --help`."""
    programs = ("pass", "import seasoned", "import seasoned.memory", _HELP)
    bare, package, memory, shown = start_seconds(Path(sys.executable), programs, sizes.repeats)
    return [
        Figure("a bare interpreter (for comparison)", bare),
        Figure("`import seasoned`, interpreter included", package, target=0.15),
        above("`import seasoned`, without the interpreter", bare, package),
        above("`import seasoned.memory`, without the interpreter", bare, memory, target=0.2),
        Figure("`seasoned --help`", shown, target=0.4),
    ]


def start_seconds(python: Path, programs: Sequence[str], repeats: int, **environment: str) -> list[tuple[float, ...]]:
    """The seconds of new processes that run these programs, in turn."""

    def start(program: str) -> None:
        env = {**os.environ, **environment}
        subprocess.run([str(python), "-c", program], check=True, stdout=subprocess.DEVNULL, env=env)

    return in_turn([partial(start, program) for program in programs], repeats)


def install(measure: bool) -> list[Figure]:
    """The size and number of packages of the core in a new environment, without pip's own tools."""
    names = ("core install: its files", "core install: the blocks they take on this disk", "core install: packages")
    units, targets = ("MB", "MB", "packages"), (170, None, 32)
    if not measure:
        why = "not measured (--install)"
        return [Figure(n, unit=u, target=t, missing=why) for n, u, t in zip(names, units, targets, strict=True)]
    with TemporaryDirectory(prefix="seasoned-install-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [str(Path(folder, "bin", "python")), "-m", "pip", "--disable-pip-version-check", "--no-input"]
        subprocess.run([*pip, "install", "--quiet", str(ROOT)], check=True)
        values = weight(Path(folder))
    return [Figure(n, (value,), unit=u, target=t) for n, value, u, t in zip(names, values, units, targets, strict=True)]


def weight(environment: Path) -> tuple[float, float, int]:
    """The megabytes of files and of disk blocks, and the number of packages, without pip's own tools."""
    site = next((environment / "lib").glob("python*/site-packages"))
    packages = [p for p in site.glob("*.dist-info") if p.name.split("-")[0] not in _TOOLS]
    files = [p for p in site.rglob("*") if p.is_file() and p.relative_to(site).parts[0].split("-")[0] not in _TOOLS]
    sizes = [p.stat() for p in files]
    return sum(s.st_size for s in sizes) / 1e6, sum(s.st_blocks * 512 for s in sizes) / 1e6, len(packages)

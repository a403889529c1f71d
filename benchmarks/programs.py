"""Figures of whole programs: the start of an import and of the command line, and the size of an install.

Always holds: each start is a new process of the interpreter that runs the benchmarks; only the install needs a network,
and it is done only on demand.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from timing import Figure, Sizes, above

ROOT = Path(__file__).resolve().parent.parent
_HELP = "import sys; sys.argv = ['seasoned', '--help']; from seasoned.cli import main; main()"
_TOOLS = ("pip", "setuptools", "wheel")


def starts(sizes: Sizes) -> list[Figure]:
    """A bare interpreter, `import seasoned` and `seasoned --help`, in turn, so that a busy machine slows all."""
    programs = {"bare": "pass", "import": "import seasoned", "help": _HELP}
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(sizes.repeats + 1):
        for name, program in programs.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
            if turn:  # the first start compiles, and warms the disk cache
                taken[name].append(time.perf_counter() - began)
    return [
        Figure("a bare interpreter (for comparison)", tuple(taken["bare"])),
        Figure("`import seasoned`, interpreter included", tuple(taken["import"]), target=0.15),
        above("`import seasoned`, without the interpreter", taken["bare"], taken["import"]),
        Figure("`seasoned --help`", tuple(taken["help"]), target=0.4),
    ]


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

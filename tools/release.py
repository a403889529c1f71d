"""Builds wheel and sdist into dist/, checks them, and tries each in a bare environment: `make release`.

Always holds: the built packages are tried in an empty folder, without this checkout on the path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def example() -> str:
    """The keyless example of the README."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(next(block for block in blocks if "seasoned.Memory" in block))


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command and return its output; if it fails, show the output and end.

    Raises:
        SystemExit: it failed.
    """
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SEASONED_STORE")}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return done.stdout


def tried(package: Path) -> None:
    """Install a package into a bare environment and use it in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        home, empty = Path(folder) / "venv", Path(folder) / "empty"
        empty.mkdir()
        run(sys.executable, "-m", "venv", home)
        python = home / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package)
        run(home / "bin" / "seasoned", "demo", "--help", cwd=empty)
        run(home / "bin" / "seasoned", "run", "emoji", "--dry-run", cwd=empty)
        (empty / "example.py").write_text(example(), encoding="utf-8")
        printed = run(python, "example.py", cwd=empty)
        if printed.splitlines()[:2] != ["Monday: 0 of 3 right", "Tuesday: 3 of 3 right"]:
            raise SystemExit(f"the example of the README prints {printed!r} with {package.name}")
    print(f"{package.name}: installed in a bare environment, and the README's example learns")


def main() -> int:
    """Build, check and try the packages."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    built = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *built)
    for package in built:
        tried(package)
    return 0


if __name__ == "__main__":
    sys.exit(main())

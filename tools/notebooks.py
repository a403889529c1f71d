"""Runs the notebooks of examples/notebooks: `python tools/notebooks.py` checks what they print, `--write` updates it.

Each runs in its own process and folder, with warnings as errors and without a network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "examples" / "notebooks"
_MARK = "\x1e"  # printed after each cell
_PROGRAM = """
import json, sys
space = {"__name__": "__main__"}
for number, source in enumerate(json.load(sys.stdin)):
    exec(compile(source, f"cell {number + 1}", "exec"), space)
    print(chr(0x1e), end="", flush=True)
"""


def printed(notebook: dict[str, Any]) -> list[str]:
    """Run a notebook, and return what each code cell prints.

    Raises:
        RuntimeError: a cell fails; the message is what Python prints.
    """
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SEASONED_", "OPENAI_"))}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _PROGRAM],
            input=json.dumps(cells),
            cwd=folder,
            env={**env, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.split(_MARK)[: len(cells)]


def kept_outputs(notebook: dict[str, Any]) -> list[str]:
    """The outputs of the code cells in the notebook's file."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join("".join(each.get("text", ())) for each in cell["outputs"]) for cell in cells]


def with_outputs(notebook: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """The notebook with these outputs of its code cells."""
    rest = iter(texts)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = next(rest)
            output = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
            cell["outputs"] = [output] if text else []
    return notebook


def main() -> int:
    """Check the outputs of every notebook, or write them."""
    wrong = 0
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(file.read_text(encoding="utf-8"))
        texts = printed(notebook)
        if "--write" in sys.argv:
            file.write_text(json.dumps(with_outputs(notebook, texts), indent=1) + "\n", encoding="utf-8")
        for number, (now, before) in enumerate(zip(texts, kept_outputs(notebook), strict=True), 1):
            if now != before:
                print(f"{file.relative_to(ROOT)}: cell {number} prints {now!r}, and the notebook says {before!r}")
                wrong += 1
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())

"""Builds the docs site into build/site: `make docs-site`.

The pages are README.md, docs/, the log, and the notebooks of examples/notebooks. A link to any other file leads to the
repository. Pages that mkdocs.yml does not name are put under "Explanation" and "Methods"; the reference is made from
the docstrings of the public names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "pages"
NOTEBOOKS = ROOT / "examples" / "notebooks"
REPOSITORY = "https://github.com/seasoned-ai/seasoned/blob/main"
_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]*)(#[^)\s]*)?(\))")
_GROUPS = {
    "Memory": ("Memory", "Attempt"),
    "Methods": ("ExpNote", "Reflexion", "ExpeL", "ERL", "NearestCases", "AutoGuide", "TeachMe", "make_method"),
    "Types": (
        "Task",
        "Step",
        "Outcome",
        "Trajectory",
        "Lesson",
        "Entry",
        "Block",
        "Guidance",
        "Reply",
        "ToolCall",
        "Usage",
    ),
    "Protocols": ("LLM", "Embedder", "Environment", "Agent", "Method"),
    "Store": ("Store", "ExperiencePool"),
    "Models": ("OpenAIChat", "LocalModel", "ScriptedModel", "Journaled", "Metered", "Budget"),
    "Experiments": ("Recipe", "load_recipe", "make_recipe", "run", "read_summary", "Benchmark", "load_benchmark"),
    "Agents": ("Dialogue", "React"),
}
"""The pages of the reference; all other public names are on the page "Others"."""


def sources() -> dict[Path, Path]:
    """The files of the repository that are pages, with their places in the site."""
    pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "experiments" / "LOG.md"]
    pages += [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    places = {file: file.relative_to(ROOT) for file in pages}
    return {ROOT / "README.md": Path("index.md"), **places}


def relinked(text: str, file: Path, place: Path, places: dict[Path, Path]) -> str:
    """The text of a page with the links of the site; code is unchanged."""

    def link(match: re.Match[str]) -> str:
        target, anchor = match[2], match[3] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        there = (file.parent / target).resolve()
        if there in places:
            new = Path(os.path.relpath(places[there], place.parent)).as_posix()
        elif there.suffix in (".png", ".svg") and there.is_file():
            new = Path(os.path.relpath(there.relative_to(ROOT), place.parent)).as_posix()
        else:
            new = f"{REPOSITORY}/{there.relative_to(ROOT).as_posix()}"
        return f"{match[1]}{new}{anchor}{match[4]}"

    parts = re.split(r"(^```.*?^```|`[^`\n]*`)", text, flags=re.MULTILINE | re.DOTALL)
    # The split would break a link with a code span in its text, so links are replaced in larger parts.
    if any(part.startswith("```") for part in parts):
        blocks = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
        return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in blocks)
    return _LINK.sub(link, text)


def notebook(file: Path) -> str:
    """A notebook as a page: its text, its code, and what the code printed."""
    lines = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines.append(source)
            continue
        lines.append(f"```python\n{source}\n```")
        printed = "".join("".join(each.get("text", ())) for each in cell.get("outputs", ()))
        if printed.strip():
            lines.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(lines) + "\n"


def reference() -> Iterator[tuple[str, str]]:
    """Yield (title, text) for each page of the reference."""
    sys.path.insert(0, str(ROOT / "src"))
    import seasoned

    homes, grouped = seasoned._HOMES, {name for names in _GROUPS.values() for name in names}
    groups = {**_GROUPS, "Others": tuple(sorted(homes.keys() - grouped))}
    for title, names in groups.items():
        fields = "    options:\n      show_if_no_docstring: true\n" if title == "Types" else ""
        named = (f"::: {homes[name]}.{name}\n{fields}" for name in names if name in homes)
        yield title, f"# {title}\n\n" + "\n".join(named)


def write_pages() -> dict[str, list[str]]:
    """Write every page below build/pages; return the titles and places of those that mkdocs.yml does not name."""
    shutil.rmtree(PAGES, ignore_errors=True)
    places = sources()
    for file, place in places.items():
        to = PAGES / place
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(relinked(file.read_text(encoding="utf-8"), file, place, places), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", PAGES / "docs" / "images")
    more: dict[str, list[str]] = {"Methods": [], "Reference": [], "Explanation": [], "Project": []}
    (PAGES / "reference").mkdir()
    for title, page in reference():
        place = Path("reference") / f"{title.lower()}.md"
        (PAGES / place).write_text(page, encoding="utf-8")
        more["Reference"].append(place.as_posix())
    (PAGES / "notebooks").mkdir()
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        (PAGES / "notebooks" / f"{file.stem}.md").write_text(notebook(file), encoding="utf-8")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for name in sorted(each.as_posix() for each in places.values()):
        if f" {name}\n" in config:
            continue
        part = "Methods" if "/methods/" in name else "Explanation" if name.startswith("docs/") else "Project"
        more["Reference" if name.startswith(("docs/reference", "docs/file-formats")) else part].append(name)
    return more


def main() -> int:
    """Write the pages and build the site; a warning of MkDocs is an error."""
    if find_spec("mkdocs") is None or find_spec("mkdocstrings") is None or find_spec("material") is None:
        print("the docs site needs the extra docs: pip install 'seasoned[docs]'", file=sys.stderr)
        return 1
    more = write_pages()
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").rstrip() + "\n"
    for title, places in more.items():
        config += f"  - {title}:\n" + "".join(f"      - {place}\n" for place in places) if places else ""
    file = ROOT / "build" / "mkdocs.yml"
    config = config.replace("build/pages", "pages").replace("build/site", "site").replace("[src]", "[../src]")
    file.write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(file)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, cwd=ROOT, check=False, env=env, capture_output=True, text=True)
    for line in ended.stderr.splitlines():
        if not line.startswith("INFO"):
            print(line, file=sys.stderr)
    if ended.returncode == 0:
        print("the site is in build/site/index.html")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())

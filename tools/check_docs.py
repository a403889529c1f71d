"""Checks the links, commands, speed figures and Python examples of the documents; no file may name a private place.

Run it as `python tools/check_docs.py`; `--write` first writes the help of every command into docs/reference/cli.md,
which is built with the documents and not committed.

Always holds: a check only reads, and reports sentences that begin with path and line; `--write` writes that one file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    import typer

ROOT = Path(__file__).resolve().parent.parent
CLI_PAGE = "docs/cli.md"
FIGURES = "benchmarks/results.json"
HELP_PAGE = "docs/reference/cli.md"
WIDTH = 100

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([^`]*)$")
_LINKS = (
    re.compile(r"\]\(\s*<?([^)\s>]+)"),  # [text](target), ![text](target)
    re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)"),  # [label]: target
    re.compile(r"\b(?:href|src)=[\"']([^\"']+)"),
)
_FIGURE = re.compile(r"\[([^\]]+)\]\((?:[\w./]*speed\.md|#[\w-]+)\s+\"([^\"]+)\"\)")
_NUMBER = re.compile(r"([\d.,]+) (\S+)")
_SCALES = {"µs": 1e6, "ms": 1e3}
_INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_SCHEME = re.compile(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_ANCHOR = re.compile(r"<[a-zA-Z][^>]*\b(?:id|name)=[\"']([^\"']+)")
_BUILT = {".git", ".venv", "__pycache__", "build", "dist", "runs", ".hypothesis"}
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

# The patterns are joined from pieces, so that this file does not match them.
_INDEX_NAMES = "|".join(("py" + "pi", "npm" + "js", "python" + "hosted"))
_BEFORE_PATH = r"(?<![\w.~}$-])"
FORBIDDEN = {
    "the address of a package index": re.compile(
        rf"https?://[^\s\"'<>]*(?:{_INDEX_NAMES})|\b(?:{_INDEX_NAMES})\.(?:org|com|io)\b", re.IGNORECASE
    ),
    "a path of somebody's machine": re.compile(
        _BEFORE_PATH + "/(?:" + "wo" + "rk|ro" + "ot|(?:ho" + "me|Us" + r"ers)/[\w.-]+)/|" + "/tm" + "p/lab"
    ),
}


@dataclass(frozen=True)
class Block:
    """A fenced block of Markdown: the words after the fence, the text inside, and its first line (from 1)."""

    info: str
    text: str
    line: int


def split(markdown: str) -> tuple[list[Block], list[tuple[int, str]]]:
    """Split Markdown into its fenced blocks and its prose, the latter as (line number from 1, text).

    An unclosed fence runs to the end, as in CommonMark; a fence inside a list loses its indentation.
    """
    blocks: list[Block] = []
    prose: list[tuple[int, str]] = []
    fence, info, start, indent = "", "", 0, 0
    body: list[str] = []
    for number, line in enumerate(markdown.splitlines(), start=1):
        mark = _FENCE.match(line)
        if not fence:
            if mark:
                fence, info, start, body = mark[1], mark[2].strip(), number + 1, []
                indent = len(line) - len(line.lstrip())
            else:
                prose.append((number, line))
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not mark[2].strip():
            blocks.append(Block(info, "\n".join(body) + "\n", start))
            fence = ""
        else:
            body.append(line[min(indent, len(line) - len(line.lstrip())) :])
    if fence:
        blocks.append(Block(info, "\n".join(body) + "\n", start))
    return blocks, prose


def links(markdown: str) -> list[tuple[int, str]]:
    """All link targets outside code, as (line number, target), in the order of lines."""
    targets = []
    for number, line in split(markdown)[1]:
        plain = _INLINE_CODE.sub("", line)
        targets += [(number, target) for pattern in _LINKS for target in pattern.findall(plain)]
    return targets


def anchors(markdown: str) -> set[str]:
    """The names that `#...` can point to: headings as GitHub spells them, and explicit ids."""
    names: set[str] = set()
    seen: Counter[str] = Counter()
    for _, line in split(markdown)[1]:
        names.update(_ANCHOR.findall(line))
        heading = _HEADING.match(line)
        if heading:
            text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            names.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return names


def check_links(root: Path, page: str, markdown: str) -> Iterator[str]:
    """Report each relative link of `page` (a path relative to `root`) whose file or heading is missing."""
    for line, target in links(markdown):
        if _SCHEME.match(target):
            continue
        path, _, anchor = unquote(target).partition("#")
        file, text = root / page, markdown
        if path:
            file = ((root if path.startswith("/") else file.parent) / path.lstrip("/")).resolve()
            if not file.is_relative_to(root.resolve()):
                yield f"{page}:{line}: the link {target} leaves the repository; link to a file inside it"
                continue
            if not file.exists():
                yield f"{page}:{line}: the link {target} points to no file; correct it or add the file"
                continue
            text = (read(file) or "") if file.suffix == ".md" else ""
        if anchor and file.suffix == ".md" and anchor.lower() not in anchors(text):
            yield f"{page}:{line}: the link {target} names no heading of {file.name}; correct what follows the #"


def check_python(page: str, markdown: str) -> Iterator[str]:
    """Report each ```python block that does not compile; warnings of the compiler count."""
    for block in split(markdown)[0]:
        if block.info.split()[:1] != ["python"]:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                compile(block.text, page, "exec", dont_inherit=True)
            except SyntaxError as error:
                line = block.line + (error.lineno or 1) - 1
                yield f"{page}:{line}: this Python example does not compile: {error.msg}"
            except ValueError as error:
                yield f"{page}:{block.line}: this Python example does not compile: {error}"


def check_forbidden(path: str, text: str) -> Iterator[str]:
    """Report each line of `text` that names a package index or a path of one machine."""
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in FORBIDDEN.items():
            if match := pattern.search(line):
                yield f"{path}:{number}: this line names {what} ({match[0]}); leave it out"


def check_figures(page: str, markdown: str, figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Report each measured figure that differs from the last measurement, to the digits that the page gives.

    A measured figure is a link to speed.md whose title is the figure's name: `[1.6 ms](speed.md "name of the figure")`.
    """
    for number, line in split(markdown)[1]:
        for text, title in _FIGURE.findall(line):
            figure, given = figures.get(title), _NUMBER.fullmatch(text)
            if figure is None:
                yield f"{page}:{number}: {FIGURES} has no figure {title!r}; name one of it"
            elif given is None:
                yield f"{page}:{number}: {text!r} should be a number with a unit, such as 1.6 ms"
            else:
                digits = len(given[1].partition(".")[2])
                measured = figure["median"] * (_SCALES.get(given[2], 1) if figure["unit"] == "s" else 1)
                if (right := f"{measured:,.{digits}f}") != given[1]:
                    yield f"{page}:{number}: {text} is {right} {given[2]} in {FIGURES} ({title}); correct it"


def check_commands(page: str, markdown: str, texts: Mapping[str, str]) -> Iterator[str]:
    """Report each command (not a group of them) that `page` does not name in full."""
    for name in texts:
        group = any(other.startswith(f"{name} ") for other in texts)
        if not group and not re.search(rf"`{re.escape(name)}\b", markdown):
            yield f"{page}:1: the command `{name}` is not named here; say in a line what it is for"


def help_page(texts: Mapping[str, str]) -> str:
    """The help of each command as a page."""
    parts = [f"## `{name}`\n\n```text\n{text}```\n" for name, text in texts.items()]
    return "\n".join(["# The help of each command\n", *parts])


def help_texts(app: typer.Typer, program: str = "seasoned") -> dict[str, str]:
    """What `--help` prints for the program and each of its commands, by full name, WIDTH columns wide, uncoloured.

    Raises:
        RuntimeError: when a command's help ends with an error.
    """
    from typer.main import get_command
    from typer.testing import CliRunner

    def names(command: Any, words: list[str]) -> Iterator[list[str]]:
        yield words
        for name, child in sorted(getattr(command, "commands", {}).items()):
            if not child.hidden:
                yield from names(child, [*words, name])

    texts, env = {}, {"COLUMNS": str(WIDTH)}
    for words in names(get_command(app), []):
        result = CliRunner().invoke(app, [*words, "--help"], prog_name=program, env=env, color=False)
        name = " ".join([program, *words])
        if result.exit_code:
            raise RuntimeError(f"`{name} --help` ended with {result.exception!r}")
        lines = [line.rstrip() for line in _ANSI.sub("", result.output).splitlines()]
        texts[name] = "\n".join(lines).strip("\n") + "\n"
    return texts


def program_texts() -> dict[str, str]:
    """`help_texts` of Seasoned's own program, independent of the terminal and the CI service.

    Raises:
        ImportError: when the program cannot be imported.
        RuntimeError: when a command's help ends with an error.
    """
    for name in ("TERMINAL_WIDTH", "GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"):  # typer reads these on import
        os.environ.pop(name, None)
    from seasoned.cli.program import app

    return help_texts(app)


def files(root: Path) -> list[str]:
    """The paths, relative to `root`, of all files that git tracks or would; without git, of all that are not built."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = []
        for folder, children, names in os.walk(root):
            children[:] = [child for child in children if child not in _BUILT and not child.endswith("_cache")]
            listed += [(Path(folder) / name).relative_to(root).as_posix() for name in names]
    return sorted(name for name in set(listed) if name and (root / name).is_file())


def read(path: Path) -> str | None:
    """The text of a file, or None if it is not UTF-8 text."""
    raw = path.read_bytes()
    if b"\0" in raw:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def problems(root: Path, texts: Mapping[str, str] | None) -> Iterator[str]:
    """All problems under `root`; `texts` as from `help_texts`, or None to skip the commands."""
    measured = root / FIGURES
    rows = json.loads(measured.read_text(encoding="utf-8"))["figures"] if measured.is_file() else []
    figures = {row["what"]: row for row in rows}
    for name in files(root):
        text = read(root / name)
        if text is None:
            continue
        yield from check_forbidden(name, text)
        if name.endswith(".md"):
            yield from check_links(root, name, text)
            yield from check_figures(name, text, figures)
            if name == "README.md" or name.startswith("docs/"):
                yield from check_python(name, text)
    if texts is not None:
        page = root / CLI_PAGE
        if page.is_file():
            yield from check_commands(CLI_PAGE, page.read_text(encoding="utf-8"), texts)
        else:
            yield f"{CLI_PAGE}:1: the page is missing"


def main() -> int:
    """Print the problems; the exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(description="Check the documents of Seasoned.")
    parser.add_argument("--write", action="store_true", help=f"first write the commands' help into {HELP_PAGE}")
    write = parser.parse_args().write
    wrong: list[str] = []
    texts = None
    try:
        texts = program_texts()
    except (ImportError, RuntimeError) as error:
        wrong.append(f"{CLI_PAGE}:1: the commands cannot be checked: {error}")
    if write and texts is not None:
        page = ROOT / HELP_PAGE
        page.parent.mkdir(exist_ok=True)
        page.write_text(help_page(texts), encoding="utf-8")
    wrong += problems(ROOT, texts)
    for problem in wrong:
        print(problem)
    print(f"documents: {len(wrong)} problem{'' if len(wrong) == 1 else 's'}" if wrong else "documents: all well")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

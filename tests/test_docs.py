"""The pages are true: their Python runs, and their command lines are command lines of the program.

A ```python block that stands right after `<!-- not run -->` is not run: it needs a key, a server or a model's file.
A ```text block that follows a ```python block is what the example prints; `..` stands for any text.
"""

import importlib.util
import itertools
import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.exceptions import Exit, TyperException
from typer.main import get_command

from seasoned.cli.program import app
from seasoned.errors import ConfigError
from seasoned.lab.report.html import Call
from seasoned.lab.report.measures import Row
from seasoned.lab.report.summary import Summary
from seasoned.lab.run.conditions import ALIASES, BASES
from seasoned.lab.run.faults import keys
from seasoned.lab.run.recipe import Recipe, load_recipe
from seasoned.sandbox import find_walls
from seasoned.store.schema import metadata
from seasoned.types import Lesson, Outcome, Step, Trajectory, Usage

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
NOT_RUN = "<!-- not run -->"
# Commands around ours on one line: `export A=b; seasoned run ..`, `seasoned lessons export | head`.
_BETWEEN = re.compile(r"&&|\|\||[;|]")

_spec = importlib.util.spec_from_file_location("check_docs_for_pages", ROOT / "tools" / "check_docs.py")
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = tool  # dataclasses look their module up
_spec.loader.exec_module(tool)


def python_blocks(text: str) -> list[tuple[int, str, str | None]]:
    """(line, code, what the page says it prints or None) of the blocks that are to be run."""
    lines = text.splitlines()
    blocks = tool.split(text)[0]
    found = []
    for block, after in itertools.zip_longest(blocks, blocks[1:]):
        fence = block.line - 2  # the line of the fence, from 0
        before = lines[fence - 1].strip() if fence else ""
        if block.info.split()[:1] == ["python"] and before != NOT_RUN:
            end = block.line + block.text.count("\n")  # the line after the closing fence, from 0
            follows = after and after.info == "text" and not any(map(str.strip, lines[end : after.line - 2]))
            found.append((block.line, block.text, after.text if follows else None))
    return found


def is_printed(expected: str, printed: str) -> bool:
    """Whether a text was printed, with `..` for any text and without regard to spaces at the ends of lines."""
    plain = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    pattern = ".*?".join(re.escape(part) for part in expected.strip().split(".."))
    return bool(re.fullmatch(pattern, plain, re.DOTALL))


def commands(text: str) -> list[tuple[int, list[str]]]:
    """(line, arguments) of each `seasoned ..` in the blocks of shell lines."""
    found = []
    for block in tool.split(text)[0]:
        if block.info.split()[:1] not in (["sh"], ["console"]):
            continue
        joined = block.text.replace("\\\n", " ")
        for offset, line in enumerate(joined.splitlines()):
            for part in parts(line):
                words = shlex.split(part, comments=True)
                if words and Path(words[0]).name == "seasoned":
                    found.append((block.line + offset, words[1:]))
    return found


def promised(line: str) -> list[str]:
    """What a line of a page says that its example prints: "It prints `A`, then `B`"."""
    said = re.search(r"\bIt prints ((?:`[^`]+`(?:, then )?)+)", line)
    return re.findall(r"`([^`]+)`", said[1]) if said else []


def parts(line: str) -> list[str]:
    """The commands of one line, split outside quotes; a prompt in front is dropped."""
    quoted: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quoted.append(match[0])
        return f"\0{len(quoted) - 1}\0"

    plain = re.sub(r"\"[^\"]*\"|'[^']*'", keep, re.sub(r"^\s*\$ ", "", line))
    plain = re.sub(r"(^|\s)#.*", "", plain)
    return [re.sub(r"\0(\d+)\0", lambda m: quoted[int(m[1])], part) for part in _BETWEEN.split(plain)]


def check_command(words: list[str]) -> None:
    """Parse a command line as the program would, and run nothing.

    Raises:
        TyperException: when an option, an argument or a command does not exist.
    """
    command, name, rest = get_command(app), "seasoned", words
    while True:
        try:
            context = command.make_context(name, rest)
        except Exit:  # --help or --version
            return
        if not hasattr(command, "resolve_command"):
            return
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])


@pytest.mark.parametrize("name", NAMES)
def test_python_of_a_page_runs_and_prints_what_the_page_says(name, tmp_path, monkeypatch, capsys):
    if name == "docs/code.md":
        try:
            find_walls()
        except ConfigError as error:
            pytest.skip(str(error))
    markdown = (ROOT / name).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "page"}
    printed = ""
    for line, code, expected in python_blocks(markdown):
        exec(compile("\n" * (line - 1) + code, name, "exec", dont_inherit=True), space)
        out = capsys.readouterr().out
        assert expected is None or is_printed(expected, out), f"{name}:{line}: this example prints\n{out}"
        printed += out
    for number, line in enumerate(markdown.splitlines(), start=1):
        for words in promised(line):
            assert words in printed, f"{name}:{number}: no example of this page prints {words!r}"


@pytest.mark.parametrize("name", NAMES)
def test_commands_of_a_page_exist(name):
    for line, words in commands((ROOT / name).read_text(encoding="utf-8")):
        try:
            check_command(words)
        except TyperException as error:
            pytest.fail(f"{name}:{line}: seasoned {shlex.join(words)}: {error.format_message()}")


@pytest.mark.parametrize("name", NAMES)
def test_settings_of_a_page_exist(name):
    for _, words in commands((ROOT / name).read_text(encoding="utf-8")):
        if words[:1] == ["run"] and len(words) > 1 and (ROOT / words[1]).is_file():
            settings = [value for flag, value in itertools.pairwise(words) if flag in ("-c", "--set")]
            load_recipe(ROOT / words[1], settings)


def test_pages_hold_what_is_looked_for():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(python_blocks(text)) for text in texts) >= 5
    assert sum(len(commands(text)) for text in texts) >= 10


def test_what_a_page_promises():
    assert promised("No key. It prints `Monday: 0`, then `Tuesday: 3`. `no`") == ["Monday: 0", "Tuesday: 3"]
    assert promised("It prints all of it: `no`.") == []
    assert promised((ROOT / "README.md").read_text(encoding="utf-8")) == [
        "Monday: 0 of 3 right",
        "Tuesday: 3 of 3 right",
    ]


def test_a_wrong_command_is_found():
    text = "```sh\n# seasoned nothing\nexport A='b;c'; seasoned runs list \\\n  --jsn | head\n```\n"
    assert commands(text) == [(3, ["runs", "list", "--jsn"])]
    with pytest.raises(TyperException):
        check_command(["runs", "list", "--jsn"])
    with pytest.raises(TyperException):
        check_command(["rusn"])
    check_command(["lessons", "list", "--kind", "note", "--json"])


def test_a_marked_block_is_not_run():
    assert python_blocks("no block") == []
    assert python_blocks(f"{NOT_RUN}\n```python\n1 / 0\n```\n\n```python\nx = 1\n```\n") == [(7, "x = 1\n", None)]


def test_a_text_right_after_an_example_is_what_it_prints():
    block = "```python\nprint('a')\n```\n"
    assert python_blocks(f"{block}\n```text\na\n```\n") == [(2, "print('a')\n", "a\n")]
    assert python_blocks(f"{block}\nAnd:\n\n```text\na\n```\n") == [(2, "print('a')\n", None)]
    assert is_printed("les-..  a\nb\n", "les-12  a  \nb\n")
    assert not is_printed("a\n", "a\nb\n")
    assert not is_printed("a\n..c", "a\nb")


def in_code(name: str) -> set[str]:
    """The words that a page writes as code, outside blocks."""
    return set(
        re.findall(r"`([^`\n]+)`", "\n".join(line for _, line in tool.split((ROOT / name).read_text("utf-8"))[1]))
    )


def test_file_formats_name_every_field():
    said = in_code("docs/file-formats.md")
    fields = {name for model in (Row, Call, Trajectory, Lesson, Outcome, Step, Usage) for name in model.model_fields}
    columns = {column.name for table in metadata.tables.values() for column in table.columns} | set(metadata.tables)
    sections = {key.rsplit(".", 1)[0] for key in keys(Recipe) if "." in key}
    settings = {key for key in keys(Recipe) if key not in sections or key.endswith("_limits")} - {"benchmark"}
    limits = {key.rsplit(".", 1)[-1] if "_limits." in key else key for key in settings}
    assert fields | columns | limits | set(Summary.model_fields) <= said


def test_method_pages_name_every_condition():
    named = {*BASES, *(name for name in ALIASES if not name[-1].isdigit())}
    assert named <= set().union(
        *(in_code(f"docs/methods/{page.name}") for page in (ROOT / "docs" / "methods").glob("*.md"))
    )

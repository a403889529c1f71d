import subprocess
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from loading import program

docs = program("tools/check_docs.py")


def make_app() -> typer.Typer:
    app = typer.Typer(help="A small program.")
    lessons = typer.Typer(help="Look at lessons.")
    app.add_typer(lessons, name="lessons")

    @app.command()
    def run(recipe: str, seed: int = 0) -> None:
        """Run a recipe."""

    @app.command(hidden=True)
    def secret() -> None:
        """Not for readers."""

    @lessons.command("list")
    def list_() -> None:
        """List them."""

    return app


def test_split_tells_blocks_from_prose() -> None:
    text = "a\n```python x\n  1\n```\nb\n~~~~\n```\n~~~\n~~~~\n- c\n  ```text\n  d\n   e\n  ```\n```python\nopen"
    blocks, prose = docs.split(text)
    assert [(b.info, b.text, b.line) for b in blocks] == [
        ("python x", "  1\n", 3),
        ("", "```\n~~~\n", 7),
        ("text", "d\n e\n", 12),
        ("python", "open\n", 16),
    ]
    assert prose == [(1, "a"), (5, "b"), (10, "- c")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('takes [1.6 ms](speed.md "recall")', ""),
        ('takes [2 ms](../docs/speed.md "recall")', ""),
        ('takes [1,617 µs](#figures "recall")', ""),
        ('a process of [510 MB](speed.md "memory")', ""),
        ('see [speed](speed.md), [a page](page.md "recall")', ""),
        ('takes [1.7 ms](speed.md "recall")', "1.7 ms is 1.6 ms"),
        ('takes [509 MB](speed.md "memory")', "509 MB is 510 MB"),
        ('takes [1.6 ms](speed.md "recal")', "no figure 'recal'"),
        ('takes [fast](speed.md "recall")', "a number with a unit"),
    ],
)
def test_a_figure_of_a_page_is_the_last_measured_one(line: str, said: str) -> None:
    figures = {"recall": {"unit": "s", "median": 0.001617}, "memory": {"unit": "MB", "median": 509.7}}
    found = list(docs.check_figures("docs/a.md", f"a\n{line}\n", figures))
    assert [one.partition(": ")[0] for one in found] == (["docs/a.md:2"] if said else [])
    assert said in "".join(found)


@given(st.text(alphabet="`~# \n[]()<>!:\\ax\u0637\U0001f642"))
def test_parsers_take_any_text(text: str) -> None:
    blocks, prose = docs.split(text)
    fences = sum(2 for _ in blocks)
    assert len(prose) + sum(b.text.count("\n") for b in blocks) <= len(text.splitlines()) + fences
    docs.links(text)
    list(docs.check_figures("a.md", text, {}))
    docs.anchors(text)
    list(docs.check_commands("a.md", text, {"a b": ""}))


def test_links_skip_code() -> None:
    text = (
        "[a](one.md) and `[b](two.md)` ![c](<three.png> 'x')\n```\n[d](four.md)\n```\n[e]: five.md\n<img src='six.png'>"
    )
    assert docs.links(text) == [(1, "one.md"), (1, "three.png"), (5, "five.md"), (6, "six.png")]


def test_anchors_are_spelled_as_github_spells_them() -> None:
    text = '# Two words\n## `seasoned run`\n## [Link](x.md), too!\n# Two words\n<a id="here"></a>\n```\n# not this\n```'
    assert docs.anchors(text) == {"two-words", "seasoned-run", "link-too", "two-words-1", "here"}


def test_check_links(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a b.md").write_text("# Top\n")
    (tmp_path / "README.md").write_text("x")
    good = "[1](a%20b.md) [2](a%20b.md#top) [3](../README.md) [4](/docs) [5](https://x.example/y) [6](#me)\n# Me"
    assert list(docs.check_links(tmp_path, "docs/page.md", good)) == []
    bad = "[1](gone.md)\n[2](a%20b.md#bottom)\n[3](../../outside.md)\n[4](#nobody)"
    found = list(docs.check_links(tmp_path, "docs/page.md", bad))
    assert [problem.split(": ")[0] for problem in found] == [f"docs/page.md:{line}" for line in (1, 2, 3, 4)]
    assert [word in problem for word, problem in zip(("no file", "no heading", "leaves", "no heading"), found)] == [
        True
    ] * 4


def test_check_python_reports_the_line() -> None:
    good = "```python\nx = 1\n```\n```pycon\n>>> not python\n```\n"
    assert list(docs.check_python("a.md", good)) == []
    (problem,) = docs.check_python("a.md", "text\n```python\nx = 1\ny = = 2\n```\n")
    assert problem.startswith("a.md:4: ")
    (problem,) = docs.check_python("a.md", "```python\nx = '\\d'\n```\n")
    assert problem.startswith("a.md:2: ")


@pytest.mark.parametrize(
    "line",
    [
        "see https://files." + "python" + "hosted.org/x",
        "see https://" + "py" + "pi.org/simple",
        "registry." + "npm" + "js.org",
        "cd /wo" + "rk/main",
        "open('/ro" + "ot/.cache/x')",
        "file:///ho" + "me/ann/x",
        "/tm" + "p/lab",
    ],
)
def test_forbidden_lines_are_found(line: str) -> None:
    (problem,) = docs.check_forbidden("a.txt", "fine\n" + line)
    assert problem.startswith("a.txt:2: ")


@pytest.mark.parametrize(
    "line",
    [
        "the wheels on Py" + "PI",
        "https://site.example/wo" + "rk/x",
        "~/wo" + "rk/x",
        "{home}/ro" + "ot/",
        "/usr/lib/x",
        "frame" + "wo" + "rk/",
        "/ho" + "me",
    ],
)
def test_ordinary_lines_are_let_through(line: str) -> None:
    assert list(docs.check_forbidden("a.txt", line)) == []


def test_the_check_does_not_forbid_itself() -> None:
    for path in (Path(docs.__file__), Path(__file__)):
        assert list(docs.check_forbidden(path.name, path.read_text(encoding="utf-8"))) == []


def test_help_texts_of_each_visible_command(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = docs.help_texts(make_app(), "small")
    assert list(texts) == ["small", "small lessons", "small lessons list", "small run"]
    assert "Usage: small run [OPTIONS]" in texts["small run"]
    assert "secret" not in "".join(texts.values())
    assert max(len(line) for text in texts.values() for line in text.splitlines()) <= docs.WIDTH
    assert "\x1b" not in "".join(texts.values())
    monkeypatch.setenv("COLUMNS", "40")
    assert docs.help_texts(make_app(), "small") == texts


def test_a_failing_help_is_named() -> None:
    app = typer.Typer()

    @app.command(add_help_option=False)
    def only() -> None:
        """Nothing."""

    with pytest.raises(RuntimeError, match="`small --help` ended with"):
        docs.help_texts(app, "small")


def test_every_command_has_to_be_named() -> None:
    texts = docs.help_texts(make_app(), "small")
    page = docs.help_page(texts)
    assert page.startswith("# The help of each command\n\n## `small`\n\n```text\n")
    assert list(docs.check_commands("c.md", page, texts)) == []
    (problem,) = docs.check_commands("c.md", "`small run RECIPE` and small lessons list", texts)
    assert "c.md:1: the command `small lessons list` is not named" in problem


def test_problems_reads_tracked_text_only(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "cli.md").write_text("`smaller`\n")
    (tmp_path / "README.md").write_text("[gone](gone.md)\n")
    (tmp_path / "binary.bin").write_bytes(b"\0/wo" + b"rk/x")
    (tmp_path / "latin.txt").write_bytes(b"\xff/wo" + b"rk/x")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "x.md").write_text("[gone](gone.md)\n")
    expected = ["README.md:1: the link gone.md", "docs/cli.md:1: the command `small` is not named"]
    without_git = list(docs.problems(tmp_path, {"small": "new\n"}))
    assert [problem.startswith(start) for problem, start in zip(without_git, expected)] == [True, True]
    assert len(without_git) == 2
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(".venv/\n")
    assert list(docs.problems(tmp_path, {"small": "new\n"})) == without_git
    (tmp_path / "docs" / "cli.md").unlink()
    assert list(docs.problems(tmp_path, {"small": "new\n"}))[-1].startswith("docs/cli.md:1: the page is missing")

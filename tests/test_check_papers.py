"""The checks of docs/papers.md: each of them finds what it is there for."""

import re

import pytest
from loading import program

check_papers = program("tools/check_papers.py")

PAGE = check_papers.PAGE.read_text(encoding="utf-8")


def found(page):
    return list(check_papers.problems(page))


def test_the_page_is_in_order():
    assert found(PAGE) == []
    assert check_papers.main() == 0


def test_every_recipe_of_the_papers_has_a_row():
    told = {name for _, recipes, _ in check_papers.rows(PAGE) for name in recipes}
    assert told == {file.stem for file in check_papers.RECIPES.glob("*.toml")}


@pytest.mark.parametrize(
    ("was", "instead", "says"),
    [
        ("erl_figure4.toml", "erl_figure99.toml", r"docs/papers\.md, figure 4: erl_figure99 does not load"),
        ("erl_figure4.toml", "erl_figure5.toml", r"erl_figure4\.toml: no row of docs/papers\.md names it"),
        ("| nothing | 7,700;", "|  | 7,700;", "table 2: an empty cell"),
        ("(../experiments/paper/erl_table5.toml)", "", "table 5: no recipe in experiments/paper/ is linked"),
    ],
)
def test_a_row_that_does_not_hold_is_named(was, instead, says):
    assert was in PAGE
    problems = found(PAGE.replace(was, instead))
    assert [problem for problem in problems if re.search(says, problem)]


def test_a_page_without_rows_is_named():
    problems = found("# Nothing\n")
    assert problems[0] == "docs/papers.md has no row that begins with a table or figure"
    assert any("no row of docs/papers.md names it" in problem for problem in problems)


def test_a_recipe_without_the_profile_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "own.toml").write_text(
        'name = "own"\nconditions = ["disabled"]\nbaseline = "disabled"\n[benchmark]\nname = "emoji"\n',
        encoding="utf-8",
    )
    page = tmp_path / "papers.md"
    page.write_text("| figure 1 | [own](../experiments/paper/own.toml) | nothing | 1 | not measured |\n")
    monkeypatch.setattr(check_papers, "RECIPES", tmp_path)
    monkeypatch.setattr(check_papers, "PAGE", page)
    assert check_papers.main() == 1
    assert "experiments/paper/own.toml: its profile is small, not paper" in capsys.readouterr().err


def test_a_reference_figure_without_its_place_is_named(monkeypatch):
    from seasoned.lab.report import reference

    first, *rest = reference.blocks()
    row = first.rows[0].model_copy(update={"row": ""})
    wrong = first.model_copy(update={"place": "somewhere", "rows": (row, *first.rows[1:])})
    monkeypatch.setattr(reference, "blocks", lambda: (wrong, *rest))
    problems = found(PAGE)
    assert f"reference.toml: {first.paper}, 'somewhere' is not a table, figure, section or appendix" in problems
    assert f"reference.toml: {first.paper}, somewhere: a row has no name" in problems

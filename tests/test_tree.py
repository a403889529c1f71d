from loading import program

tree = program("tools/tree.py")


def test_architecture_draws_the_floors_and_the_files_that_are_there():
    page = tree.PAGE.read_text(encoding="utf-8")
    assert tree.drawn(page) == page, "run python tools/tree.py --write"


def test_the_tree_has_every_file_and_ends_no_line_in_a_word():
    words = tree.tree().split()
    assert {path.name for path in tree.SOURCE.rglob("*.py") if "migrations" not in path.parts} <= set(words) | {
        "__init__.py"
    }
    assert all(len(line) <= tree.WIDTH for line in tree.tree().splitlines())


def test_what_a_module_says_is_its_first_sentence(tmp_path):
    file = tmp_path / "x.py"
    file.write_text('"""Shops (Yao et al. 2022), where\none buys. More."""\n')
    assert tree.says(file) == "Shops (Yao et al. 2022), where one buys"
    file.write_text("x = 1\n")
    assert tree.says(file) == ""


def test_another_page_is_found_and_written(tmp_path, monkeypatch, capsys):
    page = tmp_path / "architecture.md"
    page.write_text("<!-- floors -->\n```text\nold\n```\n<!-- tree -->\n```text\nold\n```\nend\n")
    monkeypatch.setattr(tree, "PAGE", page)
    monkeypatch.setattr(tree.sys, "argv", ["tree.py"])
    assert tree.main() == 1
    assert "--write" in capsys.readouterr().out
    monkeypatch.setattr(tree.sys, "argv", ["tree.py", "--write"])
    assert tree.main() == 0
    assert page.read_text().endswith("```\nend\n")
    monkeypatch.setattr(tree.sys, "argv", ["tree.py"])
    assert tree.main() == 0

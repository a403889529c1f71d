"""`seasoned runs`: list, show, compare, path."""

from pathlib import Path

import pytest


@pytest.fixture
def two(cli, model):
    return [
        Path(cli("run", "small.toml", "-c", f"name={name}", "--json", "-q").json["path"]) for name in ("one", "two")
    ]


def test_list(cli, two):
    found = {row["run"]: row for row in cli("runs", "list", "--json").json}
    assert set(found) == {path.name for path in two}
    assert all(row["complete"] and row["model"] == "apprentice" for row in found.values())
    (two[1] / "summary.json").unlink()
    text = cli("runs", "list").out
    assert "not complete" in text
    assert two[0].name in text


def test_an_empty_list(cli):
    assert cli("runs", "list", "--json").json == []
    assert "no runs in runs" in cli("runs", "list").out


def test_show(cli, two):
    shown = cli("runs", "show", "one", "--json").json
    assert Path(shown["path"]) == Path("runs") / two[0].name
    assert {"conditions", "pairs", "run"} <= set(shown)
    assert "ExpNote" in cli("runs", "show", two[0]).out


def test_show_what_is_not_complete(cli, two):
    (two[0] / "summary.json").unlink()
    done = cli("runs", "show", "one")
    assert (done.code, done.out) == (1, "")
    assert "is not complete: go on with `seasoned run --resume" in done.err


def test_compare(cli, two):
    assert cli("runs", "compare", "one", "two", "--json").json
    text = cli("runs", "compare", "one", "two").out
    assert "ExpNote" in text


@pytest.mark.parametrize("form", ["name", "part", "path", "here"])
def test_path_however_a_run_is_named(cli, two, form, monkeypatch):
    whole = two[0].resolve()
    if form == "here":
        monkeypatch.chdir(whole)
    name = {"name": two[0].name, "part": two[0].name[-6:], "path": str(whole), "here": "."}[form]
    assert Path(cli("runs", "path", name).out.strip()) == whole


def test_a_run_in_its_own_folder_can_be_resumed(cli, two, monkeypatch, folder):
    monkeypatch.chdir(two[0])
    done = cli("run", "--resume", ".", "--store", folder / "seasoned.db", "-q", "--json")
    assert done.code == 0, done.err


def test_names_that_fit_none_or_several(cli, two):
    for words, says in ((("path", "three"), "there is no run 'three' in runs"), (("show", "-"), "fits 2 runs")):
        done = cli("runs", *words)
        assert (done.code, done.out) == (1, "")
        assert says in done.err

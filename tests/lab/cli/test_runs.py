"""`seasoned runs`: list, show, compare, table, export, path."""

import csv
import io
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import RECIPE

from seasoned import traces
from seasoned.errors import MissingExtraError
from seasoned.lab.run.experiment import run
from seasoned.lab.run.recipe import make_recipe
from seasoned.lab.run.rundir import to_dataframe
from seasoned.llm.scripted import ScriptedModel
from seasoned.store.sql import Store


@pytest.fixture(scope="module")
def made(tmp_path_factory, new_apprentice):
    """A folder with the runs `one` and `two` and their store."""
    folder = tmp_path_factory.mktemp("made")
    model = ScriptedModel(new_apprentice(), name="apprentice")
    with Store(folder / "seasoned.db") as store:
        for name in ("one", "two"):
            recipe = make_recipe(tomllib.loads(RECIPE.replace('"small"', f'"{name}"')))
            run(recipe, store=store, runs_dir=folder / "runs", quiet=True, llm=model)
    return folder


@pytest.fixture
def two(made, model, folder):
    """The folders of a test's own copy of those runs; its command line finds their store."""
    shutil.copytree(made, folder, dirs_exist_ok=True)
    for manifest in folder.glob("runs/*/manifest.json"):
        manifest.write_text(manifest.read_text(encoding="utf-8").replace(str(made), str(folder)), encoding="utf-8")
    return sorted(Path("runs").iterdir(), key=lambda place: "-two-" in place.name)


def test_list(cli, two):
    found = {row["run"]: row for row in cli("runs", "list", "--json").json}
    assert set(found) == {path.name for path in two}
    assert all(row["complete"] and row["model"] == "apprentice" for row in found.values())
    (two[1] / "summary.json").unlink()
    text = cli("runs", "list").out
    assert "not complete" in text
    assert two[0].name in text


def test_what_was_found_is_whole_on_a_narrow_terminal(cli, model, monkeypatch):
    cli("run", "small.toml", "-c", f"name={'n' * 40}", "-q")
    (run,) = cli("runs", "list", "--json").json
    for width in (40, 60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = cli("runs", "list").out.splitlines()
        assert max(map(len, lines)) <= width
        begins = lines[0].index("found")
        assert " ".join(line[begins:].strip() for line in lines[1:]).strip() == run["headline"]
        assert "".join(line[:begins].replace("yes", "").strip() for line in lines[1:]) == run["run"]


OTHER = '{"headline": "So.", "conditions": %s, "run": %s}'
"""A summary with other conditions and another run."""


def test_a_damaged_summary_is_told_and_hides_no_other_run(cli, two):
    for content in ("{", "{}", "[]", "\x00", "[" * 100_000, OTHER % ("{}", "{}"), OTHER % ("[]", "null")):
        (two[0] / "summary.json").write_text(content, encoding="utf-8")
        found = {row["run"]: row for row in cli("runs", "list", "--json").json}
        assert found[two[1].name]["complete"]
        assert found[two[0].name]["headline"] == "its summary.json is damaged"
        shown = cli("runs", "show", "one")
        assert (shown.code, shown.out) == (1, "")
    [line] = [line for line in cli("doctor", "--json").json["checks"] if line["name"] == "runs"]
    assert not line["ok"]
    assert cli("run", "--resume", two[0], "-q").code == 0
    assert cli("runs", "show", "one").code == 0


@pytest.mark.parametrize("content", [OTHER % ("[]", "{}"), OTHER % ('[{"name": 3}]', "{}"), OTHER % ("[1]", "{}")])
def test_a_summary_of_another_form_is_a_sentence(cli, two, content):
    (two[0] / "summary.json").write_text(content, encoding="utf-8")
    shown, compared = cli("runs", "show", "one"), cli("runs", "compare", "two", "one")
    assert (shown.code, shown.out) == (1, "")
    says = f"{two[0].name}/summary.json has another form than this version writes"
    assert says in shown.err
    assert f"write it again with seasoned run --resume {Path('runs') / two[0].name}" in shown.err
    assert compared.code == 0 or (compared.out == "" and says in compared.err)
    assert {row["run"] for row in cli("runs", "list", "--json").json} == {path.name for path in two}


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


def test_runs_of_one_name_are_told_apart_in_a_narrow_terminal(cli, model, monkeypatch):
    made = [Path(cli("run", "small.toml", "--json", "-q").json["path"]).name for _ in range(2)]
    monkeypatch.setenv("COLUMNS", "80")
    text = cli("runs", "compare", *made).out
    lines = [line for line in text.splitlines() if "ExpNote" in line]
    assert [line.split()[0] for line in lines] == [name.partition("-")[2] for name in made]
    assert all("[" in line and "%" in line for line in lines)
    assert "Not shown in this narrow terminal: model, " in text
    assert cli("runs", "path", lines[0].split()[0]).code == 0


def test_one_run_alone_is_not_compared(cli, two):
    done = cli("runs", "compare", "one")
    assert (done.code, done.out) == (1, "")
    assert "expected two runs or more to compare, but got one: seasoned runs compare one OTHER" in done.err


def test_names_are_shown_as_they_are(cli, folder):
    for name in ("20310405T101112-[red]x-aaaaaa", "20310405T101113-:smile:-bbbbbb"):
        (folder / "runs" / name).mkdir(parents=True)
        (folder / "runs" / name / "config.toml").write_text("")
    text = cli("runs", "list").out
    assert "[red]x" in text
    assert ":smile:" in text
    assert "no runs in [/b]" in cli("runs", "list", "--runs", "[/b]").out


@pytest.mark.parametrize("form", ["name", "part", "path", "here"])
def test_path_however_a_run_is_named(cli, two, form, monkeypatch):
    whole = two[0].resolve()
    if form == "here":
        monkeypatch.chdir(whole)
    name = {"name": two[0].name, "part": two[0].name[-6:], "path": str(whole), "here": "."}[form]
    assert Path(cli("runs", "path", name).out.strip()) == whole
    assert cli("runs", "path", name, "--json").json == {"path": str(whole)}


def test_a_run_in_its_own_folder_can_be_resumed(cli, two, monkeypatch, folder):
    monkeypatch.chdir(two[0])
    done = cli("run", "--resume", ".", "--store", folder / "seasoned.db", "-q", "--json")
    assert done.code == 0, done.err


def test_names_that_fit_none_or_several(cli, two):
    for words, says in (
        (("path", "three"), "there is no run 'three' in runs"),
        (("show", "-"), "matches 2 runs"),
        (("show", "x" * 300), "no run"),
    ):
        done = cli("runs", *words)
        assert (done.code, done.out) == (1, "")
        assert says in done.err


def test_an_empty_name_is_no_run_even_where_there_is_only_one(cli, model, folder, monkeypatch):
    place = Path(cli("run", "small.toml", "--json", "-q").json["path"]).resolve()
    for here in (folder, place):
        monkeypatch.chdir(here)
        for words in (("runs", "show", ""), ("runs", "path", " "), ("run", "--resume", "")):
            done = cli(*words, "--runs", folder / "runs")
            assert (done.code, done.out) == (1, "")
            assert "expected the name of a run, but it is empty" in done.err
    monkeypatch.chdir(folder)
    assert cli("run", "small.toml", "--resume", "").code == 1
    assert [path.name for path in (folder / "runs").iterdir()] == [place.name]


def test_the_episodes_as_rows(cli, two):
    rows = list(csv.DictReader(io.StringIO(cli("runs", "table", "one", "--csv").out)))
    assert rows
    plain = cli("runs", "table", "one", "--json").json
    assert [row["task_id"] for row in rows] == [row["task_id"] for row in plain]
    assert {row["condition"] for row in plain if row["split"] == "test"} == {"disabled", "expnote"}
    shown = {one["name"]: one for one in cli("runs", "show", "one", "--json").json["conditions"]}["expnote"]
    mine = [row for row in plain if row["condition"] == "expnote" and row["split"] == "test"]
    assert (len(mine), sum(row["solved"] for row in mine)) == (shown["n"], shown["successes"])
    assert all(row["calls"] > 0 for row in plain)
    assert "ExpNote" in cli("runs", "table", "one").out


def test_a_log_of_inspect_ai_for_each_condition(cli, two):
    done = cli("runs", "export", "one", "--format", "eval", "--output", "logs.eval", "--json")
    assert (done.code, done.err) == (0, "")
    logs = {one["condition"]: one for one in done.json["logs"]}
    assert {name: (one["file"], one["samples"]) for name, one in logs.items()} == {
        "disabled": ("logs-disabled.eval", 5),
        "expnote": ("logs-expnote.eval", 5),
    }
    for row in cli("runs", "show", "one", "--json").json["conditions"]:
        found = traces.read(Path(logs[row["name"]]["file"]))
        assert (len(found.trajectories), found.successes, found.problems) == (5, row["successes"], ())
        assert all(len(one.messages) > 2 for one in found.trajectories)
    assert cli("import", "logs-expnote.eval", "--store", "other.db", "--json").json["added"] == 5


def test_one_condition_gets_the_name_as_it_is(cli, two, folder):
    done = cli("runs", "export", "one", "--output", "e.eval", "--condition", "expnote")
    assert (done.code, done.out) == (0, "e.eval: 5 samples of expnote\n")
    for words, says in (
        (("--output", "e.eval", "--condition", "erl"), "tested no condition 'erl'; it tested disabled, expnote"),
        (("--output", "no/e.eval"), "there is no folder no"),
        (("--output", "seasoned.db", "--condition", "expnote"), "is a store"),
    ):
        done = cli("runs", "export", "one", *words)
        assert (done.code, done.out) == (1, "")
        assert says in done.err
    (two[0] / "trajectories.jsonl").write_text("{}\n", encoding="utf-8")
    assert "trajectories.jsonl, line 1, is not an attempt" in cli("runs", "export", "one", "--output", "f.eval").err
    (two[0] / "trajectories.jsonl").unlink()
    assert "trajectories.jsonl cannot be read" in cli("runs", "export", "one", "--output", "f.eval").err
    assert sorted(path.name for path in folder.glob("*.eval")) == ["e.eval"]


def test_as_a_dataframe(two):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = to_dataframe(two[0])
    assert isinstance(frame, pandas.DataFrame)
    assert set(frame[frame.split == "test"].condition) == {"disabled", "expnote"}


def test_without_pandas_it_says_what_to_install(two, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        to_dataframe(two[0])

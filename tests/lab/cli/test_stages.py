"""`seasoned gather|learn|evaluate`: one after the other, with a person in between."""

import json
from pathlib import Path

import pytest

INSIGHT = "Read both pages where two are named."  # as the player of conftest.py says


def test_the_stages_one_by_one_come_to_a_whole_run(cli, model):
    gathered = cli("gather", "small.toml", "-q", "--json").json
    assert (gathered["done"], gathered["next"]) == ("gather", "learn")
    assert cli("lessons", "list", "--json").json == []
    learned = cli("learn", "last", "-q", "--json").json
    assert learned["path"] == gathered["path"]
    assert cli("lessons", "list", "--kind", "note", "--json").json
    assert not (Path(learned["path"]) / "summary.json").exists()
    done = cli("evaluate", "last", "-q", "--json")
    assert done.code == 0
    assert [block["name"] for block in done.json["conditions"]] == ["disabled", "expnote"]
    assert (Path(done.json["path"]) / "report.html").is_file()


def test_no_stage_makes_what_is_there_again(cli, model, apprentice):
    cli("gather", "small.toml", "-q")
    calls = apprentice.calls
    cli("learn", "last", "-q")
    assert apprentice.calls == calls
    cli("evaluate", "last", "-q")
    calls = apprentice.calls
    assert cli("evaluate", "last", "-q").code == 0
    assert apprentice.calls == calls


def test_what_a_person_changes_in_between_is_what_is_recalled(cli, model, folder):
    cli("gather", "small.toml", "-q", "-c", "train=20")
    cli("learn", "last", "-q")
    for lesson in cli("lessons", "list", "--json").json:
        assert cli("lessons", "edit", lesson["id"], "--text", "changed by hand", "--why", "a test").code == 0
    done = cli("evaluate", "last", "-q", "--json").json
    told = (Path(done["path"]) / "trajectories.jsonl").read_text(encoding="utf-8")
    assert "changed by hand" in told


def test_what_a_person_adds_before_learning_stays(cli, model):
    run = Path(cli("gather", "small.toml", "-q", "--json").json["path"]).name
    words = ("lessons", "add", "by hand", "--kind", "note", "--key", "own", "--scope", f"{run}/s0f0/expnote")
    assert cli(*words).code == 0
    cli("learn", "last", "-q")
    assert "by hand" in [lesson["text"] for lesson in cli("lessons", "list", "--json").json]
    cli("run", "--resume", "last", "--redo", "training", "-q")
    assert "by hand" in [lesson["text"] for lesson in cli("lessons", "list", "--json").json]


def test_what_a_person_changed_is_judged_though_the_attempts_it_came_from_are_made_again(cli, model):
    cli("run", "small.toml", "-q", "-c", "train=20")
    for lesson in cli("lessons", "list", "--json").json:
        cli("lessons", "edit", lesson["id"], "--text", "changed by hand", "--why", "a test")
    for _ in range(2):
        done = cli("run", "--resume", "last", "--redo", "training", "-q", "--json")
        assert done.code == 0, done.err
    told = (Path(done.json["path"]) / "trajectories.jsonl").read_text(encoding="utf-8")
    assert "changed by hand" in told


def test_what_was_changed_after_the_judgement_is_told(cli, model):
    cli("run", "small.toml", "-q")
    assert cli("evaluate", "last", "-q").err == ""
    [first, *_] = cli("lessons", "list", "--json").json
    cli("lessons", "edit", first["id"], "--text", "changed by hand", "--why", "a test")
    said = cli("evaluate", "last", "-q", "--store", "./seasoned.db").err
    assert "1 lesson of this run changed after its tasks were judged" in said
    assert said.endswith(" --store ./seasoned.db --redo CONDITION\n")


def test_a_person_is_told_what_comes_next(cli, model):
    done = cli("gather", "small.toml", "-q")
    assert "Go on with: seasoned learn" in done.out
    done = cli("gather", "small.toml", "-q", "--store", "my notes.db", "--runs", "my runs")
    place, told = done.out.splitlines()
    assert told == f"Go on with: seasoned learn '{place}' --store 'my notes.db'"


def test_a_person_corrects_insights_between_the_stages(cli, acting, player):
    assert cli("gather", "source.toml", "-q", "-c", "folds=0", "-c", "curve=[]").code == 0
    cli("learn", "last", "-q")
    learned = cli("lessons", "list", "--kind", "insight", "--json").json
    assert [(one["text"], one["importance"]) for one in learned] == [(INSIGHT, 2)]
    assert learned[0]["sources"]  # the attempts it came from
    [insight] = learned
    assert cli("lessons", "edit", insight["id"], "--text", "Look at the second page too.", "--why", "test").code == 0
    assert cli("lessons", "add", "Answer in two words.", "--kind", "insight", "--scope", insight["scope"]).code == 0
    calls = player.calls
    done = cli("evaluate", "last", "-q", "--json").json
    assert player.calls == calls + 6  # two conditions at three tasks; nothing is gathered or learned again
    rows = (Path(done["path"]) / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    told = {row["guidance"] for row in map(json.loads, rows) if row["meta"]["condition"] == "expel-insights"}
    assert len(told) == 1
    assert all(words in told.copy().pop() for words in ("Look at the second page too.", "Answer in two words."))
    assert INSIGHT not in str(told)


@pytest.mark.parametrize("stage", ["learn", "evaluate"])
def test_a_run_that_is_not_there_is_one_sentence(cli, stage):
    done = cli(stage, "none-such")
    assert done.code == 1
    assert "there is no run 'none-such'" in done.err

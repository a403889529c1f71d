"""`seasoned run`: results, resuming, limits, and processes that are stopped or killed; and its stages."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import ACTS

from seasoned.lab.run.rundir import hold
from seasoned.llm import modelfile
from seasoned.store.sql import Store

INSIGHT = "Read both pages where two are named."  # as the player of conftest.py says


def journal(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT scope, key FROM journal").fetchall()
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


def until(true, seconds=30.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def test_a_run_prints_its_path_and_its_summary_is_whole(cli, model, folder):
    done = cli("run", "small.toml", "-c", "train=30", "-c", "seeds=[0, 1]", "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    place = Path(done.json["path"])
    summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
    for block in summary["conditions"]:
        assert {"name", "n", "successes", "errors", "interval", "tokens"} <= set(block)
        assert block["interval"][0] <= block["successes"] / block["n"] <= block["interval"][1]
    assert [block["n"] for block in summary["conditions"]] == [10, 10]
    assert 0 <= summary["pairs"][0]["p"] <= 1
    assert done.json["conditions"] == summary["conditions"]
    assert (place / "report.html").is_file()


def test_a_person_gets_tables_and_the_places_of_the_files(cli, model):
    done = cli("run", "small.toml")
    assert done.code == 0
    for part in ("disabled", "ExpNote", "report.html", "summary.json"):
        assert part in done.out
    assert "16/16 episodes" in done.err


def test_dry_run_counts_what_is_then_done(cli, model, apprentice, folder):
    given = ("run", "small.toml", "-c", "train=40", "-c", "test=4", "-c", "llm.model=none-such")
    counted = cli(*given, "--dry-run", "--json").json
    assert apprentice.calls == 0
    assert not (folder / "runs").exists()
    assert not (folder / "seasoned.db").exists()
    assert cli(*given, "--quiet").code == 0
    assert 0 < apprentice.calls <= counted["model_calls"]
    assert counted["episodes"] == 40 + 2 * 4
    said = cli(*given, "--dry-run").out
    assert " model calls, about " in said
    assert "; nothing was run." in said


@pytest.mark.parametrize("mode", ["--dry-run", "--json"])
def test_what_of_the_recipe_does_nothing_is_said(cli, model, mode):
    done = cli("run", "small.toml", "-c", "curve=[1,99]", "-c", "folds=1", mode)
    assert done.code == 0
    assert "curve leaves out 99: there are 6 training cases to stop at\n" in done.err
    assert "folds=1 is the same as none" in done.err


def test_limit_and_resume_and_redo(cli, model, apprentice):
    first = cli("run", "small.toml", "--limit", 2, "--json", "-q").json
    assert [block["n"] for block in first["conditions"]] == [2, 2]
    calls = apprentice.calls
    again = cli("run", "--resume", "last", "--json", "-q").json
    assert (Path(again["path"]), again["conditions"]) == (Path(first["path"]), first["conditions"])
    assert apprentice.calls == calls
    assert cli("run", "--resume", "last", "--redo", "expnote", "-q").code == 0
    assert apprentice.calls > calls


def test_a_cost_limit_of_nothing_stops_before_the_first_call(cli, model, apprentice):
    done = cli("run", "small.toml", "--cost-limit", "0")
    assert done.code == 1
    assert "budget of $0.0000 is used up" in done.err
    assert "Go on with: seasoned run --resume runs/" in done.err
    assert apprentice.calls == 0
    place = done.err.split("--resume ")[1].strip()
    assert cli("run", "--resume", place, "--cost-limit", "1", "-q").code == 0


def test_a_stop_names_the_store_where_it_is_another(cli, model, apprentice, folder):
    def stop(call):
        if call == 9:
            raise KeyboardInterrupt

    apprentice.stop = stop
    done = cli("run", "small.toml", "-q", "--store", "own.db")
    assert done.code == 130
    words = done.err.split("seasoned run ")[1].split()
    assert words[-2:] == ["--store", "own.db"]
    assert cli("run", *words, "-q").code == 0
    assert len(set(apprentice.answered)) == len(apprentice.answered)


def test_a_stage_names_the_next_one_with_the_folder_and_the_store(cli, model, apprentice):
    given = ("--store", "own.db", "-q")
    done = cli("run", "small.toml", "--until", "gather", "--runs", "other", *given)
    words = done.out.split("Go on with: seasoned ")[1].split()
    assert words[-2:] == ["--until", "learn"]
    done = cli(*words, "-q")
    assert done.code == 0, done.err
    assert cli(*done.out.split("Go on with: seasoned ")[1].split(), "-q").code == 0
    assert len(set(apprentice.answered)) == len(apprentice.answered)


@pytest.mark.parametrize("stage", ["learn", "evaluate"])
def test_a_run_goes_on_with_its_own_store_or_not_at_all(cli, model, apprentice, folder, monkeypatch, stage):
    place = Path(cli("run", "small.toml", "-q", "--json").json["path"])
    calls = apprentice.calls
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    verb = ("run", "--until", stage, "--resume")
    done = cli(*verb, place.name, "--runs", folder / "runs")
    assert (done.code, done.out) == (1, "")
    assert f"it was begun with {folder / 'seasoned.db'}, so name that with --store" in done.err
    assert list((folder / "elsewhere").iterdir()) == []
    assert cli(*verb, place.name, "--runs", folder / "runs", "--store", folder / "seasoned.db", "-q").code == 0
    assert apprentice.calls == calls


def test_sigterm_stops_a_run_as_ctrl_c_does_and_it_goes_on(cli, model, apprentice):
    def stop(call):
        if call == 9:
            os.kill(os.getpid(), signal.SIGTERM)

    before, apprentice.stop = signal.getsignal(signal.SIGTERM), stop
    done = cli("run", "small.toml", "-c", "workers=1", "-q")
    assert (done.code, done.out, signal.getsignal(signal.SIGTERM)) == (130, "", before)
    assert len(journal("seasoned.db")) == len(apprentice.answered)
    assert cli("run", "--resume", done.err.split("--resume ")[1].split()[0], "-q").code == 0
    assert len(journal("seasoned.db")) == len(set(apprentice.answered)) == len(apprentice.answered)


def said(pipe, words):
    """What a process has written until these words came."""
    text = ""
    while words not in text:
        piece = pipe.readline()
        assert piece, text
        text += piece
    return text


def pressed(process):
    """What a process has written that ends within five seconds of Ctrl-C.

    It is pressed again, as people do: Python drops an interrupt that comes while it is in a finaliser.
    """
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=5)
    pytest.fail("two times Ctrl-C did not end it")


def test_ctrl_c_waits_for_slow_replies_and_says_so_and_a_second_one_leaves_at_once(process, cli, server):
    given = ("-c", f"llm.base_url={server.url}", "-c", "llm.model=played", "-c", "workers=2", "-q")
    one = process("run", "small.toml", *given)
    until(lambda: len(journal("seasoned.db") if Path("seasoned.db").exists() else []) >= 6)
    server.pause = 2.0
    until(lambda: len(server.slow) >= 2)
    one.send_signal(signal.SIGINT)
    said(one.stderr, "Stopping: waiting for 2 replies (Ctrl-C again to leave now; nothing on disk is lost).")
    out, err = one.communicate(timeout=30)
    assert (one.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "Go on with: seasoned run --resume runs/" in err
    assert len(server.slow) == 2
    assert len(journal("seasoned.db")) == len(server.apprentice.answered)

    server.pause = 60.0
    two = process("run", "--resume", "last", "-q")
    until(lambda: len(server.slow) >= 4)
    two.send_signal(signal.SIGINT)
    said(two.stderr, "Stopping: waiting for 2 replies")
    out, err = pressed(two)
    assert (two.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "Go on with: seasoned run --resume runs/" in err

    server.pause = 0.0
    done = cli("run", "--resume", "last", "--json", "-q")
    assert done.code == 0, done.err
    assert [block["n"] for block in done.json["conditions"]] == [5, 5]


@pytest.mark.model
def test_a_killed_run_of_the_real_model_goes_on_and_no_answered_call_is_made_twice(process, cli, folder):
    modelfile.pull("smol")
    (folder / "acts.toml").write_text(ACTS, encoding="utf-8")
    settings = (
        'conditions=["act"]',
        "baseline=act",
        "train=0",
        "test=2",
        "folds=0",
        "curve=[]",
        "benchmark.max_steps=3",
    )
    settings += ("llm.model=smol", "llm.slots=1", "agent.action_tokens=4", "agent.repeats=0")
    given = [word for setting in settings for word in ("-c", setting)]
    one = process("run", "acts.toml", *given, SEASONED_CACHE=str(modelfile.cache_dir()))
    until(lambda: len(journal("seasoned.db") if Path("seasoned.db").exists() else []) >= 4, 60)
    one.send_signal(signal.SIGKILL)
    one.communicate(timeout=30)
    assert one.returncode == -signal.SIGKILL
    before = journal("seasoned.db")
    assert len(before) >= 4
    done = cli("run", "--resume", "last", "--json")
    assert done.code == 0, done.err
    after = journal("seasoned.db")
    assert max(Counter(after).values()) == 1
    assert set(before) < set(after)
    assert [block["n"] + block["errors"] for block in done.json["conditions"]] == [2]
    with Store("seasoned.db") as store:
        (row,) = store.runs()
        made = store.episodes(row.run_id).values()
        assert store.check() == []
        stored = store.journal_usage(row.run_id)
    assert len(made) == 2
    # Each answered call counts as made in one episode at most: in the one that was killed, it counts nowhere.
    assert sum(t.usage.calls for t in made) <= stored.calls
    assert sum(t.usage.calls + t.usage.replayed for t in made) >= stored.calls
    replayed = [t for t in made if t.usage.replayed]
    assert replayed


def test_a_run_at_work_is_refused_to_a_second_process(cli, model):
    place = Path(cli("run", "small.toml", "--until", "gather", "-q", "--json").json["path"])
    with hold(place):
        done = cli("run", "--resume", "last")
    assert (done.code, done.out) == (1, "")
    assert "another process is working on" in done.err
    assert "Go on with" not in done.err


def test_the_stages_one_by_one_come_to_a_whole_run(cli, model):
    gathered = cli("run", "--until", "gather", "small.toml", "-q", "--json").json
    assert (gathered["done"], gathered["next"]) == ("gather", "learn")
    assert cli("lessons", "list", "--json").json == []
    learned = cli("run", "--until", "learn", "--resume", "last", "-q", "--json").json
    assert learned["path"] == gathered["path"]
    assert cli("lessons", "list", "--kind", "note", "--json").json
    assert not (Path(learned["path"]) / "summary.json").exists()
    done = cli("run", "--resume", "last", "-q", "--json")
    assert done.code == 0
    assert [block["name"] for block in done.json["conditions"]] == ["disabled", "expnote"]
    assert (Path(done.json["path"]) / "report.html").is_file()


def test_no_stage_makes_what_is_there_again(cli, model, apprentice):
    cli("run", "--until", "gather", "small.toml", "-q")
    calls = apprentice.calls
    cli("run", "--until", "learn", "--resume", "last", "-q")
    assert apprentice.calls == calls
    cli("run", "--resume", "last", "-q")
    calls = apprentice.calls
    assert cli("run", "--resume", "last", "-q").code == 0
    assert apprentice.calls == calls


def test_what_a_person_changes_in_between_is_what_is_recalled(cli, model, folder):
    cli("run", "--until", "gather", "small.toml", "-q", "-c", "train=12")
    cli("run", "--until", "learn", "--resume", "last", "-q")
    for lesson in cli("lessons", "list", "--json").json:
        assert cli("lessons", "edit", lesson["id"], "--text", "changed by hand", "--why", "a test").code == 0
    done = cli("run", "--resume", "last", "-q", "--json").json
    told = (Path(done["path"]) / "trajectories.jsonl").read_text(encoding="utf-8")
    assert "changed by hand" in told


def test_what_a_person_adds_before_learning_stays(cli, model):
    run = Path(cli("run", "--until", "gather", "small.toml", "-q", "--json").json["path"]).name
    words = ("lessons", "add", "by hand", "--kind", "note", "--key", "own", "--scope", f"{run}/s0f0/expnote")
    assert cli(*words).code == 0
    cli("run", "--until", "learn", "--resume", "last", "-q")
    assert "by hand" in [lesson["text"] for lesson in cli("lessons", "list", "--json").json]
    cli("run", "--resume", "last", "--redo", "training", "-q")
    assert "by hand" in [lesson["text"] for lesson in cli("lessons", "list", "--json").json]


def test_what_a_person_changed_is_judged_though_the_attempts_it_came_from_are_made_again(cli, model):
    cli("run", "small.toml", "-q", "-c", "train=12")
    for lesson in cli("lessons", "list", "--json").json:
        cli("lessons", "edit", lesson["id"], "--text", "changed by hand", "--why", "a test")
    for _ in range(2):
        done = cli("run", "--resume", "last", "--redo", "training", "-q", "--json")
        assert done.code == 0, done.err
    told = (Path(done.json["path"]) / "trajectories.jsonl").read_text(encoding="utf-8")
    assert "changed by hand" in told


def test_what_was_changed_after_the_judgement_is_told(cli, model):
    cli("run", "small.toml", "-q")
    assert cli("run", "--resume", "last", "-q").err == ""
    [first, *_] = cli("lessons", "list", "--json").json
    cli("lessons", "edit", first["id"], "--text", "changed by hand", "--why", "a test")
    said = cli("run", "--resume", "last", "-q", "--store", "./seasoned.db").err
    assert "1 lesson of this run changed after its tasks were judged" in said
    assert said.endswith(" --store ./seasoned.db --redo CONDITION\n")


def test_a_person_is_told_what_comes_next(cli, model):
    done = cli("run", "--until", "gather", "small.toml", "-q")
    assert "Go on with: seasoned run --resume" in done.out
    done = cli("run", "--until", "gather", "small.toml", "-q", "--store", "my notes.db", "--runs", "my runs")
    place, told = done.out.splitlines()
    assert told == f"Go on with: seasoned run --resume '{place}' --store 'my notes.db' --until learn"


def test_a_person_corrects_insights_between_the_stages(cli, acting, player):
    assert cli("run", "--until", "gather", "source.toml", "-q", "-c", "folds=0", "-c", "curve=[]").code == 0
    cli("run", "--until", "learn", "--resume", "last", "-q")
    learned = cli("lessons", "list", "--kind", "insight", "--json").json
    assert [(one["text"], one["importance"]) for one in learned] == [(INSIGHT, 2)]
    assert learned[0]["sources"]  # the attempts it came from
    [insight] = learned
    assert cli("lessons", "edit", insight["id"], "--text", "Look at the second page too.", "--why", "test").code == 0
    assert cli("lessons", "add", "Answer in two words.", "--kind", "insight", "--scope", insight["scope"]).code == 0
    calls = player.calls
    done = cli("run", "--resume", "last", "-q", "--json").json
    assert player.calls == calls + 6  # two conditions at three tasks; nothing is gathered or learned again
    rows = (Path(done["path"]) / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    told = {row["guidance"] for row in map(json.loads, rows) if row["meta"]["condition"] == "expel-insights"}
    assert len(told) == 1
    assert all(words in told.copy().pop() for words in ("Look at the second page too.", "Answer in two words."))
    assert INSIGHT not in str(told)


@pytest.mark.parametrize("stage", ["gather", "evaluate"])
def test_a_stage_is_no_command_of_its_own_any_more(cli, stage):
    done = cli(stage, "none-such", "--quiet", "-c", "x=1")
    assert done.code == 1
    assert f"{stage} is a stage of a run now: seasoned run" in done.err
    assert f"\n  {stage} " not in cli("--help").out


def test_a_run_that_is_not_there_is_one_sentence(cli):
    done = cli("run", "--resume", "none-such", "--until", "learn")
    assert done.code == 1
    assert "there is no run 'none-such'" in done.err


def test_a_dry_run_says_what_a_gate_can_find(cli, folder):
    gated = ("run", "small.toml", "-c", 'conditions=["disabled","expnote+gate"]', "-c", "gate.tasks=60", "--dry-run")
    gate = cli(*gated, "--json").json["gate"]
    assert (gate["tasks"], gate["candidates"]) == (60, 1)
    assert gate["power"][1] == {"won": 0.25, "lost": 0.05, "promoted": 0.824}
    assert "a gate of 60 tasks promotes lessons, by tasks won / lost: 45% / 15%: 0.87" in cli(*gated).out
    assert "gate" not in cli("run", "small.toml", "--dry-run", "--json").json

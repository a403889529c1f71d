"""`seasoned transfer`: the insights of one pool, adapted, and given to a run of the other benchmark."""

import json
from pathlib import Path

import pytest

ADAPTED = "Judge the claim by both pages."  # as the player of conftest.py adapts
GIVEN = """
name = "target"
conditions = ["react", "given"]
baseline = "react"
train = 0
test = 2
workers = 1
[benchmark]
name = "fever"
"""


@pytest.fixture
def model(acting):
    return acting


@pytest.fixture
def learned(cli, model, folder):
    return Path(cli("run", "source.toml", "-q", "--json").json["path"]).name


def test_the_insights_of_one_fold_are_adapted_and_given(cli, model, folder, learned):
    done = cli("transfer", "--from", "hotpotqa", "--to", "fever", "-c", "benchmark.selected=0", "--json").json
    assert done["scope"] == f"{learned}/s0f0/expel"
    assert done["from"] == 1
    assert [lesson["text"] for lesson in done["lessons"]] == [ADAPTED]
    assert model.requests[-1]["messages"][1]["content"].count("Read both pages") == 1
    (folder / "target.toml").write_text(GIVEN, encoding="utf-8")
    told = cli("run", "target.toml", "-q", "--json", "-c", f"method.given={done['path']}").json
    rows = (Path(told["path"]) / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    guidance = {row["meta"]["condition"]: row["guidance"] for row in map(json.loads, rows)}
    assert guidance == {"react": "", "given": f"Lessons from earlier tasks:\n- {ADAPTED}"}


def test_another_pool_is_named(cli, model, learned):
    other = f"{learned}/s0f1/expel"
    done = cli("transfer", "--from", learned, "--to", "fever", "--scope", other)
    assert f"1 lesson from 1 insight of {other}, in " in done.out
    done = cli("transfer", "--from", learned, "--to", "fever", "--scope", "none-such")
    assert (done.code, "the pool none-such has no insights" in done.err) == (1, True)


@pytest.mark.parametrize(("settings", "many"), [((), 3), (("-c", "agent.examples=5"), 5)])
def test_one_of_each_verdict_is_shown_and_as_many_as_the_new_run_shows(cli, model, learned, settings, many):
    cli("transfer", "--from", learned, "--to", "fever", *settings)
    shown = model.requests[-1]["messages"][1]["content"]
    assert shown.count("Task: ") == many
    assert all(f"Finish[{verdict}]" in shown for verdict in ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"))
    cli("transfer", "--from", learned, "--to", "fever", "--no-examples")
    assert "Task: " not in model.requests[-1]["messages"][1]["content"]


def test_nothing_adapted_is_a_fault_and_no_file(cli, model, player, folder, learned):
    player.adapted = []
    done = cli("transfer", "--from", learned, "--to", "fever", "--output", "out.jsonl")
    assert (done.code, done.out) == (1, "")
    assert f"adapted none of 1 insight of {learned}/s0f0/expel, so no file is written" in done.err
    assert not (folder / "out.jsonl").exists()


def test_a_run_without_insights_is_one_sentence(cli, model, folder):
    done = cli("run", "source.toml", "-q", "--json", "-c", 'conditions=["react"]', "-c", "folds=0", "-c", "test=1").json
    run = Path(done["path"]).name
    done = cli("transfer", "--from", run, "--to", "fever")
    assert (done.code, f"the run {run} has no insights" in done.err) == (1, True)
    assert f"a training task that was solved, and to have learned from it (seasoned run --resume {run})" in done.err
    done = cli("transfer", "--from", run, "--to", "emoji")
    assert (done.code, "answered at once" in done.err) == (1, True)


def test_a_store_is_not_written_over_and_no_model_asked(cli, model, folder, learned):
    asked = len(model.requests)
    done = cli("transfer", "--from", learned, "--to", "fever", "--output", "seasoned.db")
    assert (done.code, "seasoned.db is a store" in done.err, len(model.requests)) == (1, True, asked)
    for output, says in (
        ("no/such.jsonl", "no/such.jsonl cannot be written"),
        (".", ". is a folder: name a file in it"),
    ):
        done = cli("transfer", "--from", learned, "--to", "fever", "--output", output)
        assert (done.code, says in done.err, len(model.requests)) == (1, True, asked)


def test_what_a_model_adapts_commands_no_terminal(cli, model, player, learned):
    player.adapted = [{"number": 1, "text": "Read \u202eboth."}]
    assert cli("transfer", "--from", learned, "--to", "fever").out.startswith(
        f"- Read both.\n1 lesson from 1 insight of {learned}/s0f0/expel, in "
    )

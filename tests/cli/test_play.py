"""`seasoned play` and `seasoned replay`."""

import io
import json
from pathlib import Path

import pytest


@pytest.fixture
def typed(monkeypatch):
    def say(*lines):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return say


def test_a_person_plays_a_task(cli, typed):
    typed("?", "ANSWER[nothing of the kind]")
    done = cli("play", "emoji", "-c", "benchmark.symbols=codes")
    assert done.code == 0
    assert "Each symbol stands for one feeling" in done.out
    assert "after 1 steps, reward 0" in done.out


def test_an_empty_line_ends_it(cli, typed):
    typed("")
    assert "You stopped after 0 steps." in cli("play", "emoji").out
    typed()
    assert "You stopped after 0 steps." in cli("play", "emoji").out


def test_a_task_that_is_not_there_is_one_sentence(cli, typed):
    done = cli("play", "emoji", "--task", "none-such")
    assert done.code == 1
    assert "no task of emoji has 'none-such' in its id" in done.err


def test_an_attempt_is_told_step_by_step(cli, model):
    run = cli("run", "small.toml", "-q", "--json").json
    lines = (Path(run["path"]) / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    told = cli("replay", first["id"])
    assert told.code == 0
    assert first["task"] in told.out
    assert first["steps"][0]["action"] in told.out
    assert cli("replay", first["id"][:12], "--json").json["id"] == first["id"]
    assert first["messages"][0]["content"].splitlines()[0] in cli("replay", first["id"], "--prompts").out


def test_an_attempt_that_is_not_there_or_not_alone_is_one_sentence(cli, model):
    cli("run", "small.toml", "-q")
    assert "no trajectory begins with 'tra-none'" in cli("replay", "tra-none").err
    assert "several trajectories begin with 'tra-'" in cli("replay", "tra-").err

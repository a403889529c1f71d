"""`seasoned learn`: what it would take, what came of it, and what waits."""

import pytest

from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import Memory

HEURISTIC = {"analysis": "It was closed.", "trigger": "a door is closed", "action": "open it first"}
VERDICT = {"reason": "Nothing was done.", "done": False}


@pytest.fixture
def scripted(opens):
    """The model that is opened, whatever its name."""
    return opens(ScriptedModel(lambda messages: HEURISTIC if "look back" in str(messages[0]) else VERDICT))


@pytest.fixture
def made():
    """Three attempts of a memory in seasoned.db: two equal failures, and one whose outcome nobody knows."""
    with Memory("seasoned.db", embedder=None) as memory:
        for success in (False, False, None):
            with memory.attempt("go out" if success is False else "go home") as attempt:
                attempt.step(action="go", observation="it did not work")
                attempt.finish(success)


def test_a_dry_run_says_what_it_would_take_and_asks_nobody(cli, scripted, made):
    said = cli("learn", "--llm", "local", "--dry-run").out
    assert said == "3 attempts to learn from: 3 calls of local, about 4,500 tokens, free.\n"
    told = cli("learn", "--llm", "a-server's", "--dry-run", "--json").json
    assert (told["estimate"]["attempts"], told["estimate"]["calls"], told["estimate"]["cost"]) == (3, 3, None)
    assert scripted.requests == []


def test_it_judges_learns_and_says_what_came_of_it(cli, scripted, made):
    said = cli("learn", "--store", "seasoned.db", "--namespace", "default", "--llm", "local").out.splitlines()
    assert said[0] == "Learned from 3 attempts, 1 of them equal to an earlier one: 1 lesson."
    assert "a door is closed" in said[1]
    assert said[2].startswith("It took 3 calls, ")
    assert "verdict  failure, by model" in cli("replay", _unknown(cli)).out
    assert cli("learn", "--llm", "local").out == "Learned from 0 attempts: 0 lessons.\n"
    assert "Learning used 3 calls" in cli("learn", "--llm", "local", "--dry-run").out


def _unknown(cli):
    return next(each["id"] for each in cli("attempts", "--json").json if each["task"] == "go home")


def test_without_a_method_a_memory_learns_and_recalls_as_it_learned_last(cli):
    with Memory("seasoned.db", method="expnote", embedder=None) as memory:
        for key in ("pear", "plum"):
            with memory.attempt(f"label the {key}") as attempt:
                attempt.step(action=f"NOTE[{key}]: m2")
                attempt.finish(success=True)
            if key == "pear":
                memory.learn()
    assert cli("learn", "--json").json["method"] == "expnote"
    assert "plum: m2" in cli("recall", "label the plum").out
    assert cli("learn", "--method", "nearest", "--json").json["method"] == "nearest"
    assert "nothing in memory/default fits this task" in cli("recall", "label the plum", "--method", "erl").out


def test_for_programs(cli, scripted, made):
    told = cli("learn", "--llm", "local", "--json").json
    assert (told["attempts"], told["equal"], told["skipped"], told["waiting"]) == (3, 1, {}, {})
    assert [lesson["kind"] for lesson in told["lessons"]] == ["heuristic"]
    assert told["usage"]["calls"] == 3


def test_without_a_model_everything_waits_and_is_learned_once_there_is_one(cli, scripted, made):
    said = cli("learn").out
    assert said == (
        "Learned from 0 attempts: 0 lessons.\n"
        "3 attempts taught nothing yet: the memory has no model to learn with.\n"
        "This needs a model: --llm local, or the name of a server's model.\n"
    )
    assert cli("learn", "--llm", "local", "--json").json["attempts"] == 3


def test_what_taught_nothing_waits_with_its_reason_until_it_is_tried_again(cli, opens, made):
    model = opens(ScriptedModel(lambda messages: VERDICT))  # no heuristic comes
    said = cli("learn", "--llm", "local").out
    assert "3 attempts taught nothing yet: " in said
    asked = len(model.requests)
    assert "3 attempts taught nothing yet: " in cli("learn", "--llm", "local", "--dry-run").out
    cli("learn", "--llm", "local")
    assert len(model.requests) == asked
    cli("learn", "--llm", "local", "--again")
    assert len(model.requests) > asked


def test_what_is_not_there(cli, made):
    assert "there is no pool 'memory/shop'" in cli("learn", "--namespace", "shop").err
    assert cli("learn", "--store", "none.db").code == 1
    assert "no method" in cli("learn", "--method", "guessing").err

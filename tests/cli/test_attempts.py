"""`seasoned attempts`, `replay` and `learn`."""

import json

import pytest

from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import Memory
from seasoned.store.sql import Store
from seasoned.types import Outcome, Step, Trajectory

ODD = "\x1b[31mred\x9b2J\u202e [/b] :smile:"


def test_an_attempt_is_told_step_by_step(cli):
    steps = (Step(thought="look first", action="lookup(17)", observation="shipped"),)
    messages = ({"role": "system", "content": "You answer customers."},)
    with Store("seasoned.db") as store:
        store.add_trajectories("memory/ann", [tried(17, steps=steps, messages=messages)])
    told = cli("replay", "tra-17")
    assert told.code == 0
    assert "Refund order 17" in told.out
    assert "Action 1: lookup(17)" in told.out
    assert cli("replay", "tra-1", "--json").json["id"] == "tra-17"
    assert "You answer customers." in cli("replay", "tra-17", "--prompts").out


def test_an_attempt_that_is_not_there_or_not_alone_is_one_sentence(cli, memories):
    assert "no attempt begins with 'tra-none'" in cli("replay", "tra-none").err
    assert "several attempts begin with 'tra-'" in cli("replay", "tra-").err


def tried(n, **more):
    return Trajectory(id=f"tra-{n}", task_id="t", **{"task": f"Refund order {n}", **more})


@pytest.fixture
def memories():
    with Store("seasoned.db") as store:
        ended = Outcome(success=True, reason="answered")
        store.add_trajectories("memory/ann", [tried(1, outcome=ended), tried(2, outcome=Outcome(success=False))])
        store.add_trajectories("flagged/ann", [tried(3, task=ODD)])
        store.add_trajectories("memory/ben", [tried(4)])


def test_attempts_are_listed_with_their_ids(cli, memories):
    lines = cli("attempts", "--namespace", "ann").out.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "tra-3", "tra-2", "tra-1"]
    assert lines[0].split() == ["id", "ended", "pool", "task"]
    assert lines[2].split() == ["tra-2", "not", "solved", "memory/ann", "Refund", "order", "2"]
    assert "pool" not in cli("attempts", "--scope", "memory/ann").out
    for words in (("REFUND 1",), ("REFUND", "1"), ("1", "refund", "order")):
        assert [line["id"] for line in cli("attempts", *words, "--json").json] == ["tra-1"]
    first = cli("attempts", "--json").json[0]
    assert (first["id"], first["success"], first["scope"]) == ("tra-4", None, "memory/ben")
    short = cli("attempts", "--limit", "2", "--namespace", "ann")
    assert (len(short.out.splitlines()), short.err) == (3, "These are the newest 2; --limit gives more.\n")
    assert cli("attempts", "nothing like it").out == "no attempts\n"
    done = cli("attempts", "--namespace", "anne")
    assert done.code == 1
    assert "there is no pool 'memory/anne' in" in done.err
    assert "it has memory/ann, " in done.err
    assert "Refund order 4" in cli("replay", first["id"]).out


def test_prompts_tell_calls_of_tools_or_that_no_messages_were_kept(cli, folder):
    calls = [{"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 17}'}}]
    talk = [
        {"role": "user", "content": "Where is order 17?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "shipped"},
    ]
    (folder / "talk.jsonl").write_text(json.dumps({"messages": talk}), encoding="utf-8")
    cli("import", "talk.jsonl")
    (line,) = cli("attempts", "--json").json
    shown = cli("replay", line["id"], "--prompts").out
    assert '[assistant]\nlook_up({"order": 17})\n\n[tool]\nshipped\n' in shown
    with Store("seasoned.db") as store:
        store.add_trajectories("memory/default", [tried(1, steps=[Step(action="open", observation="done")])])
    shown = cli("replay", "tra-1", "--prompts").out
    assert "No messages of this attempt were stored; its steps:" in shown
    assert "    Action 1: open\n    done\n" in shown
    assert "No messages" not in cli("replay", "tra-1").out


def test_what_an_agent_said_commands_no_terminal(cli):
    said = [Step(thought=ODD, action=ODD, observation=ODD)]
    messages = [{"role": "user", "content": ODD}]
    odd = tried(1, task=ODD, steps=said, messages=messages, guidance=ODD, outcome=Outcome(detail=ODD, reason=ODD))
    with Store("seasoned.db") as store:
        store.add_trajectories(f"memory/{ODD}", [odd])
    for words in (("attempts",), ("replay", "tra-1"), ("replay", "tra-1", "--prompts")):
        done = cli(*words)
        assert done.code == 0
        assert "[/b] :smile:" in done.out
        assert not {"\x1b", "\x9b", "\u202e"} & set(done.out)


HEURISTIC = {"analysis": "It was closed.", "trigger": "a door is closed", "action": "open it first"}
VERDICT = {"reason": "Nothing was done.", "done": False}


@pytest.fixture
def learner(opens):
    """The model that is opened, whatever its name."""
    return opens(ScriptedModel(lambda messages: HEURISTIC if "look back" in str(messages[0]) else VERDICT))


@pytest.fixture
def failures():
    """Three attempts of a memory in seasoned.db: two equal failures, and one whose outcome nobody knows."""
    with Memory("seasoned.db", embedder=None) as memory:
        for success in (False, False, None):
            with memory.attempt("go out" if success is False else "go home") as attempt:
                attempt.step(action="go", observation="it did not work")
                attempt.finish(success)


def test_a_dry_run_says_what_it_would_take_and_asks_nobody(cli, learner, failures):
    said = cli("learn", "--llm", "local", "--dry-run").out
    assert said == "3 attempts to learn from: 3 calls of local, about 4,500 tokens, free.\n"
    told = cli("learn", "--llm", "a-server's", "--dry-run", "--json").json
    assert (told["estimate"]["attempts"], told["estimate"]["calls"], told["estimate"]["cost"]) == (3, 3, None)
    assert learner.requests == []


def test_it_judges_learns_and_says_what_came_of_it(cli, learner, failures):
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


def test_learning_for_programs(cli, learner, failures):
    told = cli("learn", "--llm", "local", "--json").json
    assert (told["attempts"], told["equal"], told["skipped"], told["waiting"]) == (3, 1, {}, {})
    assert [lesson["kind"] for lesson in told["lessons"]] == ["heuristic"]
    assert told["usage"]["calls"] == 3


def test_without_a_model_everything_waits_and_is_learned_once_there_is_one(cli, learner, failures):
    said = cli("learn").out
    assert said == (
        "Learned from 0 attempts: 0 lessons.\n"
        "3 attempts taught nothing yet: the memory has no model to learn with.\n"
        "This needs a model: --llm local, or the name of a server's model.\n"
    )
    assert cli("learn", "--llm", "local", "--json").json["attempts"] == 3


def test_what_taught_nothing_waits_with_its_reason_until_it_is_tried_again(cli, opens, failures):
    model = opens(ScriptedModel(lambda messages: VERDICT))  # no heuristic comes
    said = cli("learn", "--llm", "local").out
    assert "3 attempts taught nothing yet: " in said
    asked = len(model.requests)
    assert "3 attempts taught nothing yet: " in cli("learn", "--llm", "local", "--dry-run").out
    cli("learn", "--llm", "local")
    assert len(model.requests) == asked
    cli("learn", "--llm", "local", "--again")
    assert len(model.requests) > asked


def test_a_memory_to_learn_in_that_is_not_there(cli, failures):
    assert "there is no pool 'memory/shop'" in cli("learn", "--namespace", "shop").err
    assert cli("learn", "--store", "none.db").code == 1
    assert "no method" in cli("learn", "--method", "guessing").err

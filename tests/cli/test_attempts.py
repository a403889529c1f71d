"""`seasoned attempts` and `seasoned replay`."""

import json
from pathlib import Path

import pytest

from seasoned.store.sql import Store
from seasoned.types import Outcome, Step, Trajectory

ODD = "\x1b[31mred\x9b2J\u202e [/b] :smile:"


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

"""`seasoned play` and `seasoned replay`."""

import io
import json
import re
from pathlib import Path

import pytest

from seasoned.cli.play import _meant
from seasoned.store.sql import Store
from seasoned.types import Outcome, Step, Task, Trajectory

ODD = "\x1b[31mred\x9b2J\u202e [/b] :smile:"


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
    assert "after 1 step, reward 0" in done.out


def test_an_empty_line_ends_it(cli, typed):
    typed("")
    assert "You stopped after 0 steps." in cli("play", "emoji").out
    typed()
    assert "You stopped after 0 steps." in cli("play", "emoji").out


def test_what_is_no_text_is_read_as_question_marks(cli, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8"))
    done = cli("play", "webshop")
    assert (done.code, "You stopped after 1 step." in done.out) == (0, True)


def test_a_thought_is_no_step_and_free_words_are_told(cli, typed):
    typed("?", *["think[hm]"] * 20, "search[lamp]", "")
    done = cli("play", "webshop")
    assert "search[words]" in done.out
    assert "You stopped after 1 step." in done.out


def test_a_person_shops(cli, typed):
    typed("")
    page = cli("play", "webshop", "-c", "products=60", "--task", "webshop-5").out
    assert "walking shoes" in page
    words = "search[walking shoes vegan leather easy on water resistant]"
    typed(words, "")
    found = cli("play", "webshop", "-c", "products=60", "--task", "webshop-5").out
    (code,) = re.findall(r"\[(\w{10})\]\n.*Walking Shoes, Non Slip", found)
    typed(words, f"click[{code}]", "click[teal]", "click[6]", "click[Buy Now]")
    assert (
        "You made it after 5 steps, reward 1." in cli("play", "webshop", "-c", "products=60", "--task", "webshop-5").out
    )


def test_a_task_that_is_not_there_is_one_sentence(cli, typed):
    done = cli("play", "emoji", "--task", "none-such")
    assert done.code == 1
    assert "no task of emoji has 'none-such' in its id" in done.err


def test_a_task_is_found_by_its_id_before_any_part_of_it(cli, typed):
    def opened(task):
        typed("")
        return cli("play", "webshop", "-c", "products=60", "--task", task)

    assert opened("webshop-5").out.startswith("webshop-5\n")  # webshop-50 to webshop-59 are there, too
    assert opened("shop-100").out.startswith("webshop-100\n")
    several = opened("shop-11")
    assert (several.code, several.out) == (1, "")
    assert re.search(r"\d+ tasks of webshop have 'shop-11' in their ids: webshop-11\d*, webshop-11", several.err)


@pytest.mark.parametrize(
    ("wanted", "found"), [("put-1", "put-1"), ("put-2", "put-21"), ("two-3", "puttwo-31"), ("put-3", "put-31")]
)
def test_a_beginning_comes_before_what_is_inside(wanted, found):
    ids = ("put-12", "put-1", "put-21", "put-31", "puttwo-31", "output-31")
    assert _meant([Task(id=one, text="t") for one in ids], wanted, "own").id == found


def test_options_are_those_of_the_benchmark(cli, typed):
    def opened(setting):
        typed("")
        return cli("play", "emoji", "-c", setting)

    (own := Path("own.jsonl")).write_text(
        "\n".join(json.dumps({"text": f"case {n}", "emotion": ("joy", "fear")[n % 2]}) for n in range(4)),
        encoding="utf-8",
    )
    for key in ("data", "benchmark.data"):
        assert re.search(r"^case \d$", opened(f"{key}={own}").out, re.M)
    for setting, says in (
        ("data=none.jsonl", "no such file"),
        ("agent.style=act", "it belongs to the section 'agent' of a recipe"),
        ("symbol=codes", "did you mean 'symbols'"),
        ("symbols", "key=value"),
    ):
        done = opened(setting)
        assert (done.code, done.out) == (1, "")
        assert says in done.err


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
    assert "No messages were kept of this attempt; its steps:" in shown
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

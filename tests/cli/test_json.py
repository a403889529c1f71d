"""`--json` of every command: standard output has one JSON document, and nothing else."""

import json

import pytest
import typer.main

from seasoned.cli.program import app
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import Memory
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Trajectory

NO_DATA = {
    "serve": "a server",
    "mcp": "a server, whose standard output is the protocol's",
    "play": "a person plays",
    "hook recall": "the agent reads its words",
    "hook record": "prints nothing",
}
"""Commands without --json, and why."""
ELSEWHERE = {
    "audit", "bench attack", "bench generate", "bench install", "certify", "demo", "doctor", "effect", "lessons facts",
    "model check", "model pull", "run", "runs compare", "runs export", "runs list", "runs path", "runs show",
    "runs table", "store grant", "transfer",
}  # fmt: skip
"""Commands whose JSON a test of their own reads: they take a model's file, an engine, a server or a whole run."""
TALK = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}], "success": true}\n'
LESSON = '{"kind": "note", "key": "sea", "text": "wet"}\n'
COMMANDS = """
attempts
attempts --limit 1
replay tra-1
replay tra-1 --prompts
outcome tra-1 --failure --why late
recall sky
learn --llm local --dry-run
learn --llm local
import talk.jsonl
export
export --what trajectories
export --what trajectories --output chats.jsonl
export --output lessons.md
export --format agents-md --output AGENTS.md
export --format skills --output skills
lessons list
lessons search sky
lessons show les-1
lessons add twice
lessons edit les-1 --text grey
lessons disable les-1
lessons enable les-1
lessons release les-3
lessons snapshot monday
lessons snapshots
lessons rm les-2
lessons diff monday
lessons rollback monday
lessons duplicates --embedder hashing
lessons cap --lessons 50
lessons contradicted
lessons verify
lessons export
lessons export --out lessons.jsonl
lessons import more.jsonl
prune --older 90d --dry-run
backup kept.db
restore kept.db --store other.db
store copy seasoned.db copied.db
token add ann
token list
token rm ann
model path
hook install --project .
bench list
bench check lets -c cases=4
"""


def commands(group, path=()):
    """All commands that are not hidden, by their words."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, (*path, name))
        elif not one.hidden:
            yield " ".join((*path, name)), one


@pytest.fixture
def every():
    return dict(commands(typer.main.get_command(app)))


def test_every_command_that_prints_data_takes_json(every):
    lacking = {name for name, one in every.items() if "--json" not in [word for p in one.params for word in p.opts]}
    assert lacking == set(NO_DATA)


def test_every_such_command_is_called_here_or_elsewhere(every):
    called = {name for name in every for line in COMMANDS.split("\n") if f"{line} ".startswith(f"{name} ")}
    assert called.isdisjoint(ELSEWHERE)
    assert called | ELSEWHERE | set(NO_DATA) == set(every)


@pytest.fixture
def full(folder):
    """A store with an attempt and lessons, one of them in quarantine, and files to import."""
    made = [Lesson(id="les-1", kind="note", key="sky", text="blue"), Lesson(id="les-2", kind="insight", text="Look.")]
    made.append(Lesson(id="les-3", kind="heuristic", text="Wait.", status="quarantined"))
    with Store("seasoned.db") as store:
        store.add_lessons("memory/default", made, who="model")
    with Memory("seasoned.db", embedder=None) as memory:
        ended = Outcome(success=True, reason="reported")
        memory.record(Trajectory(id="tra-1", task_id="t", task="Name the sky.", outcome=ended))
    (folder / "talk.jsonl").write_text(TALK, encoding="utf-8")
    (folder / "more.jsonl").write_text(LESSON, encoding="utf-8")


def test_each_prints_one_document_and_nothing_else(cli, full, opens):
    taught = {"analysis": "x", "trigger": "a sky is named", "action": "look up"}
    opens(ScriptedModel(lambda messages: taught))
    wrong = []
    for line in COMMANDS.strip().splitlines():
        done = cli(*line.split(), "--json")
        try:
            json.loads(done.out)
        except ValueError:
            wrong.append(f"seasoned {line} --json printed {done.out[:200]!r}; errors: {done.err[:200]!r}")
    assert wrong == []


def test_a_list_instead_of_lines(cli, full):
    listed = cli("export", "--json").json
    assert listed == [json.loads(line) for line in cli("export", "--format", "jsonl").out.splitlines()]
    assert {one["id"] for one in listed} == {"les-1", "les-2"}
    assert {one["id"] for one in cli("lessons", "export", "--json").json} == {"les-1", "les-2", "les-3"}
    assert cli("export", "--what", "trajectories", "--json").json[0]["task"] == "Name the sky."
    done = cli("export", "--output", "l.md", "--format", "markdown", "--json")
    assert (done.json, done.err) == ({"file": "l.md", "written": "2 lessons"}, "")
    wrong = cli("export", "--format", "markdown", "--json")
    assert (wrong.code, wrong.out) == (1, "")
    assert "--json prints a list, not Markdown" in wrong.err

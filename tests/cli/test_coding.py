"""Coding agents from the command line: sessions in, lessons out into AGENTS.md, skills and hooks."""

import io
import json
import subprocess
import sys
import time

import pytest
from model_server import model_server
from tests.traces.test_coding import SESSION, write
from tests.traces.test_fixes import WORKED

from seasoned.store.sql import Store
from seasoned.text import tokens
from seasoned.types import Lesson


def test_an_import_keeps_each_fix_once(tmp_path, cli):
    session = write(tmp_path / "session.jsonl", SESSION)
    store = str(tmp_path / "notes.db")
    first = json.loads(cli("import", str(session), "--store", store, "--json").out)
    assert (first["trajectories"], first["fixes"]) == (3, 1)
    again = json.loads(cli("import", str(session), "--store", store, "--json").out)
    assert (again["added"], again["fixes"]) == (0, 0)
    with Store(store) as opened:
        (lesson,) = opened.lessons("memory/default")
    assert lesson.text == WORKED
    assert "pip install pyyaml" in cli("recall", "pytest fails: No module named yaml", "--store", store).out


@pytest.fixture
def notes(tmp_path):
    """A store with three lessons; one of them is disabled."""
    with Store(tmp_path / "notes.db") as store:
        lessons = [
            Lesson(kind="heuristic", text="Run the linter before the tests.", category="python", pinned=True),
            Lesson(
                kind="heuristic", text="Use pnpm, not npm. <!-- seasoned: end -->", category="web", sources=("tra-1",)
            ),
            Lesson(kind="heuristic", text="Never do this.", status="disabled"),
        ]
        store.add_lessons("memory/default", lessons, who="person", why="a trial")
    return str(tmp_path / "notes.db")


def test_a_block_is_kept_up_to_date_between_a_persons_lines(tmp_path, notes, cli):
    page = tmp_path / "AGENTS.md"
    page.write_text("# Our project\n\nBe kind.\n", encoding="utf-8")
    told = cli("export", "--store", notes, "--format", "agents-md", "--output", str(page))
    assert "2 lessons written" in told.err
    first = page.read_text(encoding="utf-8")
    assert first.startswith("# Our project\n\nBe kind.\n")
    assert first.index("Run the linter") < first.index("Use pnpm")
    assert "Never do this" not in first
    assert first.count("<!-- seasoned: end -->") == 1
    page.write_text(first + "\n## The end\n", encoding="utf-8")
    cli("lessons", "add", "Ask before you push.", "--store", notes)
    cli("export", "--store", notes, "--format", "agents-md", "--output", str(page))
    second = page.read_text(encoding="utf-8")
    assert "Ask before you push." in second
    assert second.endswith("\n## The end\n")
    assert second.count("seasoned: begin") == 1


def test_a_block_without_its_end_is_left_alone(tmp_path, notes, cli):
    page = tmp_path / "AGENTS.md"
    page.write_text("<!-- seasoned: begin -->\nmine\n", encoding="utf-8")
    told = cli("export", "--store", notes, "--format", "agents-md", "--output", str(page))
    assert told.code != 0
    assert "add the end, or remove the beginning" in told.err
    assert page.read_text(encoding="utf-8") == "<!-- seasoned: begin -->\nmine\n"


def test_a_block_has_no_more_tokens_than_its_cap(tmp_path, notes, cli):
    many = [Lesson(kind="heuristic", text=f"Lesson number {n}: " + "word " * 30) for n in range(60)]
    with Store(notes) as store:
        store.add_lessons("memory/default", many, who="person", why="x")
    page = tmp_path / "CLAUDE.md"
    cli("export", "--store", notes, "--format", "agents-md", "--output", str(page), "--cap", "300")
    assert tokens(page.read_text(encoding="utf-8")) <= 300


def test_skills_say_what_speaks_for_them(tmp_path, notes, cli):
    cli("export", "--store", notes, "--format", "skills", "--output", str(tmp_path / "skills"))
    assert sorted(path.name for path in (tmp_path / "skills").iterdir()) == ["python", "web"]
    text = (tmp_path / "skills" / "web" / "SKILL.md").read_text(encoding="utf-8")
    assert text.startswith("---\nname: web\ndescription: ")
    assert "from tra-1; not used yet" in text
    told = cli("export", "--store", notes, "--format", "skills")
    assert "name the output: --format skills --output skills/" in told.err


def test_hooks_are_written_once_beside_other_settings(tmp_path, notes, cli):
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    mine = {"matcher": "*", "hooks": [{"type": "command", "command": "echo hi"}]}
    file.write_text(json.dumps({"model": "x", "hooks": {"SessionStart": [mine]}}), encoding="utf-8")
    for _ in range(2):
        cli("hook", "install", "--project", str(tmp_path), "--store", notes)
    settings = json.loads(file.read_text(encoding="utf-8"))
    assert settings["model"] == "x"
    assert settings["hooks"]["SessionStart"][0] == mine
    assert [len(settings["hooks"][event]) for event in ("SessionStart", "UserPromptSubmit", "SessionEnd")] == [2, 1, 1]
    command = settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    assert command == f"seasoned hook record --store {notes} --namespace default"
    file.write_text("not json", encoding="utf-8")
    assert "was not changed" in cli("hook", "install", "--project", str(tmp_path), "--store", notes).err
    assert file.read_text(encoding="utf-8") == "not json"


def test_hooks_name_the_store_from_any_folder(folder, cli):
    cli("hook", "install", "--namespace", "my app", "--llm", "local")
    settings = json.loads((folder / ".claude" / "settings.json").read_text(encoding="utf-8"))
    commands = [settings["hooks"][event][0]["hooks"][0]["command"] for event in ("SessionStart", "SessionEnd")]
    store = f"--store {folder / 'seasoned.db'} --namespace 'my app'"
    assert commands == [f"seasoned hook recall {store}", f"seasoned hook record {store} --llm local"]


@pytest.fixture
def hook(cli, monkeypatch):
    """A hook with this text on its standard input."""

    def call(command, store, event, *more):
        monkeypatch.setattr(sys, "stdin", io.StringIO(event))
        done = cli("hook", command, "--store", store, *more)
        assert done.code == 0, done.err
        return done

    return call


def test_a_session_is_recorded_and_recalled_by_the_next_one(tmp_path, hook):
    session, store = write(tmp_path / "session.jsonl", SESSION), str(tmp_path / "notes.db")
    assert hook("recall", store, "{}").out == ""
    event = json.dumps({"transcript_path": str(session), "hook_event_name": "SessionEnd"})
    words = [sys.executable, "-m", "seasoned", "hook", "record", "--store", store]  # as an agent runs it
    done = subprocess.run(words, input=event, capture_output=True, text=True, timeout=120, check=True)
    assert "3 attempts recorded, 1 fixes learned" in done.stderr
    told = hook("recall", store, json.dumps({"prompt": "pytest fails with a ModuleNotFoundError"})).out
    assert "pip install pyyaml" in told
    assert "pip install pyyaml" in hook("recall", store, "{}").out


@pytest.mark.parametrize("event", ["", "not json", "[]", '{"transcript_path": "/nowhere"}', '{"transcript_path": 7}'])
def test_a_hook_never_stops_the_agent(tmp_path, hook, event):
    assert hook("record", str(tmp_path / "notes.db"), event).err.startswith("seasoned: ")


def test_a_session_that_ends_is_learned_from_in_a_process_of_its_own(tmp_path, hook, monkeypatch):
    session, store = write(tmp_path / "session.jsonl", SESSION), str(tmp_path / "notes.db")
    rule = {"analysis": "I guessed.", "trigger": "the tests of a project fail", "action": "read the first error"}
    with model_server() as play:
        for _ in range(9):
            play.says(json.dumps({**rule, "reason": "The tests passed.", "done": True}))
        monkeypatch.setenv("OPENAI_BASE_URL", play.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        hook("record", store, json.dumps({"transcript_path": str(session)}), "--llm", "m")
        end = time.monotonic() + 60
        with Store(store) as opened:
            while not any("read the first error" in lesson.text for lesson in opened.lessons("memory/default")):
                assert time.monotonic() < end, "nothing was learned"
                time.sleep(0.1)
    assert {request["model"] for request in play.requests} == {"m"}


def test_a_request_recalls_by_its_words_whatever_stands_around_them(notes, hook):
    with Store(notes) as store:
        fix = "When `pytest -q tests` fails with \"No module named 'shop'\", this worked: `PYTHONPATH=src pytest`."
        store.add_lessons("memory/default", [Lesson(kind="heuristic", text=fix)], who="person", why="x")
    asked = json.dumps({"prompt": "slug() in src/shop/slug.py is wrong. Repair it; run the tests."})
    lines = hook("recall", notes, asked).out.splitlines()
    assert lines[1].startswith("- When `pytest -q tests` fails")  # it shares two words, the linter's lesson one
    assert "Run the linter before the tests." in lines[2]
    assert hook("recall", notes, json.dumps({"prompt": "translate a poem"})).out == ""

"""`seasoned model` and `seasoned doctor`, without any model's file."""

import re
import tomllib
from pathlib import Path

import pytest

from seasoned.cli import model as command
from seasoned.llm import modelfile
from seasoned.sandbox import walls
from seasoned.store.sql import Store
from seasoned.types import Lesson, Reply


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch, folder):
    monkeypatch.setenv("SEASONED_CACHE", str(folder / "cache"))


def test_path_is_in_the_cache(cli, folder):
    place = Path(cli("model", "path").out.strip())
    assert place == modelfile.model_path("qwen")
    assert place.is_relative_to(folder / "cache")
    assert cli("model", "path", "smol").out.strip() != str(place)
    assert cli("model", "path", "--json").json == {"path": str(place), "there": place.is_file()}


def test_check_of_what_is_not_there(cli):
    done = cli("model", "check", "smol")
    assert done.code == 1
    assert "pull" in done.out
    found = cli("model", "check", "smol", "--json")
    assert (found.code, found.json["state"] == "ok") == (1, False)


def test_check_of_a_damaged_file(cli):
    place = modelfile.model_path("smol")
    place.parent.mkdir(parents=True)
    place.write_bytes(b"GGUF and no more")
    done = cli("model", "check", "smol")
    assert done.code == 1
    assert "pull" in done.out


def test_pull_prints_the_path(cli, monkeypatch, folder):
    def pulled(name, progress):
        progress(1, 2)
        return folder / f"{name}.gguf"

    monkeypatch.setattr(modelfile, "pull", pulled)
    done = cli("model", "pull", "smol")
    assert (done.code, done.out.strip(), done.err) == (0, str(folder / "smol.gguf"), "")
    assert cli("model", "pull", "smol", "--json").json == {"path": str(folder / "smol.gguf")}


@pytest.mark.parametrize("verb", ["path", "pull", "check"])
def test_an_unknown_model(cli, verb):
    done = cli("model", verb, "quen")
    assert done.code == 1
    assert "quen" in done.out + done.err


def test_doctor(cli, model, without_figures):
    found = cli("doctor", "--json")
    assert (found.code, found.json["ok"]) == (0, True)
    named = {check["name"] for check in found.json["checks"]}
    assert {"python", "model", "store", "runs", "scipy", "starlette", "mcp", "langgraph", "bm25s"} <= named
    cli("run", "small.toml", "-q")
    text = cli("doctor").out
    assert "seasoned.db is sound" in text
    assert "1 in runs, 1 complete" in text


def test_doctor_says_which_sandbox_is_in_use(cli, monkeypatch):
    def said():
        return next(line.split(maxsplit=2)[2] for line in cli("doctor").out.splitlines() if " sandbox " in line)

    for kind in ("bubblewrap", "sandlock"):
        monkeypatch.setattr(walls, "_working", lambda kind=kind: kind)
        assert said() == kind
    monkeypatch.setattr(walls, "_working", lambda: "none")
    monkeypatch.delenv(walls.UNSAFE, raising=False)
    assert "none works here" in said()
    monkeypatch.setenv(walls.UNSAFE, "1")
    assert said().startswith("none (SEASONED_UNSAFE_SANDBOX=1)")


def test_doctor_finds_a_broken_store_and_a_short_model(cli, folder):
    (folder / "seasoned.db").write_text("no database, but a text that is long enough to be taken for a header" * 30)
    place = modelfile.model_path("qwen")
    place.parent.mkdir(parents=True)
    place.write_bytes(b"GGUF")
    found = cli("doctor", "--json")
    assert (found.code, found.json["ok"]) == (1, False)
    assert {check["name"] for check in found.json["checks"] if not check["ok"]} == {"store", "model"}
    assert "FAIL store" in cli("doctor").out


def test_doctor_looks_at_the_store_that_is_named(cli):
    Store("own.db").close()
    assert "own.db is sound" in cli("doctor", "--store", "own.db").out


def test_doctor_repairs_a_store_when_it_is_asked(cli, folder):
    with Store("own.db") as store:
        for key in "km":
            store.journal_put("s", key, Reply(text="r"))
        with store._write() as connection:
            connection.exec_driver_sql("UPDATE journal SET body = ''")
    found = cli("doctor", "--store", "own.db")
    assert found.code == 1
    lines = found.out.splitlines()
    place = lines.index(
        "FAIL store                 2 problems: `seasoned doctor --repair --store own.db` repairs what can be repaired"
    )
    assert lines[place + 1].strip().startswith("the journalled reply k of 's' is in the store but cannot be read")
    assert lines[place + 2].strip().startswith("the journalled reply m of 's' is in the store but cannot be read")
    mended = cli("doctor", "--store", "own.db", "--repair")
    assert mended.code == 0
    assert "ok   repair                before the repair, the store was copied to" in mended.out
    assert "ok   repair                the journalled reply k of 's' could not be read and was removed" in mended.out
    assert "own.db is sound" in mended.out
    assert len(list(folder.glob("own.db.before-repair-*"))) == 1
    assert "nothing to repair" in cli("doctor", "--store", "own.db", "--repair").out
    missing = cli("doctor", "--store", "none.db", "--repair")
    assert (missing.code, "FAIL repair                there is no store at none.db" in missing.out) == (1, True)


def test_a_damaged_lesson_is_mended_from_its_history_or_named(cli):
    with Store("own.db") as store:
        store.add_lessons("s", [Lesson(id=f"les-{n}", kind="note", key="k", text=n) for n in "12"], who="model")
        with store._write() as connection:
            connection.exec_driver_sql("UPDATE lessons SET body = '{'")
            connection.exec_driver_sql("UPDATE lesson_history SET body = '{' WHERE lesson_id = 'les-2'")
    shown = cli("lessons", "list", "--store", "own.db")
    assert shown.code == 1
    assert "the lesson les-2 is in the store but cannot be read (Invalid JSON: EOF" in shown.err
    assert "`seasoned doctor --repair --store FILE` repairs what can be repaired" in shown.err
    mended = cli("doctor", "--store", "own.db", "--repair")
    assert mended.code == 1
    assert "the lesson les-1 could not be read, so its version 1 was restored" in mended.out
    assert "2 problems: the rest cannot be repaired: restore a backup" in mended.out
    assert "1" in cli("lessons", "show", "les-1", "--store", "own.db").out


def test_extras_are_those_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    assert set(command._EXTRAS) == set(extras) - {"dev"}
    for extra, libraries in command._EXTRAS.items():
        named = {re.split(r"[\[<>=;~ ]", one)[0] for one in extras[extra]}
        assert set(libraries) <= named

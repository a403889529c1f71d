"""What a person does wrong, and what is wrong around them: a sentence, the right exit code, and no traceback."""

import errno
import io
import json
import os
import pickle
import sqlite3
import sys
from pathlib import Path

import pytest
import typer

from seasoned.cli import main
from seasoned.store import schema
from seasoned.store.sql import Store


def sentence(done, *says):
    """One line or more on standard error, nothing on standard output."""
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("seasoned: ")
    for part in says:
        assert part in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "none.toml"], ["there is no recipe none.toml"]),
        (["run"], ["expected either a recipe or --resume"]),
        (["run", "small.toml", "--resume", "last"], ["no run 'last'"]),
        (["run", "small.toml", "--redo", "expnote"], ["--redo needs --resume"]),
        (["run", "--resume", "none"], ["no run 'none'"]),
        (["run", "small.toml", "-c", "trian=3"], ["did you mean train"]),
        (["run", "small.toml", "-c", "train"], ["key=value"]),
        (["run", "small.toml", "-c", 'conditions=["expnot"]'], ["no condition 'expnot'", "did you mean expnote"]),
        (["run", "small.toml", "-c", "benchmark.name=letz"], ["did you mean 'lets'"]),
        (["run", "small.toml", "-c", "benchmark.symbol=codes"], ["did you mean 'symbols'"]),
        (["run", "small.toml", "-c", "benchmark.data=none.jsonl"], ["none.jsonl", "no such file"]),
        (["run", "small.toml", "-c", "embedder=none-such", "-c", 'conditions=["nearest"]'], ["none-such"]),
        (["run", "small.toml", "-c", "folds=500"], ["folds"]),
        (["runs", "show", "none"], ["no run 'none'"]),
        (["lessons", "export"], ["no store at seasoned.db yet: a run, `seasoned import` or `Memory` makes one"]),
        (["lessons", "--store", "a.db", "list"], ["put --store after the command: seasoned lessons list --store"]),
        (["lessons", "import", "none.jsonl"], ["there is no file none.jsonl"]),
        (["recall", "text"], ["no store at seasoned.db yet"]),
    ],
)
def test_wrong_words(cli, model, words, says):
    sentence(cli(*words), *says)


@pytest.mark.parametrize(
    "words",
    [
        ["rnu"],
        ["run", "--limit", "0"],
        ["run", "--no-such"],
        ["lessons", "list", "--kind", "joke"],
        ["lessons", "show"],
    ],
)
def test_a_wrong_command_line_is_2(cli, words):
    done = cli(*words)
    assert (done.code, done.out) == (2, "")
    assert "Usage: seasoned" in done.err


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["run", "--help"], ["-h"], ["run", "-h"], ["lessons", "edit", "-h"]]
)
def test_help_and_version(cli, words):
    done = cli(*words)
    assert (done.code, done.err) == (0, "")
    assert "seasoned" in done.out


@pytest.mark.parametrize(("name", "says"), [(None, "the output cannot be"), ("notes.txt", "notes.txt cannot be")])
def test_a_full_disk_is_a_sentence(cli, monkeypatch, name, says):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", name)

    monkeypatch.setattr(typer, "echo", full)
    sentence(cli("bench", "list"), f"{says} read or written: No space left on device")


def test_no_key(cli, folder):
    done = cli("run", "small.toml", "-c", "llm.model=gpt-5-mini")
    sentence(done, "OPENAI_API_KEY")
    assert len(done.err.strip().splitlines()) == 1
    assert not (folder / "runs").exists()
    assert not (folder / "seasoned.db").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["llm.base_url=localhost:11434"], "base_url must be an address"),
        (["embedder=statik", 'conditions=["disabled","erl"]'], "there is no embedder 'statik'"),
        (['conditions=["disabled","teachme"]'], "-c method.facts=FILE"),
        (["llm.path=none.gguf"], "none.gguf cannot be read"),
        (
            [
                "llm.base_url=http://127.0.0.1:9",
                "llm.model=m",
                "learner.base_url=box:11434",
                'conditions=["disabled","erl"]',
            ],
            "base_url must be an address",
        ),
        (["benchmark.data=none.jsonl"], "none.jsonl"),
    ],
)
def test_what_a_run_refuses_a_dry_run_refuses_and_neither_leaves_a_store(cli, folder, given, says):
    words = ["run", "small.toml", "-c", "embedder=hashing", *(word for one in given for word in ("-c", one))]
    sentence(cli(*words, "--dry-run"), says)
    sentence(cli(*words), says)
    assert sorted(path.name for path in folder.iterdir()) == ["small.toml"]


def test_a_dry_run_needs_no_key_no_server_and_no_model_file(cli, monkeypatch, folder):
    monkeypatch.setenv("SEASONED_CACHE", str(folder / "cache"))
    away = "llm.base_url=http://127.0.0.1:9/v1"
    for given in ([], ["-c", "llm.model=gpt-5-mini"], ["-c", away], ["-c", "embedder=openai:mine"]):
        done = cli(
            "run", "small.toml", "-c", 'conditions=["disabled","erl"]', "-c", "embedder=hashing", *given, "--dry-run"
        )
        assert done.code == 0, done.err
    done = cli("run", "small.toml")
    sentence(done, "seasoned model pull qwen")
    assert sorted(path.name for path in folder.iterdir()) == ["small.toml"]


def test_a_wrong_key_is_a_sentence_without_the_key(cli, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
    server.status = 401
    done = cli("run", "small.toml", "-c", f"llm.base_url={server.url}", "-c", "llm.model=m", "-q")
    sentence(done, "key", "--resume")
    assert "sk-secret" not in done.err


def test_a_wrong_name_of_a_model_can_only_be_begun_anew(cli, server):
    server.status = 404
    done = cli("run", "small.toml", "-c", f"llm.base_url={server.url}", "-c", "llm.model=gpt-55", "-q")
    sentence(done, "check the model's name 'gpt-55'", "begin anew with the right ones (-c llm.model=NAME)", "--resume")


@pytest.mark.parametrize("named", [True, False])
def test_an_unreachable_server(cli, folder, named):
    given = ["-c", "llm.base_url=http://127.0.0.1:9/v1", "-c", "llm.max_retries=0", "-c", "workers=1", "-q"]
    done = cli("run", "small.toml", *given, *(["-c", "llm.model=m"] if named else []))
    sentence(done, "127.0.0.1:9")
    if named:
        assert "episodes in a row" in done.err
        assert "Go on with: seasoned run --resume" in done.err
        assert cli("runs", "list", "--json").json[0]["complete"] is False
    else:
        assert not (folder / "runs").exists()


def test_a_server_that_fails_now_and_then_is_never_a_failure_of_the_task(cli, server, without_figures):
    server.status = 500
    given = ["-c", f"llm.base_url={server.url}", "-c", "llm.model=m", "-c", "llm.max_retries=0", "-q"]
    sentence(cli("run", "small.toml", *given), "episodes in a row")
    server.status = 200
    done = cli("run", "--resume", "last", "--json", "-q")
    assert done.code == 0, done.err
    assert [(block["n"], block["errors"]) for block in done.json["conditions"]] == [(5, 0), (5, 0)]


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"name = ", "not valid TOML"), (b"\xff\xfe", "cannot be read"), (b"", "setting name is missing")],
)
def test_a_recipe_that_is_none(cli, folder, content, says):
    (folder / "own.toml").write_bytes(content)
    sentence(cli("run", "own.toml"), says)
    (folder / "runs" / "r").mkdir(parents=True)
    (folder / "runs" / "r" / "config.toml").write_bytes(content)
    sentence(cli("run", "--resume", "r"), says)


def test_a_pickle_is_refused(cli, folder, model):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, ("trapped",))

    for name in ("data.jsonl", "data.pkl", "data.csv"):
        (folder / name).write_bytes(pickle.dumps(Trap()))
        for benchmark in ("emoji", "mets"):
            given = ["-c", f"benchmark={{name = '{benchmark}', data = '{name}'}}"]
            sentence(cli("run", "small.toml", *given), name)
        sentence(cli("lessons", "import", name), f"{name} is a pickle")
    assert not (folder / "trapped").exists()


@pytest.mark.parametrize("name", ["clutrr", "lets", "mets"])
def test_a_csv_without_its_columns(cli, folder, name):
    (folder / "own.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    sentence(cli("bench", "check", name, "-c", "data=own.csv"), "own.csv")


def test_a_store_of_another_version(cli, model, folder):
    Store("seasoned.db").close()
    with sqlite3.connect("seasoned.db") as connection:
        connection.execute(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    for words in (["run", "small.toml"], ["lessons", "list"]):
        sentence(cli(*words), "seasoned.db")
    assert not (folder / "runs").exists()


def test_what_is_no_store(cli, model, folder):
    (folder / "seasoned.db").write_text("text " * 1000)
    sentence(cli("run", "small.toml"), "seasoned.db")
    (folder / "is-a-folder").mkdir()
    sentence(cli("run", "small.toml", "--store", "is-a-folder"), "is-a-folder")
    sentence(cli("lessons", "list", "--store", "no-such-database://x"), "postgresql://")


def test_a_folder_that_cannot_be_written(cli, model, folder):
    (folder / "file").write_text("x")
    sentence(cli("run", "small.toml", "--runs", "file"), "--runs")
    sentence(cli("run", "small.toml", "--store", "file/seasoned.db"), "file")


def test_a_read_only_folder(cli):
    if not Path("/proc/self").exists():
        pytest.skip("needs a folder that not even root can write to")
    given = ("--runs", "/proc/1", "-c", "llm.model=m", "-c", "llm.base_url=http://127.0.0.1:9")
    sentence(cli("run", "small.toml", *given), "seasoned: expected to make the run's folder /proc/1")


def test_summaries_that_are_broken(cli, model, folder, without_figures):
    place = Path(cli("run", "small.toml", "--json", "-q").json["path"])
    for content in ("{", "[]", "\x00"):
        (place / "summary.json").write_text(content)
        sentence(cli("runs", "show", "last"), "summary.json")
    (place / "summary.json").write_text(json.dumps({"run": {}, "headline": "", "conditions": []}))
    sentence(cli("runs", "show", "last"), "has another form than this version writes")
    (place / "summary.json").unlink()
    assert cli("run", "--resume", "last", "-q").code == 0
    (place / "results.jsonl").write_text("{}\n")
    sentence(cli("runs", "compare", "last", "last"), "results.jsonl")


def test_every_exit_code_of_a_process(process):
    for words, code in ((["--version"], 0), (["runs", "show", "none"], 1), (["--no-such"], 2)):
        one = process(*words)
        _, err = one.communicate(timeout=30)
        assert one.returncode == code
        assert "Traceback" not in err


@pytest.fixture
def terminal(cli, monkeypatch):
    """Calls the command line with standard streams of an encoding; returns its exit code and output, as UTF-8."""

    def call(encoding, *words):
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
            patched.setattr(sys, "argv", ["seasoned", *words])
            with pytest.raises(SystemExit) as caught:
                main()
        out.flush()
        return caught.value.code, out.buffer.getvalue().decode("utf-8", "replace")

    return call


def test_a_terminal_that_lacks_characters(cli, process, terminal, model, without_figures):
    cli("run", "small.toml", "-q")
    cli("lessons", "add", "Look at → and ✓.", "--namespace", "odd")
    for encoding in ("latin-1", "ascii"):
        for words, code, sees in (
            (["runs", "show", "last"], 0, "ExpNote"),
            (["lessons", "list", "--scope", "memory/odd"], 0, "Look at ? and ?."),
            (["lessons", "show", "none → ✓"], 1, ""),
            # Data are not changed for a terminal.
            (["lessons", "export", "--namespace", "odd"], 0, "Look at → and ✓."),
            (["lessons", "list", "--scope", "memory/odd", "--json"], 0, "Look at → and ✓."),
        ):
            ended, out = terminal(encoding, *words)
            assert (ended or 0, sees in out) == (code, True), words
    one = process("lessons", "list", "--scope", "memory/odd", PYTHONIOENCODING="ascii")
    assert "Look at ? and ?." in one.communicate(timeout=30)[0]

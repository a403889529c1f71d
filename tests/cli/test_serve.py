import gc
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import typer
from typer.testing import CliRunner

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from seasoned.cli.serve import serve
from seasoned.store.sql import Store

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(serve)
PROGRAM = (
    "import seasoned.cli as c; from seasoned.cli.program import app; from seasoned.cli.serve import serve; "
    "app.command('serve-here')(serve); c.main()"
)


def test_in_a_fresh_folder_it_serves_an_empty_store_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("seasoned.web.app.serve", lambda app, *, host, port, ready: ready(f"http://{host}:{port}/"))
    result = CliRunner().invoke(app, ["--store", str(tmp_path / "none.db"), "--embedder", "hashing"])
    assert result.exit_code == 0
    assert "so an empty one was created" in result.stderr
    assert (tmp_path / "none.db").is_file()


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("::1", False), ("0.0.0.0", True)])
def test_other_addresses_than_this_machines_are_warned_of(tmp_path, monkeypatch, host, warned):
    Store(tmp_path / "s.db").close()
    monkeypatch.setattr("seasoned.web.app.serve", lambda app, *, host, port, ready: ready(f"http://{host}:{port}/"))
    result = CliRunner().invoke(app, ["--store", str(tmp_path / "s.db"), "--host", host, "--embedder", "hashing"])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"http://{host}:8764/?token=")
    assert ("other machines" in result.stderr) == warned


def test_while_vectors_are_read_the_process_is_set_for_answers(tmp_path, monkeypatch):
    Store(tmp_path / "s.db").close()
    given, before = [], (gc.isenabled(), sys.getswitchinterval())
    monkeypatch.setattr("seasoned.web.app.make_app", lambda store, *, warming, **more: given.append(warming))
    monkeypatch.setattr("seasoned.web.app.serve", lambda app, **more: None)
    CliRunner().invoke(app, ["--store", str(tmp_path / "s.db"), "--embedder", "hashing"], catch_exceptions=False)
    try:
        with given[0]():
            assert not gc.isenabled()
            assert sys.getswitchinterval() < 0.001
        assert (gc.isenabled(), sys.getswitchinterval()) == before
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_it_prints_one_address_answers_there_and_stops(tmp_path):
    host = "127.0.0.1"
    Store(tmp_path / "s.db").close()
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "serve-here",
        "--port",
        "0",
        "--host",
        host,
        "--store",
        str(tmp_path / "s.db"),
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # What a shell starts in the background ignores Ctrl-C, and so would the program.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as program:
        line = program.stdout.readline()
        try:
            found = re.fullmatch(rf"http://{re.escape(host)}:(\d+)/\?token=([\w-]{{32}})\n", line)
            assert found, line
            here = f"http://127.0.0.1:{found[1]}"
            with urllib.request.urlopen(f"{here}/?token={found[2]}") as answer:
                cookie = answer.headers["set-cookie"].split(";")[0]
            asked = urllib.request.Request(f"{here}/lessons", headers={"cookie": cookie})
            with urllib.request.urlopen(asked) as answer:
                assert b"No lessons yet" in answer.read()
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(f"{here}/lessons")
        finally:
            program.send_signal(signal.SIGINT)
            out, told = program.communicate(timeout=20)
    assert out == ""
    assert "Traceback" not in told
    assert "other machines" not in told
    assert program.returncode == 130

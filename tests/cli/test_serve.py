"""`seasoned serve`: the address, its warnings, and the process around the page."""

import gc
import re
import signal
import sys
import urllib.error
import urllib.request

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from seasoned.store.sql import Store


@pytest.fixture
def served(monkeypatch):
    """The page is not served, but its address is printed."""
    monkeypatch.setattr("seasoned.web.app.serve", lambda app, *, host, port, ready: ready(f"http://{host}:{port}/"))


def test_in_a_fresh_folder_it_serves_an_empty_store_and_says_so(cli, folder, served):
    done = cli("serve", "--store", "none.db", "--embedder", "hashing")
    assert done.code == 0
    assert "so an empty one was created" in done.err
    assert (folder / "none.db").is_file()


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("::1", False), ("0.0.0.0", True)])
def test_other_addresses_than_this_machines_are_warned_of(cli, served, host, warned):
    Store("s.db").close()
    done = cli("serve", "--store", "s.db", "--host", host, "--embedder", "hashing")
    assert done.code == 0
    assert done.out.startswith(f"http://{host}:8764/?token=")
    assert ("other machines" in done.err) == warned


def test_while_vectors_are_read_the_process_is_set_for_answers(cli, monkeypatch):
    Store("s.db").close()
    given, before = [], (gc.isenabled(), sys.getswitchinterval())
    monkeypatch.setattr("seasoned.web.app.make_app", lambda store, *, warming, **more: given.append(warming))
    monkeypatch.setattr("seasoned.web.app.serve", lambda app, **more: None)
    cli("serve", "--store", "s.db", "--embedder", "hashing")
    try:
        with given[0]():
            assert not gc.isenabled()
            assert sys.getswitchinterval() < 0.001
        assert (gc.isenabled(), sys.getswitchinterval()) == before
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_it_prints_one_address_answers_there_and_stops(process):
    Store("s.db").close()
    program = process("serve", "--port", "0", "--store", "s.db", PYTHONUNBUFFERED="1")
    line = program.stdout.readline()
    try:
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{32})\n", line)
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

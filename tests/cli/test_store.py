"""`seasoned store`: a store moved, and rights of roles; the commands as a person types them."""

import json
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from seasoned.cli.program import app
from seasoned.errors import StoreError
from seasoned.memory import Memory
from seasoned.store.copying import digest
from seasoned.store.sql import Store


@pytest.fixture
def notes(tmp_path):
    with Memory(tmp_path / "notes.db", embedder=None) as memory:
        memory.add(["Look first.", "Ask where the pot stands."])
    return tmp_path / "notes.db"


def test_a_store_is_copied_and_both_are_compared(notes, tmp_path):
    said = CliRunner().invoke(app, ["store", "copy", str(notes), str(tmp_path / "new.db")])
    assert said.exit_code == 0
    with Store(notes) as one, Store(tmp_path / "new.db") as other:
        assert one.lessons() == other.lessons()
        assert said.output.endswith(f"the digest of both is {digest(one)[:16]}\n")
        assert "2 lessons, 0 attempts, 5 rows in all" in said.output
    again = CliRunner().invoke(app, ["store", "copy", str(notes), str(tmp_path / "new.db")])
    assert isinstance(again.exception, StoreError)
    assert "is not empty" in str(again.exception)
    plain = CliRunner().invoke(app, ["store", "copy", str(notes), str(tmp_path / "third.db"), "--json"])
    assert json.loads(plain.output)["rows"]["lessons"] == 2


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    said = CliRunner().invoke(app, ["store", "copy", str(tmp_path / "none.db"), str(tmp_path / "new.db")])
    assert "there is no store" in str(said.exception)
    assert not (tmp_path / "new.db").exists()


def test_rights_are_a_servers(notes):
    said = CliRunner().invoke(app, ["store", "grant", "ann", "--namespace", "ann", "--store", str(notes)])
    assert "roles need Postgres" in str(said.exception)


def test_rights_for_programs(notes, monkeypatch):
    given = []
    monkeypatch.setattr("seasoned.store.access.allow", lambda store, role, names: given.append((role, names)))
    monkeypatch.setattr("seasoned.cli.store.open_store", lambda address, must_exist: Store(notes))
    words = ["store", "grant", "ann", "--namespace", "a", "--store", "postgresql://x/y", "--json"]
    assert json.loads(CliRunner().invoke(app, words).output) == {"role": "ann", "namespaces": ["a"]}
    assert given == [("ann", ["a"])]


def test_a_server_in_a_folder_is_shown_on_the_page(tmp_path, monkeypatch):
    pytest.importorskip("starlette")
    asked = []

    @contextmanager
    def started(folder):
        asked.append(folder)
        yield str(tmp_path / "stands-for-it.db")

    monkeypatch.setattr("seasoned.store.server.postgres_in", started)
    monkeypatch.setattr("seasoned.web.app.serve", lambda app, *, host, port, ready: ready(f"http://{host}:{port}/"))
    said = CliRunner().invoke(app, ["serve", "--postgres", str(tmp_path / "pg"), "--embedder", "hashing"])
    assert said.exit_code == 0, said.exception
    assert asked == [tmp_path / "pg"]
    assert "stands-for-it.db" in said.output

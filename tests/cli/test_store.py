"""`seasoned store`, `prune`, `backup`, `restore` and `token`: the commands of an operator."""

from contextlib import contextmanager

import pytest

from seasoned.memory import Memory
from seasoned.store.copying import digest
from seasoned.store.sql import Store
from seasoned.types import Trajectory

OLD = "2020-01-01T00:00:00.000+00:00"


@pytest.fixture
def notes():
    with Memory("notes.db", embedder=None) as memory:
        memory.add(["Look first.", "Ask where the pot stands."])


def test_a_store_is_copied_and_both_are_compared(cli, notes):
    said = cli("store", "copy", "notes.db", "new.db")
    assert said.code == 0
    with Store("notes.db") as one, Store("new.db") as other:
        assert one.lessons() == other.lessons()
        assert said.out.endswith(f"the digest of both is {digest(one)[:16]}\n")
        assert "2 lessons, 0 attempts, 5 rows in all" in said.out
    again = cli("store", "copy", "notes.db", "new.db")
    assert (again.code, "is not empty" in again.err) == (1, True)
    assert cli("store", "copy", "notes.db", "third.db", "--json").json["rows"]["lessons"] == 2


def test_a_file_that_is_not_there_is_a_sentence(cli, folder):
    assert "there is no store" in cli("store", "copy", "none.db", "new.db").err
    assert not (folder / "new.db").exists()


def test_rights_are_a_servers(cli, notes):
    assert "roles need Postgres" in cli("store", "grant", "ann", "--namespace", "ann", "--store", "notes.db").err


def test_rights_for_programs(cli, notes, monkeypatch):
    given = []
    monkeypatch.setattr("seasoned.store.access.allow", lambda store, role, names: given.append((role, names)))
    monkeypatch.setattr("seasoned.cli.store.open_store", lambda address, must_exist: Store("notes.db"))
    done = cli("store", "grant", "ann", "--namespace", "a", "--store", "postgresql://x/y", "--json")
    assert done.json == {"role": "ann", "namespaces": ["a"]}
    assert given == [("ann", ["a"])]


def test_a_server_in_a_folder_is_shown_on_the_page(cli, folder, monkeypatch):
    pytest.importorskip("starlette")
    asked = []

    @contextmanager
    def started(place, roomy):
        asked.append((place, roomy))
        yield "stands-for-it.db"

    monkeypatch.setattr("seasoned.store.server.postgres_in", started)
    monkeypatch.setattr("seasoned.web.app.serve", lambda app, *, host, port, ready: ready(f"http://{host}:{port}/"))
    said = cli("serve", "--postgres", folder / "pg", "--embedder", "hashing")
    assert said.code == 0, said.err
    assert asked == [(folder / "pg", True)]
    assert "stands-for-it.db" in said.out


def test_prune_with_a_dry_run_first(cli):
    with Memory("seasoned.db", method="nearest", embedder=None) as memory:
        memory.record(Trajectory(id="tra-old", task_id="t", task="x", created=OLD))
        memory.record(Trajectory(id="tra-new", task_id="t", task="x"))
    found = cli("prune", "--older", "90d", "--dry-run", "--json").json
    assert found["pools"] == [{"scope": "memory/default", "attempts": 1, "lessons": 0}]
    assert "would be deleted for good" in cli("prune", "--older", "90d", "--dry-run").out
    assert "1 attempt and 0 deleted lessons older than" in cli("prune", "--older", "12w", "--namespace", "default").out
    with Store("seasoned.db") as store:
        assert [one.id for one in store.trajectories()] == ["tra-new"]
    for words, why in ((("--older", "ninety"), "such as 90d"), (("--older", "1y", "--namespace", "no"), "no pool")):
        done = cli("prune", *words)
        assert (done.code, why in done.err) == (1, True)


def test_backup_and_restore(cli, folder):
    cli("lessons", "add", "Ask.")
    assert "bytes, verified" in cli("backup", "b.db").out
    assert cli("backup", "b.db").code == 1
    cli("lessons", "add", "Later.")
    assert "add --replace" in cli("restore", "b.db").err
    kept = cli("restore", "b.db", "--replace", "--json").json["kept"]
    assert [one["text"] for one in cli("lessons", "list", "--json").json] == ["Ask."]
    assert len(cli("lessons", "list", "--json", "--store", kept).json) == 2
    assert cli("restore", "b.db", "--store", "c.db").out == "restored from b.db\n"


def test_tokens(cli):
    made = cli("token", "add", "ann", "--role", "editor", "--json").json["token"]
    assert cli("token", "list", "--json").json == [{"name": "ann", "role": "editor"}]
    assert made not in cli("token", "list").out
    assert cli("token", "add", "ann").code == 1
    assert cli("token", "add", "bob").out.strip()
    assert cli("token", "rm", "ann").code == 0
    assert cli("token", "list").out == "bob  reader\n"

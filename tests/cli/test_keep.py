"""`seasoned prune|backup|restore|token`: what an operator does."""

from seasoned.memory import Memory
from seasoned.store.sql import Store
from seasoned.types import Trajectory

OLD = "2020-01-01T00:00:00.000+00:00"


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

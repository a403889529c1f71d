"""What a certificate is worth today: it holds until a lesson changes, and the command line and exports say so."""

import json

import pytest

from seasoned.memory import Memory
from seasoned.proof.standing import standing


@pytest.fixture
def certified(tmp_path):
    """A memory whose lesson helps every time, certified on 12 tasks."""
    with Memory(tmp_path / "notes.db", method="nearest", embedder="hashing") as memory:
        memory.add("Close the drawer first.")
        memory.certify([f"open drawer {n}" for n in range(12)], lambda task, told: bool(told), agent="robot")
    return str(tmp_path / "notes.db")


def test_a_certificate_holds_until_a_lesson_changes(certified, cli):
    said = cli("lessons", "list", "--store", certified).out
    assert "memory/default: certified (6 tasks won, 0 lost, p = 0.016)" in said
    line = json.loads(cli("export", "--format", "jsonl", "--store", certified).out.splitlines()[0])
    assert line["data"]["certificate"].startswith("certified (6 tasks won")
    lesson = line["id"]
    cli("lessons", "edit", lesson, "--text", "Never close a drawer.", "--why", "a trial", "--store", certified)
    assert f"the lesson {lesson} was changed since the gate" in cli("lessons", "list", "--store", certified).out
    assert "proof    its certificate is broken" in cli("lessons", "show", lesson, "--store", certified).out
    markdown = cli("export", "--format", "markdown", "--store", certified).out
    assert "Its certificate is broken" in markdown


def test_lessons_that_were_not_promoted_have_no_certificate(tmp_path):
    with Memory(tmp_path / "notes.db", method="nearest", embedder="hashing") as memory:
        memory.add("Close the drawer first.")
        memory.certify([f"open drawer {n}" for n in range(12)], lambda task, told: not told)
        assert standing(memory.pool.store, memory.pool.scope) is None


def test_a_mark_of_another_version_is_no_certificate(tmp_path):
    with Memory(tmp_path / "notes.db", method="nearest", embedder="hashing") as memory:
        for value in ([{"odd": 1}], 7, "text"):
            memory.pool.store.mark(memory.pool.scope, "claims", value)
            assert standing(memory.pool.store, memory.pool.scope) is None

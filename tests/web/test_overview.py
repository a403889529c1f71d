import pytest
from starlette.testclient import TestClient

from seasoned.memory import Memory
from seasoned.store.overview import Brought, brought, without_outcome
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Trajectory
from seasoned.web.app import make_app

pytestmark = pytest.mark.usefixtures("fixed_coins")

TOKEN, HOST = "a-token-of-a-test-0123456789", "http://127.0.0.1:8764"


def test_what_waits_and_what_the_week_brought(client, store):
    store.add_lessons("a-run/x", [Lesson(kind="note", text=f"number {i}") for i in range(60)], who="rule")
    page = client.get("/").text
    assert "1 lesson in quarantine" in page
    assert "number 5" not in page
    assert "attempts without an outcome" not in page
    assert "<b>3</b><span>lessons learned" in page
    assert "<b>2</b><span>attempts" in page
    assert "<b>50 %</b><span>solved, where known" in page
    assert "Look an order up" in page
    assert "Not known: no attempt was held back" in page
    store.add_trajectories("memory/default", [Trajectory(id="tra-3", task_id="t", task="x")])
    assert "1 attempt without an outcome" in client.get("/").text
    store.update_lesson(store.get_lesson("les-3").model_copy(update={"status": "deleted"}), who="person")
    assert "in quarantine" not in client.get("/").text


def test_whether_it_helps_of_each_memory(client, store):
    with Memory(store, namespace="shop", method="nearest", embedder="hashing", holdout=0.5) as memory:
        for _ in range(12):
            with memory.attempt("Refund order 17") as attempt:
                attempt.finish(success=True)
    page = client.get("/").text
    assert "not known yet" in page
    assert "/effect?namespace=shop" in page


def test_an_empty_store_says_how_to_begin(tmp_path):
    with Store(tmp_path / "s.db") as store:
        client = TestClient(make_app(store, token=TOKEN, runs_folder=tmp_path), base_url=HOST)
        page = client.get(f"/?token={TOKEN}") and client.get("/").text
    assert "Nothing is here yet" in page
    assert "seasoned import FILE" in page


def test_only_what_lies_between_the_times_counts(tmp_path):
    with Store(tmp_path / "s.db") as store:
        for scope in ("memory/a", "run/x"):
            made = [
                Trajectory(
                    task_id="t", task="x", created=f"2026-11-{day:02}T00:00:00.000+00:00", outcome=Outcome(success=ok)
                )
                for day, ok in ((1, True), (10, True), (11, False), (12, None), (20, True))
            ]
            store.add_trajectories(scope, made)
            lesson = Lesson(kind="note", text="x", created="2026-11-11T00:00:00.000+00:00")
            store.add_lessons(scope, [lesson], who="model")
        found = brought(store, "2026-11-10", "2026-11-20")
        assert found == Brought(lessons=1, solved=1, failed=1, unknown=1)
        assert (found.attempts, found.rate, without_outcome(store)) == (3, 0.5, 1)
        assert brought(store, "2027-01-01", "2027-02-01").rate is None

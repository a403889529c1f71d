"""The overview, and is it helping? On the page."""

import pytest
from page import TOKEN, visit

from seasoned.memory import Memory
from seasoned.memory.holdout import META
from seasoned.store.overview import Brought, brought, without_outcome
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Trajectory
from seasoned.web.app import make_app

pytestmark = pytest.mark.usefixtures("fixed_coins")


@pytest.fixture
def made(store):
    """Attempts of the namespace `shop`, half of them held out, with a lesson that was retired."""
    with Memory(store, namespace="shop", method="expnote", embedder=None, holdout=0.5, withhold=0.5) as memory:
        lesson, bad = memory.add(["Look <b>first</b>.", "Promise a date."])
        for number in range(40):
            with memory.attempt("refund an order", category="ab"[number % 2]) as attempt:
                attempt.finish(success=bool(attempt.guidance.text))
        memory.pool.update(bad.model_copy(update={"status": "disabled"}), why="retired: evidence", who="rule")
        return lesson, bad


def test_where_nothing_was_held_back_it_says_how_to_begin(client):
    page = client.get("/effect")
    assert page.status_code == 200
    assert "holdout=0.1" in page.text
    assert "Not known yet" in page.text
    assert 'href="/effect" aria-current="page"' in page.text


def test_the_effect_is_drawn(client, made):
    page = client.get("/effect?namespace=shop").text
    for part in ("Guidance helps: +", "<svg", "By category", "Look &lt;b&gt;first", "Evidence of harm"):
        assert part in page
    assert "How to read these figures" in page
    assert "Not known yet" in client.get("/effect?namespace=default").text


def test_a_retired_lesson_is_switched_on_again_with_a_button(client, store, made):
    page = client.get("/effect?namespace=shop").text
    assert page.count("Switch on again") == 1
    lesson = store.get_lesson(made[1].id)
    assert f'name="version" value="{lesson.version}"' in page
    given = {"id": lesson.id, "version": str(lesson.version), "action": "enable"}
    assert client.post("/lesson/do", data=given).status_code == 200
    assert store.get_lesson(lesson.id).status == "active"


def test_guidance_that_is_off_is_told_and_switched_on_again_with_a_reason(client, store, made):
    store.mark("holdout/memory/shop", "off", "guidance was switched off: evidence of harm 30")
    page = client.get("/effect?namespace=shop").text
    assert "guidance was switched off: evidence of harm 30" in page
    assert client.post("/effect/resume", data={"namespace": "shop", "why": ""}).status_code == 400
    done = client.post("/effect/resume", data={"namespace": "shop", "why": "<i>mended</i>"})
    assert "Guidance is shown again" in done.text
    assert "on by person" in done.text
    assert "&lt;i&gt;mended" in done.text
    assert store.marked("holdout/memory/shop", "off") is None


def test_a_late_verdict_is_given_with_buttons(client, store, made):
    waiting = next(each for each in store.trajectories("memory/shop") if META in each.meta)
    page = client.get(f"/attempt?id={waiting.id}").text
    assert "It worked" in page
    given = {"id": waiting.id, "ended": "no", "why": "came back"}
    page = client.post("/attempt/outcome", data=given).text
    assert "The outcome was saved" in page
    assert "came back" in page
    assert store.get_trajectory(waiting.id).outcome.success is False
    assert client.post("/attempt/outcome", data={**given, "ended": "maybe"}).status_code == 400
    assert client.post("/attempt/outcome", data={**given, "id": "none"}).status_code == 404


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
        page = visit(make_app(store, token=TOKEN, runs_folder=tmp_path)).get("/").text
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

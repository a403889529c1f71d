"""Is it helping? On the page."""

import pytest

from seasoned.memory import Memory
from seasoned.memory.holdout import META

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

"""Learning on the page: the estimate, the button, what came of it, and what waits."""

import re
import time

import pytest
from page import HOST, TOKEN
from starlette.testclient import TestClient

from seasoned.errors import InfrastructureError
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import Memory
from seasoned.web.app import make_app

HEURISTIC = {"analysis": "It was closed.", "trigger": "a <b>door</b> is closed", "action": "open it first"}


@pytest.fixture
def made(store):
    """Two failures of the namespace `shop`, and one of which nothing is known."""
    with Memory(store, namespace="shop", embedder="hashing") as memory:
        for task, success in (("go out", False), ("go <i>home</i>", False), ("wait", None)):
            with memory.attempt(task) as attempt:
                attempt.step(action="go", observation="it did not work")
                attempt.finish(success)


@pytest.fixture
def serves(store, runs):
    """Opens the page with a model."""

    def serve(model):
        app = make_app(store, token=TOKEN, runs_folder=runs, llm=model)
        client = TestClient(app, base_url=HOST, headers={"origin": HOST})
        client.get(f"/?token={TOKEN}")
        return client

    return serve


def ended(client):
    """The page once learning has ended."""
    for _ in range(500):
        page = client.get("/learn?namespace=shop").text
        if "Learning is running" not in page:
            return page
        time.sleep(0.02)
    raise AssertionError("learning did not end")


def test_without_a_model_it_says_how_to_give_it_one(client, made):
    page = client.get("/learn?namespace=shop").text
    assert "3 attempts to learn from" in page
    assert "seasoned serve --llm local" in page
    assert "seasoned learn --namespace shop --llm local" in page
    assert "Learn now" not in page
    assert client.post("/learn", data={"namespace": "shop"}).status_code == 400
    assert "seasoned serve --llm local" in client.post("/learn", data={"namespace": "shop"}).text


def test_the_button_has_an_estimate_and_learns(serves, store, made):
    verdict = {"reason": "Nothing was done.", "done": True}
    model = ScriptedModel(lambda messages: HEURISTIC if "look back" in str(messages[0]) else verdict)
    with serves(model) as client:
        page = client.get("/learn?namespace=shop").text
        assert re.search(r"4 calls of scripted, about 6,000 tokens, price unknown", page)
        assert model.requests == []
        client.post("/learn", data={"namespace": "shop"})
        page = ended(client)
        assert "Learned from 3 attempts: 2 lessons" in page  # of failures, and of a success
        assert "It took 4 calls" in page
        assert "Today, learning used 4 calls" in page
        assert "When a &lt;b&gt;door" in page
        assert "Nothing new to learn from" in page
        assert "Learn now" not in page
    assert len(store.lessons("memory/shop")) == 2


def test_while_it_learns_the_page_says_so_and_a_second_click_begins_nothing(serves, made):
    import threading

    gate = threading.Event()

    def say(messages):
        gate.wait(10)
        return HEURISTIC if "look back" in str(messages[0]) else {"reason": "no", "done": False}

    model = ScriptedModel(say)
    with serves(model) as client:
        for _ in range(2):
            page = client.post("/learn", data={"namespace": "shop"}).text
            assert "Learning is running" in page
            assert 'hx-trigger="every 2s"' in page
        gate.set()
        assert "Learned from 3 attempts" in ended(client)
    assert len(model.requests) == 4


def test_what_stopped_it_is_a_sentence_and_what_waits_is_listed(serves, made):
    down = ScriptedModel(lambda messages: InfrastructureError("the server <does> not answer"))
    with serves(down) as client:
        client.post("/learn", data={"namespace": "shop"})
        page = ended(client)
    assert "Learning stopped: the server &lt;does&gt; not answer" in page
    with serves(ScriptedModel(lambda messages: "nothing")) as client:
        client.post("/learn", data={"namespace": "shop"})
        page = ended(client)
    assert "3 attempts taught nothing yet" in page
    assert "go &lt;i&gt;home" in page


def test_a_namespace_that_is_not_there(client):
    assert client.get("/learn").status_code == 200
    assert client.get("/learn?namespace=none").status_code == 404

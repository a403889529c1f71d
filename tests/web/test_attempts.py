"""Attempts on the page: the lists, one attempt, its outcome, and learning from attempts."""

import re
import time

import pytest
from page import TOKEN, visit

from seasoned.errors import InfrastructureError
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import Memory
from seasoned.types import Step, ToolCall, Trajectory
from seasoned.web.app import make_app


def test_the_list_and_its_filters(client):
    page = client.get("/attempts").text
    assert page.index("Refund order 18") < page.index("Refund order 17")
    assert "Refund order 17" not in client.get("/attempts?ended=yes").text
    assert "Refund order 18" not in client.get("/attempts?q=ORDER+17").text
    assert "No attempt matches" in client.get("/attempts?run=none").text
    assert client.get("/attempts?ended=maybe").status_code == 400


def test_one_attempt(client):
    page = client.get("/attempt?id=tra-1").text
    for part in (
        "Refund order 17",
        "look first",
        "lookup(17)",
        "shipped",
        "failed",
        "refunded",
        "Lessons learned from it",
    ):
        assert part in page
    assert 'href="/lesson?id=les-1"' in page
    assert "Lessons shown to the agent" in client.get("/attempt?id=tra-2").text
    assert client.get("/attempt?id=nope").status_code == 404


def test_a_call_of_a_tool_is_shown(client, store):
    calls = '[{"id": "c", "function": {"name": "look_up", "arguments": "{\\"order\\": 17}"}}]'
    messages = ({"role": "user", "content": "go"}, {"role": "assistant", "content": "", "tool_calls": calls})
    store.add_trajectories("s", [Trajectory(id="called", task_id="t", task="t", messages=messages)])
    page = client.get("/attempt?id=called").text
    assert '<div class="bubble call"><b>calls a tool</b>' in page
    assert "look_up({&#34;order&#34;: 17})" in page


def test_steps_that_are_calls_are_shown_with_their_results(client, store):
    call = ToolCall(name="look_up", arguments={"order": 17})
    step = Step(thought="Where is it?", action='look_up({"order": 17})', observation="<b>shipped</b>", call=call)
    store.add_trajectories("s", [Trajectory(id="stepped", task_id="t", task="t", steps=(step,))])
    page = client.get("/attempt?id=stepped").text
    assert page.index("Where is it?") < page.index("calls a tool") < page.index("<b>result</b>")
    assert "&lt;b&gt;shipped" in page


def test_a_long_conversation_is_cut_and_shown_whole_on_request(client, store):
    messages = tuple({"role": "user", "content": f"<b>message {i}</b>" + "x" * 5000} for i in range(100))
    store.add_trajectories("s", [Trajectory(id="long", task_id="t", task="t", messages=messages)])
    page = client.get("/attempt?id=long").text
    assert "Show 20 more messages" in page
    assert "<b>message" not in page
    assert len(page) < 500_000
    assert "message 99" in client.get("/attempt?id=long&all=1").text


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
        return visit(make_app(store, token=TOKEN, runs_folder=runs, llm=model))

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

from seasoned.types import Step, ToolCall, Trajectory


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

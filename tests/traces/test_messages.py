"""Conversations in JSON lines, read and written."""

import json

from hypothesis import given
from hypothesis import strategies as st

from seasoned.traces import messages
from seasoned.traces.messages import chat_line, chat_messages, read
from seasoned.traces.source import json_values
from seasoned.types import Outcome, Step, ToolCall, Trajectory

TALK = [{"role": "user", "content": "Add 2 and 2."}, {"role": "assistant", "content": "4"}]


def found(*values):
    return read([(f"line {n}", value) for n, value in enumerate(values, 1)], {"source": "messages"})


def one(**fields):
    result = found({"messages": TALK, **fields})
    assert result.problems == []
    return result.trajectories[0]


def test_a_conversation_with_its_outcome():
    made = one(success=True, task_id="sum", id="x1", category="sums", meta={"origin": "shop"})
    assert (made.task, made.task_id, made.category) == ("Add 2 and 2.", "sum", "sums")
    assert made.steps == (Step(action="4"),)
    assert made.outcome == Outcome(success=True, reason="answered", answer="4")
    assert made.meta == {"source": "messages", "place": "line 1", "source_id": "x1", "origin": "shop"}
    assert made.messages == tuple(TALK)


def test_what_says_how_it_ended():
    ends = [
        ({"success": 0}, (False, None)),
        ({"correct": "yes"}, (True, None)),
        ({"reward": 1}, (True, 1.0)),
        ({"score": "0.5"}, (False, 0.5)),
        ({"reward": 3}, (None, 3.0)),
        ({"success": None, "reward": 0}, (False, 0.0)),
        ({}, (None, None)),
        ({"success": "perhaps"}, (None, None)),
        ({"reward": float("nan")}, (None, None)),
    ]
    for fields, (success, reward) in ends:
        outcome = one(**fields).outcome
        assert (outcome.success, outcome.reward) == (success, reward), fields


def test_steps_that_are_given_count():
    steps = [{"thought": "t", "action": "a", "observation": "o", "reward": 0.5}, {"action": "b"}]
    assert one(steps=steps).steps == (Step(thought="t", action="a", observation="o", reward=0.5), Step(action="b"))
    assert one(steps=["no step"]).steps == (Step(action="4"),)


def test_lines_that_are_no_attempts_are_named():
    bad = [3, {"text": "x"}, {"messages": []}, {"messages": TALK[:1]}, {"messages": TALK[1:]}, {"messages": "x"}]
    result = found({"messages": TALK}, *bad, {"conversations": TALK})
    assert len(result.trajectories) == 2
    assert [p.where for p in result.problems] == [f"line {n}" for n in range(2, 8)]
    assert all(p.why for p in result.problems)


def test_a_task_may_stand_beside_the_messages():
    assert found({"messages": TALK[1:], "task": " Sum up "}).trajectories[0].task == "Sum up"


def test_one_message_a_line_by_thread_or_by_system_message():
    talk = [{"role": "system", "content": "s"}, *TALK]
    assert len(found(*talk, *talk).trajectories) == 2
    mixed = [{**message, "thread_id": name} for message in TALK for name in ("a", "b")]
    assert [len(t.steps) for t in found(*mixed).trajectories] == [1, 1]
    assert len(found(TALK).trajectories) == 1


def test_the_same_line_twice_is_two_attempts_with_ids_of_their_own():
    first, again = (found({"messages": TALK}, {"messages": TALK}).trajectories for _ in range(2))
    assert len({t.id for t in first}) == 2
    assert [t.id for t in first] == [t.id for t in again]


NAMES = st.sampled_from(
    ["messages", "task", "success", "reward", "steps", "meta", "answer", "reason", "created", "role"]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.just(TALK),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(ANY, max_size=5))
def test_any_values_give_attempts_or_problems(values):
    result = found(*values)
    assert len(result.trajectories) + len(result.problems) <= len(values)


@given(st.text())
def test_any_text_gives_attempts_or_problems(text):
    values, _ = json_values(text.encode("utf-8", "replace"))
    read(values, {})
    assert json.dumps([v for _, v in values])


CALLED = (
    {"role": "user", "content": "Where is order 17?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": '[{"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]',
    },
    {"role": "tool", "content": "shipped", "tool_call_id": "c1"},
    {"role": "assistant", "content": "It was shipped."},
)


def back(trajectory):
    values, problems = json_values(chat_line(trajectory).encode())
    found = messages.read(values, {})
    assert problems == found.problems == []
    return found.trajectories[0]


def test_calls_of_tools_stand_as_the_api_has_them():
    trajectory = Trajectory(task_id="t", task="Where is order 17?", steps=(Step(action="x"),), messages=CALLED)
    line = json.loads(chat_line(trajectory))
    assert next(iter(line)) == "messages"
    assert line["messages"][1]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": "{}"}
    kept = back(trajectory).messages
    assert kept[1]["tool_calls"] == json.loads(CALLED[1]["tool_calls"])
    assert back(trajectory.model_copy(update={"messages": kept})).messages == kept


def test_steps_that_are_calls_make_a_conversation_of_calls():
    call = ToolCall(name="look_up", arguments={"order": 17})
    steps = (
        Step(thought="hm", action='look_up({"order": 17})', observation="shipped", call=call),
        Step(action="It was shipped."),
    )
    trajectory = Trajectory(task_id="t", task="Where is it?", steps=steps)
    asked, called, answered, said = chat_messages(trajectory)
    assert asked == {"role": "user", "content": "Where is it?"}
    assert called["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"order": 17}'}
    assert answered == {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "shipped"}
    assert said == {"role": "assistant", "content": "It was shipped."}
    assert back(trajectory).steps == steps


def test_the_id_of_an_attempt_is_that_of_earlier_versions():
    called = {**CALLED[1], "tool_calls": json.loads(CALLED[1]["tool_calls"])}
    [found] = messages.read([("line 1", {"messages": [CALLED[0], called, *CALLED[2:]]})], {}).trajectories
    assert found.id == "tra-6c50691956c7c8aa"


def test_steps_without_a_conversation_make_one():
    steps = (Step(thought="look", action="open box", observation="a key"), Step(action="take key", observation="taken"))
    trajectory = Trajectory(task_id="t", task="Get the key.", steps=steps, guidance="Boxes open.")
    assert chat_messages(trajectory) == [
        {"role": "system", "content": "Boxes open."},
        {"role": "user", "content": "Get the key."},
        {"role": "assistant", "content": "Thought: look\nAction: open box"},
        {"role": "user", "content": "a key"},
        {"role": "assistant", "content": "take key"},
        {"role": "user", "content": "taken"},
    ]
    assert back(trajectory).steps == steps


def test_what_is_empty_is_left_out():
    line = json.loads(chat_line(Trajectory(task_id="t", task="a", steps=(Step(action="b"),), created="2026")))
    assert set(line) == {"messages", "id", "task", "task_id", "reason", "created", "steps"}


WORDS = st.text(max_size=20)
FILLED = st.text(min_size=1, max_size=20).filter(lambda t: t.strip() == t)


STEPS = st.builds(Step, thought=WORDS, action=WORDS, observation=WORDS, reward=st.floats(-2, 2))
OUTCOMES = st.builds(
    Outcome,
    success=st.none() | st.booleans(),
    reward=st.none() | st.floats(0, 1),
    reason=st.sampled_from(["won", "answered", "step_limit"]),
    answer=FILLED,
    detail=WORDS,
)


@given(st.lists(STEPS, min_size=1, max_size=4), OUTCOMES, FILLED, WORDS)
def test_what_is_written_comes_back(steps, outcome, task, guidance):
    made = {"steps": tuple(steps), "outcome": outcome, "guidance": guidance, "meta": {"trial": 3}}
    trajectory = Trajectory(task_id="t", task=task, **made)
    found = back(trajectory)
    if outcome.success is None and outcome.reward is not None:
        outcome = outcome.model_copy(update={"success": outcome.reward >= 1.0})
    assert (found.task, found.task_id, found.steps, found.guidance) == (task, "t", trajectory.steps, guidance)
    assert found.outcome == outcome
    assert found.meta == {"trial": 3, "place": "line 1", "source_id": trajectory.id}

"""Trajectories as chat lines, and back."""

import json

from hypothesis import given
from hypothesis import strategies as st

from seasoned.traces import messages
from seasoned.traces.chat import chat_line, chat_messages
from seasoned.traces.source import json_values
from seasoned.types import Outcome, Step, Trajectory

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
    assert back(trajectory).messages == CALLED


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

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.agents.tools import NO_CALL, ONE_AT_A_TIME, TOO_LATE, ToolCaller
from seasoned.errors import InfrastructureError
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.journal import Journaled
from seasoned.llm.scripted import ScriptedModel
from seasoned.store.sql import Store
from seasoned.types import Guidance, Reply, Step, Task, ToolCall, Trajectory

TASK = Task(id="t", text="Open the door that is not locked.")
OPEN = {
    "name": "open",
    "description": "Opens a door.",
    "parameters": {"type": "object", "properties": {"door": {"type": "integer"}}, "required": ["door"]},
}


class Doors:
    """Door 3 is open; `info` is what is said at the beginning."""

    def __init__(self, **info):
        self.info = {"tools": [OPEN], **info}
        self.actions = []

    def reset(self, task, *, seed=None):
        return task.text, self.info

    def step(self, action):
        self.actions.append(action)
        won = action in ('open({"door": 3})', "open 3")
        return "Open." if won else f"Locked {len(self.actions)}.", float(won), won, False, {"success": won}

    def close(self):
        pass


def opens(*doors, text=""):
    return Reply(text=text, calls=[ToolCall(name="open", arguments={"door": door}, id=f"d{door}") for door in doors])


def play(replies, env=None, **options):
    llm = ScriptedModel(replies)
    env = env or Doors()
    made = ToolCaller(llm, "Find the way out.", **options).run(TASK, env, Guidance())
    assert Trajectory.model_validate_json(made.model_dump_json()) == made
    return made, env, llm


def test_thought_call_and_result_until_the_environment_ends_it():
    made, env, llm = play([opens(1, text="I try the first."), opens(3)])
    assert made.outcome.success is True
    assert env.actions == ['open({"door": 1})', 'open({"door": 3})']
    first = made.steps[0]
    assert (first.thought, first.action, first.observation) == ("I try the first.", 'open({"door": 1})', "Locked 1.")
    assert first.call == ToolCall(name="open", arguments={"door": 1}, id="d1")
    assert llm.requests[0]["tools"] == [OPEN]
    assert llm.requests[0]["tool_choice"] == "auto"
    called, answered = llm.requests[1]["messages"][-2:]
    assert called["tool_calls"][0]["function"] == {"name": "open", "arguments": '{"door": 1}'}
    assert answered == {"role": "tool", "tool_call_id": "d1", "content": "Locked 1."}
    assert [message["role"] for message in made.messages[-2:]] == ["assistant", "tool"]
    assert "calls" not in made.meta


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        (ToolCall(name="shut"), "unknown tool", "There is no tool 'shut'. There are: open."),
        (ToolCall(name="open"), "wrong arguments", "must have the property 'door'"),
        (ToolCall(name="open", arguments={"door": "x"}), "wrong arguments", "must be of type integer"),
        (ToolCall(name="open", unread="3!"), "wrong arguments", "must be one JSON object, not '3!'"),
    ],
)
def test_a_call_that_cannot_be_made_is_a_step_and_is_told(wrong, kind, said):
    made, env, llm = play([wrong, opens(3)])
    assert made.outcome.success is True
    assert env.actions == ['open({"door": 3})']
    assert said in made.steps[0].observation
    assert made.steps[0].call.name == wrong.name
    assert said in llm.requests[1]["messages"][-1]["content"]
    assert (made.meta["invalid"], made.meta["calls"]) == (1, {kind: 1})


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "open", "arguments": {"door": 3}}</tool_call>',
        "open(door=3)",
        '```json\n{"name": "open", "arguments": {"door": 3}}\n```',
    ],
)
def test_a_call_in_the_text_counts(text):
    made, env, _ = play([f"I see.\n{text}"])
    assert env.actions == ['open({"door": 3})']
    assert (made.steps[0].thought, made.meta["calls"]) == ("I see.", {"in text": 1})
    assert made.messages[-2]["tool_calls"][0]["id"] == made.messages[-1]["tool_call_id"] != ""


def test_empty_replies_and_words_alone_are_steps_where_a_text_does_nothing():
    made, env, llm = play(["", "  ", "I am thinking.", opens(3)], Doors(tool_choice="required"), repeats=4)
    assert made.outcome.success is True
    assert [step.observation for step in made.steps[:3]] == [NO_CALL] * 3
    assert made.steps[2].thought == "I am thinking."
    assert (made.meta["calls"], made.meta["empty"]) == ({"empty": 2, "no call": 1}, {"other": 2})
    assert llm.requests[0]["tool_choice"] == "required"
    assert env.actions == ['open({"door": 3})']


def test_words_alone_are_an_action_where_the_environment_takes_them():
    made, env, _ = play(["Hello, which door is it?", opens(3)])
    assert env.actions == ["Hello, which door is it?", 'open({"door": 3})']
    assert made.steps[0].call is None


def test_nothing_but_empty_replies_ends():
    made, _, _ = play([""] * 9, max_steps=9)
    assert (made.outcome.reason, made.outcome.success) == ("loop", False)


def test_calls_beside_one_another_are_done_in_their_order_until_it_ends():
    made, env, _ = play([opens(1, 2, 3, 4, text="All of them.")])
    assert made.outcome.success is True
    assert env.actions == [f'open({{"door": {door}}})' for door in (1, 2, 3)]
    assert [step.thought for step in made.steps] == ["All of them.", "", ""]
    results = [message for message in made.messages if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ["d1", "d2", "d3", "d4"]
    assert results[-1]["content"] == TOO_LATE
    assert made.meta["calls"] == {"surplus": 1}


def test_two_calls_where_one_is_allowed():
    made, env, _ = play([opens(1, 3), opens(3)], Doors(parallel=False))
    assert env.actions == ['open({"door": 1})', 'open({"door": 3})']
    assert [message["content"] for message in made.messages if message["role"] == "tool"][:2] == [
        "Locked 1.",
        ONE_AT_A_TIME,
    ]
    assert made.meta["calls"] == {"surplus": 1}


def test_an_environment_without_tools_is_acted_in_by_one():
    made, env, llm = play([ToolCall(name="act", arguments={"action": "open 3"})], Doors(tools=None))
    assert made.outcome.success is True
    assert env.actions == ["open 3"]
    assert (made.steps[0].action, made.steps[0].call.name) == ("open 3", "act")
    assert (llm.requests[0]["tools"][0]["name"], llm.requests[0]["tool_choice"]) == ("act", "required")


def test_worked_attempts_are_shown_as_calls():
    steps = (
        Step(thought="Try.", action='open({"door": 3})', observation="Open.", call=opens(3).calls[0]),
        Step(action="say hello", observation="Hello."),
    )
    worked = Trajectory(task_id="w", task="Get out.", steps=steps)
    _, _, llm = play([opens(3)], examples=[worked])
    shown = llm.requests[0]["messages"]
    assert [message["role"] for message in shown] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert shown[2]["tool_calls"][0]["id"] == shown[3]["tool_call_id"]
    assert shown[-1]["content"] == f"Hello.\nNew task.\n\n{TASK.text}"


def test_a_model_that_knows_no_tools_is_told_of_them_in_words():
    class Plain:
        name = "plain"

        def __init__(self):
            self.asked = []

        def chat(self, messages, *, schema=None, stop=None, max_tokens=None, temperature=0.0):
            self.asked.append(messages)
            door = min(len(self.asked) * 2 - 1, 3)
            return Reply(text=json.dumps({"thought": "Next.", "name": "open", "arguments": {"door": door}}))

    llm = Plain()
    made = ToolCaller(Metered(llm), "Find the way out.").run(TASK, Doors(), Guidance())
    assert made.outcome.success is True
    assert [step.call.arguments for step in made.steps] == [{"door": 1}, {"door": 3}]
    assert made.steps[0].thought == "Next."
    assert {message["role"] for message in llm.asked[-1]} == {"system", "user", "assistant"}
    assert all(isinstance(message["content"], str) and len(message) == 2 for message in llm.asked[-1])
    assert '"name": "open", "description": "Opens a door."' in llm.asked[0][0]["content"]
    assert llm.asked[-1][-1] == {"role": "user", "content": "Locked 1."}


def test_a_journal_plays_it_again_without_a_call(tmp_path):
    store = Store(tmp_path / "s.db")
    replies = [opens(1, text="One."), "open(door=2)", opens(3)]
    first = ToolCaller(Journaled(ScriptedModel(replies), store, "s"), "Go.").run(TASK, Doors(), Guidance())
    again = ToolCaller(Journaled(ScriptedModel([]), store, "s"), "Go.").run(TASK, Doors(), Guidance())
    assert (again.steps, again.messages, again.outcome) == (first.steps, first.messages, first.outcome)
    assert (again.usage.calls, again.usage.replayed) == (0, 3)


def test_a_budget_and_a_server_that_fails_end_it():
    limited = Metered(ScriptedModel([opens(1)] * 9), Budget(calls=2))
    assert ToolCaller(limited, "Go.", repeats=None).run(TASK, Doors(), Guidance()).outcome.reason == "budget"
    made, _, _ = play([opens(1), InfrastructureError("gone")])
    assert (made.outcome.reason, made.outcome.success, len(made.steps)) == ("error", None, 1)


@given(
    st.lists(
        st.text(max_size=40)
        | st.builds(ToolCall, name=st.text() | st.just("open"), arguments=st.dictionaries(st.text(), st.none()))
        | st.just(opens(1, 2)),
        min_size=8,
        max_size=8,
    )
)
def test_nothing_that_a_model_says_raises(replies):
    play(replies, max_steps=4)

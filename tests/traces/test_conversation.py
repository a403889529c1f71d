"""Messages in every dialect, and the steps in them."""

import time

from bare_steps import bare
from hypothesis import given
from hypothesis import strategies as st

from seasoned.llm.tools import calling, result
from seasoned.traces.conversation import Turn, answer_of, chat, conversation, read_turns, steps_of, task_of
from seasoned.types import Step, ToolCall, Trajectory

ASK = {"role": "user", "content": "Where is order 17?"}
OPENAI = [
    {"role": "system", "content": "Be brief."},
    ASK,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 17}'}},
            {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "rain"},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "shipped"}]},
    {"role": "assistant", "content": "It was shipped."},
]
STEPS = [
    Step(action='look_up({"order": 17})', observation="shipped"),
    Step(action="weather({})", observation="rain"),
    Step(action="It was shipped."),
]
ANTHROPIC = [
    ASK,
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thought": 1, "thinking": "Look first."},
            {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"order": 17}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "shipped"}]}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "It was shipped."}]},
]
RESPONSES = [
    ASK,
    {"type": "reasoning", "summary": [], "content": [{"text": "x"}]},
    {"type": "function_call", "name": "look_up", "arguments": '{"order": 17}', "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": "shipped"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "It was shipped."}]},
]


def test_openai_tool_calls_find_their_answers_by_id():
    turns = read_turns(OPENAI)
    assert bare(steps_of(turns)) == STEPS
    assert (task_of(turns), answer_of(turns)) == ("Where is order 17?", "It was shipped.")


def test_anthropic_blocks():
    turns = read_turns(ANTHROPIC)
    assert bare(steps_of(turns)) == [
        Step(thought="Look first.", action='look_up({"order": 17})', observation="shipped"),
        Step(action="It was shipped."),
    ]


def test_items_of_the_responses_api():
    assert bare(steps_of(read_turns(RESPONSES))) == [
        Step(thought="x", action='look_up({"order": 17})', observation="shipped"),
        Step(action="It was shipped."),
    ]


def test_calls_in_items_of_their_own_find_their_answers():
    names = ("a", "b")
    calls = [{"type": "function_call", "name": name, "arguments": "{}", "call_id": name} for name in names]
    summary = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Both."}], "content": None}
    results = [{"type": "function_call_output", "call_id": name, "output": f"of {name}"} for name in names]
    assert bare(steps_of(read_turns([ASK, summary, *calls, *results]))) == [
        Step(thought="Both.", action="a({})", observation="of a"),
        Step(action="b({})", observation="of b"),
    ]


def test_results_without_an_id_and_results_that_nobody_asked_for():
    call = {"role": "assistant", "function_call": {"name": "look", "arguments": {"id": 17}}}
    results = [{"role": "function", "name": "look", "content": said} for said in ("shipped", "unasked")]
    looked = Step(action='look({"id": 17})', observation="shipped")
    assert bare(steps_of(read_turns([ASK, call, *results]))) == [looked, Step(observation="unasked")]
    reply = {"role": "assistant", "content": "> open"}
    assert steps_of(read_turns([ASK, reply, *results])) == [Step(action="> open", observation="shipped\nunasked")]


def test_a_call_waits_until_the_user_speaks():
    call = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
    begun = [ASK, {"role": "assistant", "tool_calls": [call]}, {"role": "assistant", "content": "Wait."}]
    result = {"role": "tool", "tool_call_id": "c1", "content": "shipped"}
    assert [s.observation for s in steps_of(read_turns([*begun, result]))] == ["shipped", ""]
    assert [s.observation for s in steps_of(read_turns([*begun, ASK, result]))] == ["", f"{ASK['content']}\nshipped"]


def test_a_tool_of_ones_own_form_and_a_refusal():
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    turns = read_turns([{"role": "assistant", "tool_calls": [custom]}, {"role": "assistant", "refusal": "No."}])
    assert [s.action for s in steps_of(turns)] == ["sql(select 1)", "No."]


def test_training_sets_and_old_function_calls():
    turns = read_turns(
        [
            {"from": "human", "value": "hi"},
            {"from": "gpt", "value": "look", "function_call": {"name": "f", "arguments": "not json"}},
            {"role": "function", "name": "f", "content": "done"},
        ]
    )
    assert bare(steps_of(turns)) == [Step(thought="look", action="f(not json)", observation="done")]
    assert answer_of(turns) == ""


def test_a_reply_with_thought_and_action_is_taken_apart():
    turns = read_turns(
        [
            {"role": "user", "content": "find it"},
            {"role": "assistant", "content": "Thought: first look\nat the map\nAction: open[map]"},
            {"role": "user", "content": "Observation: a map"},
            {"role": "assistant", "content": "action 2: stop\nhere"},
            {"role": "user", "content": "ok"},
            {"role": "assistant", "content": "My Action: is prose"},
        ]
    )
    assert steps_of(turns) == [
        Step(thought="first look\nat the map", action="open[map]", observation="a map"),
        Step(action="stop\nhere", observation="ok"),
        Step(action="My Action: is prose"),
    ]


def test_what_is_no_text_leaves_its_kind():
    turns = read_turns([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}, "see"]}])
    assert turns == [Turn("user", "[image_url]\nsee")]


def test_an_error_of_a_tool_is_its_answer():
    turns = read_turns([{"role": "tool", "content": "", "tool_call_id": "c", "error": {"message": "no such order"}}])
    assert turns == [Turn("tool", "no such order", answers="c")]


def test_a_conversation_survives_the_store_and_comes_back():
    turns = read_turns(OPENAI)
    kept = chat(turns)
    stored = Trajectory.model_validate_json(Trajectory(task_id="t", task="t", messages=kept).model_dump_json())
    assert stored.messages == kept
    assert read_turns(list(stored.messages)) == turns


def test_a_call_is_a_step_with_name_arguments_and_id():
    call = {"id": "c1", "function": {"name": "look_up", "arguments": '{"city": "Ulm"}'}}
    odd = {"id": "c2", "function": {"name": "look_up", "arguments": "Ulm"}}
    [first, second] = steps_of(read_turns([{"role": "assistant", "content": "hm", "tool_calls": [call, odd]}]))
    assert (first.action, first.call) == (
        'look_up({"city": "Ulm"})',
        ToolCall(name="look_up", arguments={"city": "Ulm"}, id="c1"),
    )
    assert (second.action, second.call) == ("look_up(Ulm)", ToolCall(name="look_up", id="c2", unread="Ulm"))
    assert steps_of(read_turns([{"role": "assistant", "content": "hm"}]))[0].call is None


def test_calls_and_results_stand_by_themselves():
    call = ToolCall(name="look_up", arguments={"city": "Ulm"}, id="c")
    step = Step(thought="hm", action='look_up({"city": "Ulm"})', observation="sunny", call=call)
    talk = (calling("hm", [call]), result(call, "sunny"))
    shown = [("assistant", "hm"), ("call", 'look_up({"city": "Ulm"})'), ("tool", "sunny")]
    assert conversation(Trajectory(task_id="t", task="t", steps=(step,))) == shown
    assert conversation(Trajectory(task_id="t", task="t", steps=(step,), messages=talk)) == shown


KINDS = st.sampled_from(["text", "tool_use", "tool_result", "thinking"])
PARTS = st.sampled_from(["type", "text", "content", "id", "name", "input"])
CONTENT = st.recursive(
    st.none() | st.text(max_size=20) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(PARTS, inner, max_size=3)
        | st.fixed_dictionaries({"type": KINDS, "content": inner})
    ),
    max_leaves=8,
)
CALLS = st.lists(st.dictionaries(st.sampled_from(["function", "id", "name"]), st.text() | st.none()), max_size=2)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "system", "gpt", "x"]) | st.integers(),
        "from": st.text(max_size=5),
        "type": st.sampled_from(["function_call", "tool_result", "reasoning", "x"]),
        "content": CONTENT,
        "tool_calls": CALLS | st.integers(),
        "function_call": st.none() | st.text() | st.dictionaries(st.just("name"), st.text()),
        "error": st.none() | st.text(),
    },
)


@given(st.lists(MESSAGE | st.none() | st.integers(), max_size=8))
def test_any_messages_give_turns(messages):
    turns = read_turns(messages)
    steps = steps_of(turns)
    assert all(isinstance(step, Step) for step in steps)
    assert {turn.role for turn in turns} <= {"system", "user", "assistant", "tool"}
    assert len(chat(turns)) == len(turns)
    assert isinstance(task_of(turns) + answer_of(turns), str)
    assert read_turns({"not": "a list"}) == []


def test_the_time_grows_with_the_length_alone():
    begin = time.process_time()
    for text in ("Thought:" + "\n" * 300_000, "\naction" * 100_000, " " * 500_000 + "observation"):
        steps_of(read_turns([{"role": "assistant", "content": text}, {"role": "user", "content": text}]))
    deep = {"role": "user", "content": "x"}
    for _ in range(300):
        deep = {"role": "user", "content": [{"type": "tool_result", "content": [deep]}]}
    read_turns([deep])
    assert time.process_time() - begin < 2

from types import SimpleNamespace

import pytest
from bare_steps import bare
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.memory.chat import read_chat
from seasoned.types import Step


def call(name, arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_tool_calls_are_steps_with_their_results():
    chat = read_chat(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where is order 17?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [call("look", '{"id": 17}'), call("log", "", "c2")],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "logged"},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "shipped"}]},
            {"role": "assistant", "content": "It was shipped."},
            {"role": "user", "content": "Thanks."},
        ]
    )
    assert bare(chat.steps) == [
        Step(thought="I look.", action='look({"id": 17})', observation="shipped"),
        Step(action="log()", observation="logged"),
        Step(action="It was shipped.", observation="Thanks."),
    ]
    assert [(m["role"], m["content"]) for m in chat.messages] == [
        ("system", "Be brief."),
        ("user", "Where is order 17?"),
        ("assistant", "I look."),
        ("assistant", 'look({"id": 17})'),
        ("assistant", "log()"),
        ("user", "logged"),
        ("user", "shipped"),
        ("assistant", "It was shipped."),
        ("user", "Thanks."),
    ]
    assert chat.broken == 0


def test_items_of_responses():
    chat = read_chat(
        [
            {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "shipped"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Shipped."}]},
        ]
    )
    assert bare(chat.steps) == [Step(action="look({})", observation="shipped"), Step(action="Shipped.")]
    assert [m["role"] for m in chat.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert chat.broken == 0


def test_objects_of_the_sdk():
    from openai.types.chat import ChatCompletionMessage

    made = ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": None, "tool_calls": [call("look", '{"id": 17}')]}
    )
    chat = read_chat([made, SimpleNamespace(role="tool", tool_call_id="c1", content="shipped")])
    assert bare(chat.steps) == [Step(action='look({"id": 17})', observation="shipped")]


def test_objects_within_objects():
    function = SimpleNamespace(name="look", arguments={"id": 17, "deep": [{"a": [[["b"]]]}]})
    item = SimpleNamespace(
        role="assistant", content="I look.", tool_calls=(SimpleNamespace(id="c1", function=function),)
    )
    chat = read_chat([item, {"role": "tool", "tool_call_id": "c1", "content": [SimpleNamespace(text="shipped")]}])
    assert bare(chat.steps) == [
        Step(thought="I look.", action='look({"id": 17, "deep": [{"a": [[["b"]]]}]})', observation="shipped")
    ]


def test_what_other_makers_send():
    chat = read_chat(
        [
            {"role": "user", "content": "Where is order 17?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"id": 17}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "shipped"}]},
            {"role": "assistant", "content": "Thought: It is on its way.\nAction: tell"},
        ]
    )
    assert bare(chat.steps) == [
        Step(action='look({"id": 17})', observation="shipped"),
        Step(thought="It is on its way.", action="tell"),
    ]
    assert [m["role"] for m in chat.messages] == ["user", "assistant", "user", "assistant"]
    assert chat.broken == 0


def test_a_conversation_that_comes_piece_by_piece_may_begin_with_a_result():
    chat = read_chat(
        [{"role": "tool", "tool_call_id": "c1", "content": "shipped"}, {"role": "user", "content": "Well?"}]
    )
    assert chat.steps == [Step(observation="shipped")]


def test_a_conversation_that_holds_itself_ends():
    loop: dict = {"role": "user", "type": "text"}
    loop["content"] = [loop]
    assert len(read_chat([loop]).messages) == 1


class Hostile:
    """An object of somebody's that fails at everything."""

    def __getattr__(self, name):
        raise RuntimeError(name)


class Broken:
    def model_dump(self):
        raise ValueError("no")


ODD = [None, 17, "text", [], {}, {"role": "wizard"}, {"role": ["user"]}, object, Hostile, Broken]


@pytest.mark.parametrize("item", ODD)
def test_what_cannot_be_read_is_counted(item):
    item = item() if isinstance(item, type) else item
    chat = read_chat([{"role": "user", "content": "a"}, item, {"role": "user", "content": "b"}])
    assert chat.broken == 1
    assert [m["content"] for m in chat.messages] == ["a", "b"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "type", "text", "tool_calls", "function", "name", "arguments", "id"]),
        inner | st.sampled_from(["user", "assistant", "tool", "function_call", "function_call_output"]), max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(JSON, max_size=5))
def test_no_conversation_raises(items):
    chat = read_chat(items)
    assert all(set(m) == {"role", "content"} and isinstance(m["content"], str) for m in chat.messages)
    assert {m["role"] for m in chat.messages} <= {"system", "user", "assistant"}
    assert 0 <= chat.broken <= len(items)

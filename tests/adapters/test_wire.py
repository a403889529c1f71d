"""What is said in requests and replies, whatever comes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_server import Play, events_of

from seasoned.adapters.wire import CHAT, MESSAGES, PAUSED, RESPONSES, answered

FORMS = {"says": CHAT, "responds": RESPONSES, "replies": MESSAGES}
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
names = st.sampled_from(
    ["choices", "delta", "index", "content", "tool_calls", "function", "arguments", "id", "type", "message", "role",
     "item", "response", "output", "finish_reason", "error", "content_block", "partial_json", "text", "stop_reason"]
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=15
)


@given(st.lists(values, max_size=3), st.sampled_from(list(FORMS.values())))
def test_no_events_raise(events, form):
    as_bytes = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    for parts in (events, as_bytes):
        said = form.read(parts)
        assert isinstance(said.answer, str)
        assert all(isinstance(call, str) for call in said.calls)
        assert all(isinstance(message, dict) for message in said.messages)


@given(st.lists(st.binary(max_size=20), max_size=5), st.sampled_from(list(FORMS.values())))
def test_no_bytes_raise(parts, form):
    assert form.read(parts).messages == []


@given(values, st.sampled_from(list(FORMS.values())))
def test_no_body_and_no_request_raises(value, form):
    form.body(value)
    request = value if isinstance(value, dict) else {"messages": value, "input": value, "system": value}
    sent = form.led(request, form.items(request), "look first")
    assert isinstance(form.heard(sent), list)
    assert answered(value) <= {PAUSED} or isinstance(value, dict)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=40)
@given(data=st.data(), text=st.none() | st.text(min_size=1, max_size=12), calls=st.integers(0, 2))
def test_a_stream_says_what_its_reply_says_wherever_it_is_cut(name, data, text, calls):
    play = Play()
    getattr(play, name)(text, *((f"call-{n}", "look", json.dumps({"order": n})) for n in range(calls)))
    [body] = play.turns
    wire = "".join(events_of(body)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=3)))
    parts = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    form = FORMS[name]
    streamed, whole = form.read(parts), form.body(body)
    assert (streamed.answer, streamed.calls, streamed.whole) == (whole.answer, whole.calls, True)
    assert form.read([json.dumps(body).encode()]).answer == whole.answer
    if name != "says":  # of a chat, the message is made anew, without what is null
        assert streamed.messages == whole.messages


def test_a_chat_in_odd_pieces():
    deltas = [
        {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "I "}]},
        {"content": "look."},
        {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"x":'}}]},
        {"tool_calls": [{"function": {"arguments": " 1}"}}]},
        {"tool_calls": [{"id": "b", "function": {"name": "g", "arguments": "{}"}}]},
    ]
    said = CHAT.read([{"choices": [{"delta": delta}]} for delta in deltas] + [{"choices": []}])
    [message] = said.messages
    assert message["content"] == "I look."
    assert [(c["id"], c["function"]["arguments"]) for c in message["tool_calls"]] == [("a", '{"x": 1}'), ("b", "{}")]
    assert (said.calls, said.whole) == ({"a", "b"}, False)


def test_a_second_choice_is_not_heard():
    events = [
        {"choices": [{"index": n, "delta": {"content": word}, "finish_reason": "stop"}]}
        for n, word in ((0, "a"), (1, "b"))
    ]
    assert CHAT.read(events).answer == "a"


def test_a_server_that_pauses_is_sent_the_reply_back():
    said = MESSAGES.body({"content": [{"type": "text", "text": "wait"}], "stop_reason": "pause_turn"})
    assert said.calls == {PAUSED} == answered({"role": "assistant", "content": "wait"})


def test_calls_that_a_message_answers():
    assert answered({"role": "tool", "tool_call_id": "a"}) == {"a"}
    assert answered({"type": "function_call_output", "call_id": "b"}) == {"b"}
    parts = [{"type": "tool_result", "tool_use_id": name} for name in "cd"]
    assert answered({"role": "user", "content": [*parts, {"type": "text", "text": "and?"}]}) == {"c", "d"}
    assert answered(None) == answered("a") == frozenset()

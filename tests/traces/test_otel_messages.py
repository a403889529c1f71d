"""The messages of one span, in each version of the conventions."""

import json

from seasoned.traces.conversation import read_turns
from seasoned.traces.otel_messages import messages_of, tool_turn

ASK, SAID = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}


def turns(attributes, *events):
    asked, said = messages_of(attributes, [(name, given, body) for name, given, body in events])
    return [(t.role, t.text) for t in read_turns(asked)], [(t.role, t.text) for t in read_turns(said)]


WANTED = ([("user", "hi")], [("assistant", "ho")])


def test_current_attributes_as_json_text_or_as_lists():
    given = {
        "gen_ai.input.messages": [ASK],
        "gen_ai.output.messages": [SAID, {"role": "assistant", "content": "second choice"}],
    }
    assert turns(given) == WANTED
    assert turns({key: json.dumps(value) for key, value in given.items()}) == WANTED
    assert turns({"gen_ai.input.messages": "not json"}) == ([], [])
    assert turns({"gen_ai.system_instructions": [{"type": "text", "content": "s"}], **given})[0][0] == ("system", "s")


def test_the_details_event():
    given = {"gen_ai.input.messages": [ASK], "gen_ai.output.messages": [SAID]}
    assert turns({}, ("gen_ai.client.inference.operation.details", given, None)) == WANTED
    assert turns({}, ("gen_ai.client.inference.operation.details", {}, given)) == WANTED


def test_events_of_one_message_each():
    assert (
        turns({}, ("gen_ai.user.message", {"content": "hi"}, None), ("gen_ai.choice", {"message": SAID}, None))
        == WANTED
    )
    told = {"gen_ai.event.content": json.dumps({"message": {"content": "ho"}})}
    assert turns({}, ("gen_ai.user.message", {}, {"content": "hi"}), ("gen_ai.choice", told, None)) == WANTED
    assert turns({}, ("gen_ai.user.message", {}, ASK), ("gen_ai.choice", {"message": "ho"}, None)) == WANTED
    assert turns({}, ("gen_ai.choice", {"index": 1, "message": "second"}, None)) == ([], [])


def test_prompt_and_completion_events_and_attributes():
    prompt, said = {"gen_ai.prompt": json.dumps([ASK])}, {"gen_ai.completion": json.dumps([SAID])}
    assert turns({}, ("gen_ai.content.prompt", prompt, None), ("gen_ai.content.completion", said, None)) == WANTED
    plain = (
        ("gen_ai.content.prompt", {"gen_ai.prompt": "hi"}, None),
        ("gen_ai.content.completion", {"gen_ai.completion": "ho"}, None),
    )
    assert turns({}, *plain) == WANTED
    flat = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi", "gen_ai.completion.0.content": "ho"}
    assert turns(flat) == WANTED


def test_calls_of_tools_in_flat_attributes():
    flat = {f"gen_ai.completion.0.tool_calls.1.{k}": v for k, v in (("id", "c"), ("name", "f"), ("arguments", "{}"))}
    (turn,) = read_turns(messages_of(flat, [])[1])
    assert [(call.id, call.name, call.arguments) for call in turn.calls] == [("c", "f", "{}")]


def test_what_a_tool_gave_back():
    assert tool_turn({"gen_ai.tool.call.id": "c"}) is None
    turn = tool_turn({"gen_ai.tool.call.id": "c", "gen_ai.tool.call.result": {"n": 1}})
    assert (turn.role, turn.text, turn.answers) == ("tool", '{"n": 1}', "c")

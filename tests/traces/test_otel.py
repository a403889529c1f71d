"""OpenTelemetry spans of generative AI, in all versions of the conventions."""

import json

from bare_steps import bare
from hypothesis import given
from hypothesis import strategies as st

from seasoned.traces.conversation import read_turns
from seasoned.traces.otel import any_value, attributes_of, messages_of, read, tool_turn
from seasoned.traces.source import json_values
from seasoned.types import Outcome, Step

ASK = {"role": "user", "parts": [{"type": "text", "content": "Weather in Ulm?"}]}
CALL = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Ulm"}}],
    "finish_reason": "tool_calls",
}
RAIN = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]}
SAID = {"role": "assistant", "parts": [{"type": "text", "content": "Rain."}], "finish_reason": "stop"}
STEPS = (Step(action='weather({"city": "Ulm"})', observation="rain"), Step(action="Rain."))


def wrap(value):
    """A value as OTLP wraps it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [wrap(item) for item in value]}}
    return {"kvlistValue": {"values": [{"key": key, "value": wrap(item)} for key, item in value.items()]}}


def span(number, attributes, *, trace="t1", parent="", events=(), structured=True, **more):
    given = (
        attributes if structured else {k: json.dumps(v) if isinstance(v, list) else v for k, v in attributes.items()}
    )
    return {
        "traceId": trace,
        "spanId": f"s{number}",
        "parentSpanId": parent,
        "name": "span",
        "startTimeUnixNano": str(1_769_850_000_000_000_000 + number),
        "attributes": [{"key": key, "value": wrap(value)} for key, value in given.items()],
        "events": [{"name": name, "attributes": attributes_list(a)} for name, a in events],
        **more,
    }


def attributes_list(values):
    return [{"key": key, "value": wrap(value)} for key, value in values.items()]


def request(*spans):
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def chat(number, asked, said, **more):
    given = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10}
    given |= {"gen_ai.usage.output_tokens": 2, "gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    return span(number, given, **more)


AGENT = span(0, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "forecaster",
                 "gen_ai.input.messages": [ASK], "gen_ai.output.messages": [SAID]})  # fmt: skip


def of(*values):
    return read([(f"line {n}", value) for n, value in enumerate(values, 1)], {"source": "otel"})


def test_the_calls_of_a_trace_are_one_attempt():
    for structured in (True, False):
        first = chat(1, [ASK], [CALL], parent="s0", structured=structured)
        second = chat(2, [ASK, CALL, RAIN], [SAID], parent="s0", structured=structured)
        found = of(request(second, AGENT), request(first))
        (made,) = found.trajectories
        assert (made.task, tuple(bare(made.steps))) == ("Weather in Ulm?", STEPS)
        assert made.outcome == Outcome(reason="answered", answer="Rain.")
        assert (made.agent, made.created[:10]) == ("forecaster", "2026-01-31")
        assert (made.usage.prompt_tokens, made.usage.completion_tokens, made.usage.calls) == (20, 4, 2)
        assert [m["role"] for m in made.messages] == ["user", "assistant", "tool", "assistant"]
        assert found.problems == []


def test_each_trace_is_an_attempt_of_its_own():
    found = of(request(chat(1, [ASK], [SAID], trace="a"), chat(2, [ASK], [SAID], trace="b")))
    assert len({t.id for t in found.trajectories}) == 2


def test_a_tools_span_tells_what_it_gave_back():
    tool = span(
        2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "rain"}
    )
    (made,) = of(request(chat(1, [ASK], [CALL]), tool, chat(3, [], [SAID]))).trajectories
    assert tuple(bare(made.steps)) == STEPS


def test_system_instructions_are_kept():
    given = {"gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}]}
    given |= {"gen_ai.input.messages": [ASK], "gen_ai.output.messages": [SAID]}
    (made,) = of(request(span(1, given))).trajectories
    assert made.messages[0] == {"role": "system", "content": "Be brief."}


def test_evaluations_tell_of_success():
    cases = [
        ({"gen_ai.evaluation.score.label": "pass", "gen_ai.evaluation.score.value": 0.9}, (True, 0.9)),
        ({"gen_ai.evaluation.score.value": 0.0}, (False, 0.0)),
        ({"gen_ai.evaluation.score.value": 4.0}, (None, 4.0)),
    ]
    for told, (success, reward) in cases:
        graded = chat(1, [ASK], [SAID], events=[("gen_ai.evaluation.result", told)])
        outcome = of(request(graded)).trajectories[0].outcome
        assert (outcome.success, outcome.reward) == (success, reward)


def test_an_error_of_the_root_is_no_failure_of_the_task():
    root = span(0, {"gen_ai.operation.name": "invoke_agent"}, status={"code": 2, "message": "timeout"})
    (made,) = of(request(root, chat(1, [ASK], [SAID], parent="s0"))).trajectories
    assert (made.outcome.success, made.outcome.reason, made.outcome.detail) == (None, "error", "timeout")


def test_spans_as_the_console_exporter_prints_them(tmp_path):
    printed = [
        {
            "name": "chat m",
            "context": {"trace_id": "0xa", "span_id": f"0x{n}", "trace_state": "[]"},
            "parent_id": None,
            "start_time": f"2026-01-31T10:00:0{n}.000000Z",
            "status": {"status_code": "UNSET"},
            "attributes": {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(said)},
            "events": [],
        }
        for n, (asked, said) in enumerate((([ASK], [CALL]), ([ASK, CALL, RAIN], [SAID])))
    ]
    raw = "\n".join(json.dumps(one, indent=4) for one in reversed(printed)).encode()
    found = read(json_values(raw)[0], {})
    assert tuple(bare(found.trajectories[0].steps)) == STEPS
    assert found.trajectories[0].created == "2026-01-31T10:00:00.000+00:00"


def log(number, name, body, *, span_id="s1"):
    return {
        "timeUnixNano": str(number),
        "traceId": "t1",
        "spanId": span_id,
        "eventName": name,
        "attributes": attributes_list({"gen_ai.system": "x"}),
        "body": wrap(body),
    }


def logged(*records):
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def test_events_of_earlier_conventions_as_logs_with_and_without_their_spans():
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Ulm"}'}}
    records = [
        log(1, "gen_ai.system.message", {"content": "Be brief."}),
        log(2, "gen_ai.user.message", {"content": "Weather in Ulm?"}),
        log(3, "gen_ai.assistant.message", {"tool_calls": [call]}),
        log(4, "gen_ai.tool.message", {"id": "c1", "content": "rain"}),
        log(5, "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "Rain."}}),
    ]
    for values in ([logged(*records)], [request(span(1, {"gen_ai.operation.name": "chat"})), logged(*records)]):
        (made,) = of(*values).trajectories
        assert (made.task, tuple(bare(made.steps))) == ("Weather in Ulm?", STEPS)


def test_traces_that_hold_nothing_to_learn_from_are_named():
    bare = span(1, {"gen_ai.operation.name": "chat"}, trace="a")
    other = span(1, {"http.method": "GET"}, trace="b")
    untold = chat(1, [], [SAID], trace="c")
    found = of(request(bare, other, untold), {"x": 1}, 3)
    assert found.trajectories == []
    assert [p.why.split(":")[0] for p in found.problems] == [
        "no spans in it",
        "no spans in it",
        "no messages in it",
        "no span of generative AI in it",
        "no task in it",
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.prompt.0.role",
        "gen_ai.prompt.0.content",
        "gen_ai.completion.0.tool_calls.0.name",
        "gen_ai.usage.input_tokens",
        "gen_ai.tool.call.id",
        "gen_ai.evaluation.score.value",
        "gen_ai.event.content",
        "content",
        "message",
    ]
)
MESSAGES = st.lists(st.sampled_from([ASK, CALL, RAIN, SAID]) | JSON, max_size=4)
ATTRIBUTES = st.dictionaries(NAMES, JSON | MESSAGES | MESSAGES.map(json.dumps))
EVENT = st.sampled_from(
    [
        "gen_ai.user.message",
        "gen_ai.choice",
        "gen_ai.content.prompt",
        "gen_ai.content.completion",
        "gen_ai.evaluation.result",
        "gen_ai.client.inference.operation.details",
    ]
)
EVENTS = st.fixed_dictionaries({"name": EVENT}, optional={"attributes": ATTRIBUTES, "body": JSON})
SPANS = st.fixed_dictionaries(
    {"traceId": st.sampled_from(["a", "b", 3])},
    optional={
        "spanId": JSON,
        "parentSpanId": JSON,
        "startTimeUnixNano": JSON,
        "start_time": st.text(max_size=30),
        "attributes": ATTRIBUTES | JSON | ATTRIBUTES.map(lambda a: [{"key": k, "value": v} for k, v in a.items()]),
        "events": st.lists(EVENTS | JSON),
        "status": JSON,
        "context": JSON,
    },
)


@given(st.lists(SPANS | JSON | SPANS.map(request), max_size=4))
def test_any_values_give_attempts_and_problems(values):
    found = of(*values)
    assert all(t.steps and t.task for t in found.trajectories)


VALUES = st.recursive(
    st.booleans() | st.integers(-(2**50), 2**50) | st.text(max_size=5), lambda i: st.lists(i, max_size=3), max_leaves=8
)


@given(VALUES)
def test_values_come_out_of_their_wraps(value):
    assert any_value(wrap(value)) == value
    assert attributes_of([{"key": "k", "value": wrap(value)}]) == {"k": value}


HI, HO = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}


def turns(attributes, *events):
    asked, said = messages_of(attributes, [(name, given, body) for name, given, body in events])
    return [(t.role, t.text) for t in read_turns(asked)], [(t.role, t.text) for t in read_turns(said)]


WANTED = ([("user", "hi")], [("assistant", "ho")])


def test_current_attributes_as_json_text_or_as_lists():
    given = {
        "gen_ai.input.messages": [HI],
        "gen_ai.output.messages": [HO, {"role": "assistant", "content": "second choice"}],
    }
    assert turns(given) == WANTED
    assert turns({key: json.dumps(value) for key, value in given.items()}) == WANTED
    assert turns({"gen_ai.input.messages": "not json"}) == ([], [])
    assert turns({"gen_ai.system_instructions": [{"type": "text", "content": "s"}], **given})[0][0] == ("system", "s")


def test_the_details_event():
    given = {"gen_ai.input.messages": [HI], "gen_ai.output.messages": [HO]}
    assert turns({}, ("gen_ai.client.inference.operation.details", given, None)) == WANTED
    assert turns({}, ("gen_ai.client.inference.operation.details", {}, given)) == WANTED


def test_events_of_one_message_each():
    assert (
        turns({}, ("gen_ai.user.message", {"content": "hi"}, None), ("gen_ai.choice", {"message": HO}, None)) == WANTED
    )
    told = {"gen_ai.event.content": json.dumps({"message": {"content": "ho"}})}
    assert turns({}, ("gen_ai.user.message", {}, {"content": "hi"}), ("gen_ai.choice", told, None)) == WANTED
    assert turns({}, ("gen_ai.user.message", {}, HI), ("gen_ai.choice", {"message": "ho"}, None)) == WANTED
    assert turns({}, ("gen_ai.choice", {"index": 1, "message": "second"}, None)) == ([], [])


def test_prompt_and_completion_events_and_attributes():
    prompt, said = {"gen_ai.prompt": json.dumps([HI])}, {"gen_ai.completion": json.dumps([HO])}
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

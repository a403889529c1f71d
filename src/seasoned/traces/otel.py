"""OpenTelemetry spans of generative AI: one attempt a trace.

Reads OTLP JSON (`resourceSpans`, `resourceLogs`, one request a line or a file), and lists of spans as exporters print
them. Messages come from `gen_ai.input.messages`, `gen_ai.output.messages` and `gen_ai.system_instructions` of spans and
events, from the events of earlier conventions (`gen_ai.user.message` .. `gen_ai.choice`, `gen_ai.content.prompt`), and
from attributes such as `gen_ai.prompt.0.content`. Always holds: a trace without messages is a problem, not an attempt;
nothing in a span raises.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from seasoned.traces.conversation import Turn, answer_of, chat, read_turns, steps_of, task_of
from seasoned.traces.source import Log, Problem, load, make, number, texts, usage, verdict
from seasoned.types import Outcome, Trajectory

_WRAPPERS = ("invoke_agent", "invoke_workflow", "create_agent")
_NO_MESSAGES = (
    "no messages in it: instrumentations leave them out unless a setting includes them, for example "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)
_MAX_DEPTH = 60
_INPUT_TOKENS = "gen_ai.usage.input_tokens"
_FLAT = re.compile(r"gen_ai\.(?P<side>prompt|completion)\.(?P<place>\d{1,6})\.(?P<rest>[\w.]{1,80})")
_TOOL = re.compile(r"tool_calls\.(?P<place>\d{1,4})\.(?P<name>id|name|arguments)")
_ROLES = ("system", "user", "assistant", "tool")
_LOGS = ("logRecords", "log_records")
_NESTED = ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "spans",
           "resourceLogs", "resource_logs", "scopeLogs", "scope_logs", *_LOGS)  # fmt: skip

Event = tuple[str, dict[str, Any], Any]
"""Name, attributes and body."""


@dataclass
class Span:
    """The fields of a span that are used here, or a log record as a span with one event. Times are in nanoseconds."""

    trace: str
    id: str
    start: int
    attributes: dict[str, Any]
    events: list[Event]
    parent: str = ""
    failed: str = ""
    is_log: bool = False

    @property
    def operation(self) -> str:
        """Its `gen_ai.operation.name`."""
        return texts(self.attributes.get("gen_ai.operation.name"))


def read(values: Iterable[tuple[str, Any]], source: Mapping[str, Any]) -> Log:
    """The attempts in the JSON values of a file, as `source.json_values` gives them; `source` is for their meta."""
    log = Log()
    spans: list[Span] = []
    places: dict[str, str] = {}
    for place, value in values:
        try:
            found = list(_spans(value))
        except RecursionError:
            found = []
        if not found:
            log.problems.append(Problem(place, "no spans in it"))
        for span in found:
            places.setdefault(span.trace, place)
        spans += found
    traces: dict[str, list[Span]] = {}
    for span in sorted(_joined(spans), key=lambda span: span.start):
        traces.setdefault(span.trace, []).append(span)
    for trace, place in places.items():
        meta = {**source, "place": place, "source_trace": trace}
        log.take(f"{place}, trace {trace[:32]}", _attempt, traces[trace], meta)
    return log


def _attempt(spans: Sequence[Span], meta: Mapping[str, Any]) -> Trajectory | str:
    names = {key for span in spans for key in span.attributes} | {name for span in spans for name, _, _ in span.events}
    if not any(name.startswith("gen_ai.") for name in names):
        return "no span of generative AI in it"
    turns = _conversation(spans)
    steps = steps_of(turns)
    if not steps:
        return _NO_MESSAGES
    task = task_of(turns)
    if not task:
        return "no task in it: no user message before the first reply"
    outcome = _outcome(spans, answer_of(turns))
    agent_fields = ("gen_ai.agent.name", "gen_ai.request.model")
    agent = next((texts(s.attributes[n]) for n in agent_fields for s in spans if s.attributes.get(n)), "")
    calls = [span for span in spans if number(span.attributes.get(_INPUT_TOKENS)) is not None]
    calls = [span for span in calls if span.operation not in _WRAPPERS] or calls
    return make(
        task,
        steps,
        outcome,
        agent=agent,
        messages=chat(turns),
        usage=usage([span.attributes for span in calls], _INPUT_TOKENS, "gen_ai.usage.output_tokens", calls=len(calls)),
        created=_time(spans[0].start),
        occurrence=meta["source_trace"],
        meta=meta,
    )


def _conversation(spans: Sequence[Span]) -> list[Turn]:
    """Merge the calls of a trace, each of which repeats the history so far, into one conversation."""
    calls: list[tuple[str, list[Turn], list[Turn]]] = []
    for span in spans:
        sent, replies = messages_of(span.attributes, span.events)
        if sent or replies:
            calls.append((span.operation, read_turns(sent), read_turns(replies)))
    model_calls = [call for call in calls if call[0] not in _WRAPPERS] or calls
    turns: list[Turn] = []
    taken: Counter[Any] = Counter()
    for _, history, reply_turns in model_calls:
        in_history: Counter[Any] = Counter()
        for turn in history:
            in_history[_key(turn)] += 1
            if in_history[_key(turn)] > taken[_key(turn)]:
                turns.append(turn)
                taken[_key(turn)] += 1
        for turn in reply_turns:
            turns.append(turn)
            taken[_key(turn)] += 1
    results = {texts(s.attributes.get("gen_ai.tool.call.id")): s for s in spans if s.operation == "execute_tool"}
    answered = {turn.answers for turn in turns if turn.role == "tool"}
    complete: list[Turn] = []
    for turn in turns:
        missing = [results[call.id].attributes for call in turn.calls if call.id in results and call.id not in answered]
        complete += [turn, *(result for attributes in missing if (result := tool_turn(attributes)))]
    return complete


def _key(turn: Turn) -> tuple[Any, ...]:
    return turn.role, turn.text.strip(), tuple((call.name, call.arguments) for call in turn.calls)


def _outcome(spans: Sequence[Span], answer: str) -> Outcome:
    grades = [a for span in spans for name, a, _ in span.events if name == "gen_ai.evaluation.result"]
    grades += [s.attributes for s in spans if "gen_ai.evaluation.score.value" in s.attributes]
    names = ("gen_ai.evaluation.score.label", "gen_ai.evaluation.score.value")
    verdicts = [verdict(grade.get(name)) for grade in grades for name in names]
    success = next((value for value in verdicts if value is not None), None)
    reward = next((n for grade in grades if (n := number(grade.get(names[1]))) is not None), None)
    ids = {span.id for span in spans}
    root = next((span for span in spans if span.parent not in ids), spans[0])
    if root.failed and success is None:
        return Outcome(reason="error", detail=root.failed[:1000], answer=answer)
    reason = "answered" if answer else "unfinished"
    return Outcome(success=success, reward=reward, reason=reason, answer=answer)


def _joined(spans: Iterable[Span]) -> list[Span]:
    """The spans, each with its events from the log records; events of a missing span become a span of their own."""
    owners: dict[tuple[str, str], Span] = {}
    for span in sorted(spans, key=lambda span: span.is_log):
        owner = owners.setdefault((span.trace, span.id), span)
        if owner is not span:
            owner.events += span.events
    return list(owners.values())


def _spans(value: Any, is_log: bool = False) -> Iterator[Span]:
    """The spans and log records in OTLP's nested form or in a list under `spans`, or the value itself if it is one."""
    if not isinstance(value, dict):
        return
    for name in _NESTED:
        for item in _list(value, name):
            yield from _spans(item, name in _LOGS)
    if trace := _identity(value, "trace"):
        yield _log_span(value, trace) if is_log else _span(value, trace)


def _span(value: Mapping[str, Any], trace: str) -> Span:
    status = value.get("status")
    code, message = status, None
    if isinstance(status, dict):
        code, message = _first(status, "code", "status_code"), _first(status, "message", "description")
    failed = texts(code).upper().endswith("ERROR") or texts(code) == "2"
    return Span(
        trace,
        _identity(value, "span"),
        _nanoseconds(_first(value, "startTimeUnixNano", "start_time_unix_nano", "start_time")),
        attributes_of(value.get("attributes")),
        [_event(event) for event in _list(value, "events") if isinstance(event, dict)],
        parent=texts(_first(value, "parentSpanId", "parent_span_id", "parent_id")).removeprefix("0x"),
        failed=(texts(message) or "the root span ended in an error") if failed else "",
    )


def _log_span(record: Mapping[str, Any], trace: str) -> Span:
    name, attributes, body = _event(record)
    event = (name or texts(attributes.get("event.name")), attributes, body)
    start = _nanoseconds(_first(record, "timeUnixNano", "observedTimeUnixNano"))
    return Span(trace, _identity(record, "span"), start, attributes, [event], is_log=True)


def _event(raw: Mapping[str, Any]) -> Event:
    name = texts(_first(raw, "eventName", "event_name", "name"))
    return name, attributes_of(raw.get("attributes")), any_value(raw.get("body"))


def _list(value: Any, name: str) -> list[Any]:
    items = value.get(name) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []


def _first(value: Mapping[str, Any], *names: str) -> Any:
    """The first field with one of these names that is not empty."""
    return next((value[name] for name in names if value.get(name)), None)


def _identity(value: Mapping[str, Any], what: str) -> str:
    context = value.get("context")
    holders = (value, context if isinstance(context, dict) else {})
    found = (_first(holder, f"{what}Id", f"{what}_id") for holder in holders)
    return texts(next(filter(None, found), "")).removeprefix("0x")


def attributes_of(raw: Any, depth: int = _MAX_DEPTH) -> dict[str, Any]:
    """Attributes as a dictionary, from OTLP's list of keys and values or from a dictionary."""
    if isinstance(raw, dict):
        return raw
    pairs = [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []
    return {texts(item.get("key")): any_value(item.get("value"), depth) for item in pairs}


def any_value(raw: Any, depth: int = _MAX_DEPTH) -> Any:
    """The value that OTLP wraps: `{"stringValue": "x"}` is "x"; any other value stays as it is."""
    if not isinstance(raw, dict) or len(raw) != 1 or not depth:
        return raw
    (name, value), *_ = raw.items()
    name = name.replace("_", "").lower()
    if name == "intvalue":
        integer = number(value)
        return int(integer) if integer is not None else value
    if name in ("stringvalue", "doublevalue", "boolvalue", "bytesvalue"):
        return value
    if name == "arrayvalue":
        return [any_value(item, depth - 1) for item in _list(value, "values")]
    return attributes_of(_list(value, "values"), depth - 1) if name == "kvlistvalue" else raw


def _nanoseconds(raw: Any) -> int:
    """A time in nanoseconds since 1970, from a number or from ISO 8601; 0 if it is neither."""
    nanoseconds = number(raw)
    if nanoseconds is not None:
        return int(raw) if isinstance(raw, int) or texts(raw).isdigit() else int(nanoseconds)
    try:
        return int(datetime.fromisoformat(texts(raw)).timestamp() * 1e9)
    except (ValueError, OverflowError, OSError):
        return 0


def _time(nanoseconds: int) -> str:
    try:
        time = datetime.fromtimestamp(nanoseconds / 1e9, UTC)
        return time.isoformat(timespec="milliseconds") if nanoseconds > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def messages_of(attributes: Mapping[str, Any], events: Iterable[Event]) -> tuple[list[Any], list[Any]]:
    """The messages to a model, and its replies: two lists of raw messages, for `conversation.read_turns`."""
    sent, replies = _current(attributes)
    flat = _flattened(attributes)
    sent, replies = sent or flat[0], replies or flat[1]
    for name, event_attributes, body in events:
        if name == "gen_ai.client.inference.operation.details":
            more = _current({**event_attributes, **(body if isinstance(body, dict) else {})})
            sent, replies = sent or more[0], replies or more[1]
    if sent or replies:
        return sent, replies
    for name, event_attributes, body in events:
        _earlier(name, event_attributes, body, sent, replies)
    return sent, replies


def tool_turn(attributes: Mapping[str, Any]) -> Turn | None:
    """The result of a tool as a turn, from its span; None if the span has none."""
    result = attributes.get("gen_ai.tool.call.result")
    if result is None:
        return None
    return Turn("tool", texts(result), answers=texts(attributes.get("gen_ai.tool.call.id")))


def _current(attributes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    parts = _as_list(attributes.get("gen_ai.system_instructions"))
    system = [{"role": "system", "parts": parts}] if parts else []
    sent = _as_list(attributes.get("gen_ai.input.messages"))
    return (system + sent if sent else []), _as_list(attributes.get("gen_ai.output.messages"))[:1]


def _as_list(value: Any) -> list[Any]:
    """The list that a value is, or holds as JSON text; [] for any other value."""
    if isinstance(value, str):
        value, _ = load(value)
    return value if isinstance(value, list) else []


def _earlier(name: str, attributes: Mapping[str, Any], body: Any, sent: list[Any], replies: list[Any]) -> None:
    """Read an event of the conventions before 1.37, each of which holds one message, into `sent` or `replies`."""
    content = attributes.get("gen_ai.event.content")
    if isinstance(content, str):
        content, _ = load(content)
    fields = {**attributes, **next((part for part in (body, content) if isinstance(part, dict)), {})}
    if name == "gen_ai.choice":
        inner = fields.get("message")
        if isinstance(inner, str):
            decoded, fault = load(inner)
            inner = {"content": inner} if fault else decoded
        if not replies and fields.get("index") in (None, 0, "0"):
            replies.append({"role": "assistant", **(inner if isinstance(inner, dict) else fields)})
    elif name.startswith("gen_ai.") and name.endswith(".message") and name.split(".")[1] in _ROLES:
        role, calls = name.split(".")[1], _as_list(fields.get("tool_calls"))
        sent.append({"tool_call_id": fields.get("id"), **fields, "role": role, "tool_calls": calls})
    elif name == "gen_ai.content.prompt":
        sent.extend(_as_list(fields.get("gen_ai.prompt")) or [{"role": "user", "content": fields.get("gen_ai.prompt")}])
    elif name == "gen_ai.content.completion":
        completion = fields.get("gen_ai.completion")
        replies.extend(_as_list(completion)[:1] or [{"role": "assistant", "content": completion}])


def _flattened(attributes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Messages spread over attributes such as `gen_ai.prompt.0.content`."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"prompt": {}, "completion": {}}
    for key, value in attributes.items():
        if not (match := _FLAT.fullmatch(key)):
            continue
        message = sides[match["side"]].setdefault(int(match["place"]), {"tool_calls": {}})
        if call := _TOOL.fullmatch(match["rest"]):
            message["tool_calls"].setdefault(int(call["place"]), {})[call["name"]] = value
        else:
            message[match["rest"]] = value
    lists = [
        [{**message, "tool_calls": list(message["tool_calls"].values())} for _, message in sorted(side.items())]
        for side in sides.values()
    ]
    for message in lists[1]:
        message.setdefault("role", "assistant")
    return lists[0], lists[1][:1]

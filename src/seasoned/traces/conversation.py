"""Reads conversations in any recorded form, and the steps in them; `memory` also reads live ones with it.

A message may have any common form: OpenAI's chat and responses, Anthropic's content blocks, OpenTelemetry's parts,
inspect-ai's, or the from/value pairs of training sets. Always holds: any JSON value gives turns or none, and nothing
raises; a conversation's text is kept, and other content appears as its kind in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from seasoned.llm.calls import make_call
from seasoned.traces.source import load, texts
from seasoned.types import Message, Step, ToolCall, Trajectory

_ROLES = {"developer": "system", "human": "user", "ai": "assistant", "gpt": "assistant", "model": "assistant",
          "function": "tool", "observation": "tool", "bot": "assistant", "agent": "assistant"}  # fmt: skip
_CALLS = ("tool_call", "tool_use", "function_call")
_RESULTS = ("tool_call_response", "tool_result", "function_call_output")
_REASONING = ("reasoning", "thinking", "thought")
_CONTENTS = ("content", "parts", "value", "refusal")
_TEXTS = ("text", "content", "reasoning", "thinking", "refusal", "output", "value")
_THOUGHT = re.compile(r"[ \t]{0,8}thought(?: \d{1,4})?:[ \t]{0,8}", re.IGNORECASE)
_ACTION = re.compile(r"^[ \t]{0,8}action(?: \d{1,4})?:[ \t]{0,8}", re.IGNORECASE | re.MULTILINE)
_OBSERVATION = re.compile(r"\s{0,8}observation(?: \d{1,4})?:[ \t]*", re.IGNORECASE)
_MAX_DEPTH = 20  # content within content


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, with its arguments as text, usually JSON."""

    name: str
    arguments: str = ""
    id: str = ""

    def shown(self) -> str:
        """The call as an action, as `memory` records calls: `look_up({"city": "Ulm"})`."""
        return f"{self.name}({self.arguments})"

    def call(self) -> ToolCall:
        """The call with its arguments as JSON values."""
        return make_call(self.name, self.arguments, self.id)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a system, user, assistant or tool; `answers` is the id of the call that a tool's turn answers."""

    role: str
    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    answers: str = ""


def read_turns(messages: Any) -> list[Turn]:
    """The turns of a list of messages; other items are skipped."""
    return [turn for raw in messages for turn in read_message(raw) or ()] if isinstance(messages, list) else []


def read_message(raw: Any) -> list[Turn] | None:
    """The turns of one message: none if it is empty, several if it also has tool results; None if it is no message."""
    if not isinstance(raw, dict):
        return None
    if raw.get("type") in (*_CALLS, *_RESULTS, *_REASONING) and "role" not in raw:
        return list(_turns(raw, "assistant", [raw]))
    role = texts(raw.get("role", raw.get("from"))).strip().lower()
    role = _ROLES.get(role, role)
    if role not in ("system", "user", "assistant", "tool"):
        return None
    return list(_turns(raw, role, next((raw[name] for name in _CONTENTS if raw.get(name) not in (None, "", [])), None)))


def is_message(value: Any) -> bool:
    """Whether a value looks like one message."""
    return isinstance(value, dict) and isinstance(value.get("role", value.get("from")), str)


def _turns(raw: Mapping[str, Any], role: str, content: Any) -> Iterator[Turn]:
    parts = _Parts()
    parts.take(content)
    for name in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(raw.get(name), str) and raw.get("type") not in _REASONING:
            parts.thoughts.append(raw[name])
    calls = [*parts.calls, *_calls(raw.get("tool_calls")), *_calls([raw.get("function_call")])]
    text, thought = ("\n".join(filter(None, group)) for group in (parts.texts, parts.thoughts))
    if role != "assistant":
        yield from parts.results
    if role == "tool":
        error = raw.get("error")
        text = text or texts(error.get("message") if isinstance(error, dict) else error)
        if text or not parts.results:
            yield Turn("tool", text, answers=texts(raw.get("tool_call_id")))
    elif text or calls or thought:
        yield Turn(role, text, thought, tuple(calls))
    if role == "assistant":  # server-side tools answer within the same message
        yield from parts.results


class _Parts:
    """The parts of one message's content; a class because parts are nested."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.calls: list[Call] = []
        self.results: list[Turn] = []

    def take(self, content: Any, depth: int = 0) -> None:
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict) and depth < _MAX_DEPTH:
                self._one(part, depth)
            elif part is not None:
                self.texts.append(texts(part))

    def _one(self, part: Mapping[str, Any], depth: int) -> None:
        kind = texts(part.get("type")) or "text"
        text = next((part[name] for name in _TEXTS if part.get(name) is not None), None)
        if kind in _CALLS:
            self.calls.extend(_calls([part]))
        elif kind in _RESULTS:
            inner = _Parts()
            answer = next((part[n] for n in ("response", "result", "content", "output") if part.get(n) is not None), "")
            inner.take(answer if isinstance(answer, list) else texts(answer), depth + 1)
            ids = (part.get(name) for name in ("tool_use_id", "tool_call_id", "call_id", "id"))
            self.results.append(Turn("tool", "\n".join(inner.texts), answers=texts(next(filter(None, ids), ""))))
        elif kind in _REASONING:
            inner = _Parts()
            inner.take(text or part.get("summary"), depth + 1)
            self.thoughts += [*inner.texts, *inner.thoughts]
        elif kind == "summary_text":
            self.thoughts.append(texts(text))
        elif kind in ("text", "input_text", "output_text", "refusal") and text is not None:
            self.texts.append(texts(text))
        else:
            self.texts.append(f"[{kind}]")


def _calls(raw: Any) -> Iterator[Call]:
    for call in raw if isinstance(raw, list) else []:
        if isinstance(call, dict):
            inner = next((call[name] for name in ("function", "custom") if isinstance(call.get(name), dict)), call)
            name = texts(inner.get("name") or call.get("function") or call.get("name"))
            arguments = next((inner[n] for n in ("arguments", "args", "input") if inner.get(n) is not None), "")
            if name:
                yield Call(name, texts(arguments), texts(call.get("id") or call.get("call_id")))


def chat(turns: Iterable[Turn]) -> tuple[Message, ...]:
    """The turns as messages in OpenAI's form."""
    messages: list[Message] = []
    for turn in turns:
        message: Message = {"role": turn.role, "content": turn.text}
        if turn.thought:
            message["reasoning_content"] = turn.thought
        if turn.calls:
            calls = ((call.id, {"name": call.name, "arguments": call.arguments}) for call in turn.calls)
            message["tool_calls"] = [{"id": id_, "type": "function", "function": each} for id_, each in calls]
        if turn.answers:
            message["tool_call_id"] = turn.answers
        messages.append(message)
    return tuple(messages)


def task_of(turns: Sequence[Turn]) -> str:
    """The task: the user's messages before the agent's first turn."""
    before = takewhile(lambda turn: turn.role != "assistant", turns)
    return "\n\n".join(turn.text.strip() for turn in before if turn.role == "user" and turn.text.strip())


def steps_of(turns: Iterable[Turn]) -> list[Step]:
    """The steps of a conversation.

    Each tool call is a step, with the tool's result as its observation. A reply without a call is a step, with the next
    user message as its observation. A reply in the form "Thought: .. Action: .." is split, and a lone thought belongs
    to the assistant's next action. A result without a call becomes the observation of the last reply, or else its own
    step.
    """
    steps: list[list[str]] = []
    calls: dict[int, ToolCall] = {}  # by the place of the step
    waiting: dict[str, int] = {}  # calls without a result: their id, and the place of the step
    is_reply = False
    for turn in turns:
        if turn.role == "assistant":
            thought = steps.pop()[0] if steps and not any(steps[-1][1:]) else ""
            for place, call in enumerate(turn.calls, len(steps)):
                calls[place] = call.call()
                waiting[call.id if call.id and call.id not in waiting else f"#{place}"] = place
            steps += _turn_steps(turn, thought)
            is_reply = not turn.calls
        elif steps and turn.role in ("tool", "user"):
            place = -1
            if turn.role == "user":
                waiting = {}
            elif waiting:
                place = waiting.pop(turn.answers if turn.answers in waiting else next(iter(waiting)))
            elif not is_reply:
                steps.append(["", "", ""])
            text = _OBSERVATION.sub("", turn.text, count=1) if _OBSERVATION.match(turn.text) else turn.text
            steps[place][2] = "\n".join(filter(None, (steps[place][2], text)))
    return [
        Step(thought=thought, action=action, observation=seen, call=calls.get(place))
        for place, (thought, action, seen) in enumerate(steps)
    ]


def answer_of(turns: Sequence[Turn]) -> str:
    """The last reply, if the conversation ends with one without calls."""
    last = turns[-1] if turns else Turn("user")
    return last.text.strip() if last.role == "assistant" and not last.calls else ""


def _turn_steps(turn: Turn, carried: str) -> list[list[str]]:
    """The steps of a turn: thought, action, empty observation; `carried` is the lone thought of an earlier turn."""
    if turn.calls:
        thought = _lines(carried, turn.thought, turn.text)
        return [["" if place else thought, call.shown(), ""] for place, call in enumerate(turn.calls)]
    text, thought = turn.text.strip(), ""
    label, thought_label = _ACTION.search(text), _THOUGHT.match(text)
    if label and (thought_label or label.start() == 0):
        thought = text[thought_label.end() if thought_label else 0 : label.start()].strip()
        text = text[label.end() :].strip()
    return [[_lines(carried, turn.thought, thought), text, ""]]


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part.strip())


def conversation(trajectory: Trajectory) -> list[tuple[str, str]]:
    """The conversation as the model saw it, in the form of `spoken`; if not recorded, it is made from the steps."""
    if trajectory.messages:
        return spoken(trajectory.messages)
    lines = []
    for step in trajectory.steps:
        parts = (step.thought,) if step.call else (step.thought, step.action)
        lines.append(("assistant", "\n".join(filter(None, parts))))
        lines.append(("call", step.action if step.call else ""))
        lines.append(("tool" if step.call else "user", step.observation))
    return [(role, text) for role, text in lines if text]


def spoken(messages: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Messages as (role, text); an unknown role becomes "other", and each tool call a pair with the role "call"."""
    pairs: list[tuple[str, str]] = []
    for message in messages:
        name, (text, calls) = str(message.get("role", "")), _text_and_calls(message)
        role = name if re.fullmatch("system|user|assistant|tool", name) else "other"
        pairs += [(role, text)] if text or not calls else []
        pairs += [("call", call) for call in calls]
    return pairs


def said(message: Mapping[str, Any]) -> str:
    """The text of a message, then its tool calls as name(arguments), one a line."""
    text, calls = _text_and_calls(message)
    return "\n".join(filter(None, [text, *calls]))


def _text_and_calls(message: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The text of a message, and its calls, which are stored as a list or (in older stores) as JSON text."""
    raw = message.get("tool_calls") or ""
    calls = load(raw)[0] if isinstance(raw, str) else raw
    turns = read_message({"role": "assistant", "tool_calls": calls}) or []
    calls_shown = [call.shown() for turn in turns for call in turn.calls]
    return str(message.get("content") or ""), calls_shown or ([texts(raw)] if raw else [])

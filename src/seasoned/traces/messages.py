"""Reads and writes OpenAI-style conversations in JSON lines, one attempt a line: `{"messages": [..], "success": ..}`.

Besides `messages`, a line may have `task`, `task_id`, `category`, `success` (or `correct`), `reward` (or `score`),
`reason`, `answer`, `steps`, `guidance`, `agent`, `id`, `created`. Files with one message a line are read too. Always
holds: a line that is not a conversation is a problem with its number, and the others are read; a line written by
`seasoned export` (also the form for fine-tuning) is read back as the same task, steps, conversation and outcome.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from seasoned.llm.calls import make_call
from seasoned.llm.tools import calling, result
from seasoned.traces.conversation import answer_of, chat, is_message, read_turns, steps_of, task_of
from seasoned.traces.source import NOTHING_DONE, Log, date, load, make, number, repeats, texts, verdict
from seasoned.types import Message, Outcome, Step, ToolCall, Trajectory

_LISTS = ("messages", "conversations", "conversation", "turns")
_THREADS = ("conversation_id", "thread_id", "session_id", "trace_id")
_TRAJECTORY_FIELDS = ("task_id", "category", "benchmark", "agent", "guidance", "created", "meta")
_OUTCOME_FIELDS = ("reason", "answer", "detail")


def read(values: Iterable[tuple[str, Any]], source: Mapping[str, Any]) -> Log:
    """The attempts in the JSON values of a file, as `source.json_values` gives them; `source` is for their meta."""
    log = Log()
    seen: Counter[str] = Counter()
    for place, value in _joined(values):
        log.take(place, _one, value, {**source, "place": place}, seen)
    return log


def _joined(values: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Join single messages into conversations: by the thread's name, or else from one system message to the next."""
    threads: dict[str, tuple[str, list[Any]]] = {}
    current = ""
    for place, value in values:
        if not is_message(value) or any(isinstance(value.get(name), list) for name in _LISTS):
            yield place, value
            continue
        thread = next((texts(value[name]) for name in _THREADS if value.get(name)), "")
        if not thread and value.get("role") in ("system", "developer"):
            current = place
        threads.setdefault(thread or f" {current}", (place, []))[1].append(value)
    for place, messages in threads.values():
        yield place, {"messages": messages}


def _one(value: Any, meta: Mapping[str, Any], seen: Counter[str]) -> Trajectory | str:
    line = {"messages": value} if isinstance(value, list) else value
    if not isinstance(line, dict):
        return "not an object with a list of messages"
    raw = next((line[name] for name in _LISTS if isinstance(line.get(name), list)), None)
    if raw is None:
        return "no list of messages in it"
    turns = read_turns(raw)
    given_steps = _steps(line.get("steps"))
    steps = given_steps or steps_of(turns)
    if not steps:
        return NOTHING_DONE
    task = texts(line.get("task")).strip() or task_of(turns)
    if not task:
        return "no task in it: neither a user message before the first reply nor a `task`"
    outcome = outcome_of(line, answer_of(turns))
    extra = line.get("meta")
    names = ("category", "guidance", "agent", "benchmark")
    return make(
        task,
        steps,
        outcome,
        task_id=texts(line.get("task_id")),
        messages=chat(turns),
        created=date(line.get("created")),
        occurrence=repeats(seen, task, raw, outcome.model_dump(), [step.model_dump() for step in given_steps]),
        meta={**(extra if isinstance(extra, dict) else {}), **meta, "source_id": texts(line.get("id"))},
        **{name: texts(line[name]) for name in names if line.get(name)},
    )


def outcome_of(line: Mapping[str, Any], answer: str) -> Outcome:
    """The outcome of an attempt, from the fields beside its messages.

    `success` or `correct` decides; else a `reward` or `score` from 0 to 1, where only 1 is success; else the outcome
    is unknown. The answer is the field `answer`, or else the last reply.
    """
    reward = next((n for name in ("reward", "score") if (n := number(line.get(name))) is not None), None)
    value = next((line[name] for name in ("success", "correct", "reward", "score") if line.get(name) is not None), None)
    answer = texts(line.get("answer")) or answer
    return Outcome(
        success=verdict(value),
        reward=reward,
        reason=texts(line.get("reason")) or ("answered" if answer else "unfinished"),
        answer=answer,
        detail=texts(line.get("detail")),
    )


def _steps(raw: Any) -> list[Step]:
    """The steps in a list; none if one of its items is not a step."""
    steps: list[Step] = []
    for step in raw if isinstance(raw, list) else []:
        if not isinstance(step, dict):
            return []
        parts = {name: texts(step.get(name)) for name in ("thought", "action", "observation")}
        steps.append(Step(**parts, reward=number(step.get("reward")) or 0.0, call=_call(step.get("call"))))
    return steps


def _call(raw: Any) -> ToolCall | None:
    """The call of a step, or None."""
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        return None
    call = make_call(raw["name"], raw.get("arguments"), texts(raw.get("id")))
    return call.model_copy(update={"unread": texts(raw.get("unread"))}) if raw.get("unread") else call


def chat_line(trajectory: Trajectory) -> str:
    """A trajectory as one line of JSON.

    `messages` comes first; a trajectory without a conversation gets one from its steps, in the form of acting agents.
    The id, the task, the outcome and the steps follow, if they are not empty.
    """
    line: dict[str, Any] = {"messages": chat_messages(trajectory), "id": trajectory.id, "task": trajectory.task}
    outcome = trajectory.outcome
    line |= {"success": outcome.success, "reward": outcome.reward}
    line |= {name: getattr(outcome, name) for name in _OUTCOME_FIELDS}
    line |= {name: getattr(trajectory, name) for name in _TRAJECTORY_FIELDS}
    line["steps"] = [step.model_dump(exclude_defaults=True) for step in trajectory.steps]
    fields = {name: value for name, value in line.items() if value not in (None, "", {}, [])}
    return json.dumps(fields, ensure_ascii=False, default=str) + "\n"


def chat_messages(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The conversation of an attempt; made from its steps if it was not recorded."""
    if trajectory.messages:
        return [_message(message) for message in trajectory.messages]
    messages: list[dict[str, Any]] = [{"role": "system", "content": trajectory.guidance}] if trajectory.guidance else []
    user_text: str | None = trajectory.task
    for place, step in enumerate(trajectory.steps, 1):
        messages += [] if user_text is None else [{"role": "user", "content": user_text}]
        if step.call:
            call = step.call.model_copy(update={"id": step.call.id or f"call-{place}"})
            messages += [calling(step.thought, [call]), result(call, step.observation)]
        else:
            thought = f"Thought: {step.thought}\nAction: " if step.thought else ""
            messages.append({"role": "assistant", "content": thought + step.action})
        user_text = None if step.call else step.observation
    return [*messages, {"role": "user", "content": user_text}] if user_text and trajectory.steps else messages


def _message(message: Message) -> dict[str, Any]:
    """A message with its calls as a list; older stores have them as JSON text."""
    raw = message.get("tool_calls")
    calls, fault = load(raw) if isinstance(raw, str) else (raw, "")
    return {**message, "tool_calls": calls} if raw and not fault else dict(message)

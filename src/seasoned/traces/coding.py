"""Sessions of coding agents as attempts: Claude Code's and Codex's session files, mini-swe-agent's and SWE-agent's.

Each request of the user begins an attempt. How it ended is what the session shows: the user said it is wrong, the
changes were taken back, the tests that ran last passed or failed; else it is unknown. Always holds: any JSON gives
attempts and problems and nothing raises; what a subagent did, and what a program wrote into the session by itself, is
left out; the readers follow the formats as they were in 2026, and pass over records they do not know.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seasoned.traces.conversation import Turn, answer_of, chat, read_message, read_turns, steps_of
from seasoned.traces.source import Found, date, digest, make, texts
from seasoned.types import Outcome, Step, Trajectory

_LINE = 400  # characters of a command that tell what it is
_TAIL = 4000  # characters of an observation in which tests say how they ended
_BY_PROGRAM = re.compile(
    r"\s{0,20}(?:<(?:environment_context|user_instructions|system-reminder|command-name|local-command-stdout|"
    r"command-message|INSTRUCTIONS|turn_aborted)\b|# AGENTS\.md instructions|Caveat: The messages below)"
)
_WRONG = re.compile(
    r"\s{0,20}(?:no\b[,.! ]|nope\b|wrong\b|that(?:'s| is) (?:wrong|not)|this is (?:wrong|not)|(?:it|that|this) "
    r"(?:still )?(?:does ?n[o']t|is ?n[o']t|did ?n[o']t|fails|broke)|still (?:fails|failing|broken|wrong)|undo\b"
    r"|revert\b|you broke\b|not what i)",
    re.IGNORECASE,
)
_GO_ON = re.compile(
    r"\W{0,4}(?:yes|ok(?:ay)?|sure|please|continue|go (?:on|ahead)|proceed|thanks?|thank you|do it)\b.{0,30}",
    re.IGNORECASE | re.DOTALL,
)
_TESTS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|(?:npm|yarn|pnpm|bun) (?:run )?test|vitest|jest|cargo test|go test"
    r"|make (?:test|check)|mvn (?:-\w+ )?test|gradlew? test|rspec|phpunit|ctest|dotnet test)\b"
)
_TAKEN_BACK = re.compile(r"\bgit (?:reset --hard|checkout -- |checkout \.|restore \.|stash\b|revert\b)")
_CODE = re.compile(
    r"(?:exit(?:ed with)?(?: code| status)|exit_code|returncode|return code)[^\w-]{0,6}(-?\d{1,4})", re.I
)
_FAILED = re.compile(
    r"\b[1-9]\d{0,6} (?:failed|failing|failures?|errors?)\b|^FAIL(?:ED)?\b|\bFAILED \(|test result: FAILED", re.M
)
_PASSED = re.compile(r"\b\d{1,7} (?:passed|passing)\b|^OK\b|^ok\s|\bPASS\b|test result: ok", re.M)
_SHELL = ("command", "cmd", "script", "input")  # arguments that hold a command
_FENCE = re.compile(r"```(?:\w{1,20})?\n(.*?)```", re.DOTALL)


def is_session(value: Any) -> bool:
    """Whether a JSON value is a record of such a session, or a whole one."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("trajectory"), list) and ("info" in value or "history" in value):
        return True
    if texts(value.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    if value.get("type") in ("session_meta", "response_item", "turn_context"):
        return isinstance(value.get("payload"), dict)
    claude = value.get("type") in ("user", "assistant") and isinstance(value.get("message"), dict)
    return claude and any(name in value for name in ("sessionId", "uuid", "parentUuid"))


def read(values: Iterable[tuple[str, Any]], source: Mapping[str, Any]) -> Found:
    """The attempts in the JSON values of a file.

    Args:
        values: (place, value), as `source.json_values` gives them.
        source: what every trajectory's meta says of where it came from.
    """
    log, seen = Found(), Counter[str]()
    session: list[tuple[str, Any]] = []
    for place, value in values:
        if isinstance(value, dict) and isinstance(value.get("trajectory"), list):
            log.take(place, _swe, value, {**source, "place": place}, seen)
        elif isinstance(value, dict) and isinstance(value.get("messages"), list):
            log.take(place, _mini, value, {**source, "place": place}, seen)
        else:
            session.append((place, value))
    for place, turns, created in _requests(session):
        log.take(place, _attempt, turns, {**source, "place": place}, seen, created)
    wrong = Outcome(success=False, reward=0.0, reason="reported", detail="the user said that it is wrong")
    for number, after in enumerate(log.trajectories[1:]):
        before = log.trajectories[number]
        if _WRONG.match(after.task) and before.meta.get("place") != after.meta.get("place"):
            log.trajectories[number] = before.model_copy(update={"outcome": wrong})
    return log


def command_of(step: Step) -> str:
    """The command that a step ran; the action itself where it ran none that can be told."""
    if step.call is not None:
        given = next((step.call.arguments[name] for name in _SHELL if step.call.arguments.get(name)), None)
        if isinstance(given, list):
            return " ".join(map(texts, given[2:] if texts(given[:1]).startswith('["bash') else given))
        return texts(given) if given is not None else step.action
    fenced = _FENCE.search(step.action[:20_000])
    return fenced[1].strip() if fenced else step.action


def failed(step: Step) -> bool | None:
    """Whether a step's command failed, by its exit code or what tests print; None where nothing tells."""
    end = step.observation[-_TAIL:]
    code = _CODE.search(step.observation[:_LINE]) or next(iter(_CODE.finditer(end)), None)
    if code is not None:
        return int(code[1]) != 0
    if _FAILED.search(end):
        return True
    return False if _PASSED.search(end) else None


def _requests(values: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, list[Turn], str]]:
    """The turns of each request in a session, with the place and time of its first record."""
    turns: list[Turn] = []
    place = created = ""
    for where, value in values:
        for turn in _turns(value):
            asked = turn.role == "user" and bool(turn.text.strip())
            if asked and _BY_PROGRAM.match(turn.text):
                continue
            answered = any(each.role == "assistant" for each in turns)
            if asked and answered and _GO_ON.fullmatch(turn.text):
                continue
            if asked and answered:
                yield place, turns, created
                turns = []
            if not turns:
                place, created = where, date(value.get("timestamp"))
            turns.append(turn)
    if turns:
        yield place, turns, created


def _turns(value: Any) -> list[Turn]:
    """What is said in one record; nothing in one that is bookkeeping, or a subagent's."""
    if not isinstance(value, dict) or value.get("isSidechain") or value.get("isMeta"):
        return []
    if value.get("type") in ("user", "assistant") and isinstance(value.get("message"), dict):
        return read_message(value["message"]) or []
    if value.get("type") == "response_item" and isinstance(value.get("payload"), dict):
        item = dict(value["payload"])
        if item.get("type") == "local_shell_call" and isinstance(item.get("action"), dict):
            item = {
                "type": "function_call",
                "name": "shell",
                "arguments": item["action"],
                "call_id": item.get("call_id"),
            }
        elif texts(item.get("type")).startswith("custom_tool_call"):
            item["type"] = "function_call" + texts(item["type"]).removeprefix("custom_tool_call")
        if item.get("type") == "message":
            item.pop("type")
        # A call and its result are a record each, and name the call by `call_id`.
        found = read_message(item) or []
        return [replace(turn, role="tool") if turn.answers else turn for turn in found]
    return []


def _attempt(turns: Sequence[Turn], meta: Mapping[str, Any], seen: Counter[str], created: str) -> Trajectory | str:
    task = "\n\n".join(turn.text.strip() for turn in turns if turn.role == "user" and turn.text.strip())
    steps = steps_of([turn for turn in turns if turn.role != "user"])
    if not task:
        return "no request of a user in it"
    if not steps:
        return "no reply of an assistant in it, so nothing was done"
    same = digest(task, [step.model_dump() for step in steps])
    seen[same] += 1
    outcome = ended(steps, answer_of([turn for turn in turns if turn.role != "user"]))
    return make(task, steps, outcome, meta=meta, messages=chat(turns), created=created, occurrence=seen[same] - 1)


def ended(steps: Sequence[Step], answer: str = "") -> Outcome:
    """How an attempt ended, by the tests that ran last and by changes that were taken back."""
    for step in reversed(steps):
        command = command_of(step)[:_LINE]
        if _TAKEN_BACK.search(command):
            return Outcome(
                success=False, reward=0.0, reason="reported", answer=answer, detail="the changes were undone"
            )
        wrong = failed(step) if _TESTS.search(command) else None
        if wrong is not None:
            said = f"the tests {'failed' if wrong else 'passed'}: {command.splitlines()[0]}"
            return Outcome(success=not wrong, reward=float(not wrong), reason="reported", answer=answer, detail=said)
    return Outcome(reason="answered" if answer else "unfinished", answer=answer)


def _mini(value: Mapping[str, Any], meta: Mapping[str, Any], seen: Counter[str]) -> Trajectory | str:
    """mini-swe-agent: one conversation, the first message of the user is the task, the others are observations."""
    turns = read_turns(value["messages"])
    task = next((turn.text.strip() for turn in turns if turn.role == "user" and turn.text.strip()), "")
    begun = next((place for place, turn in enumerate(turns) if turn.role == "assistant"), len(turns))
    steps = steps_of(turns[begun:])
    if not task or not steps:
        return "no task and reply in it"
    info = value["info"] if isinstance(value.get("info"), dict) else {}
    return _finished(task, steps, info, {**meta, "exit": texts(info.get("exit_status"))}, chat(turns), seen)


def _swe(value: Mapping[str, Any], meta: Mapping[str, Any], seen: Counter[str]) -> Trajectory | str:
    """SWE-agent: a list of steps beside the conversation."""
    raw = [step for step in value["trajectory"] if isinstance(step, dict)]
    names = ("thought", "action", "observation")
    steps = [Step(**{name: texts(step.get(name)) for name in names}) for step in raw]
    history = value["history"] if isinstance(value.get("history"), list) else []
    turns = read_turns(history)
    asked = [turn.text.strip() for turn in turns if turn.role == "user" and turn.text.strip()]
    task = next((text for text in asked), "") or texts(value.get("problem_statement"))
    if not task or not steps:
        return "no task and steps in it"
    info = value["info"] if isinstance(value.get("info"), dict) else {}
    return _finished(task, steps, info, {**meta, "exit": texts(info.get("exit_status"))}, chat(turns), seen)


def _finished(
    task: str,
    steps: Sequence[Step],
    info: Mapping[str, Any],
    meta: Mapping[str, Any],
    messages: Any,
    seen: Counter[str],
) -> Trajectory:
    outcome, status = ended(steps, texts(info.get("submission"))[:_TAIL]), texts(info.get("exit_status"))
    if outcome.success is None and status and "submit" not in status.casefold():
        outcome = Outcome(success=False, reward=0.0, reason="halted", detail=f"it ended with {status[:80]}")
    same = digest(task, [step.model_dump() for step in steps])
    seen[same] += 1
    return make(task, steps, outcome, meta=meta, messages=messages, occurrence=seen[same] - 1)

"""Sessions of coding agents as attempts: Claude Code's and Codex's session files, mini-swe-agent's and SWE-agent's.

Each request of the user begins an attempt. The session shows its outcome: the user said that it is wrong, the changes
were reverted, or the last tests passed or failed; otherwise the outcome is unknown. Always holds: any JSON gives
attempts and problems, and nothing raises; the work of subagents and the messages of programs are left out; the readers
follow the formats of 2026 and skip unknown records.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile
from typing import Any

from seasoned.traces.conversation import Turn, answer_of, chat, read_message, read_turns, steps_of
from seasoned.traces.source import NOTHING_DONE, Log, date, make, repeats, texts
from seasoned.types import Outcome, Step, Trajectory

_COMMAND_CHARS = 400  # the part of a command that identifies it
_TAIL_CHARS = 4000  # the end of an observation, where the result of tests is
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
_REVERTS = re.compile(r"\bgit (?:reset --hard|checkout -- |checkout \.|restore \.|stash\b|revert\b)")
_EXIT_CODE = re.compile(
    r"(?:exit(?:ed with)?(?: code| status)|exit_code|returncode|return code)[^\w-]{0,6}(-?\d{1,4})", re.I
)
_TESTS_FAILED = re.compile(
    r"\b[1-9]\d{0,6} (?:failed|failing|failures?|errors?)\b|^FAIL(?:ED)?\b|\bFAILED \(|test result: FAILED", re.M
)
_TESTS_PASSED = re.compile(r"\b\d{1,7} (?:passed|passing)\b|^OK\b|^ok\s|\bPASS\b|test result: ok", re.M)
_SHELL = ("command", "cmd", "script", "input")  # arguments that hold a command
_FENCE = re.compile(r"```(?:\w{1,20})?\n(.*?)```", re.DOTALL)


def is_session(value: Any) -> bool:
    """Whether a JSON value is a session of a coding agent, or a record of one."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("trajectory"), list) and ("info" in value or "history" in value):
        return True
    if texts(value.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    if value.get("type") in ("session_meta", "response_item", "turn_context"):
        return isinstance(value.get("payload"), dict)
    has_message = value.get("type") in ("user", "assistant") and isinstance(value.get("message"), dict)
    return has_message and any(name in value for name in ("sessionId", "uuid", "parentUuid"))  # Claude Code's


def read(values: Iterable[tuple[str, Any]], source: Mapping[str, Any]) -> Log:
    """The attempts in the JSON values of a file, as `source.json_values` gives them; `source` is for their meta."""
    log, seen = Log(), Counter[str]()
    session: list[tuple[str, Any]] = []
    for place, value in values:
        if isinstance(value, dict) and any(isinstance(value.get(name), list) for name in ("trajectory", "messages")):
            log.take(place, _saved, value, {**source, "place": place}, seen)
        else:
            session.append((place, value))
    others = len(log.trajectories)
    for place, turns, created in _requests(session):
        log.take(place, _attempt, turns, {**source, "place": place}, seen, created)
    rejected = Outcome(success=False, reward=0.0, reason="reported", detail="the user said that it is wrong")
    for number in range(others, len(log.trajectories) - 1):
        before, after = log.trajectories[number : number + 2]
        if _WRONG.match(after.task) and before.meta.get("place") != after.meta.get("place"):
            log.trajectories[number] = before.model_copy(update={"outcome": rejected})
    return log


def command_of(step: Step) -> str:
    """The command that a step ran; the action if it has no command."""
    if step.call is not None:
        command = next((step.call.arguments[name] for name in _SHELL if step.call.arguments.get(name)), None)
        if isinstance(command, list):
            return " ".join(map(texts, command[2:] if texts(command[:1]).startswith('["bash') else command))
        return texts(command) if command is not None else step.action
    fenced = _FENCE.search(step.action[:20_000])
    return fenced[1].strip() if fenced else step.action


def failed(step: Step) -> bool | None:
    """Whether a step's command failed, by its exit code or the output of tests; None if unknown."""
    tail = step.observation[-_TAIL_CHARS:]
    exit_code = _EXIT_CODE.search(step.observation[:_COMMAND_CHARS]) or _EXIT_CODE.search(tail)
    if exit_code is not None:
        return int(exit_code[1]) != 0
    if _TESTS_FAILED.search(tail):
        return True
    return False if _TESTS_PASSED.search(tail) else None


def _requests(values: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, list[Turn], str]]:
    """Split a session into requests: the place of the first record, the turns, and the time of that record."""
    turns: list[Turn] = []
    place = created = ""
    for where, value in values:
        for turn in _turns(value):
            is_request = turn.role == "user" and bool(turn.text.strip())
            if is_request and _BY_PROGRAM.match(turn.text):
                continue
            answered = any(each.role == "assistant" for each in turns)
            if is_request and answered and _GO_ON.fullmatch(turn.text):
                continue
            if is_request and answered:
                yield place, turns, created
                turns = []
            if not turns:
                place, created = where, date(value.get("timestamp"))
            turns.append(turn)
    if turns:
        yield place, turns, created


def _turns(value: Any) -> list[Turn]:
    """The turns of one record; none if it is bookkeeping or a subagent's."""
    if not isinstance(value, dict) or value.get("isSidechain") or value.get("isMeta"):
        return []
    if value.get("type") in ("user", "assistant") and isinstance(value.get("message"), dict):
        return read_message(value["message"]) or []
    if value.get("type") == "response_item" and isinstance(value.get("payload"), dict):
        item = dict(value["payload"])
        if item.get("type") == "local_shell_call" and isinstance(item.get("action"), dict):
            arguments, call_id = item["action"], item.get("call_id")
            item = {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call_id}
        elif texts(item.get("type")).startswith("custom_tool_call"):
            item["type"] = "function_call" + texts(item["type"]).removeprefix("custom_tool_call")
        if item.get("type") == "message":
            item.pop("type")
        # A call and its result are separate records, which share the `call_id`.
        turns = read_message(item) or []
        return [replace(turn, role="tool") if turn.answers else turn for turn in turns]
    return []


def _attempt(turns: Sequence[Turn], meta: Mapping[str, Any], seen: Counter[str], created: str) -> Trajectory | str:
    task = "\n\n".join(_requests_in(turns))
    others = [turn for turn in turns if turn.role != "user"]
    steps = steps_of(others)
    if not task:
        return "no request of a user in it"
    if not steps:
        return NOTHING_DONE
    outcome = ended(steps, answer_of(others))
    occurrence = repeats(seen, task, [step.model_dump() for step in steps])
    return make(task, steps, outcome, meta=meta, messages=chat(turns), created=created, occurrence=occurrence)


def _requests_in(turns: Iterable[Turn]) -> list[str]:
    """The texts of the user's turns."""
    return [turn.text.strip() for turn in turns if turn.role == "user" and turn.text.strip()]


def ended(steps: Sequence[Step], answer: str = "") -> Outcome:
    """The outcome of an attempt, from its last tests or a revert of its changes."""
    for step in reversed(steps):
        command = command_of(step)[:_COMMAND_CHARS]
        if _REVERTS.search(command):
            has_failed, detail = True, "the changes were undone"
        elif _TESTS.search(command) and (tests_failed := failed(step)) is not None:
            has_failed = tests_failed
            detail = f"the tests {'failed' if has_failed else 'passed'}: {command.splitlines()[0]}"
        else:
            continue
        reward = float(not has_failed)
        return Outcome(success=not has_failed, reward=reward, reason="reported", answer=answer, detail=detail)
    return Outcome(reason="answered" if answer else "unfinished", answer=answer)


def _saved(value: Mapping[str, Any], meta: Mapping[str, Any], seen: Counter[str]) -> Trajectory | str:
    """Read a file of SWE-agent, which has a list of steps beside the conversation, or of mini-swe-agent.

    The first user message is the task. In mini-swe-agent's conversation, the others are observations.
    """
    is_swe = isinstance(value.get("trajectory"), list)
    turns = read_turns(value.get("history" if is_swe else "messages"))
    task = next(iter(_requests_in(turns)), "")
    if is_swe:
        task = task or texts(value.get("problem_statement"))
        raw_steps = [step for step in value["trajectory"] if isinstance(step, dict)]
        names = ("thought", "action", "observation")
        steps = [Step(**{name: texts(step.get(name)) for name in names}) for step in raw_steps]
    else:
        steps = steps_of(dropwhile(lambda turn: turn.role != "assistant", turns))
    if not (task and steps):
        return "no task or no steps in it"
    info = value["info"] if isinstance(value.get("info"), dict) else {}
    outcome, status = ended(steps, texts(info.get("submission"))[:_TAIL_CHARS]), texts(info.get("exit_status"))
    if outcome.success is None and status and "submit" not in status.casefold():
        outcome = Outcome(success=False, reward=0.0, reason="halted", detail=f"it ended with {status[:80]}")
    occurrence = repeats(seen, task, [step.model_dump() for step in steps])
    return make(task, steps, outcome, meta={**meta, "exit": status}, messages=chat(turns), occurrence=occurrence)

"""Reads one turn of an acting agent: its thought and its one action.

Accepts all forms that models were seen to send: thought and action in one reply or on one line, markdown, quotes,
brackets, "Action 3:", "Action 3 - go to x", "> go to x", a bare "go to x" below a sentence, `think: ..`, tags,
headings, JSON, "Action Input:", and several actions, of which the first counts. Text in `<think>` is ignored. Always
holds: any text gives a turn, no text raises, and thought and action consist of pieces of the reply.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from seasoned.llm.structured import read
from seasoned.text import prompt_line, without_thinking

_MARK = r"[ \t>*_`#~-]{0,12}"
_THOUGHT = r"(?:thought|think|thinking|reasoning|plan|思考)"
_ACTION = r"(?:(?:(?:final|next|my|chosen)[ _])?action|act|command|行动|动作)"
_OBSERVATION = r"(?:observation|obs|user|environment|观察)"
_NUMBER = r"[ \t]{0,3}#?\d{0,4}"
_COLON = r"[*_`]{0,3}[ \t]{0,3}[:：][*_`]{0,3}[ \t]{0,3}"
_DASH = r"[ \t]{0,3}#?\d{1,4}[ \t]{1,3}[-–—][ \t]{1,3}"  # "Action 1 - go to desk 1"
_LABEL = re.compile(
    rf"^{_MARK}(?:\d{{1,3}}[.)][ \t]{{1,4}}{_MARK})?"
    rf"(?:(?P<thought>{_THOUGHT})|(?P<action>{_ACTION})|(?P<other>{_OBSERVATION}))"
    rf"(?:{_NUMBER}{_COLON}|{_DASH})",
    re.IGNORECASE | re.MULTILINE,
)
# "Thought: I should look. Action: go to desk 1": only capitalised and after a sentence; else it is part of the thought.
_INLINE = re.compile(
    rf"(?:\A|(?<=[.!?…。]))(?P<closers>[\"')\]”]{{0,2}})[ \t]{{0,4}}\*{{0,2}}(?:Action|ACTION){_NUMBER}{_COLON}"
)
_INPUT = re.compile(
    rf"[*_`\"']{{0,3}}(?P<name>[A-Za-z]{{2,20}})[*_`\"']{{0,3}}[ \t]{{0,8}}\n\s{{0,8}}{_MARK}"
    rf"action[ _]input{_NUMBER}{_COLON}(?P<given>[^\n]{{0,1000}})",
    re.IGNORECASE,
)
_NAMES = rf"(?:{_THOUGHT}|{_ACTION}|{_OBSERVATION})"
_HEADING = re.compile(
    rf"^[ \t]{{0,3}}(?:#{{1,6}}[ \t]{{1,3}}\*{{0,2}}({_NAMES}){_NUMBER}\*{{0,2}}|\*\*({_NAMES}){_NUMBER}\*\*)"
    r"[ \t]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"<(/?)(thought|reasoning|plan|action|command|answer)>", re.IGNORECASE)
_TAGS = {"answer": "action"}
_BRACKETED = re.compile(r"^(?:think|thought)\[(?P<text>.*?)\]?$", re.IGNORECASE | re.DOTALL)
_LEAD = re.compile(r"^[ \t>*_`#~•-]{1,12}|^\d{1,3}[.)][ \t]{1,4}")
_WRAPS = (("```", "```"), ("`", "`"), ('"', '"'), ("'", "'"), ("**", "**"), ("“", "”"), ("<", ">"))
_BRACKETS = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])+)\]")
_SENTENCE = re.compile(r"[.!?…。][\"')\]”*_]{0,3}$")
_CALL = re.compile(r"[A-Za-z]{2,20}\[.{1,2000}\]")
_FENCE = re.compile(r"^[ \t]{0,8}`{3,}[\w-]{0,20}[ \t]*$", re.MULTILINE)
_OBJECT = re.compile(r"^[ \t]{0,8}(?:\[\s{0,8})?\{", re.MULTILINE)
_KEY = re.compile(r"[\"']action[\"']\s{0,4}:", re.IGNORECASE)
_ANSWER = r"answer\b[*`]*\s*(?:is\b[*`]*\s*[:=]?|[:=])[*_`]*\s*"
_ANSWERS = (
    re.compile(r"^[ \t>#*_`~-]*(?:final\s+)?" + _ANSWER, re.IGNORECASE | re.MULTILINE),
    re.compile(r"\b" + _ANSWER, re.IGNORECASE),
)
"""The beginnings of an answer, the more certain one first: at the start of a line, or anywhere."""
_MAX_OBJECT_CHARS = 4000
_THOUGHT_KEYS = ("thought", "thoughts", "think", "thinking", "reasoning", "reason", "plan")


@dataclass(frozen=True, slots=True)
class Turn:
    """A thought and an action, each "" if missing."""

    thought: str = ""
    action: str = ""


def read_turn(text: str) -> Turn:
    """Find the thought and the first action of a reply.

    In a reply without labels, the action is, in this order: the first line if it is not a sentence; the line marked as
    a command (`> go to desk 1`, `Search[x]`); the last line if it is not a sentence and the line before is one; the
    first line. Text that a model invents after its action (observations, further steps) is left out.
    """
    text = _plain(text)
    labels = list(_LABEL.finditer(text))
    if not labels or labels[0]["other"]:
        return _unlabelled(text[: labels[0].start()] if labels else text)
    thoughts = [text[: labels[0].start()]] if labels[0].start() > 0 else []
    for place, label in enumerate(labels):
        following = labels[place + 1] if place + 1 < len(labels) else None
        part_text = text[label.end() : following.start() if following else len(text)].strip()
        if label["other"]:
            break
        if label["thought"]:
            inline = None if following and following["action"] else _INLINE.search(part_text)
            thoughts.append(part_text[: inline.end("closers")] if inline else part_text)
            part_text = part_text[inline.end() :].strip() if inline else ""
        thought = bare_thought(part_text)
        if thought is not None:
            thoughts.append(thought)
        elif part_text:
            turn = _object(part_text) if part_text.startswith("{") else None
            return Turn(_joined([*thoughts, turn.thought]), turn.action) if turn else _turn(thoughts, part_text)
    if not any(part.strip() for part in thoughts):
        return Turn()
    first_line = text[: labels[0].start()].strip().split("\n", 1)[0].strip()
    if first_line and _is_bare_command(first_line):  # "go to desk 1" above an invented thought
        return Turn("", bare(first_line))
    # A thought whose last line is a command: "Thought: ...\n> go to desk 1" or "Thought: ...\nSearch[x]".
    *before, last = _joined_lines(thoughts)
    if before and (_is_command(last) or _ends_in_command(_joined_lines(thoughts[-1:]))):
        return Turn(_joined(before), bare(last))
    return Turn(_joined(thoughts))


def split_reasoning(text: str) -> tuple[str, str]:
    """Split a chain of thought into reasoning and answer.

    The answer is the text after "Answer:" ("answer is", "answer =") on the last line that begins so, or else after the
    last such words anywhere, or else the last line.
    """
    for begins in _ANSWERS:
        if answers := list(begins.finditer(text)):
            answer = text[answers[-1].end() :].strip().splitlines()
            return prompt_line(text[: answers[-1].start()]), prompt_line(answer[0]) if answer else ""
    lines = [line for line in text.splitlines() if line.strip()]
    return prompt_line(" ".join(lines[:-1])), prompt_line(lines[-1]) if lines else ""


def bare_thought(text: str) -> str | None:
    """The thought of `think[..]` or `think: ..` in place of an action; None for an action."""
    bracketed = _BRACKETED.match(text.strip())
    if bracketed:
        return bracketed["text"].strip()
    label = _LABEL.match(text.strip())
    return text.strip()[label.end() :].strip() if label and label["thought"] else None


def bare(action: str) -> str:
    """An action without the marks, quotes, brackets and list numbers that models add."""
    action = prompt_line(action, 1000)
    while True:
        shorter = action
        for opener, closer in _WRAPS:
            if len(shorter) > len(opener + closer) and shorter.startswith(opener) and shorter.endswith(closer):
                shorter = shorter[len(opener) : -len(closer)].strip()
        if match := _BRACKETS.fullmatch(shorter):
            shorter = match[1].strip()
        shorter = _LEAD.sub("", shorter, count=1).strip()
        if shorter.endswith("]."):  # a call that ends a sentence
            shorter = shorter[:-1]
        if shorter == action:
            return action
        action = shorter


def _plain(text: str) -> str:
    """A reply without thinking and fences, and with labels in place of tags and headings."""
    text = without_thinking(text).replace("\r\n", "\n").replace("\r", "\n")
    text = _TAG.sub(lambda tag: "\n" if tag[1] else f"\n{_TAGS.get(tag[2].lower(), tag[2])}: ", text)
    return _FENCE.sub("", _HEADING.sub(lambda match: f"{match[1] or match[2]}:", text)).strip()


def _turn(thoughts: list[str], text: str) -> Turn:
    """The turn whose action is at the beginning of a text; a name with its input on the next line is a call."""
    call = _INPUT.match(text)
    argument = bare(call["given"]) if call else ""
    return Turn(_joined(thoughts), f"{call['name']}[{argument}]" if call and argument else bare(text.split("\n", 1)[0]))


def _object(text: str) -> Turn | None:
    """The turn of a JSON object with thought and action; None without such an object, or if it has other fields."""
    start = _OBJECT.search(text)
    if start is None or not _KEY.search(text):
        return None
    value = _first_value(text[start.end() - 1 :][:_MAX_OBJECT_CHARS])
    if isinstance(value, list):
        value = next((entry for entry in value if isinstance(entry, dict)), None)
    fields = {str(key).strip().lower(): entry for key, entry in value.items()} if isinstance(value, dict) else {}
    action, argument = fields.get("action"), fields.get("action_input")
    # The actions of an environment may be JSON, so an object with other fields stays as it is.
    is_turn = fields.keys() <= {"action", "action_input", *_THOUGHT_KEYS}
    if not is_turn or not isinstance(action, str) or not bare(action):
        return None
    thoughts = [thought for thought in map(fields.get, _THOUGHT_KEYS) if isinstance(thought, str)]
    return _turn(
        thoughts, f"{action.strip()}\nAction Input: {argument}" if isinstance(argument, str) else action.strip()
    )


def _first_value(text: str) -> Any:
    """The JSON value at the beginning of a text if it has an action, or else the repaired value of the whole text."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        value, end = None, 0
    return value if _KEY.search(text[:end]) else read(text, {})[0]


def _is_command(line: str) -> bool:
    """Whether a line is marked as a command, or is a call such as `Search[x]`, with or without marks around it."""
    call = bare(line)
    return line.lstrip().startswith(">") or bool(_CALL.fullmatch(call) and bare_thought(call) is None)


def _is_bare_command(line: str) -> bool:
    """Whether a line begins in lower case and is not a sentence."""
    line = bare(line)
    return line[:1].islower() and line[-1] not in ".!?:…" and bare_thought(line) is None


def _ends_in_command(lines: list[str]) -> bool:
    """Whether the last line is a command without a mark, below a sentence: "I will look.\\ngo to drawer 1"."""
    return len(lines) > 1 and bool(_SENTENCE.search(lines[-2].strip())) and _is_bare_command(lines[-1].strip())


def _unlabelled(text: str) -> Turn:
    turn = _object(text)
    if turn:
        return turn
    lines = _joined_lines([text])
    if not lines:
        return Turn()
    if len(lines) == 1:
        thought = bare_thought(lines[0])
        return Turn(_joined([thought])) if thought is not None else Turn("", bare(lines[0]))
    # "go to desk 1" above an invented game, unlike a sentence above its command.
    if _is_bare_command(lines[0].strip()):
        return Turn("", bare(lines[0]))
    marked = next((line for line in lines if _is_command(line)), None)
    if marked is not None:
        return Turn(_joined(lines[: lines.index(marked)]), bare(marked))
    if _ends_in_command(lines):
        return Turn(_joined(lines[:-1]), bare(lines[-1]))
    return Turn("", bare(lines[0]))


def _joined_lines(parts: list[str]) -> list[str]:
    return [line for part in parts for line in part.split("\n") if line.strip()]


def _joined(parts: list[str]) -> str:
    return prompt_line(" ".join(parts), 2000)

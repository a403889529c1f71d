"""Reads one turn of an acting agent: what it thought, and the one action it takes.

Always holds: any text gives a turn, no text raises, and thought and action are made of pieces of the reply. What
today's models really send is accepted: thought and action in one reply, markdown, quotes, "Action 3:", "> go to x",
`think: ..`, and several actions, of which the first counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from seasoned.retrieve.render import clean

_MARK = r"[ \t>*_`#~-]{0,12}"
_THOUGHT = r"(?:thought|think|thinking|reasoning|plan)"
_ACTION = r"(?:action|act|command|next action)"
_OBSERVATION = r"(?:observation|obs|result|user|environment)"
_LABEL = re.compile(
    rf"^{_MARK}(?:(?P<thought>{_THOUGHT})|(?P<action>{_ACTION})|(?P<other>{_OBSERVATION}))"
    rf"[ \t]{{0,3}}\d{{0,4}}[*_`]{{0,3}}[ \t]{{0,3}}[:：][*_`]{{0,3}}[ \t]{{0,3}}",
    re.IGNORECASE | re.MULTILINE,
)
_BRACKETED = re.compile(r"^(?:think|thought)\[(?P<text>.*?)\]?$", re.IGNORECASE | re.DOTALL)
_LEAD = re.compile(r"^[ \t>*_`#~•-]{1,12}|^\d{1,3}[.)][ \t]{1,4}")
_WRAPS = (("`", "`"), ('"', '"'), ("'", "'"), ("**", "**"), ("“", "”"), ("<", ">"))
_CALL = re.compile(r"[A-Za-z]{2,20}\[.{1,2000}\]")
_FENCE = re.compile(r"^[ \t]{0,8}`{3,}[\w-]{0,20}[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turn:
    """A thought and an action, each "" where there is none."""

    thought: str = ""
    action: str = ""


def read_turn(text: str) -> Turn:
    """Find the thought and the first action of a reply.

    Of a reply without any label, the line that is marked as a command (`> go to desk 1`, `Search[x]`) is the action, or
    else the first line. What a model makes up after its action (observations, further steps) is left out.

    Args:
        text: what the model wrote; untrusted.
    """
    text = _FENCE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    labels = list(_LABEL.finditer(text))
    if not labels:
        return _unlabelled(text)
    thoughts = [text[: labels[0].start()]] if labels[0].start() > 0 else []
    for place, label in enumerate(labels):
        end = labels[place + 1].start() if place + 1 < len(labels) else len(text)
        said = text[label.end() : end].strip()
        if label["other"]:
            break
        if label["action"]:
            thought = bare_thought(said)
            if thought is not None:
                thoughts.append(thought)
                continue
            if said:
                return Turn(_joined(thoughts), bare(said.split("\n", 1)[0]))
        elif said:
            thoughts.append(said)
    if not any(part.strip() for part in thoughts):
        return Turn()
    # A thought that ends in a line of its own that is marked as a command: "Thought: ...\n> go to desk 1".
    *before, last = _joined_lines(thoughts)
    if before and last.lstrip().startswith(">"):
        return Turn(_joined(before), bare(last))
    return Turn(_joined(thoughts))


def bare_thought(text: str) -> str | None:
    """The thought of `think[..]` or `think: ..`, where that stands in place of an action; else None."""
    found = _BRACKETED.match(text.strip())
    if found:
        return found["text"].strip()
    label = _LABEL.match(text.strip())
    return text.strip()[label.end() :].strip() if label and label["thought"] else None


def bare(action: str) -> str:
    """An action without the marks, quotes and numbers that models put around it."""
    action = clean(action, 1000)
    while True:
        shorter = action
        for opener, closer in _WRAPS:
            if len(shorter) > len(opener + closer) and shorter.startswith(opener) and shorter.endswith(closer):
                shorter = shorter[len(opener) : -len(closer)].strip()
        shorter = _LEAD.sub("", shorter, count=1).strip()
        if shorter == action:
            return action
        action = shorter


def _unlabelled(text: str) -> Turn:
    lines = _joined_lines([text])
    if not lines:
        return Turn()
    if len(lines) == 1:
        thought = bare_thought(lines[0])
        return Turn(_joined([thought])) if thought is not None else Turn("", bare(lines[0]))
    marked = next((line for line in lines if line.lstrip().startswith(">") or _CALL.fullmatch(line.strip())), None)
    if marked is not None:
        return Turn(_joined(lines[: lines.index(marked)]), bare(marked))
    return Turn("", bare(lines[0]))


def _joined_lines(parts: list[str]) -> list[str]:
    return [line for part in parts for line in part.split("\n") if line.strip()]


def _joined(parts: list[str]) -> str:
    return clean(" ".join(parts), 2000)

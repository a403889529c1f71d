"""Actions: parses `Name[argument]` in a model's reply, and offers a benchmark's forms of action as tools.

Always holds: parsing raises nothing for any text, and takes time linear in its length; an action that does not call a
tool stays as it is, so an environment takes both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from seasoned.replies.calls import read_call
from seasoned.types import Step, ToolCall, Trajectory

# Full-width signs become their ASCII twins, one for one, so that positions stay the same.
_TWINS = str.maketrans("【】［］（）：", "[][]():")
_CLOSERS = {"[": "]", "(": ")"}
_MARKS = r"[ \t>*_`#~+\"'“”‘’•–—-]"
_MADE_UP = re.compile(rf"^{_MARKS}{{0,16}}observation\b", re.IGNORECASE | re.ASCII | re.MULTILINE)
_OVER = re.compile(rf"{_MARKS}*(?:[.!?]|\Z)")
_SLOT = re.compile(r"\{(\w+)\}")
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`"), ("[", "]"))


def read_action(text: str, names: Sequence[str]) -> tuple[str, str] | None:
    """Read the first action `Name[argument]` of a reply, which is untrusted.

    Names may be in upper or lower case, bold, quoted or after "Action 3:"; `Name(argument)` is read, too, and
    `Name: argument` at the beginning of a line. An action at the beginning of a line takes precedence over one within a
    sentence. Brackets may nest; an unclosed one ends with the line. Text after a line that begins with "Observation" is
    ignored, since the model made it up.

    Returns:
        The name as in `names`, and the argument in one line without quotes around it; None if there is no action.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    scan = text.translate(_TWINS)
    at_line_start, in_line = _patterns(tuple(names))
    first = min(filter(None, (at_line_start.search(scan), in_line.search(scan))), key=re.Match.start, default=None)
    if first is None:
        return None
    if made_up := _MADE_UP.search(scan, first.end()):
        scan = scan[: made_up.start()]
    starts = at_line_start.finditer(scan)
    start = next(starts, first)
    following = next(starts, None)
    begin, limit = start.end(), following.start() if following else len(scan)
    called = (start["name"] or start["loud"]).casefold()
    name = next(known for known in names if known.casefold() == called)
    return name, _unquoted(text[begin : _end(scan, start[0][-1], begin, limit, in_line)])


@cache
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of an action at the beginning of a line and within one; all repetitions are bounded, so linear."""
    any_name = "|".join(re.escape(name) for name in names)
    begins = (
        rf"^{_MARKS}{{0,16}}(?:\d{{1,3}}[.)][ \t]{{0,4}})?"
        rf"(?:(?:next )?action[ \t]{{0,4}}\d{{0,3}}[ \t*_`]{{0,4}}[:.)-]{_MARKS}{{0,16}})?"
        rf"(?:(?P<name>{any_name})[*_`]{{0,3}}[ \t]{{0,4}}[\[(:]|(?P<loud>(?!)))"
    )
    within = rf"(?<![A-Za-z0-9])(?:(?P<name>{any_name})[*_`]{{0,3}}[ \t]{{0,4}}\[|(?P<loud>(?-i:{any_name}))\()"
    flags = re.IGNORECASE | re.ASCII
    return re.compile(begins, flags | re.MULTILINE), re.compile(within, flags)


def _end(scan: str, opener: str, begin: int, limit: int, in_line: re.Pattern[str]) -> int:
    """The end of an argument: its closing bracket, else the next action or the end of its line."""
    closer = _CLOSERS.get(opener)
    depth = 1
    for sign in re.finditer(r"[\[\]]" if opener == "[" else r"[()]", scan[begin:limit]) if closer else ():
        depth += -1 if sign[0] == closer else 1
        if depth == 0:
            return begin + sign.start()
    line = scan.find("\n", begin, limit)
    end = line if line >= 0 else limit
    another = in_line.search(scan, begin, end)
    end = another.start() if another else end
    last = scan.rfind(closer, begin, end) if closer else -1
    # In "Search[x [y] z", the last bracket may close an inner one.
    return last if last >= 0 and _OVER.match(scan, last + 1, end) else end


def _unquoted(argument: str) -> str:
    plain = " ".join(argument.split()).strip("*` ")
    for opener, closer in _QUOTES:
        inner = plain[1:-1]
        if len(plain) > 1 and plain[0] == opener and plain[-1] == closer and not {opener, closer} & set(inner):
            return inner.strip()
    return plain


@dataclass(frozen=True)
class Form:
    """One kind of action: the tool's name and description, its parameters with descriptions, and the action's text.

    `text` has each parameter in braces, such as `take {thing} from {place}`; `choices` are a parameter's known values.
    """

    name: str
    says: str
    text: str
    parameters: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]

    @cached_property
    def tool(self) -> dict[str, Any]:
        """The form as a tool."""
        known = {
            name: {"type": "string", "description": says}
            | ({"enum": list(self.choices[name])} if name in self.choices else {})
            for name, says in self.parameters.items()
        }
        schema = {"type": "object", "properties": known, "required": list(known), "additionalProperties": False}
        return {"name": self.name, "description": self.says, "parameters": schema}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of an action of this form."""
        parts = _SLOT.split(self.text)
        pieces = (f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
        return re.compile("".join(pieces), re.IGNORECASE)


def form(
    name: str, says: str, text: str, choices: Mapping[str, Sequence[str]] | None = None, **parameters: str
) -> Form:
    """A form of action; see `Form`."""
    return Form(name, says, text, parameters, choices or {})


@dataclass(frozen=True)
class Calls:
    """The forms of action of a benchmark."""

    forms: tuple[Form, ...]

    @property
    def info(self) -> dict[str, Any]:
        """The info of an environment with these tools: a call is required, and calls are answered one by one."""
        return {"tools": [one.tool for one in self.forms], "tool_choice": "required", "parallel": False}

    def action(self, text: str) -> str:
        """The action of a call; any other text unchanged."""
        call = read_call(text)
        known = next((one for one in self.forms if call is not None and one.name == call.name), None)
        if call is None or known is None or not set(known.parameters) <= call.arguments.keys():
            return text
        arguments = {name: " ".join(str(call.arguments[name]).split()) for name in known.parameters}
        return _SLOT.sub(lambda slot: arguments[slot[1]], known.text)

    def call(self, action: str) -> ToolCall | None:
        """Read the call in an action; None if it has none of the forms."""
        for one in self.forms:
            if match := one.pattern.fullmatch(action.strip()):
                return ToolCall(name=one.name, arguments=match.groupdict())
        return None

    def called(self, trajectory: Trajectory) -> Trajectory:
        """A worked attempt whose actions are also calls; nothing else changes."""

        def step(one: Step) -> Step:
            return one.model_copy(update={"call": one.call or self.call(one.action)})

        return trajectory.model_copy(update={"steps": tuple(map(step, trajectory.steps))})

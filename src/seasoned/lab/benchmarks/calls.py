"""The actions of a benchmark as tools: each form of action is a tool, and each call of the tool is such an action.

Always holds: an action that does not call these tools stays as it is, so an environment takes both; no text raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from seasoned.replies.calls import read_call
from seasoned.types import Step, ToolCall, Trajectory

_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Form:
    """One kind of action: the tool's name and description, its parameters with descriptions, and the action's text.

    `text` has each parameter in braces, such as `take {thing} from {place}`. `choices` are the possible values of a
    parameter, if they are known.
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

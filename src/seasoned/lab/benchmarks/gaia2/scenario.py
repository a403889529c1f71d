"""Our own scenarios, in the format of Gaia2's files: the user's request, its solution, and how the result is checked.

Always holds: a scenario depends only on its universe and family. Its file has what ARE reads (apps, and events with the
oracle's among them) and under "seasoned" what the judge checks without a model: `checks` of arguments by event,
`answer` for the last message, and the contents of `files`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seasoned.lab.benchmarks.gaia2.states import app_states
from seasoned.lab.benchmarks.gaia2.universe import Universe, universe
from seasoned.replies.calls import write_call
from seasoned.types import ToolCall

Kind = Literal["search", "execution"]
TO_USER = "AgentUserInterface__send_message_to_user"
DONE = "Done."
CLASSES = {
    "Contacts": "ContactsApp",
    "Emails": "EmailClientV2",
    "Messages": "MessagingAppV2",
    "Chats": "MessagingAppV2",
    "Calendar": "CalendarApp",
    "RentAFlat": "ApartmentListingApp",
    "Shopping": "ShoppingApp",
    "Cabs": "CabApp",
}
"""The classes of the apps that solutions change; ARE's judge names a tool by the class of its app."""


@dataclass(frozen=True)
class Call:
    """A call of a tool. An argument must contain its text in `says`; the arguments in `same` must be equal."""

    tool: str
    arguments: Mapping[str, Any]
    says: Mapping[str, str] | None = None
    same: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A family's task in one universe.

    `reads` find out what `writes` and the answer need; `chained` writes must be in order. The last message must contain
    `answer`, have at most `most` characters, and no other number.
    """

    task: str
    reads: tuple[Call, ...]
    writes: tuple[Call, ...] = ()
    answer: str = ""
    most: int = 0
    chained: bool = False

    @property
    def said(self) -> str:
        """The last message."""
        return self.answer or DONE


Family = Callable[[Universe, random.Random], Draft]


@dataclass(frozen=True)
class Scenario:
    """A scenario; as in Gaia2, its id contains the number of the universe."""

    universe: int
    kind: Kind
    family: str
    draft: Draft

    @property
    def id(self) -> str:
        """Such as "scenario_universe_3_buy"."""
        return f"scenario_universe_{self.universe}_{self.family}"

    @property
    def solution(self) -> tuple[str, ...]:
        """The actions of the solution, as an agent writes them."""
        calls = [*self.draft.reads, *self.draft.writes, Call(TO_USER, {"content": self.draft.said})]
        return tuple(write_call(ToolCall(name=call.tool, arguments=dict(call.arguments))) for call in calls)


def make(number: int, kind: Kind, name: str, family: Family) -> Scenario:
    """The scenario of a family in a universe."""
    rng = random.Random(f"gaia2-{number}-{name}")
    return Scenario(number, kind, name, family(universe(number), rng))


def text_of(scenario: Scenario) -> str:
    """The text of a scenario's file."""
    world, draft = universe(scenario.universe), scenario.draft
    events: list[dict[str, Any]] = [
        _event("user", "USER", "AgentUserInterface", "send_message_to_agent", {"content": draft.task}, [], 1)
    ]
    checks: dict[str, Any] = {}
    ids: list[str] = []
    for place, call in enumerate(draft.writes, 1):
        name = f"oracle-{place}"
        app, _, function = call.tool.partition("__")
        before = [ids[-1]] if draft.chained and ids else ["user"]
        events.append(_event(name, "AGENT", app, function, call.arguments, before, 1))
        if of_call := _checks(call, f"{CLASSES[app]}__{function}"):
            checks[name] = of_call
        ids.append(name)
    last = {"content": draft.said}
    events.append(
        _event("oracle-last", "AGENT", "AgentUserInterface", "send_message_to_user", last, ids or ["user"], 1)
    )
    extra: dict[str, Any] = {"checks": checks, "files": {note.path: note.text for note in world.notes}}
    if draft.answer:
        extra["answer"] = {"words": [draft.answer], "most": draft.most}
    definition = {
        "scenario_id": scenario.id,
        "seed": 0,
        "duration": 3600.0,
        "time_increment_in_seconds": 1,
        "start_time": world.now.timestamp(),
        "tags": [scenario.kind.capitalize()],
    }
    file = {
        "metadata": {"definition": definition},
        "version": "are_simulation_v1",
        "apps": app_states(world),
        "events": events,
        "seasoned": extra,
    }
    return json.dumps(file, ensure_ascii=False)


def _event(
    name: str, kind: str, app: str, function: str, arguments: Mapping[str, Any], after: Sequence[str], seconds: int
) -> dict[str, Any]:
    args = [_argument(key, value) for key, value in arguments.items()]
    return {
        "class_name": "OracleEvent" if kind == "AGENT" else "Event",
        "event_type": kind,
        "event_time": None,
        "event_id": name,
        "dependencies": list(after),
        "event_relative_time": float(seconds),
        "action": {
            "action_id": f"action-{name}",
            "app": app,
            "function": function,
            "operation_type": "write",
            "args": args,
        },
    }


def _argument(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": name, "value": value, "value_type": "str"}
    return {"name": name, "value": json.dumps(value, ensure_ascii=False), "value_type": type(value).__name__}


def _checks(call: Call, tool: str) -> list[dict[str, Any]]:
    """What the judge compares in addition to the arguments that it always compares."""
    says = [
        {"tool": tool, "argument": name, "check": "contain_all_checker", "targets": [words]}
        for name, words in (call.says or {}).items()
    ]
    return says + [{"tool": tool, "argument": name, "check": "eq_checker"} for name in call.same]

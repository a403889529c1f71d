"""Our own scenarios, in the format of Gaia2's files: the request, its solution, the checks, and the apps' contents.

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

from seasoned.lab.benchmarks.gaia2.env import TO_USER
from seasoned.lab.benchmarks.gaia2.universe import Person, Row, Told, Universe, universe
from seasoned.replies.calls import write_call
from seasoned.types import ToolCall

Kind = Literal["search", "execution"]
DONE = "Done."
APPS = {
    "AgentUserInterface": "AgentUserInterface",
    "SystemApp": "SystemApp",
    "Contacts": "ContactsApp",
    "Emails": "EmailClientV2",
    "Messages": "MessagingAppV2",
    "Chats": "MessagingAppV2",
    "Calendar": "CalendarApp",
    "RentAFlat": "ApartmentListingApp",
    "Shopping": "ShoppingApp",
    "Cabs": "CabApp",
    "City": "CityApp",
    "Files": "Files",
}
"""The classes of the apps by name; ARE's judge names a tool by the class of its app."""


@dataclass(frozen=True)
class Call:
    """A call of a tool; the judge compares `says` and `same`, too.

    The arguments in `says` must contain their text, and those in `same` must be equal.
    """

    tool: str
    arguments: Mapping[str, Any]
    says: tuple[str, ...] = ()
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
    request = Call("AgentUserInterface__send_message_to_agent", {"content": draft.task})
    writes = {f"oracle-{place}": call for place, call in enumerate(draft.writes, 1)}
    names = ["user", *writes]
    events = [_event("user", request, [])]
    for place, (name, call) in enumerate(writes.items()):
        events.append(_event(name, call, [names[place] if draft.chained else "user"]))
    events.append(_event("oracle-last", Call(TO_USER, {"content": draft.said}), list(writes) or ["user"]))
    checks = {name: _checks(call) for name, call in writes.items() if call.says or call.same}
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


def _event(name: str, call: Call, after: Sequence[str]) -> Row:
    """The event of the user's request, or of a call by the oracle, after those named."""
    app, _, function = call.tool.partition("__")
    return {
        "class_name": "Event" if name == "user" else "OracleEvent",
        "event_type": "USER" if name == "user" else "AGENT",
        "event_time": None,
        "event_id": name,
        "dependencies": after,
        "event_relative_time": 1.0,
        "action": {
            "action_id": f"action-{name}",
            "app": app,
            "function": function,
            "operation_type": "write",
            "args": [_argument(key, value) for key, value in call.arguments.items()],
        },
    }


def _argument(name: str, value: Any) -> Row:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"name": name, "value": text, "value_type": type(value).__name__}


def _checks(call: Call) -> list[Row]:
    """What the judge compares in addition to the arguments that it always compares."""
    app, _, function = call.tool.partition("__")
    tool = f"{APPS[app]}__{function}"
    says = [
        {"tool": tool, "argument": name, "check": "contain_all_checker", "targets": [call.arguments[name]]}
        for name in call.says
    ]
    return says + [{"tool": tool, "argument": name, "check": "eq_checker"} for name in call.same]


def app_states(world: Universe) -> list[Row]:
    """The apps with their contents, as in a scenario's file."""
    saved = [flat["apartment_id"] for flat in world.flats if flat["saved"]]
    shop = {"products": world.products, "cart": {}, "orders": {order["order_id"]: order for order in world.orders}}
    services = {
        name: {"nb_seats": seats, "price_per_km": price, "base_delay_min": delay, "max_distance_km": 25}
        for name, seats, price, delay in (("Default", 4, 1.0, 5), ("Premium", 4, 2.0, 3), ("Van", 6, 1.5, 7))
    }
    mails_by_folder: dict[str, list[Told]] = {
        "INBOX": [*world.invoices, *world.offers, *world.questions],
        "SENT": world.references,
        "DRAFT": [],
        "TRASH": [],
    }
    folders = {name: _folder(name, mails) for name, mails in mails_by_folder.items()}
    contacts = {person.id: _contact(person, person is world.user) for person in (*world.people, world.user)}
    states: dict[str, Row] = {
        "AgentUserInterface": {"messages": []},
        "SystemApp": {},
        "Contacts": {"contacts": contacts, "view_limit": 10},
        "Emails": {"user_email": world.user.email, "view_limit": 5, "folders": folders},
        "Messages": _talks(world, "Messages", "PHONE_NUMBER"),
        "Chats": _talks(world, "Chats", "NAME"),
        "Calendar": {"events": {event["event_id"]: event for event in world.events}},
        "RentAFlat": {
            "apartments": {flat["apartment_id"]: flat for flat in world.flats},
            "saved_apartments": saved,
        },
        "Shopping": {**shop, "discount_codes": world.codes},
        "Cabs": {"ride_history": world.rides, "quotation_history": [], "d_service_config": services},
        "City": {"api_call_limit": 100, "crime_data": world.crime},
        "Files": {"files": _tree(world)},
    }
    return [{"name": name, "class_name": kind, "app_state": states[name]} for name, kind in APPS.items()]


def _contact(person: Person, is_user: bool) -> Row:
    return {
        "first_name": person.first,
        "last_name": person.last,
        "contact_id": person.id,
        "is_user": is_user,
        "gender": "Unknown",
        "age": None,
        "city_living": person.town,
        "status": "Employed",
        "job": person.job,
        "phone": person.phone,
        "email": person.email,
    }


def _folder(name: str, mails: Sequence[Told]) -> Row:
    rows = sorted((mail.row for mail in mails), key=lambda row: row["timestamp"], reverse=True)
    return {"folder_name": name, "emails": rows}


def _talks(world: Universe, app: str, mode: str) -> Row:
    ids = {person.name: person.key(app) for person in (*world.people, world.user)}
    return {
        "conversations": {talk.row["conversation_id"]: talk.row for talk in world.talks[app]},
        "messages_view_limit": 10,
        "conversation_view_limit": 5,
        "mode": mode,
        "name_to_id": ids,
        "id_to_name": {value: name for name, value in ids.items()},
        "current_user_id": world.user.key(app),
        "current_user_name": world.user.name,
    }


def _tree(world: Universe) -> Row:
    """The folders and files of the notes, with two empty folders."""
    root: Row = {"name": "", "type": "directory", "children": []}
    for path in (*(note.path for note in world.notes), "Downloads/", "Pictures/"):
        place = root
        *folders, name = path.split("/")
        for folder in folders:
            inner = next((child for child in place["children"] if child["name"] == folder), None)
            if inner is None:
                inner = {"name": folder, "type": "directory", "children": []}
                place["children"].append(inner)
            place = inner
        if name:
            place["children"].append({"name": name, "type": "file"})
    return root

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
from datetime import timedelta
from typing import Any, Literal

from seasoned.lab.benchmarks.gaia2.universe import Event, Mail, Person, Talk, Universe, universe
from seasoned.replies.calls import write_call
from seasoned.types import ToolCall

Kind = Literal["search", "execution"]
TO_USER = "AgentUserInterface__send_message_to_user"
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
        _event("user", "USER", "AgentUserInterface", "send_message_to_agent", {"content": draft.task}, [])
    ]
    checks: dict[str, Any] = {}
    ids: list[str] = []
    for place, call in enumerate(draft.writes, 1):
        name = f"oracle-{place}"
        app, _, function = call.tool.partition("__")
        before = [ids[-1]] if draft.chained and ids else ["user"]
        events.append(_event(name, "AGENT", app, function, call.arguments, before))
        if of_call := _checks(call, f"{APPS[app]}__{function}"):
            checks[name] = of_call
        ids.append(name)
    last = {"content": draft.said}
    events.append(_event("oracle-last", "AGENT", "AgentUserInterface", "send_message_to_user", last, ids or ["user"]))
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
    name: str, kind: str, app: str, function: str, arguments: Mapping[str, Any], after: Sequence[str]
) -> dict[str, Any]:
    args = [_argument(key, value) for key, value in arguments.items()]
    return {
        "class_name": "OracleEvent" if kind == "AGENT" else "Event",
        "event_type": kind,
        "event_time": None,
        "event_id": name,
        "dependencies": list(after),
        "event_relative_time": 1.0,
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


def app_states(world: Universe) -> list[dict[str, Any]]:
    """The apps with their contents, as in a scenario's file."""
    states: dict[str, dict[str, Any]] = {
        "AgentUserInterface": {"messages": []},
        "SystemApp": {},
        "Contacts": _contacts(world),
        "Emails": _emails(world),
        "Messages": _talks(world, world.messages, "PHONE_NUMBER"),
        "Chats": _talks(world, world.chats, "NAME"),
        "Calendar": {"events": {event.id: _calendar_event(event) for event in world.events}},
        "RentAFlat": _rentals(world),
        "Shopping": _shop(world),
        "Cabs": _cabs(world),
        "City": _city(world),
        "Files": {"files": _tree(world)},
    }
    return [{"name": name, "class_name": kind, "app_state": states[name]} for name, kind in APPS.items()]


def _contacts(world: Universe) -> dict[str, Any]:
    def row(person: Person) -> dict[str, Any]:
        return {
            "first_name": person.first,
            "last_name": person.last,
            "contact_id": person.id,
            "is_user": person is world.user,
            "gender": "Unknown",
            "age": None,
            "city_living": person.town,
            "status": "Employed",
            "job": person.job,
            "phone": person.phone,
            "email": person.email,
        }

    return {"contacts": {person.id: row(person) for person in (*world.people, world.user)}, "view_limit": 10}


def _emails(world: Universe) -> dict[str, Any]:
    def row(mail: Mail) -> dict[str, Any]:
        return {
            "sender": mail.sender,
            "recipients": list(mail.recipients),
            "subject": mail.subject,
            "content": mail.content,
            "email_id": mail.id,
            "timestamp": mail.at.timestamp(),
            "is_read": True,
        }

    mails_by_folder = {"INBOX": world.inbox, "SENT": world.sent, "DRAFT": [], "TRASH": []}
    folders = {
        name: {"folder_name": name, "emails": [row(mail) for mail in sorted(mails, key=lambda m: m.at, reverse=True)]}
        for name, mails in mails_by_folder.items()
    }
    return {"user_email": world.user.email, "view_limit": 5, "folders": folders}


def _calendar_event(event: Event) -> dict[str, Any]:
    return {
        "event_id": event.id,
        "title": event.title,
        "start_datetime": event.begin.timestamp(),
        "end_datetime": event.end.timestamp(),
        "tag": event.tag,
        "description": None,
        "location": event.location,
        "attendees": list(event.attendees),
    }


def _talks(world: Universe, talks: Sequence[Talk], mode: str) -> dict[str, Any]:
    def key(person: Person) -> str:
        return person.phone if mode == "PHONE_NUMBER" else person.chat

    ids = {person.name: key(person) for person in (*world.people, world.user)}
    conversations = {}
    for place, talk in enumerate(talks):
        begin = world.now - timedelta(days=place + 1, hours=3)
        messages = [
            {
                "sender_id": key(speaker or world.user),
                "message_id": f"{talk.id}{number}",
                "timestamp": (begin + timedelta(minutes=7 * number)).timestamp(),
                "content": words,
            }
            for number, (speaker, words) in enumerate(talk.said)
        ]
        conversations[talk.id] = {
            "participant_ids": [key(person) for person in (*talk.people, world.user)],
            "messages": messages,
            "title": talk.title or ", ".join(person.name for person in talk.people),
            "conversation_id": talk.id,
            "last_updated": messages[-1]["timestamp"],
        }
    return {
        "conversations": conversations,
        "messages_view_limit": 10,
        "conversation_view_limit": 5,
        "mode": mode,
        "name_to_id": ids,
        "id_to_name": {value: name for name, value in ids.items()},
        "current_user_id": key(world.user),
        "current_user_name": world.user.name,
    }


def _rentals(world: Universe) -> dict[str, Any]:
    rows = {
        flat.id: {
            "name": flat.name,
            "location": flat.town,
            "zip_code": flat.zip,
            "price": flat.price,
            "bedrooms": flat.rooms,
            "bathrooms": 1,
            "property_type": "Apartment",
            "square_footage": 300 * flat.rooms,
            "apartment_id": flat.id,
            "saved": flat.saved,
        }
        for flat in world.flats
    }
    return {"apartments": rows, "saved_apartments": [flat.id for flat in world.flats if flat.saved]}


def _shop(world: Universe) -> dict[str, Any]:
    products: dict[str, Any] = {}
    for variant in world.variants:
        product = products.setdefault(
            variant.product, {"name": variant.name, "product_id": variant.product, "variants": {}}
        )
        product["variants"][variant.item] = {
            "price": variant.price,
            "available": variant.available,
            "item_id": variant.item,
            "options": {"color": variant.color},
        }
    orders = {
        order.id: {
            "order_status": order.status,
            "order_date": order.at.isoformat(),
            "order_total": order.quantity * order.variant.price,
            "order_id": order.id,
            "order_items": {
                order.variant.item: {
                    "item_id": order.variant.item,
                    "quantity": order.quantity,
                    "price": order.variant.price,
                    "options": {"product": order.variant.name, "color": order.variant.color},
                }
            },
        }
        for order in world.orders
    }
    return {"products": products, "cart": {}, "orders": orders, "discount_codes": world.codes}


def _cabs(world: Universe) -> dict[str, Any]:
    rides = [
        {
            "ride_id": ride.id,
            "status": "COMPLETED",
            "service_type": "Default",
            "start_location": ride.start,
            "end_location": ride.end,
            "price": ride.price,
            "duration": 20.0,
            "time_stamp": ride.at.timestamp(),
            "distance_km": 12.0,
        }
        for ride in world.rides
    ]
    services = {
        name: {"nb_seats": seats, "price_per_km": price, "base_delay_min": delay, "max_distance_km": 25}
        for name, seats, price, delay in (("Default", 4, 1.0, 5), ("Premium", 4, 2.0, 3), ("Van", 6, 1.5, 7))
    }
    return {"ride_history": rides, "quotation_history": [], "d_service_config": services}


def _city(world: Universe) -> dict[str, Any]:
    rates = {
        flat.zip: {"violent_crime": flat.crime, "property_crime": round(60 - flat.crime, 1)} for flat in world.flats
    }
    return {"api_call_limit": 100, "crime_data": rates}


def _tree(world: Universe) -> dict[str, Any]:
    """The folders and files of the notes, with two empty folders."""
    root: dict[str, Any] = {"name": "", "type": "directory", "children": []}
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

"""The contents of a universe, in the form in which ARE's apps load their state.

Always holds: every state is JSON and depends only on the universe.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from seasoned.lab.benchmarks.gaia2.universe import Event, Mail, Person, Talk, Universe


def app_states(universe: Universe) -> list[dict[str, Any]]:
    """The apps with their contents, as in a scenario's file."""
    states: list[tuple[str, str, dict[str, Any]]] = [
        ("AgentUserInterface", "AgentUserInterface", {"messages": []}),
        ("SystemApp", "SystemApp", {}),
        ("Contacts", "ContactsApp", _contacts(universe)),
        ("Emails", "EmailClientV2", _emails(universe)),
        ("Messages", "MessagingAppV2", _talks(universe, universe.messages, "PHONE_NUMBER")),
        ("Chats", "MessagingAppV2", _talks(universe, universe.chats, "NAME")),
        ("Calendar", "CalendarApp", {"events": {event.id: _event(event) for event in universe.events}}),
        ("RentAFlat", "ApartmentListingApp", _rentals(universe)),
        ("Shopping", "ShoppingApp", _shop(universe)),
        ("Cabs", "CabApp", _cabs(universe)),
        ("City", "CityApp", _city(universe)),
        ("Files", "Files", {"files": _tree(universe)}),
    ]
    return [{"name": name, "class_name": kind, "app_state": state} for name, kind, state in states]


def _contacts(universe: Universe) -> dict[str, Any]:
    def row(person: Person) -> dict[str, Any]:
        return {
            "first_name": person.first,
            "last_name": person.last,
            "contact_id": person.id,
            "is_user": person is universe.user,
            "gender": "Unknown",
            "age": None,
            "city_living": person.town,
            "status": "Employed",
            "job": person.job,
            "phone": person.phone,
            "email": person.email,
        }

    return {"contacts": {person.id: row(person) for person in (*universe.people, universe.user)}, "view_limit": 10}


def _emails(universe: Universe) -> dict[str, Any]:
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

    mails_by_folder = {"INBOX": universe.inbox, "SENT": universe.sent, "DRAFT": [], "TRASH": []}
    folders = {
        name: {"folder_name": name, "emails": [row(mail) for mail in sorted(mails, key=lambda m: m.at, reverse=True)]}
        for name, mails in mails_by_folder.items()
    }
    return {"user_email": universe.user.email, "view_limit": 5, "folders": folders}


def _event(event: Event) -> dict[str, Any]:
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


def _talks(universe: Universe, talks: Sequence[Talk], mode: str) -> dict[str, Any]:
    def key(person: Person) -> str:
        return person.phone if mode == "PHONE_NUMBER" else person.chat

    ids = {person.name: key(person) for person in (*universe.people, universe.user)}
    conversations = {}
    for place, talk in enumerate(talks):
        begin = universe.now - timedelta(days=place + 1, hours=3)
        messages = [
            {
                "sender_id": key(speaker or universe.user),
                "message_id": f"{talk.id}{number}",
                "timestamp": (begin + timedelta(minutes=7 * number)).timestamp(),
                "content": words,
            }
            for number, (speaker, words) in enumerate(talk.said)
        ]
        conversations[talk.id] = {
            "participant_ids": [key(person) for person in (*talk.people, universe.user)],
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
        "current_user_id": key(universe.user),
        "current_user_name": universe.user.name,
    }


def _rentals(universe: Universe) -> dict[str, Any]:
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
        for flat in universe.flats
    }
    return {"apartments": rows, "saved_apartments": [flat.id for flat in universe.flats if flat.saved]}


def _shop(universe: Universe) -> dict[str, Any]:
    products: dict[str, Any] = {}
    for variant in universe.variants:
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
        for order in universe.orders
    }
    return {"products": products, "cart": {}, "orders": orders, "discount_codes": universe.codes}


def _cabs(universe: Universe) -> dict[str, Any]:
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
        for ride in universe.rides
    ]
    services = {
        name: {"nb_seats": seats, "price_per_km": price, "base_delay_min": delay, "max_distance_km": 25}
        for name, seats, price, delay in (("Default", 4, 1.0, 5), ("Premium", 4, 2.0, 3), ("Van", 6, 1.5, 7))
    }
    return {"ride_history": rides, "quotation_history": [], "d_service_config": services}


def _city(universe: Universe) -> dict[str, Any]:
    rates = {
        flat.zip: {"violent_crime": flat.crime, "property_crime": round(60 - flat.crime, 1)} for flat in universe.flats
    }
    return {"api_call_limit": 100, "crime_data": rates}


def _tree(universe: Universe) -> dict[str, Any]:
    """The folders and files of the notes, with two empty folders."""
    root: dict[str, Any] = {"name": "", "type": "directory", "children": []}
    for path in (*(note.path for note in universe.notes), "Downloads/", "Pictures/"):
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

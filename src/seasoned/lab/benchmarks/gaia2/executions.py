"""The families of scenarios that ask for a change; the judge compares every change with the oracle's.

Mail takes addresses and Chats ids, not names; an answer is a reply, not a new mail; an event cannot be edited, so the
solution creates a new one and deletes the old; one buys the item of a colour, not the product; a discount must fit the
whole cart; saving again what is already saved is one change too many. Always holds: only the solution's writes change
anything.
"""

from __future__ import annotations

import random
from datetime import timedelta

from seasoned.lab.benchmarks.gaia2.scenario import Call, Draft, Family
from seasoned.lab.benchmarks.gaia2.universe import STAMP, Flat, Person, Universe

_MEALS = ("a barbecue", "a picnic", "a quiz night", "a film evening")
_NEWS = (
    "I will be ten minutes late",
    "The meeting point is the fountain",
    "Please bring the blue folder",
    "We start at six",
)
_REPLIES = (
    "Let us do it on Saturday",
    "I like the idea very much",
    "Please ask me again in May",
    "I have to say no this time",
)


def mail_two(u: Universe, rng: random.Random) -> Draft:
    """Send one mail to two people, whose addresses are in the contacts."""
    people = rng.sample(u.people, 2)
    meal = rng.choice(_MEALS)
    subject, words = f"Invitation to {meal}", f"We have {meal} on Friday"
    task = (
        f'Send one email to {people[0].name} and {people[1].name} together, with the subject "{subject}" and the text '
        f'"{words}".'
    )
    send = {"recipients": [person.email for person in people], "subject": subject, "content": words}
    writes = (Call("Emails__send_email", send, says={"subject": subject, "content": words}),)
    return Draft(task, _lookups(people), writes)


def reply(u: Universe, rng: random.Random) -> Draft:
    """Reply to a mail."""
    mail = rng.choice([mail for mail in u.inbox if mail.kind == "question"])
    assert mail.person is not None
    words = rng.choice(_REPLIES)
    task = f'Answer the email of {mail.person.name} about {mail.about} with "{words}".'
    reads = (Call("Emails__search_emails", {"query": mail.about}),)
    writes = (Call("Emails__reply_to_email", {"email_id": mail.id, "content": words}, says={"content": words}),)
    return Draft(task, reads, writes)


def forward(u: Universe, rng: random.Random) -> Draft:
    """Forward an invoice to a contact."""
    mail = rng.choice([mail for mail in u.inbox if mail.kind == "invoice"])
    person = rng.choice(u.people)
    task = f"Forward the email with the subject {mail.subject} to {person.name}."
    reads = (Call("Emails__search_emails", {"query": mail.subject}), *_lookups([person]))
    writes = (Call("Emails__forward_email", {"email_id": mail.id, "recipients": [person.email]}),)
    return Draft(task, reads, writes)


def delete_offers(u: Universe, rng: random.Random) -> Draft:
    """Delete a firm's offers, but keep its invoices."""
    firm = rng.choice(sorted({mail.about for mail in u.inbox if mail.kind == "offer"}))
    offers = [mail for mail in u.inbox if mail.kind == "offer" and mail.about == firm]
    task = (
        f'Delete the advertising of {firm} from my inbox: every email of theirs whose subject begins with "Our". Keep '
        "their invoices."
    )
    reads = (Call("Emails__search_emails", {"query": firm}),)
    return Draft(task, reads, tuple(Call("Emails__delete_email", {"email_id": mail.id}) for mail in offers))


def move_event(u: Universe, rng: random.Random) -> Draft:
    """Move an event to another day: create a new one and delete the old one."""
    event = rng.choice([event for event in u.events if event.begin > u.now])
    begin = event.begin + timedelta(days=rng.choice([20, 21, 22]))
    end = begin + (event.end - event.begin)
    task = (
        f'Move the event "{event.title}" to {begin:%Y-%m-%d}, from {begin:%H:%M} to {end:%H:%M}. Its title, tag, '
        "location and attendees stay as they are, and the old event must be gone."
    )
    new = {
        "title": event.title,
        "start_datetime": begin.strftime(STAMP),
        "end_datetime": end.strftime(STAMP),
        "tag": event.tag,
        "location": event.location,
        "attendees": list(event.attendees),
    }
    reads = (Call("Calendar__search_events", {"query": event.title}),)
    writes = (
        Call("Calendar__add_calendar_event", new, same=("title", "tag", "location")),
        Call("Calendar__delete_calendar_event", {"event_id": event.id}),
    )
    return Draft(task, reads, writes)


def chat(u: Universe, rng: random.Random) -> Draft:
    """Send a message in Chats, by the app's own id of a person."""
    person, words = rng.choice(u.people), rng.choice(_NEWS)
    task = f'Tell {person.name} in Chats: "{words}".'
    reads = (Call("Chats__lookup_user_id", {"user_name": person.name}),)
    writes = (Call("Chats__send_message", {"user_id": person.chat, "content": words}, says={"content": words}),)
    return Draft(task, reads, writes)


def group(u: Universe, rng: random.Random) -> Draft:
    """Create a group in Messages, by phone numbers."""
    people = rng.sample(u.people, 3)
    title = f"{rng.choice(_MEALS)[2:].capitalize()} in {rng.choice(u.towns)}"
    names = f"{people[0].name}, {people[1].name} and {people[2].name}"
    task = f'Make a group in Messages with {names}, and call it "{title}".'
    reads = tuple(Call("Messages__lookup_user_id", {"user_name": person.name}) for person in people)
    arguments = {"user_ids": [person.phone for person in people], "title": title}
    return Draft(task, reads, (Call("Messages__create_group_conversation", arguments, same=("title",)),))


def buy(u: Universe, rng: random.Random) -> Draft:
    """Buy several pieces in one colour, with the discount code for it."""
    variant = rng.choice([variant for variant in u.variants if variant.item in u.codes and variant.available])
    code, count = next(iter(u.codes[variant.item])), rng.randrange(2, 5)
    task = (
        f"Buy {count} pieces of the {variant.name} in {variant.color}, with the discount code that the shop has for it."
    )
    reads = (
        Call("Shopping__search_product", {"product_name": variant.name}),
        Call("Shopping__get_all_discount_codes", {}),
    )
    writes = (
        Call("Shopping__add_to_cart", {"item_id": variant.item, "quantity": count}),
        Call("Shopping__checkout", {"discount_code": code}),
    )
    return Draft(task, reads, writes, chained=True)


def cancel_order(u: Universe, rng: random.Random) -> Draft:
    """Cancel an order that can still be cancelled."""
    order = rng.choice([order for order in u.orders if order.status in ("processed", "shipped")])
    task = f"Cancel my order of the {order.variant.name} in {order.variant.color}."
    return Draft(task, (Call("Shopping__list_orders", {}),), (Call("Shopping__cancel_order", {"order_id": order.id}),))


def edit_contact(u: Universe, rng: random.Random) -> Draft:
    """Change a phone number, by the contact's id."""
    person = rng.choice(u.people)
    phone = f"{person.phone[:3]}{rng.randrange(10**8, 10**9)}"
    task = f"{person.name} has a new phone number, {phone}. Put it into my contacts."
    writes = (
        Call("Contacts__edit_contact", {"contact_id": person.id, "updates": {"phone": phone}}, same=("updates",)),
    )
    return Draft(task, _lookups([person]), writes)


def save_flats(u: Universe, rng: random.Random) -> Draft:
    """Save all flats of a town below a price that are not saved yet."""

    def new(town: str, limit: float) -> list[Flat]:
        return [flat for flat in u.flats if flat.town == town and flat.price < limit and not flat.saved]

    limits = [(town, 50.0 * step + 20) for town in u.towns for step in range(9, 31)]
    town, limit = rng.choice([(town, limit) for town, limit in limits if new(town, limit)])
    task = f"Save every apartment in {town} that costs less than {limit:g} and is not among my saved ones yet."
    reads = (Call("RentAFlat__search_apartments", {"location": town, "max_price": limit}),)
    return Draft(
        task, reads, tuple(Call("RentAFlat__save_apartment", {"apartment_id": flat.id}) for flat in new(town, limit))
    )


def order_ride(u: Universe, rng: random.Random) -> Draft:
    """Order a cab to the place of an event, in time."""
    event = rng.choice([event for event in u.events if event.begin > u.now + timedelta(days=1)])
    start = f"Station {rng.choice(u.towns)}"
    at = event.begin - timedelta(minutes=45)
    task = (
        f'Order a Van from {start} to the place of my event "{event.title}", exactly as its location is written, 45 '
        "minutes before it begins."
    )
    ride = {
        "start_location": start,
        "end_location": event.location,
        "service_type": "Van",
        "ride_time": at.strftime(STAMP),
    }
    reads = (Call("Calendar__search_events", {"query": event.title}),)
    return Draft(task, reads, (Call("Cabs__order_ride", ride, same=("start_location", "end_location")),))


def _lookups(people: list[Person]) -> tuple[Call, ...]:
    return tuple(Call("Contacts__search_contacts", {"query": person.name}) for person in people)


_ALL: tuple[Family, ...] = (
    *(mail_two, reply, forward, delete_offers, move_event, chat, group),
    *(buy, cancel_order, edit_contact, save_flats, order_ride),
)
FAMILIES = {family.__name__.replace("_", "-"): family for family in _ALL}

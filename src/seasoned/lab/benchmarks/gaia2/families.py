"""The families of scenarios: those that ask for an answer, and those that ask for a change.

Each answer depends on something that the apps do not mention. Contacts are listed ten at a time and searched by name,
phone and mail, not by job; mails are searched in one folder; events and rides come in pages; Chats identifies people by
its own ids and Messages by phone numbers; reading a file with `open` counts as writing.

The judge compares every change with the oracle's. Mail takes addresses and Chats ids, not names; an answer is a reply,
not a new mail; an event cannot be edited, so the solution creates a new one and deletes the old; one buys the item of a
colour, not the product; a discount must fit the whole cart; saving again what is already saved is one change too many.
Always holds: the answer follows from the results of the solution's reads; only the solution's writes change anything.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

from seasoned.lab.benchmarks.gaia2.scenario import Call, Draft, Family, Kind
from seasoned.lab.benchmarks.gaia2.universe import STAMP, WORDS, Row, Universe, begin_of


def job(u: Universe, rng: random.Random) -> Draft:
    """Find a contact by job, beyond the first page."""
    place = rng.randrange(10, len(u.people))
    person = u.people[place]
    task = f"Which of my contacts, {u.user.name}'s, has {person.job} as the job? Answer with the full name alone."
    reads = tuple(Call("Contacts__get_contacts", {"offset": offset}) for offset in range(0, place + 1, 10))
    return Draft(task, reads, answer=person.name, most=60)


def reference(u: Universe, rng: random.Random) -> Draft:
    """Find a code in a mail that the user has sent."""
    mail = rng.choice(u.references)
    task = f"Which reference did I send {mail.person} for {mail.about}? Answer with the reference alone."
    reads = (Call("Emails__search_emails", {"query": mail.about, "folder_name": "SENT"}),)
    return Draft(task, reads, answer=mail.fact, most=40)


def invoices(u: Universe, rng: random.Random) -> Draft:
    """Add up a firm's invoices, without its offers."""
    counts = Counter(mail.about for mail in u.invoices)
    firm = rng.choice([firm for firm in u.firms if counts[firm] > 1])
    total = str(sum(int(mail.fact) for mail in u.invoices if mail.about == firm))
    task = f"How many euros do all the invoices of {firm} in my inbox come to together? Answer with the number alone."
    reads = (Call("Emails__search_emails", {"query": firm}),)
    return Draft(task, reads, answer=total, most=40)


def week(u: Universe, rng: random.Random) -> Draft:
    """Count the events with one tag in a week of more than a page."""
    monday = (u.now + timedelta(days=7 - u.now.weekday())).replace(hour=0, minute=0)
    sunday = monday + timedelta(days=7)
    inside = [event for event in u.events if monday <= begin_of(event) < sunday]
    tag, count = rng.choice(sorted(Counter(event["tag"] for event in inside).items()))
    span = {"start_datetime": monday.strftime(STAMP), "end_datetime": sunday.strftime(STAMP)}
    task = (
        f"How many events tagged {tag} are in my calendar next week (Monday {monday:%Y-%m-%d} to Sunday)? Answer with "
        "the number alone."
    )
    reads = tuple(
        Call("Calendar__get_calendar_events_from_to", {**span, "offset": n}) for n in range(0, len(inside), 10)
    )
    return Draft(task, reads, answer=str(count), most=40)


def told_in_chats(u: Universe, rng: random.Random) -> Draft:
    """Find where a thing is, in a talk in Chats, which has its own ids of people."""
    return _told_in("Chats", u, rng)


def told_in_messages(u: Universe, rng: random.Random) -> Draft:
    """Find where a thing is, in a talk in Messages, where a person's id is the phone number."""
    return _told_in("Messages", u, rng)


def _told_in(app: str, u: Universe, rng: random.Random) -> Draft:
    talk = rng.choice([talk for talk in u.talks[app] if talk.fact])
    task = f"{talk.person} wrote to me in {app} where the {talk.about} is. Where is it? Answer with the place alone."
    reads = (
        Call(f"{app}__lookup_user_id", {"user_name": talk.person}),
        Call(f"{app}__list_conversations_by_participant", {"user_id": u.person(talk.person).key(app)}),
    )
    return Draft(task, reads, answer=talk.fact, most=60)


def safest_flat(u: Universe, rng: random.Random) -> Draft:
    """Find the saved flat in the safest area; the rates are in another app."""
    del rng
    saved = [flat for flat in u.flats if flat["saved"]]
    best = min(saved, key=lambda flat: u.crime[flat["zip_code"]]["violent_crime"])
    task = (
        f"I am {u.user.name}. Which of my saved apartments lies in the area with the lowest rate of violent crime? "
        "Answer with its name alone."
    )
    rates = (Call("City__get_crime_rate", {"zip_code": flat["zip_code"]}) for flat in saved)
    return Draft(task, (Call("RentAFlat__list_saved_apartments", {}), *rates), answer=best["name"], most=60)


def cheapest(u: Universe, rng: random.Random) -> Draft:
    """Find the cheapest available colour of a product."""
    by_name: dict[str, list[Row]] = {}
    for product in u.products.values():
        available = [variant for variant in product["variants"].values() if variant["available"]]
        by_name[product["name"]] = sorted(available, key=lambda variant: variant["price"])

    def clear(variants: list[Row]) -> bool:
        return len(variants) > 1 and variants[0]["price"] < variants[1]["price"]

    name = rng.choice(sorted(name for name, variants in by_name.items() if clear(variants)))
    color = by_name[name][0]["options"]["color"]
    task = (
        f"In which color is the {name} cheapest in the shop, of those that are available? Answer with the color alone."
    )
    reads = (Call("Shopping__search_product", {"product_name": name}),)
    return Draft(task, reads, answer=color, most=30)


def note(u: Universe, rng: random.Random) -> Draft:
    """Find a fact in a file: `cat` reads it, `open` counts as a change."""
    file = rng.choice(u.notes)
    task = f"I am {u.user.name}. What is the {file.about}? It stands in one of my files. Answer with it alone."
    reads = (Call("Files__tree", {}), Call("Files__cat", {"path": file.path}))
    return Draft(task, reads, answer=file.fact, most=60)


def rides(u: Universe, rng: random.Random) -> Draft:
    """Add up the cost of the rides to one station, on two pages."""
    counts = Counter(ride["end_location"] for ride in u.rides)
    end = rng.choice(sorted(end for end, count in counts.items() if count > 1))
    total = f"{sum(ride['price'] for ride in u.rides if ride['end_location'] == end):g}"
    task = f"How many dollars have I paid for all my past cab rides to {end} together? Answer with the number alone."
    reads = tuple(Call("Cabs__get_ride_history", {"offset": offset}) for offset in (0, 10))
    return Draft(task, reads, answer=total, most=40)


def attendee(u: Universe, rng: random.Random) -> Draft:
    """Find the phone number of the person at an event, in two apps."""
    event = rng.choice([event for event in u.events if len(event["attendees"]) == 1])
    title, person = event["title"], u.person(event["attendees"][0])
    task = (
        f'What is the phone number of the person I meet at "{title}" on {begin_of(event):%Y-%m-%d}? Answer with the '
        "number alone."
    )
    reads = (Call("Calendar__search_events", {"query": title}), _lookup(person.name))
    return Draft(task, reads, answer=person.phone, most=40)


def asker(u: Universe, rng: random.Random) -> Draft:
    """Find where the sender of a mail lives."""
    mail = rng.choice(u.questions)
    person = u.person(mail.person)
    task = (
        f"{u.user.name} here. In which town does the person live who asked me by mail about {mail.about}? Answer with "
        "the town alone."
    )
    reads = (Call("Emails__search_emails", {"query": mail.about}), _lookup(person.email))
    return Draft(task, reads, answer=person.town, most=40)


def mail_two(u: Universe, rng: random.Random) -> Draft:
    """Send one mail to two people, whose addresses are in the contacts."""
    people = rng.sample(u.people, 2)
    meal = rng.choice(WORDS["meals"])
    subject, words = f"Invitation to {meal}", f"We have {meal} on Friday"
    task = (
        f'Send one email to {people[0].name} and {people[1].name} together, with the subject "{subject}" and the text '
        f'"{words}".'
    )
    send = {"recipients": [person.email for person in people], "subject": subject, "content": words}
    reads = tuple(_lookup(person.name) for person in people)
    return Draft(task, reads, (Call("Emails__send_email", send, says=("subject", "content")),))


def reply(u: Universe, rng: random.Random) -> Draft:
    """Reply to a mail."""
    mail, words = rng.choice(u.questions), rng.choice(WORDS["replies"])
    task = f'Answer the email of {mail.person} about {mail.about} with "{words}".'
    reads = (Call("Emails__search_emails", {"query": mail.about}),)
    answer = {"email_id": mail.row["email_id"], "content": words}
    return Draft(task, reads, (Call("Emails__reply_to_email", answer, says=("content",)),))


def forward(u: Universe, rng: random.Random) -> Draft:
    """Forward an invoice to a contact."""
    mail, person = rng.choice(u.invoices).row, rng.choice(u.people)
    task = f"Forward the email with the subject {mail['subject']} to {person.name}."
    reads = (Call("Emails__search_emails", {"query": mail["subject"]}), _lookup(person.name))
    arguments = {"email_id": mail["email_id"], "recipients": [person.email]}
    return Draft(task, reads, (Call("Emails__forward_email", arguments),))


def delete_offers(u: Universe, rng: random.Random) -> Draft:
    """Delete a firm's offers, but keep its invoices."""
    firm = rng.choice(sorted({mail.about for mail in u.offers}))
    ids = [mail.row["email_id"] for mail in u.offers if mail.about == firm]
    task = (
        f'Delete the advertising of {firm} from my inbox: every email of theirs whose subject begins with "Our". Keep '
        "their invoices."
    )
    reads = (Call("Emails__search_emails", {"query": firm}),)
    return Draft(task, reads, tuple(Call("Emails__delete_email", {"email_id": id_}) for id_ in ids))


def move_event(u: Universe, rng: random.Random) -> Draft:
    """Move an event to another day: create a new one and delete the old one."""
    event = rng.choice([event for event in u.events if begin_of(event) > u.now])
    begin = begin_of(event) + timedelta(days=rng.choice([20, 21, 22]))
    end = begin + timedelta(seconds=event["end_datetime"] - event["start_datetime"])
    task = (
        f'Move the event "{event["title"]}" to {begin:%Y-%m-%d}, from {begin:%H:%M} to {end:%H:%M}. Its title, tag, '
        "location and attendees stay as they are, and the old event must be gone."
    )
    span = {"start_datetime": begin.strftime(STAMP), "end_datetime": end.strftime(STAMP)}
    new = {"title": event["title"], **span, **{key: event[key] for key in ("tag", "location", "attendees")}}
    reads = (Call("Calendar__search_events", {"query": event["title"]}),)
    writes = (
        Call("Calendar__add_calendar_event", new, same=("title", "tag", "location")),
        Call("Calendar__delete_calendar_event", {"event_id": event["event_id"]}),
    )
    return Draft(task, reads, writes)


def chat(u: Universe, rng: random.Random) -> Draft:
    """Send a message in Chats, by the app's own id of a person."""
    person, words = rng.choice(u.people), rng.choice(WORDS["news"])
    task = f'Tell {person.name} in Chats: "{words}".'
    reads = (Call("Chats__lookup_user_id", {"user_name": person.name}),)
    message = {"user_id": person.chat, "content": words}
    return Draft(task, reads, (Call("Chats__send_message", message, says=("content",)),))


def group(u: Universe, rng: random.Random) -> Draft:
    """Create a group in Messages, by phone numbers."""
    people = rng.sample(u.people, 3)
    title = f"{rng.choice(WORDS['meals'])[2:].capitalize()} in {rng.choice(u.towns)}"
    names = f"{people[0].name}, {people[1].name} and {people[2].name}"
    task = f'Make a group in Messages with {names}, and call it "{title}".'
    reads = tuple(Call("Messages__lookup_user_id", {"user_name": person.name}) for person in people)
    arguments = {"user_ids": [person.phone for person in people], "title": title}
    return Draft(task, reads, (Call("Messages__create_group_conversation", arguments, same=("title",)),))


def buy(u: Universe, rng: random.Random) -> Draft:
    """Buy several pieces in one colour, with the discount code for it."""
    products = u.products.values()
    name, variant = rng.choice(
        [
            (product["name"], product["variants"][item])
            for product in products
            for item in product["variants"]
            if item in u.codes
        ]
    )
    item = variant["item_id"]
    code, count = next(iter(u.codes[item])), rng.randrange(2, 5)
    color = variant["options"]["color"]
    task = f"Buy {count} pieces of the {name} in {color}, with the discount code that the shop has for it."
    reads = (
        Call("Shopping__search_product", {"product_name": name}),
        Call("Shopping__get_all_discount_codes", {}),
    )
    writes = (
        Call("Shopping__add_to_cart", {"item_id": item, "quantity": count}),
        Call("Shopping__checkout", {"discount_code": code}),
    )
    return Draft(task, reads, writes, chained=True)


def cancel_order(u: Universe, rng: random.Random) -> Draft:
    """Cancel an order that can still be cancelled."""
    order = rng.choice([order for order in u.orders if order["order_status"] in ("processed", "shipped")])
    (item,) = order["order_items"].values()
    task = f"Cancel my order of the {item['options']['product']} in {item['options']['color']}."
    cancel = Call("Shopping__cancel_order", {"order_id": order["order_id"]})
    return Draft(task, (Call("Shopping__list_orders", {}),), (cancel,))


def edit_contact(u: Universe, rng: random.Random) -> Draft:
    """Change a phone number, by the contact's id."""
    person = rng.choice(u.people)
    phone = f"{person.phone[:3]}{rng.randrange(10**8, 10**9)}"
    task = f"{person.name} has a new phone number, {phone}. Put it into my contacts."
    arguments = {"contact_id": person.id, "updates": {"phone": phone}}
    return Draft(task, (_lookup(person.name),), (Call("Contacts__edit_contact", arguments, same=("updates",)),))


def save_flats(u: Universe, rng: random.Random) -> Draft:
    """Save all flats of a town below a price that are not saved yet."""

    def new(town: str, limit: float) -> list[Row]:
        flats = [flat for flat in u.flats if flat["location"] == town and not flat["saved"]]
        return [flat for flat in flats if flat["price"] < limit]

    limits = [(town, 50.0 * step + 20) for town in u.towns for step in range(9, 31)]
    town, limit = rng.choice([(town, limit) for town, limit in limits if new(town, limit)])
    task = f"Save every apartment in {town} that costs less than {limit:g} and is not among my saved ones yet."
    reads = (Call("RentAFlat__search_apartments", {"location": town, "max_price": limit}),)
    ids = [flat["apartment_id"] for flat in new(town, limit)]
    return Draft(task, reads, tuple(Call("RentAFlat__save_apartment", {"apartment_id": id_}) for id_ in ids))


def order_ride(u: Universe, rng: random.Random) -> Draft:
    """Order a cab to the place of an event, in time."""
    event = rng.choice([event for event in u.events if begin_of(event) > u.now + timedelta(days=1)])
    start = f"Station {rng.choice(u.towns)}"
    task = (
        f'Order a Van from {start} to the place of my event "{event["title"]}", exactly as its location is written, 45 '
        "minutes before it begins."
    )
    ride = {
        "start_location": start,
        "end_location": event["location"],
        "service_type": "Van",
        "ride_time": (begin_of(event) - timedelta(minutes=45)).strftime(STAMP),
    }
    reads = (Call("Calendar__search_events", {"query": event["title"]}),)
    return Draft(task, reads, (Call("Cabs__order_ride", ride, same=("start_location", "end_location")),))


def _lookup(query: str) -> Call:
    return Call("Contacts__search_contacts", {"query": query})


def _named(*families: Family) -> dict[str, Family]:
    return {family.__name__.replace("_", "-"): family for family in families}


FAMILIES: dict[Kind, dict[str, Family]] = {
    "search": _named(
        *(job, reference, invoices, week, told_in_chats, told_in_messages, safest_flat),
        *(cheapest, note, rides, attendee, asker),
    ),
    "execution": _named(
        *(mail_two, reply, forward, delete_offers, move_event, chat, group),
        *(buy, cancel_order, edit_contact, save_flats, order_ride),
    ),
}
"""The families by name, of each kind."""

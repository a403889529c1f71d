"""The families of scenarios that ask for an answer; each depends on something that the apps do not mention.

Contacts are listed ten at a time and searched by name, phone and mail, not by job; mails are searched in one folder;
events and rides come in pages; Chats identifies people by its own ids and Messages by phone numbers; reading a file
with `open` counts as writing. Always holds: the answer follows from the results of the solution's reads.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

from seasoned.lab.benchmarks.gaia2.scenario import Call, Draft, Family
from seasoned.lab.benchmarks.gaia2.universe import STAMP, Mail, Talk, Universe, Variant


def job(u: Universe, rng: random.Random) -> Draft:
    """Find a contact by job, beyond the first page."""
    place = rng.randrange(10, len(u.people))
    person = u.people[place]
    task = f"Which of my contacts, {u.user.name}'s, has {person.job} as the job? Answer with the full name alone."
    reads = tuple(Call("Contacts__get_contacts", {"offset": offset}) for offset in range(0, place + 1, 10))
    return Draft(task, reads, answer=person.name, most=60)


def reference(u: Universe, rng: random.Random) -> Draft:
    """Find a code in a mail that the user has sent."""
    mail = rng.choice([mail for mail in u.sent if mail.kind == "reference"])
    assert mail.person is not None
    task = f"Which reference did I send {mail.person.name} for {mail.about}? Answer with the reference alone."
    reads = (Call("Emails__search_emails", {"query": mail.about, "folder_name": "SENT"}),)
    return Draft(task, reads, answer=mail.fact, most=40)


def invoices(u: Universe, rng: random.Random) -> Draft:
    """Add up a firm's invoices, without its offers."""
    firm = rng.choice([firm for firm in u.firms if sum(m.kind == "invoice" and m.about == firm for m in u.inbox) > 1])
    mails = [mail for mail in u.inbox if mail.kind == "invoice" and mail.about == firm]
    total = str(sum(int(mail.fact) for mail in mails))
    task = f"How many euros do all the invoices of {firm} in my inbox come to together? Answer with the number alone."
    reads = (Call("Emails__search_emails", {"query": firm}),)
    return Draft(task, reads, answer=total, most=40)


def week(u: Universe, rng: random.Random) -> Draft:
    """Count the events with one tag in a week of more than a page."""
    monday = (u.now + timedelta(days=7 - u.now.weekday())).replace(hour=0, minute=0)
    sunday = monday + timedelta(days=7)
    inside = [event for event in u.events if monday <= event.begin < sunday]
    tag, count = rng.choice(sorted(Counter(event.tag for event in inside).items()))
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
    talk = rng.choice([talk for talk in u.chats if talk.fact])
    return _told_in(talk, "Chats", talk.people[0].chat)


def told_in_messages(u: Universe, rng: random.Random) -> Draft:
    """Find where a thing is, in a talk in Messages, where a person's id is the phone number."""
    talk = rng.choice([talk for talk in u.messages if talk.fact])
    return _told_in(talk, "Messages", talk.people[0].phone)


def _told_in(talk: Talk, app: str, key: str) -> Draft:
    name = talk.people[0].name
    task = f"{name} wrote to me in {app} where the {talk.about} is. Where is it? Answer with the place alone."
    reads = (
        Call(f"{app}__lookup_user_id", {"user_name": name}),
        Call(f"{app}__list_conversations_by_participant", {"user_id": key}),
    )
    return Draft(task, reads, answer=talk.fact, most=60)


def safest_flat(u: Universe, rng: random.Random) -> Draft:
    """Find the saved flat in the safest area; the rates are in another app."""
    del rng
    saved = [flat for flat in u.flats if flat.saved]
    best = min(saved, key=lambda flat: flat.crime)
    task = (
        f"I am {u.user.name}. Which of my saved apartments lies in the area with the lowest rate of violent crime? "
        "Answer with its name alone."
    )
    reads = (
        Call("RentAFlat__list_saved_apartments", {}),
        *(Call("City__get_crime_rate", {"zip_code": flat.zip}) for flat in saved),
    )
    return Draft(task, reads, answer=best.name, most=60)


def cheapest(u: Universe, rng: random.Random) -> Draft:
    """Find the cheapest available colour of a product."""
    by_name: dict[str, list[Variant]] = {}
    for variant in u.variants:
        by_name.setdefault(variant.name, []).append(variant)

    def clear(variants: list[Variant]) -> bool:
        prices = sorted(variant.price for variant in variants if variant.available)
        return len(prices) > 1 and prices[0] < prices[1]

    name = rng.choice(sorted(name for name, variants in by_name.items() if clear(variants)))
    best = min((variant for variant in by_name[name] if variant.available), key=lambda variant: variant.price)
    task = (
        f"In which color is the {name} cheapest in the shop, of those that are available? Answer with the color alone."
    )
    reads = (Call("Shopping__search_product", {"product_name": name}),)
    return Draft(task, reads, answer=best.color, most=30)


def note(u: Universe, rng: random.Random) -> Draft:
    """Find a fact in a file: `cat` reads it, `open` counts as a change."""
    file = rng.choice(u.notes)
    task = f"I am {u.user.name}. What is the {file.about}? It stands in one of my files. Answer with it alone."
    reads = (Call("Files__tree", {}), Call("Files__cat", {"path": file.path}))
    return Draft(task, reads, answer=file.fact, most=60)


def rides(u: Universe, rng: random.Random) -> Draft:
    """Add up the cost of the rides to one station, on two pages."""
    counts = Counter(ride.end for ride in u.rides)
    end = rng.choice(sorted(end for end, count in counts.items() if count > 1))
    total = f"{sum(ride.price for ride in u.rides if ride.end == end):g}"
    task = f"How many dollars have I paid for all my past cab rides to {end} together? Answer with the number alone."
    reads = tuple(Call("Cabs__get_ride_history", {"offset": offset}) for offset in (0, 10))
    return Draft(task, reads, answer=total, most=40)


def attendee(u: Universe, rng: random.Random) -> Draft:
    """Find the phone number of the person at an event, in two apps."""
    event = rng.choice([event for event in u.events if len(event.attendees) == 1])
    person = u.person(event.attendees[0])
    task = (
        f'What is the phone number of the person I meet at "{event.title}" on {event.begin:%Y-%m-%d}? Answer with the '
        "number alone."
    )
    reads = (
        Call("Calendar__search_events", {"query": event.title}),
        Call("Contacts__search_contacts", {"query": person.name}),
    )
    return Draft(task, reads, answer=person.phone, most=40)


def asker(u: Universe, rng: random.Random) -> Draft:
    """Find where the sender of a mail lives."""
    mail: Mail = rng.choice([mail for mail in u.inbox if mail.kind == "question"])
    assert mail.person is not None
    task = (
        f"{u.user.name} here. In which town does the person live who asked me by mail about {mail.about}? Answer with "
        "the town alone."
    )
    reads = (
        Call("Emails__search_emails", {"query": mail.about}),
        Call("Contacts__search_contacts", {"query": mail.person.email}),
    )
    return Draft(task, reads, answer=mail.person.town, most=40)


_ALL: tuple[Family, ...] = (
    *(job, reference, invoices, week, told_in_chats, told_in_messages, safest_flat),
    *(cheapest, note, rides, attendee, asker),
)
FAMILIES = {family.__name__.replace("_", "-"): family for family in _ALL}

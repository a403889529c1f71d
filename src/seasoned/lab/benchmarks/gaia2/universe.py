"""Universes for Gaia2's apps: all have the same apps and tools, but other people, mails, events, goods and files.

Always holds: a universe depends only on its number, and two universes share no person, town, firm, address or id.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import DATA, read_toml

MOST = 10
"""The number of universes in the pools."""
WORKED = 11
"""The universe of the worked attempts; it is in no pool."""
STAMP = "%Y-%m-%d %H:%M:%S"
PEOPLE = 24
WEEK_EVENTS = 13
"""Events of next week: more than a page of the calendar shows."""

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
WORDS = read_toml(DATA / "gaia2.toml")

Row = dict[str, Any]
"""A thing as a scenario's file describes it to ARE."""


@dataclass(frozen=True)
class Person:
    """A contact; `id` is the id in Contacts, `chat` the internal id in Chats."""

    id: str
    first: str
    last: str
    job: str
    town: str
    phone: str
    email: str
    chat: str

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}"

    def key(self, app: str) -> str:
        """The person's id in Chats or Messages."""
        return self.chat if app == "Chats" else self.phone


@dataclass(frozen=True)
class Told:
    """A mail or a conversation: its topic or firm, the fact to find in it, and the name of a contact who takes part."""

    row: Row
    about: str = ""
    fact: str = ""
    person: str = ""


@dataclass(frozen=True)
class Note:
    """A text file."""

    path: str
    about: str
    text: str
    fact: str


@dataclass
class Universe:
    """The contents of one universe; its scenarios begin at `now`, a Tuesday.

    The inbox has the invoices, offers and questions; the references were sent. `crime` is by zip code, `products` by
    id, and `codes` has the discounts in percent by the id of an available item.
    """

    number: int
    now: datetime
    user: Person
    people: tuple[Person, ...]
    towns: tuple[str, ...]
    firms: tuple[str, ...]
    invoices: list[Told] = field(default_factory=list)
    offers: list[Told] = field(default_factory=list)
    questions: list[Told] = field(default_factory=list)
    references: list[Told] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    flats: list[Row] = field(default_factory=list)
    crime: dict[str, Row] = field(default_factory=dict)
    products: dict[str, Row] = field(default_factory=dict)
    codes: dict[str, dict[str, float]] = field(default_factory=dict)
    orders: list[Row] = field(default_factory=list)
    rides: list[Row] = field(default_factory=list)
    talks: dict[str, list[Told]] = field(default_factory=lambda: {"Chats": [], "Messages": []})
    notes: list[Note] = field(default_factory=list)

    def person(self, name: str) -> Person:
        """The contact with that name."""
        return next(person for person in self.people if person.name == name)


@cache
def universe(number: int) -> Universe:
    """The universe with that number, from 1; ConfigError if there is none."""
    if not 1 <= number <= WORKED:
        raise ConfigError(f"there are universes 1 to {MOST}, but not {number}")
    rng = random.Random(f"gaia2-universe-{number}")
    world = _with_people(number, rng)
    for add in (_add_mails, _add_events, _add_flats, _add_goods, _add_rides, _add_talks, _add_notes):
        add(world, rng)
    return world


def begin_of(event: Row) -> datetime:
    """When an event begins."""
    return datetime.fromtimestamp(event["start_datetime"], UTC)


def _id(rng: random.Random, number: int) -> str:
    """An id that no other universe has, because it contains the number."""
    return f"{number:x}{rng.getrandbits(36):09x}"


def _names(kind: str, endings: str, number: int, each: int = 1) -> list[str]:
    """The names of one universe: its `each` stems of a kind, with all endings."""
    stems = WORDS[kind][(number - 1) * each : number * each]
    return [stem + ending for stem in stems for ending in WORDS[endings]]


def _with_people(number: int, rng: random.Random) -> Universe:
    surnames = _names("people", "people_endings", number, 5)
    towns = tuple(_names("towns", "town_endings", number))
    firms = tuple(f"{WORDS['firms'][number - 1]} {ending}" for ending in WORDS["firm_endings"])
    rng.shuffle(surnames)
    firsts = rng.sample(WORDS["first_names"], PEOPLE + 1)
    jobs = rng.sample(WORDS["jobs"], PEOPLE)
    people = [
        Person(
            id=_id(rng, number),
            first=first,
            last=last,
            job=job,
            town=rng.choice(towns),
            phone=f"+{30 + number}{rng.randrange(10**8, 10**9)}",
            email=f"{first}.{last}@{towns[0]}-mail.com".lower(),
            chat=_id(rng, number),
        )
        for first, last, job in zip(firsts, surnames, ["teacher", *jobs], strict=False)
    ]
    now = datetime(2024, 10, 15, 7, 30, tzinfo=UTC) + timedelta(weeks=3 * (number - 1))
    return Universe(number, now, people[0], tuple(people[1:]), towns, firms)


def _add_mails(world: Universe, rng: random.Random) -> None:
    """Add invoices, questions, references and offers: more than one page of the inbox shows."""
    user = world.user

    def row(sender: str, to: str, subject: str, content: str, id_: str, days: int) -> Row:
        at = world.now - timedelta(days=days, hours=rng.randrange(8), minutes=rng.randrange(60))
        mail = {"sender": sender, "recipients": [to], "subject": subject, "content": content}
        return mail | {"email_id": id_, "timestamp": at.timestamp(), "is_read": True}

    def from_firm(firm: str, subject: str, content: str) -> Row:
        sender = f"office@{firm.replace(' ', '-').lower()}.com"
        days = rng.randrange(2, 40)
        return row(sender, user.email, subject, f"{content}\n{firm}", _id(rng, world.number), days)

    for firm, times in zip(world.firms, (3, 2, 3, 1), strict=True):
        for _ in range(times):
            amount, code = rng.randrange(30, 400), rng.randrange(1000, 9999)
            content = f"Dear {user.first},\nplease pay the amount of {amount} euros for invoice {code}."
            world.invoices.append(Told(from_firm(firm, f"Invoice {code}", content), firm, str(amount)))
    for offer in rng.sample(WORDS["offers"], 4):
        firm = rng.choice(world.firms)
        content = f"Dear customer,\nhere comes our {offer}. Reply to nobody: this mailbox is not read."
        world.offers.append(Told(from_firm(firm, f"Our {offer}", content), firm))
    for person, topic in zip(rng.sample(world.people, 8), WORDS["topics"], strict=True):
        content = f"Hi {user.first},\nwhat do you think about {topic}? Please let me know.\n{person.first}"
        id_, days = _id(rng, world.number), rng.randrange(1, 30)
        mail = row(person.email, user.email, f"About {topic}", content, id_, days)
        world.questions.append(Told(mail, topic, person=person.name))
    for person, topic in zip(rng.sample(world.people, 6), WORDS["references"], strict=True):
        secret = "".join(rng.choices(_LETTERS, k=2)) + str(rng.randrange(1000, 9999))
        content = f"Hi {person.first},\nthe reference for {topic} is {secret}. Best, {user.first}"
        id_, days = _id(rng, world.number), rng.randrange(3, 50)
        mail = row(user.email, person.email, f"Reference for {topic}", content, id_, days)
        world.references.append(Told(mail, topic, secret, person.name))


def _add_events(world: Universe, rng: random.Random) -> None:
    """Add events: next week is full, the weeks around it are not."""
    monday = (world.now + timedelta(days=7 - world.now.weekday())).replace(hour=0, minute=0)
    titles = rng.sample(WORDS["events"], len(WORDS["events"]))
    for place, title in enumerate(titles):
        day = place % 7 if place < WEEK_EVENTS else rng.choice([-5, -4, -3, 8, 9, 10, 11, 14, 15, 16])
        begin = monday + timedelta(days=day, hours=9 + 2 * (place // 7) + rng.randrange(2))
        event = {
            "event_id": _id(rng, world.number),
            "title": title,
            "start_datetime": begin.timestamp(),
            "end_datetime": (begin + timedelta(minutes=rng.choice([30, 60, 90]))).timestamp(),
            "tag": rng.choice(WORDS["tags"]),
            "description": None,
            "location": f"{rng.choice(WORDS['streets'])}, {rng.choice(world.towns)}",
            "attendees": [person.name for person in rng.sample(world.people, rng.choice([1, 2, 2, 3]))],
        }
        world.events.append(event)


def _add_flats(world: Universe, rng: random.Random) -> None:
    rates = rng.sample(range(20, 400), 12)
    prices = rng.sample(range(9, 30), 12)
    saved = set(rng.sample(range(12), 4))
    for place in range(12):
        town = world.towns[place % len(world.towns)]
        id_, rooms = _id(rng, world.number), rng.randrange(1, 5)
        zip_code, rate = f"{world.number:02d}{100 + place}", rates[place] / 10
        flat = {
            "name": f"{town} {WORDS['flats'][place % 6]} {place + 1}",
            "location": town,
            "zip_code": zip_code,
            "price": 50.0 * prices[place],
            "bedrooms": rooms,
            "bathrooms": 1,
            "property_type": "Apartment",
            "square_footage": 300 * rooms,
            "apartment_id": id_,
            "saved": place in saved,
        }
        world.flats.append(flat)
        world.crime[zip_code] = {"violent_crime": rate, "property_crime": round(60 - rate, 1)}


def _add_goods(world: Universe, rng: random.Random) -> None:
    maker = WORDS["makers"][world.number - 1]
    available: list[tuple[str, Row]] = []
    for good in rng.sample(WORDS["products"], 12):
        product, base, name = _id(rng, world.number), rng.randrange(8, 60), f"{maker} {good}"
        variants: dict[str, Row] = {}
        for color in rng.sample(WORDS["colors"], 3):
            price = base + rng.choice([0.5, 1.25, 2.0, 3.75, 4.9])
            id_, there = _id(rng, world.number), rng.random() < 0.85
            variants[id_] = {"price": price, "available": there, "item_id": id_, "options": {"color": color}}
            if there:
                available.append((name, variants[id_]))
        world.products[product] = {"name": name, "product_id": product, "variants": variants}
    code = f"{maker.upper()}{rng.choice([10, 15, 20])}"
    for _, variant in rng.sample(available, 12):
        world.codes[variant["item_id"]] = {code: float(code[-2:])}
    states = ("processed", "shipped", "processed", "delivered", "cancelled")
    for status, (name, variant) in zip(states, rng.sample(available, 5), strict=True):
        at = world.now - timedelta(days=rng.randrange(1, 20))
        id_, quantity = _id(rng, world.number), rng.randrange(1, 4)
        item = {key: variant[key] for key in ("item_id", "price")} | {"quantity": quantity}
        item["options"] = {"product": name, **variant["options"]}
        order = {
            "order_status": status,
            "order_date": at.isoformat(),
            "order_total": quantity * variant["price"],
            "order_id": id_,
            "order_items": {variant["item_id"]: item},
        }
        world.orders.append(order)


def _add_rides(world: Universe, rng: random.Random) -> None:
    """Add more rides than one page shows; the latest are on the second page."""
    for place in range(14):
        start, end = rng.sample(world.towns, 2)
        ride = {
            "ride_id": _id(rng, world.number),
            "status": "COMPLETED",
            "service_type": "Default",
            "start_location": f"Station {start}",
            "end_location": f"Station {end}",
            "price": float(rng.randrange(6, 40)),
            "duration": 20.0,
            "time_stamp": (world.now - timedelta(days=30 - 2 * place)).timestamp(),
            "distance_km": 12.0,
        }
        world.rides.append(ride)


def _add_talks(world: Universe, rng: random.Random) -> None:
    """Add talks with the same people in both apps; only one app says where a thing is."""

    def row(app: str, people: Sequence[Person], title: str, said: Sequence[tuple[Person, str]]) -> Row:
        id_, place = _id(rng, world.number), len(world.talks[app])
        begin = world.now - timedelta(days=place + 1, hours=3)
        messages = [
            {
                "sender_id": speaker.key(app),
                "message_id": f"{id_}{number}",
                "timestamp": (begin + timedelta(minutes=7 * number)).timestamp(),
                "content": words,
            }
            for number, (speaker, words) in enumerate(said)
        ]
        return {
            "participant_ids": [person.key(app) for person in (*people, world.user)],
            "messages": messages,
            "title": title,
            "conversation_id": id_,
            "last_updated": messages[-1]["timestamp"],
        }

    people = rng.sample(world.people, 6)
    for app, things in (("Chats", WORDS["things"][:3]), ("Messages", WORDS["things"][3:])):
        places = rng.sample(WORDS["places"], 3)
        for number, person in enumerate(people):
            about, fact = (things[number], places[number]) if number < 3 else ("", "")
            words = rng.sample(WORDS["small_talk"], 3)
            said = [(rng.choice([person, world.user]), each) for each in words]
            if fact:
                said.insert(rng.randrange(3), (person, f"By the way, the {about} is {fact}."))
            world.talks[app].append(Told(row(app, [person], person.name, said), about, fact, person.name))
    for title in rng.sample(WORDS["groups"], 2):
        members = rng.sample(world.people, 3)
        said = [(rng.choice(members), words) for words in rng.sample(WORDS["small_talk"], 3)]
        world.talks["Chats"].append(Told(row("Chats", members, f"{title} {world.towns[0]}", said)))


def _add_notes(world: Universe, rng: random.Random) -> None:
    for folder, name, about, text in WORDS["notes"]:
        word, number = rng.choice(WORDS["words"]), rng.randrange(1000, 99999)
        letters = "".join(rng.choices(_LETTERS, k=2))
        content = text.format(word=word, number=number, letters=letters)
        # The fact is the word with the most digits, but not the year.
        words = content.rstrip(".").replace(", valid until 2031", "").split()
        fact = max(words, key=lambda word: sum(map(str.isdigit, word)))
        world.notes.append(Note(f"{folder}/{name}", about, content + "\n", fact))

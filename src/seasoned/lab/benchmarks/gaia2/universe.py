"""Universes for Gaia2's apps: all have the same apps and tools, but other people, mails, events, goods and files.

Always holds: a universe depends only on its number, and two universes share no person, town, firm, address or id.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

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

_WORDS = read_toml(DATA / "gaia2.toml")


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


@dataclass(frozen=True)
class Mail:
    """A mail; `kind` is its purpose, `about` its topic, `fact` the information to find in it."""

    id: str
    kind: str
    sender: str
    recipients: tuple[str, ...]
    subject: str
    content: str
    at: datetime
    about: str = ""
    fact: str = ""
    person: Person | None = None


@dataclass(frozen=True)
class Event:
    """A calendar event."""

    id: str
    title: str
    begin: datetime
    end: datetime
    tag: str
    location: str
    attendees: tuple[str, ...]


@dataclass(frozen=True)
class Flat:
    """A flat to rent, with the crime rate of its zip code."""

    id: str
    name: str
    town: str
    zip: str
    price: float
    rooms: int
    saved: bool
    crime: float


@dataclass(frozen=True)
class Variant:
    """A product in one color, which is what a user buys."""

    item: str
    product: str
    name: str
    color: str
    price: float
    available: bool


@dataclass(frozen=True)
class Order:
    """An order of one variant."""

    id: str
    variant: Variant
    quantity: int
    status: str
    at: datetime


@dataclass(frozen=True)
class Ride:
    """A past ride."""

    id: str
    start: str
    end: str
    price: float
    at: datetime


@dataclass(frozen=True)
class Talk:
    """A conversation in Chats or Messages; `said` has pairs of speaker (None: the user) and words, oldest first."""

    id: str
    people: tuple[Person, ...]
    title: str
    said: tuple[tuple[Person | None, str], ...]
    about: str = ""
    fact: str = ""


@dataclass(frozen=True)
class Note:
    """A text file."""

    path: str
    about: str
    text: str
    fact: str


@dataclass
class Universe:
    """The contents of one universe; its scenarios begin at `now`, a Tuesday."""

    number: int
    now: datetime
    user: Person
    people: tuple[Person, ...]
    towns: tuple[str, ...]
    firms: tuple[str, ...]
    inbox: list[Mail] = field(default_factory=list)
    sent: list[Mail] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    flats: list[Flat] = field(default_factory=list)
    variants: list[Variant] = field(default_factory=list)
    codes: dict[str, dict[str, float]] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=list)
    rides: list[Ride] = field(default_factory=list)
    chats: list[Talk] = field(default_factory=list)
    messages: list[Talk] = field(default_factory=list)
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


def _id(rng: random.Random, number: int) -> str:
    """An id that no other universe has, because it contains the number."""
    return f"{number:x}{rng.getrandbits(36):09x}"


def _words_of(words: Sequence[str], number: int, each: int) -> Sequence[str]:
    """The `each` words of one universe."""
    return words[(number - 1) * each : number * each]


def _with_people(number: int, rng: random.Random) -> Universe:
    surnames = [stem + ending for stem in _words_of(_WORDS["people"], number, 5) for ending in _WORDS["people_endings"]]
    towns = tuple(stem + ending for stem in _words_of(_WORDS["towns"], number, 1) for ending in _WORDS["town_endings"])
    firms = tuple(
        f"{stem} {ending}" for stem in _words_of(_WORDS["firms"], number, 1) for ending in _WORDS["firm_endings"]
    )
    rng.shuffle(surnames)
    firsts = rng.sample(_WORDS["first_names"], PEOPLE + 1)
    jobs = rng.sample(_WORDS["jobs"], PEOPLE)
    domain = f"{towns[0].lower()}-mail.com"
    people = [
        Person(
            id=_id(rng, number),
            first=first,
            last=last,
            job=job,
            town=rng.choice(towns),
            phone=f"+{30 + number}{rng.randrange(10**8, 10**9)}",
            email=f"{first}.{last}@{domain}".lower(),
            chat=_id(rng, number),
        )
        for first, last, job in zip(firsts, surnames, ["teacher", *jobs], strict=False)
    ]
    now = datetime(2024, 10, 15, 7, 30, tzinfo=UTC) + timedelta(weeks=3 * (number - 1))
    return Universe(number, now, people[0], tuple(people[1:]), towns, firms)


def _add_mails(world: Universe, rng: random.Random) -> None:
    """Add invoices, questions, references and offers: more than one page of the inbox shows."""
    n = world.number
    mine = (world.user.email,)

    def at(days: int) -> datetime:
        return world.now - timedelta(days=days, hours=rng.randrange(8), minutes=rng.randrange(60))

    def firm_mail(kind: str, firm: str, subject: str, content: str, days: int, fact: str = "") -> Mail:
        sender = f"office@{firm.replace(' ', '-').lower()}.com"
        return Mail(_id(rng, n), kind, sender, mine, subject, content, at(days), firm, fact)

    for firm, times in zip(world.firms, (3, 2, 3, 1), strict=True):
        for _ in range(times):
            amount, code = rng.randrange(30, 400), rng.randrange(1000, 9999)
            content = f"Dear {world.user.first},\nplease pay the amount of {amount} euros for invoice {code}.\n{firm}"
            world.inbox.append(
                firm_mail("invoice", firm, f"Invoice {code}", content, rng.randrange(2, 40), str(amount))
            )
    for offer in rng.sample(_WORDS["offers"], 4):
        firm = rng.choice(world.firms)
        content = f"Dear customer,\nhere comes our {offer}. Reply to nobody: this mailbox is not read.\n{firm}"
        world.inbox.append(firm_mail("offer", firm, f"Our {offer}", content, rng.randrange(2, 40), offer))
    askers = rng.sample(world.people, 8)
    for person, topic in zip(askers, _WORDS["topics"], strict=True):
        content = f"Hi {world.user.first},\nwhat do you think about {topic}? Please let me know.\n{person.first}"
        mail = Mail(
            _id(rng, n),
            "question",
            person.email,
            mine,
            f"About {topic}",
            content,
            at(rng.randrange(1, 30)),
            topic,
            "",
            person,
        )
        world.inbox.append(mail)
    for person, topic in zip(rng.sample(world.people, 6), _WORDS["references"], strict=True):
        secret = "".join(rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=2)) + str(rng.randrange(1000, 9999))
        content = f"Hi {person.first},\nthe reference for {topic} is {secret}. Best, {world.user.first}"
        mail = Mail(
            _id(rng, n),
            "reference",
            world.user.email,
            (person.email,),
            f"Reference for {topic}",
            content,
            at(rng.randrange(3, 50)),
            topic,
            secret,
            person,
        )
        world.sent.append(mail)


def _add_events(world: Universe, rng: random.Random) -> None:
    """Add events: next week is full, the weeks around it are not."""
    monday = (world.now + timedelta(days=7 - world.now.weekday())).replace(hour=0, minute=0)
    titles = rng.sample(_WORDS["events"], len(_WORDS["events"]))
    for place, title in enumerate(titles):
        day = place % 7 if place < WEEK_EVENTS else rng.choice([-5, -4, -3, 8, 9, 10, 11, 14, 15, 16])
        begin = monday + timedelta(days=day, hours=9 + 2 * (place // 7) + rng.randrange(2))
        world.events.append(
            Event(
                id=_id(rng, world.number),
                title=title,
                begin=begin,
                end=begin + timedelta(minutes=rng.choice([30, 60, 90])),
                tag=rng.choice(_WORDS["tags"]),
                location=f"{rng.choice(_WORDS['streets'])}, {rng.choice(world.towns)}",
                attendees=tuple(person.name for person in rng.sample(world.people, rng.choice([1, 2, 2, 3]))),
            )
        )


def _add_flats(world: Universe, rng: random.Random) -> None:
    rates = rng.sample(range(20, 400), 12)
    prices = rng.sample(range(9, 30), 12)
    saved = set(rng.sample(range(12), 4))
    for place in range(12):
        town = world.towns[place % len(world.towns)]
        world.flats.append(
            Flat(
                id=_id(rng, world.number),
                name=f"{town} {_WORDS['flats'][place % 6]} {place + 1}",
                town=town,
                zip=f"{world.number:02d}{100 + place}",
                price=50.0 * prices[place],
                rooms=rng.randrange(1, 5),
                saved=place in saved,
                crime=rates[place] / 10,
            )
        )


def _add_goods(world: Universe, rng: random.Random) -> None:
    maker = _words_of(_WORDS["makers"], world.number, 1)[0]
    for good in rng.sample(_WORDS["products"], 12):
        product, base = _id(rng, world.number), rng.randrange(8, 60)
        for color in rng.sample(_WORDS["colors"], 3):
            price = base + rng.choice([0.5, 1.25, 2.0, 3.75, 4.9])
            name = f"{maker} {good}"
            world.variants.append(Variant(_id(rng, world.number), product, name, color, price, rng.random() < 0.85))
    code = f"{maker.upper()}{rng.choice([10, 15, 20])}"
    available = [variant for variant in world.variants if variant.available]
    for variant in rng.sample(available, 12):
        world.codes[variant.item] = {code: float(code[-2:])}
    for status, variant in zip(
        ("processed", "shipped", "processed", "delivered", "cancelled"), rng.sample(available, 5), strict=True
    ):
        at = world.now - timedelta(days=rng.randrange(1, 20))
        world.orders.append(Order(_id(rng, world.number), variant, rng.randrange(1, 4), status, at))


def _add_rides(world: Universe, rng: random.Random) -> None:
    """Add more rides than one page shows; the latest are on the second page."""
    for place in range(14):
        start, end = rng.sample(world.towns, 2)
        at = world.now - timedelta(days=30 - 2 * place)
        world.rides.append(
            Ride(_id(rng, world.number), f"Station {start}", f"Station {end}", float(rng.randrange(6, 40)), at)
        )


def _add_talks(world: Universe, rng: random.Random) -> None:
    """Add talks with the same people in both apps; only one app says where a thing is."""
    people = rng.sample(world.people, 6)
    for app, things in ((world.chats, _WORDS["things"][:3]), (world.messages, _WORDS["things"][3:])):
        places = rng.sample(_WORDS["places"], 3)
        for place, person in enumerate(people):
            messages: list[tuple[Person | None, str]] = [
                (rng.choice([person, None]), words) for words in rng.sample(_WORDS["small_talk"], 3)
            ]
            about = fact = ""
            if place < 3:
                about, fact = things[place], places[place]
                messages.insert(rng.randrange(3), (person, f"By the way, the {about} is {fact}."))
            app.append(Talk(_id(rng, world.number), (person,), "", tuple(messages), about, fact))
    for title in rng.sample(_WORDS["groups"], 2):
        members = tuple(rng.sample(world.people, 3))
        messages = [(rng.choice(members), words) for words in rng.sample(_WORDS["small_talk"], 3)]
        world.chats.append(Talk(_id(rng, world.number), members, f"{title} {world.towns[0]}", tuple(messages)))


def _add_notes(world: Universe, rng: random.Random) -> None:
    for folder, name, about, text in _WORDS["notes"]:
        filled = {
            "word": rng.choice(_WORDS["words"]),
            "number": str(rng.randrange(1000, 99999)),
            "letters": "".join(rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=2)),
        }
        content = text.format(**filled)
        fact = max(
            content.rstrip(".").replace(", valid until 2031", "").split(), key=lambda word: sum(map(str.isdigit, word))
        )
        world.notes.append(Note(f"{folder}/{name}", about, content + "\n", fact))

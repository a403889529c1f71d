"""Universes for Gaia2's apps: the same apps and tools, and in each one other people, mails, events, goods and files.

Always holds: a universe follows from its number alone, and two universes share no person, town, firm, address or id.
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
"""Universes of the pools."""
WORKED = 11
"""The universe of the worked attempts, which is in no pool."""
STAMP = "%Y-%m-%d %H:%M:%S"
PEOPLE = 24
WEEK_EVENTS = 13
"""Events of the week after the present one: more than a page of the calendar."""

_WORDS = read_toml(DATA / "gaia2.toml")


@dataclass(frozen=True)
class Person:
    """Somebody in the contacts. `id` is that of the contact, `chat` the internal one of Chats."""

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
    """A mail. `kind` says what it is for, `about` its topic, `fact` what there is to find in it."""

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
    """An event of the calendar."""

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
    """What can be bought: a product in one color."""

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
    """A ride of the past."""

    id: str
    start: str
    end: str
    price: float
    at: datetime


@dataclass(frozen=True)
class Talk:
    """A conversation of Chats or Messages: pairs of a speaker (None: the user) and words, the first first."""

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
    """All that is in one universe. `now` is when its scenarios begin, a Tuesday."""

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
        """The contact of that name."""
        return next(person for person in self.people if person.name == name)


@cache
def universe(number: int) -> Universe:
    """The universe with that number, from 1; ConfigError if there is none."""
    if not 1 <= number <= WORKED:
        raise ConfigError(f"there are universes 1 to {MOST}, and number {number} was asked for")
    rng = random.Random(f"gaia2-universe-{number}")
    made = _with_people(number, rng)
    _add_mails(made, rng)
    _add_events(made, rng)
    _add_flats(made, rng)
    _add_goods(made, rng)
    _add_rides(made, rng)
    _add_talks(made, rng)
    _add_notes(made, rng)
    return made


def _id(rng: random.Random, number: int) -> str:
    """An id that no other universe has, as its number is part of it."""
    return f"{number:x}{rng.getrandbits(36):09x}"


def _own(words: Sequence[str], number: int, each: int) -> Sequence[str]:
    """The stems of one universe."""
    return words[(number - 1) * each : number * each]


def _with_people(number: int, rng: random.Random) -> Universe:
    surnames = [stem + ending for stem in _own(_WORDS["people"], number, 5) for ending in _WORDS["people_endings"]]
    towns = tuple(stem + ending for stem in _own(_WORDS["towns"], number, 1) for ending in _WORDS["town_endings"])
    firms = tuple(f"{stem} {ending}" for stem in _own(_WORDS["firms"], number, 1) for ending in _WORDS["firm_endings"])
    rng.shuffle(surnames)
    firsts = rng.sample(_WORDS["first_names"], PEOPLE + 1)
    jobs = rng.sample(_WORDS["jobs"], PEOPLE)
    domain = f"{towns[0].lower()}-mail.com"
    everybody = [
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
    # A Tuesday, another one in each universe.
    now = datetime(2024, 10, 15, 7, 30, tzinfo=UTC) + timedelta(weeks=3 * (number - 1))
    return Universe(number, now, everybody[0], tuple(everybody[1:]), towns, firms)


def _add_mails(made: Universe, rng: random.Random) -> None:
    """Invoices, questions, references and offers: more of them than one page of the inbox shows."""
    n = made.number
    mine = (made.user.email,)

    def at(days: int) -> datetime:
        return made.now - timedelta(days=days, hours=rng.randrange(8), minutes=rng.randrange(60))

    def firm_mail(kind: str, firm: str, subject: str, content: str, days: int, fact: str = "") -> Mail:
        sender = f"office@{firm.replace(' ', '-').lower()}.com"
        return Mail(_id(rng, n), kind, sender, mine, subject, content, at(days), firm, fact)

    for firm, times in zip(made.firms, (3, 2, 3, 1), strict=True):
        for _ in range(times):
            amount, code = rng.randrange(30, 400), rng.randrange(1000, 9999)
            content = f"Dear {made.user.first},\nplease pay the amount of {amount} euros for invoice {code}.\n{firm}"
            made.inbox.append(firm_mail("invoice", firm, f"Invoice {code}", content, rng.randrange(2, 40), str(amount)))
    for offer in rng.sample(_WORDS["offers"], 4):
        firm = rng.choice(made.firms)
        content = f"Dear customer,\nhere comes our {offer}. Reply to nobody: this mailbox is not read.\n{firm}"
        made.inbox.append(firm_mail("offer", firm, f"Our {offer}", content, rng.randrange(2, 40), offer))
    askers = rng.sample(made.people, 8)
    for person, topic in zip(askers, _WORDS["topics"], strict=True):
        content = f"Hi {made.user.first},\nwhat do you think about {topic}? Please let me know.\n{person.first}"
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
        made.inbox.append(mail)
    for person, topic in zip(rng.sample(made.people, 6), _WORDS["references"], strict=True):
        secret = "".join(rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=2)) + str(rng.randrange(1000, 9999))
        content = f"Hi {person.first},\nthe reference for {topic} is {secret}. Best, {made.user.first}"
        mail = Mail(
            _id(rng, n),
            "reference",
            made.user.email,
            (person.email,),
            f"Reference for {topic}",
            content,
            at(rng.randrange(3, 50)),
            topic,
            secret,
            person,
        )
        made.sent.append(mail)


def _add_events(made: Universe, rng: random.Random) -> None:
    """Next week is full, the weeks around it are not."""
    monday = (made.now + timedelta(days=7 - made.now.weekday())).replace(hour=0, minute=0)
    titles = rng.sample(_WORDS["events"], len(_WORDS["events"]))
    for place, title in enumerate(titles):
        day = place % 7 if place < WEEK_EVENTS else rng.choice([-5, -4, -3, 8, 9, 10, 11, 14, 15, 16])
        begin = monday + timedelta(days=day, hours=9 + 2 * (place // 7) + rng.randrange(2))
        made.events.append(
            Event(
                id=_id(rng, made.number),
                title=title,
                begin=begin,
                end=begin + timedelta(minutes=rng.choice([30, 60, 90])),
                tag=rng.choice(_WORDS["tags"]),
                location=f"{rng.choice(_WORDS['streets'])}, {rng.choice(made.towns)}",
                attendees=tuple(person.name for person in rng.sample(made.people, rng.choice([1, 2, 2, 3]))),
            )
        )


def _add_flats(made: Universe, rng: random.Random) -> None:
    rates = rng.sample(range(20, 400), 12)
    prices = rng.sample(range(9, 30), 12)
    saved = set(rng.sample(range(12), 4))
    for place in range(12):
        town = made.towns[place % len(made.towns)]
        made.flats.append(
            Flat(
                id=_id(rng, made.number),
                name=f"{town} {_WORDS['flats'][place % 6]} {place + 1}",
                town=town,
                zip=f"{made.number:02d}{100 + place}",
                price=50.0 * prices[place],
                rooms=rng.randrange(1, 5),
                saved=place in saved,
                crime=rates[place] / 10,
            )
        )


def _add_goods(made: Universe, rng: random.Random) -> None:
    maker = _own(_WORDS["makers"], made.number, 1)[0]
    for good in rng.sample(_WORDS["products"], 12):
        product, base = _id(rng, made.number), rng.randrange(8, 60)
        for color in rng.sample(_WORDS["colors"], 3):
            price = base + rng.choice([0.5, 1.25, 2.0, 3.75, 4.9])
            name = f"{maker} {good}"
            made.variants.append(Variant(_id(rng, made.number), product, name, color, price, rng.random() < 0.85))
    code = f"{maker.upper()}{rng.choice([10, 15, 20])}"
    there = [variant for variant in made.variants if variant.available]
    for variant in rng.sample(there, 12):
        made.codes[variant.item] = {code: float(code[-2:])}
    for status, variant in zip(
        ("processed", "shipped", "processed", "delivered", "cancelled"), rng.sample(there, 5), strict=True
    ):
        at = made.now - timedelta(days=rng.randrange(1, 20))
        made.orders.append(Order(_id(rng, made.number), variant, rng.randrange(1, 4), status, at))


def _add_rides(made: Universe, rng: random.Random) -> None:
    """More rides than one page shows; the last ones of each destination stand on the second page."""
    for place in range(14):
        start, end = rng.sample(made.towns, 2)
        at = made.now - timedelta(days=30 - 2 * place)
        made.rides.append(
            Ride(_id(rng, made.number), f"Station {start}", f"Station {end}", float(rng.randrange(6, 40)), at)
        )


def _add_talks(made: Universe, rng: random.Random) -> None:
    """The same people talk in both apps; only one of the two tells where something is."""
    who = rng.sample(made.people, 6)
    for app, things in ((made.chats, _WORDS["things"][:3]), (made.messages, _WORDS["things"][3:])):
        places = rng.sample(_WORDS["places"], 3)
        for place, person in enumerate(who):
            said: list[tuple[Person | None, str]] = [
                (rng.choice([person, None]), words) for words in rng.sample(_WORDS["small_talk"], 3)
            ]
            about = fact = ""
            if place < 3:
                about, fact = things[place], places[place]
                said.insert(rng.randrange(3), (person, f"By the way, the {about} is {fact}."))
            app.append(Talk(_id(rng, made.number), (person,), "", tuple(said), about, fact))
    for title in rng.sample(_WORDS["groups"], 2):
        members = tuple(rng.sample(made.people, 3))
        said = [(rng.choice(members), words) for words in rng.sample(_WORDS["small_talk"], 3)]
        made.chats.append(Talk(_id(rng, made.number), members, f"{title} {made.towns[0]}", tuple(said)))


def _add_notes(made: Universe, rng: random.Random) -> None:
    for folder, name, about, text in _WORDS["notes"]:
        filled = {
            "word": rng.choice(_WORDS["words"]),
            "number": str(rng.randrange(1000, 99999)),
            "letters": "".join(rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=2)),
        }
        whole = text.format(**filled)
        fact = max(
            whole.rstrip(".").replace(", valid until 2031", "").split(), key=lambda word: sum(map(str.isdigit, word))
        )
        made.notes.append(Note(f"{folder}/{name}", about, whole + "\n", fact))

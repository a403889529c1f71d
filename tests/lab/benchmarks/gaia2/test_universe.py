"""Universes: the same from day to day, and nothing in common between two of them."""

import pytest

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.gaia2.universe import MOST, WORKED, universe

ALL = range(1, WORKED + 1)


def things(number):
    u = universe(number)
    people, mails = (*u.people, u.user), (*u.invoices, *u.offers, *u.questions, *u.references)
    talks = [talk.row for talks in u.talks.values() for talk in talks]
    rows = {"conversation_id": talks, "event_id": u.events, "apartment_id": u.flats, "ride_id": u.rides}
    ids = [row[key] for key, some in rows.items() for row in some]
    ids += [*u.products, *(item for product in u.products.values() for item in product["variants"])]
    return {
        "names": {person.name for person in people},
        "mails": {person.email for person in people},
        "phones": {person.phone for person in people},
        "places": {*u.towns, *u.firms},
        "ids": {*ids, *(mail.row["email_id"] for mail in mails), *(order["order_id"] for order in u.orders)},
        "contents": {mail.row["content"] for mail in mails},
        "facts": {one.fact for one in (*u.notes, *u.references)},
    }


def test_universes_share_nothing():
    seen = {}
    for number in ALL:
        for kind, some in things(number).items():
            for thing in some:
                assert seen.setdefault((kind, thing), number) == number


def test_every_universe_has_more_than_a_page_of_what_comes_in_pages():
    for number in ALL:
        u = universe(number)
        assert min(len(u.people), len(u.invoices + u.questions), len(u.events), len(u.rides)) > 10
        assert sum(flat["saved"] for flat in u.flats) == 4
        assert len({rates["violent_crime"] for rates in u.crime.values()}) == len(u.flats)


@pytest.mark.parametrize("number", [0, -1, WORKED + 1])
def test_no_other_universe(number):
    with pytest.raises(ConfigError, match=f"universes 1 to {MOST}"):
        universe(number)

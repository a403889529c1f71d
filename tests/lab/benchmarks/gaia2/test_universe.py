"""Universes: the same from day to day, and nothing in common between two of them."""

import pytest

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.gaia2.universe import MOST, WORKED, universe

ALL = range(1, WORKED + 1)


def things(number):
    u = universe(number)
    everything = [*u.inbox, *u.sent, *u.events, *u.flats, *u.orders, *u.rides, *u.chats, *u.messages]
    return {
        "names": {person.name for person in (*u.people, u.user)},
        "mails": {person.email for person in (*u.people, u.user)},
        "phones": {person.phone for person in (*u.people, u.user)},
        "places": {*u.towns, *u.firms},
        "ids": {one.id for one in everything} | {v.item for v in u.variants} | {v.product for v in u.variants},
        "contents": {mail.content for mail in (*u.inbox, *u.sent)},
        "facts": {note.fact for note in u.notes} | {mail.fact for mail in u.sent},
    }


@pytest.mark.parametrize("kind", sorted(things(1)))
def test_universes_share_nothing(kind):
    seen = {}
    for number in ALL:
        for thing in things(number)[kind]:
            assert seen.setdefault(thing, number) == number, thing


def test_every_universe_has_more_than_a_page_of_what_comes_in_pages():
    for number in ALL:
        u = universe(number)
        assert min(len(u.people), len(u.inbox), len(u.events), len(u.rides)) > 10
        assert sum(flat.saved for flat in u.flats) == 4
        assert len({flat.crime for flat in u.flats}) == len(u.flats)


@pytest.mark.parametrize("number", [0, -1, WORKED + 1])
def test_no_other_universe(number):
    with pytest.raises(ConfigError, match=f"universes 1 to {MOST}"):
        universe(number)

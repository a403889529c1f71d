"""Rooms and what lies in them, from a household that is made up."""

import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.alfworld.rooms import LAMP, SINGLE, parse_household, read_household, scatter

MADE_UP = Path(__file__).with_name("household.json")
RAW = json.loads(MADE_UP.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def house():
    return parse_household(RAW)


def script(tmp_path, body):
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\n{body}", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_room_has_the_same_furniture_every_time(house):
    again = parse_household(json.loads(json.dumps(RAW)))
    assert again == house


def test_every_receptacle_has_a_location_and_an_id_of_its_own(house):
    for room in house.rooms.values():
        assert len({place.location for place in room.places}) == len(room.places)
        assert len({place.id for place in room.places}) == len(room.places)


def test_what_the_layout_leaves_out_is_added(house):
    counts = Counter(place.type for place in house.rooms[1].places)
    assert counts["StoveBurner"] == 4
    assert counts["CoffeeMachine"] == counts["GarbageCan"] == 1
    assert counts["Fridge"] == counts["SinkBasin"] == 1  # was there
    basin = next(place for place in house.rooms[401].places if place.type == "BathtubBasin")
    assert basin.id.startswith("Bathtub|")
    assert basin.id.endswith("|BathtubBasin")
    assert not house.rooms[201].places[0].stuck


def test_doors_open_unless_they_are_stuck_and_only_kitchens_and_bedrooms_have_stuck_ones(house):
    for room in house.rooms.values():
        for place in room.places:
            door = place.type in ("Fridge", "Cabinet", "Microwave", "Drawer", "Safe")
            assert place.opens == (door and not place.stuck)
            assert not place.stuck or room.kind in ("kitchen", "bedroom")
    assert any(place.stuck for room in house.rooms.values() for place in room.places)


def test_things_and_fixtures(house):
    assert house.rooms[301].kind == "bedroom"
    assert "Mug" in house.rooms[301].things
    assert LAMP in house.rooms[301].fixtures
    assert not {"Lamp", "Bed"} & {*house.rooms[301].fixtures, *house.rooms[301].things}
    assert house.vessels == {"Mug", "Plate"}
    assert "Plate" not in house.holds
    assert {"Book", "CellPhone"} <= house.holds["TVStand"]


@pytest.mark.parametrize("seed", range(8))
def test_things_lie_where_they_fit(house, seed):
    for room in house.rooms.values():
        wanted, but_not = room.things[seed % len(room.things)], (room.places[0].type, "")
        lying = scatter(room, house, random.Random(seed), wanted, 3, but_not)
        for thing in (t for t in lying if not t.beside and t.type in house.movable):
            assert thing.type in house.holds[thing.place.type]
            assert not thing.place.stuck
            assert thing.type != wanted or thing.place.type not in but_not
        for thing in (t for t in lying if t.type in (LAMP, "HousePlant", "Television")):
            assert not thing.place.opens
        load = Counter(t.place.id for t in lying if not t.beside)
        assert all(load[place.id] <= 1 for place in room.places if place.type in SINGLE)
        copies = Counter(t.type for t in lying if t.type in house.movable)
        assert max(copies.values()) <= 3
        ids = [*(t.id for t in lying), *(p.id for p in room.places)]
        assert len(ids) == len(set(ids))
        assert not any(t.beside for t in lying if t.type in house.movable)


def test_as_many_of_the_wanted_thing_as_asked_for(house):
    lying = scatter(house.rooms[1], house, random.Random(0), "Apple", 4, ("Fridge",))
    assert Counter(thing.type for thing in lying)["Apple"] == 4
    nowhere = scatter(house.rooms[401], house, random.Random(0), "Towel", 4, ("TowelHolder",))
    assert not any(thing.type == "Towel" for thing in nowhere)


def test_some_of_what_one_has_to_find_is_behind_a_door_and_most_is_not(house):
    spots = [
        thing.place.opens
        for seed in range(200)
        for thing in scatter(house.rooms[1], house, random.Random(seed), "Mug", 2, ("Microwave",))
        if thing.type == "Mug"
    ]
    assert 0.1 < sum(spots) / len(spots) < 0.6


@pytest.mark.skipif(sys.platform == "win32", reason="a script cannot stand in for Python there")
class TestAskingThePackage:
    def test_what_it_says_is_read(self, tmp_path, house):
        python = script(tmp_path, f"print(open({str(MADE_UP)!r}).read())")
        assert read_household(python) == house

    def test_no_key_of_the_user_reaches_it(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        python = script(tmp_path, "import os, sys\nsys.exit(os.environ.get('OPENAI_API_KEY', 'no key here'))")
        with pytest.raises(ConfigError, match="no key here"):
            read_household(python)

    @pytest.mark.parametrize(
        "said",
        ["", "not JSON", "[]", "{}", '{"grammar": 3}', json.dumps({**RAW, "rooms": {"1": []}})],
    )
    def test_another_package_is_named(self, tmp_path, said):
        python = script(tmp_path, f"print({said!r})")
        with pytest.raises(DataError, match=r"0\.4\.2"):
            read_household(python)

    def test_a_grammar_that_puts_is_of_an_older_version(self, tmp_path):
        older = {**RAW, "grammar": RAW["grammar"].replace("move {o} to {r}", "put {o} in/on {r}")}
        python = script(tmp_path, f"print({json.dumps(older)!r})")
        with pytest.raises(DataError, match="does not move things"):
            read_household(python)


def test_a_python_without_alfworld():
    with pytest.raises(ConfigError, match="alfworld is not installed there; `seasoned bench install alfworld`"):
        read_household(sys.executable)


def test_no_such_python(tmp_path):
    with pytest.raises(ConfigError, match="cannot be run"):
        read_household(str(tmp_path / "nothing"))

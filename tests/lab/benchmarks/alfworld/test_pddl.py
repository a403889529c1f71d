"""The text of a game, from a room built by hand."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.lab.benchmarks.alfworld.game import room as places_of
from seasoned.lab.benchmarks.alfworld.pddl import game_file, mangle, names, problem
from seasoned.lab.benchmarks.alfworld.rooms import Household, Place, Room, Thing

SHELF = Place("Shelf|+01.00|+01.50|-02.00", "Shelf", "loc|3|-8|1|30", opens=False)
LOW = Place("Shelf|-01.00|+00.50|-02.00", "Shelf", "loc|4|-8|1|30", opens=False)
SAFE = Place("Safe|+00.00|+00.20|00.00", "Safe", "loc|1|1|0|30", opens=True)
BASIN = Place("Sink|+00.50|+00.90|+00.50|SinkBasin", "SinkBasin", "loc|2|2|2|30", opens=False)
ROOM = Room(1, (SHELF, LOW, SAFE, BASIN), ("Mug", "Watch"), ("DeskLamp", "Sink"))
HOUSE = Household(
    domain="(define (domain made-up))",
    grammar="Your task is to: UNKNOWN GOAL.",
    goals={},
    holds={"Shelf": frozenset({"Mug", "Watch"}), "Safe": frozenset({"Watch"}), "SinkBasin": frozenset({"Mug"})},
    able={"Cleanable": frozenset({"Mug"}), "Toggleable": frozenset({"DeskLamp"})},
    movable=frozenset({"Mug", "Watch"}),
    vessels=frozenset({"Mug"}),
    rooms={1: ROOM},
)
THINGS = (
    Thing("Mug|+00.11|+01.00|-00.22", "Mug", SHELF),
    Thing("Watch|-00.50|+00.10|+00.70", "Watch", SAFE),
    Thing("DeskLamp|+01.00|+01.00|+01.00", "DeskLamp", LOW),
    Thing("Sink|+00.55|+00.95|+00.55", "Sink", BASIN, beside=True),
)


def test_mangled():
    assert mangle("Mug|+00.11|00.00|-00.22") == "Mug_bar__plus_00_dot_11_bar_00_dot_00_bar__minus_00_dot_22"
    assert mangle("loc|-3|8|1|-30") == "loc_bar__minus_3_bar_8_bar_1_bar__minus_30"


def test_the_first_id_has_the_highest_number_and_a_basin_is_no_sink():
    called = names([place.id for place in ROOM.places] + [thing.id for thing in THINGS])
    assert called[SHELF.id] == "shelf 1"  # _minus_ sorts before _plus_
    assert called[LOW.id] == "shelf 2"
    assert called[BASIN.id] == "sinkbasin 1"
    assert called[THINGS[3].id] == "sink 1"
    assert called[THINGS[0].id] == "mug 1"


def test_the_names_are_those_that_are_read_from_the_problem():
    text = problem("plan_x", ROOM, THINGS, "(:goal ()))", HOUSE)
    called = names([place.id for place in ROOM.places] + [thing.id for thing in THINGS])
    assert sorted(places_of(text)) == sorted(called[place.id] for place in ROOM.places)


def test_everything_that_is_spoken_of_is_declared_once():
    text = problem("plan_x", ROOM, THINGS, "(:goal ()))", HOUSE)
    declared = re.findall(r"^(\S+) - (\S+)$", text, re.MULTILINE)
    kinds = dict(declared)
    assert len(kinds) == len(declared)
    for fact in re.findall(r"^    \((.+)\)$", text, re.MULTILINE):
        assert set(fact.split()[1:]) <= set(kinds)
    for type_ in ("ButterKnifeType", "KnifeType"):
        assert kinds[type_] == "otype"
    for type_ in ("SinkBasinType", "MicrowaveType", "FridgeType"):
        assert kinds[type_] == "rtype"
    assert text.count("(") == text.count(")")


def test_facts():
    text = problem("plan_x", ROOM, THINGS, "(:goal ()))", HOUSE)
    mug, watch, lamp, sink = (mangle(thing.id) for thing in THINGS)
    for fact in (
        f"inReceptacle {mug} {mangle(SHELF.id)}",
        f"isReceptacleObject {mug}",
        f"cleanable {mug}",
        f"pickupable {watch}",
        f"openable {mangle(SAFE.id)}",
        f"toggleable {lamp}",
        f"objectAtLocation {sink} {mangle(BASIN.location)}",
        "canContain ShelfType MugType",
    ):
        assert f"({fact})" in text
    for fact in (
        f"pickupable {lamp}",
        f"cleanable {watch}",
        f"inReceptacle {sink}",
        f"openable {mangle(SHELF.id)}",
        "canContain SafeType MugType",
    ):
        assert f"({fact}" not in text
    assert len(re.findall(r"\(atLocation ", text)) == 1
    start = re.search(r"\(atLocation agent1 (\S+)\)", text)[1]
    assert not re.search(rf"\(receptacleAtLocation \S+ {start}\)", text)


def test_the_game_file_has_the_five_keys():
    game = json.loads(game_file(HOUSE, "(problem)", "bring one mug", ["go to shelf 1"]))
    assert list(game) == ["pddl_domain", "grammar", "pddl_problem", "solvable", "walkthrough"]
    assert game["grammar"] == "Your task is to: bring one mug."
    assert game["solvable"] is True
    assert game["walkthrough"] == ["go to shelf 1"]


numbers = st.floats(-9, 9).map(lambda value: f"{value:+06.2f}")
ids = st.tuples(st.sampled_from(["Mug", "Shelf", "Sink"]), numbers, numbers, numbers).map("|".join)


@settings(max_examples=50)
@given(st.sets(ids, min_size=1, max_size=30))
def test_every_id_has_a_name_of_its_own(some):
    called = names(some)
    assert len(set(called.values())) == len({mangle(id_) for id_ in some}) == len(some)
    for kind in ("mug", "shelf", "sink"):
        found = sorted(int(name.split()[1]) for name in called.values() if name.split()[0] == kind)
        assert found == list(range(1, len(found) + 1))

"""Where things were seen, and which places to try next."""

from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks.alfworld.sightings import sightings, where_next
from seasoned.types import Step, Trajectory

ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a desk 1, a drawer 2, a drawer 1, "
    "a fridge 1, a microwave 1, a shelf 1, and a sinkbasin 1.\nYour task is to: put a clean mug on shelf."
)
AT_DESK = ("go to desk 1", "On the desk 1, you see a alarmclock 1, a desklamp 1, and a mug 2.")
TAKEN = ("take mug 2 from desk 1", "You pick up the mug 2 from the desk 1.")
SHUT = ("go to drawer 1", "The drawer 1 is closed.")
OPENED = ("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see a pen 1.")
PLACES = {"drawer": 3, "desk": 2, "shelf": 1, "bed": 9}


def steps(*turns):
    return tuple(Step(action=command, observation=observation) for command, observation in turns)


def test_where_things_were_first_seen_and_not_where_they_were_put():
    put = ("move mug 2 to drawer 1", "You move the mug 2 to the drawer 1.")
    turns = steps(AT_DESK, TAKEN, SHUT, OPENED, put, ("open drawer 1", f"{OPENED[1][:-1]}, and a mug 2."))
    found = list(sightings(Trajectory(task_id="t", task=ROOM, steps=turns)))
    assert found == [("alarmclock", "desk"), ("desklamp", "desk"), ("mug", "desk"), ("pen", "drawer")]
    assert list(sightings(Trajectory(task_id="t", task="no room"))) == []


def test_the_places_of_this_room_where_most_were_seen_for_each_come_first():
    assert where_next(ROOM, (), "mug", PLACES) == "mug: not seen yet, try desk 1, drawer 2, drawer 1"


def test_what_was_looked_at_is_not_tried_again_but_what_is_shut_is():
    looked = steps(("go to desk 1", "On the desk 1, you see a pen 1."), SHUT)
    assert where_next(ROOM, looked, "mug", PLACES) == "mug: not seen yet, try drawer 2, drawer 1, shelf 1"
    assert where_next(ROOM, (*looked, *steps(OPENED)), "mug", PLACES) == "mug: not seen yet, try drawer 2, shelf 1"


def test_nothing_is_said_of_what_is_in_sight_or_held():
    assert where_next(ROOM, steps(AT_DESK), "mug", PLACES) == ""
    assert where_next(ROOM, steps(AT_DESK, TAKEN), "mug", PLACES) == ""
    assert where_next(ROOM, (), "mug", {"bed": 4}) == ""


def test_one_that_is_where_it_belongs_is_not_the_one_to_look_for():
    there = steps(("go to shelf 1", "On the shelf 1, you see a mug 1."))
    assert where_next(ROOM, there, "mug", PLACES) == "mug: not seen yet, try desk 1, drawer 2, drawer 1"


@given(st.text(), st.lists(st.tuples(st.text(), st.text())), st.dictionaries(st.text(), st.integers(1)))
def test_no_text_raises(task, turns, places):
    where_next(task, steps(*turns), "mug", places)
    list(sightings(Trajectory(task_id="t", task=task, steps=steps(*turns))))

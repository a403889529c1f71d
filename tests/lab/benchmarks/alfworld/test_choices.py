"""What follows from what was read."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.lab.benchmarks.alfworld.choices import (
    NOTHING,
    after,
    begin,
    choices,
    noted,
    open_notebook,
    seen,
    sightings,
    where_next,
)
from seasoned.types import Step, Trajectory

ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a desk 1, a drawer 2, a drawer 1, "
    "a fridge 1, a microwave 1, a shelf 1, and a sinkbasin 1.\nYour task is to: put a clean mug on shelf."
)
GOING = [f"go to {p}" for p in ("desk 1", "drawer 2", "drawer 1", "fridge 1", "microwave 1", "shelf 1", "sinkbasin 1")]


def play(*turns):
    known = begin(ROOM)
    for command, observation in turns:
        known = after(known, command, observation)
    return known


def here(*turns):
    """What is offered beside going somewhere."""
    return [command for command in choices(play(*turns)) if not command.startswith("go to ")]


AT_DESK = ("go to desk 1", "On the desk 1, you see a alarmclock 1, a desklamp 1, and a mug 2.")
TAKEN = ("take mug 2 from desk 1", "You pick up the mug 2 from the desk 1.")
SHUT = ("go to drawer 1", "The drawer 1 is closed.")
OPENED = ("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see a pen 1.")


def test_at_first_one_can_go_to_every_place():
    assert choices(play()) == GOING
    assert choices(begin("no room")) == []


CASES = [
    (
        [AT_DESK],
        ["take alarmclock 1 from desk 1", "take desklamp 1 from desk 1", "take mug 2 from desk 1", "use desklamp 1"],
    ),
    ([AT_DESK, TAKEN], ["move mug 2 to desk 1", "use desklamp 1"]),
    ([SHUT], ["open drawer 1"]),
    ([SHUT, OPENED], ["take pen 1 from drawer 1", "close drawer 1"]),
    ([SHUT, OPENED, ("close drawer 1", "You close the drawer 1.")], ["open drawer 1"]),
    ([AT_DESK, TAKEN, SHUT], ["open drawer 1"]),
    ([AT_DESK, TAKEN, SHUT, OPENED], ["move mug 2 to drawer 1", "close drawer 1"]),
    (
        [AT_DESK, TAKEN, SHUT, OPENED, ("move mug 2 to drawer 1", "You move the mug 2 to the drawer 1.")],
        ["take pen 1 from drawer 1", "take mug 2 from drawer 1", "close drawer 1"],
    ),
    ([("go to fridge 1", "The fridge 1 is closed.")], ["open fridge 1"]),
    ([AT_DESK, TAKEN, ("go to fridge 1", "The fridge 1 is closed.")], ["open fridge 1", "cool mug 2 with fridge 1"]),
    (
        [AT_DESK, TAKEN, ("go to microwave 1", "The microwave 1 is open. In it, you see nothing.")],
        ["move mug 2 to microwave 1", "heat mug 2 with microwave 1", "close microwave 1"],
    ),
    (
        [AT_DESK, TAKEN, ("go to sinkbasin 1", "On the sinkbasin 1, you see nothing.")],
        ["move mug 2 to sinkbasin 1", "clean mug 2 with sinkbasin 1"],
    ),
]


@pytest.mark.parametrize(("turns", "offered"), CASES)
def test_what_can_be_done_where_one_stands(turns, offered):
    assert here(*turns) == offered
    at = [command for command, _ in turns if command.startswith("go to ")][-1]
    assert at not in choices(play(*turns))
    assert len([c for c in choices(play(*turns)) if c in GOING]) == len(GOING) - 1


def test_what_was_treated_is_not_treated_again_but_may_be_undone():
    held = [AT_DESK, TAKEN, ("go to microwave 1", "The microwave 1 is closed.")]
    hot = [*held, ("heat mug 2 with microwave 1", "You heat the mug 2 using the microwave 1.")]
    assert "heat mug 2 with microwave 1" in here(*held)
    assert "heat mug 2 with microwave 1" not in here(*hot)
    at_fridge = [*hot, ("go to fridge 1", "The fridge 1 is closed.")]
    assert "cool mug 2 with fridge 1" in here(*at_fridge)
    cool = [*at_fridge, ("cool mug 2 with fridge 1", "You cool the mug 2 using the fridge 1.")]
    assert "heat mug 2 with microwave 1" in here(*cool, ("go to microwave 1", "The microwave 1 is closed."))


def test_what_followed_and_did_nothing_is_not_offered_again():
    turns = [AT_DESK, ("take desklamp 1 from desk 1", NOTHING)]
    assert "take desklamp 1 from desk 1" not in here(*turns)
    assert "take mug 2 from desk 1" in here(*turns)


def test_what_did_not_follow_and_did_nothing_is_forgotten():
    assert play(("take pen 1 from drawer 1", NOTHING), ("fly", NOTHING)) == play()
    assert play(AT_DESK, ("go to desk 1", NOTHING)) == play(AT_DESK)


def test_places_that_stand_together():
    together = [AT_DESK, ("go to shelf 1", NOTHING)]
    assert here(*together)[-1] == "examine shelf 1"
    assert "go to shelf 1" not in choices(play(*together))
    looked = [*together, ("examine shelf 1", "On the shelf 1, you see a book 1.")]
    assert "take book 1 from shelf 1" in here(*looked)
    assert "take mug 2 from desk 1" in here(*looked)
    assert here(*looked, TAKEN) == ["move mug 2 to desk 1", "use desklamp 1", "move mug 2 to shelf 1"]
    away = [*looked, SHUT]
    assert {"go to shelf 1", "go to desk 1"} < set(choices(play(*away)))
    back = [*away, ("go to shelf 1", "On the shelf 1, you see a book 1.")]
    assert "go to desk 1" not in choices(play(*back))
    assert "take mug 2 from desk 1" in here(*back)


def test_three_places_that_stand_together():
    turns = [AT_DESK, ("go to shelf 1", NOTHING), ("go to fridge 1", NOTHING)]
    assert here(*turns)[-2:] == ["examine fridge 1", "examine shelf 1"]
    away = [*turns, SHUT, ("go to fridge 1", "The fridge 1 is closed.")]
    assert not {"go to desk 1", "go to shelf 1", "go to fridge 1"} & set(choices(play(*away)))


def test_what_was_seen():
    assert seen(play()) == {}
    turns = [AT_DESK, TAKEN, SHUT]
    assert seen(play(*turns)) == {"desk 1": ["alarmclock 1", "desklamp 1"], "drawer 1": ""}
    closed = [*turns, OPENED, ("close drawer 1", "You close the drawer 1.")]
    assert seen(play(*closed))["drawer 1"] == ["pen 1"]
    again = ("go to drawer 1", "The drawer 1 is closed.")
    assert seen(play(*closed, AT_DESK, again))["drawer 1"] == ["pen 1"]


PIECES = [
    *("On the desk 1, you see a mug 1.", "The drawer 1 is closed.", "You close the fridge 1.", NOTHING),
    *("The fridge 1 is open. In it, you see a egg 2, and a egg 1.", "You pick up the mug 1 from the desk 1."),
    *("You move the mug 1 to the shelf 1.", "You heat the mug 1 using the microwave 1.", "You turn on the desklamp 1."),
    *("On the desk 1, you see a desklamp 1, and nothing.", "You are carrying: a mug 1.", "a", "you see a ", "\n"),
]
texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=3).map(" ".join))
commands = st.one_of(st.text(max_size=30), st.sampled_from([*GOING, "take mug 1 from desk 1", "open drawer 1", "look"]))


@given(st.one_of(st.just(ROOM), texts), st.lists(st.tuples(commands, texts), max_size=8))
def test_every_name_offered_was_read_and_nothing_raises(first, turns):
    known, read = begin(first), first
    for command, observation in turns:
        known, read = after(known, command, observation), f"{read} {observation} {command}"
    offered = choices(known)
    assert len(set(offered)) == len(offered)
    names = {
        name for command in offered for name in re.split(r"^(?:go to|[a-z]+) | (?:from|to|with) ", command) if name
    }
    assert all(name in read.lower() for name in names)
    assert f"go to {known.at}" not in offered
    assert set(seen(known)) == set(known.seen)


@given(st.integers(0, 40))
def test_long_rooms_are_read_whole(count):
    places = [f"cabinet {n}" for n in range(count, 0, -1)]
    text = f"Looking quickly around you, you see {', '.join(f'a {p}' for p in places)}."
    assert choices(begin(text)) == [f"go to {place}" for place in places]


KITCHEN = (
    "You are in the middle of a room. Looking quickly around you, you see a desk 1, a microwave 1, and a shelf 1.\n"
    "Your task is to: put a hot mug in desk."
)
PLAYED = [
    ("go to desk 1", "On the desk 1, you see nothing."),
    ("go to shelf 1", "On the shelf 1, you see a mug 1, and a pen 1."),
    ("take mug 1 from shelf 1", "You pick up the mug 1 from the shelf 1."),
    ("go to microwave 1", "The microwave 1 is closed."),
    ("heat mug 1 with microwave 1", "You heat the mug 1 using the microwave 1."),
]


def write(steps):
    known, book = begin(KITCHEN), open_notebook(KITCHEN)
    for command, observation in steps:
        known = after(known, command, observation)
        book = book.after(known)
    return known, book


def test_the_task_and_what_is_held_stand_in_one_line():
    assert [book.line(known) for known, book in (write(PLAYED[:n]) for n in (0, 2, 3, 5))] == [
        "Task: put a hot mug in desk. You hold: nothing. Seen of it: nothing yet.",
        "Task: put a hot mug in desk. You hold: nothing. Seen of it: mug 1 at shelf 1.",
        "Task: put a hot mug in desk. You hold: mug 1 (not hot yet).",
        "Task: put a hot mug in desk. You hold: mug 1 (hot).",
    ]


def test_a_thing_that_the_task_does_not_name_is_said_to_be_one():
    known, book = write([*PLAYED[:2], ("take pen 1 from shelf 1", "You pick up the pen 1 from the shelf 1.")])
    assert book.line(known) == (
        "Task: put a hot mug in desk. You hold: pen 1, which the task does not name. Seen of it: mug 1 at shelf 1."
    )


def test_no_place_is_offered_twice_until_what_is_held_changes():
    known, book = write(PLAYED[:2])
    assert [c for c in book.choices(choices(known)) if c.startswith("go")] == ["go to microwave 1"]
    known, book = write(PLAYED[:3])
    assert [c for c in book.choices(choices(known)) if c.startswith("go")] == ["go to desk 1", "go to microwave 1"]
    known, book = write(PLAYED)
    assert "go to desk 1" in book.choices(choices(known))


def test_with_focus_only_what_the_task_names_is_taken():
    known, _ = write(PLAYED[:2])
    plain, focused = (open_notebook(KITCHEN, focus).choices(choices(known)) for focus in (False, True))
    assert [c for c in plain if c.startswith("take")] == ["take mug 1 from shelf 1", "take pen 1 from shelf 1"]
    assert [c for c in focused if c.startswith("take")] == ["take mug 1 from shelf 1"]
    assert [c for c in plain if c.startswith("go")] == [c for c in focused if c.startswith("go")]
    assert open_notebook(KITCHEN, True).choices(["take pen 1 from shelf 1"]) == ["take pen 1 from shelf 1"]
    assert open_notebook(KITCHEN, True).after(known).focus


def test_with_focus_nothing_beside_the_task_is_done_and_the_line_says_what_can_be():
    lid = [*PLAYED[:3], ("go to microwave 1", "The microwave 1 is open. In it, you see a cup 1.")]
    known, _ = write(lid)
    assert "move mug 1 to microwave 1" in open_notebook(KITCHEN).choices(choices(known))
    focused = open_notebook(KITCHEN, True).after(known)
    assert not [c for c in focused.choices(choices(known)) if c.startswith("move")]
    assert focused.line(known).endswith("You hold: mug 1 (not hot yet). Here: heat mug 1 with microwave 1.")
    cold = open_notebook(KITCHEN.replace("hot", "cool"), True).after(known)
    assert not [c for c in cold.choices(choices(known)) if c.startswith("heat")]


def test_with_focus_a_thing_stays_where_it_belongs_once_it_is_ready():
    put = ("move mug 1 to desk 1", "You move the mug 1 to the desk 1.")
    for steps, taken in (([*PLAYED[:3], ("go to desk 1", "On the desk 1, you see nothing.")], True), (PLAYED, False)):
        known, _ = write([*steps, ("go to desk 1", "On the desk 1, you see nothing."), put])
        focused = open_notebook(KITCHEN, True).after(known)
        assert ("take mug 1 from desk 1" in focused.choices(choices(known))) is taken
        known, _ = write(steps)
        held = open_notebook(KITCHEN, True).after(known)
        assert held.line(known).endswith("not hot yet)." if taken else "It goes to: desk 1.")


def test_with_focus_a_full_hand_opens_only_where_it_goes_and_only_then_is_a_lamp_lit():
    room = KITCHEN.replace("put a hot mug in desk", "look at mug under the desklamp")
    lamp = [("go to desk 1", "On the desk 1, you see a desklamp 1, and a mug 1.")]
    shut = [("go to microwave 1", "The microwave 1 is closed.")]
    taken = [("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")]
    for steps, command, offered in (
        (lamp, "use desklamp 1", False),
        (lamp + taken, "use desklamp 1", True),
        (shut, "open microwave 1", True),
        (lamp + taken + shut, "open microwave 1", False),
    ):
        known, _ = write(steps)
        assert (command in open_notebook(room, True).after(known).choices(choices(known))) is offered


def test_something_is_always_offered():
    assert open_notebook(KITCHEN).after(begin(KITCHEN)).choices(["go to desk 1"]) == ["go to desk 1"]
    _, book = write(PLAYED[:1])
    assert book.choices(["go to desk 1"]) == ["go to desk 1"]


def test_worked_attempts_are_shown_as_the_agent_sees_its_own():
    steps = tuple(Step(action=action, observation=said) for action, said in PLAYED)
    shown = noted(Trajectory(task_id="w", task=KITCHEN, steps=steps)).steps
    assert shown[2].observation == (
        "You pick up the mug 1 from the shelf 1.\nTask: put a hot mug in desk. You hold: mug 1 (not hot yet)."
    )


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=60)), max_size=6), st.text(max_size=80))
def test_no_text_raises(steps, room):
    known, book = begin(room), open_notebook(room)
    for command, observation in steps:
        known = after(known, command, observation)
        book = book.after(known)
    assert book.line(known).count("\n") == 0 or "\n" in known.held


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


@settings(max_examples=40)
@given(st.text(), st.lists(st.tuples(st.text(), st.text())), st.dictionaries(st.text(), st.integers(1)))
def test_no_text_raises_where_things_were_seen(task, turns, places):
    where_next(task, steps(*turns), "mug", places)
    list(sightings(Trajectory(task_id="t", task=task, steps=steps(*turns))))

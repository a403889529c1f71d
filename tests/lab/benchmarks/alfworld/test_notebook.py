from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks.alfworld.choices import after, begin, choices
from seasoned.lab.benchmarks.alfworld.notebook import noted, open_notebook
from seasoned.types import Step, Trajectory

ROOM = (
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


def play(steps):
    known, book = begin(ROOM), open_notebook(ROOM)
    for command, observation in steps:
        known = after(known, command, observation)
        book = book.after(known)
    return known, book


def test_the_task_and_what_is_held_stand_in_one_line():
    assert [book.line(known) for known, book in (play(PLAYED[:n]) for n in (0, 2, 3, 5))] == [
        "Task: put a hot mug in desk. You hold: nothing. Seen of it: nothing yet.",
        "Task: put a hot mug in desk. You hold: nothing. Seen of it: mug 1 at shelf 1.",
        "Task: put a hot mug in desk. You hold: mug 1 (not hot yet).",
        "Task: put a hot mug in desk. You hold: mug 1 (hot).",
    ]


def test_a_thing_that_the_task_does_not_name_is_said_to_be_one():
    known, book = play([*PLAYED[:2], ("take pen 1 from shelf 1", "You pick up the pen 1 from the shelf 1.")])
    assert book.line(known) == (
        "Task: put a hot mug in desk. You hold: pen 1, which the task does not name. Seen of it: mug 1 at shelf 1."
    )


def test_no_place_is_offered_twice_until_what_is_held_changes():
    known, book = play(PLAYED[:2])
    assert [c for c in book.choices(choices(known)) if c.startswith("go")] == ["go to microwave 1"]
    known, book = play(PLAYED[:3])
    assert [c for c in book.choices(choices(known)) if c.startswith("go")] == ["go to desk 1", "go to microwave 1"]
    known, book = play(PLAYED)
    assert "go to desk 1" in book.choices(choices(known))


def test_with_focus_only_what_the_task_names_is_taken():
    known, _ = play(PLAYED[:2])
    plain, focused = (open_notebook(ROOM, focus).choices(choices(known)) for focus in (False, True))
    assert [c for c in plain if c.startswith("take")] == ["take mug 1 from shelf 1", "take pen 1 from shelf 1"]
    assert [c for c in focused if c.startswith("take")] == ["take mug 1 from shelf 1"]
    assert [c for c in plain if c.startswith("go")] == [c for c in focused if c.startswith("go")]
    assert open_notebook(ROOM, True).choices(["take pen 1 from shelf 1"]) == ["take pen 1 from shelf 1"]
    assert open_notebook(ROOM, True).after(known).focus


def test_with_focus_nothing_beside_the_task_is_done_and_the_line_says_what_can_be():
    lid = [*PLAYED[:3], ("go to microwave 1", "The microwave 1 is open. In it, you see a cup 1.")]
    known, _ = play(lid)
    assert "move mug 1 to microwave 1" in open_notebook(ROOM).choices(choices(known))
    focused = open_notebook(ROOM, True).after(known)
    assert not [c for c in focused.choices(choices(known)) if c.startswith("move")]
    assert focused.line(known).endswith("You hold: mug 1 (not hot yet). Here: heat mug 1 with microwave 1.")
    cold = open_notebook(ROOM.replace("hot", "cool"), True).after(known)
    assert not [c for c in cold.choices(choices(known)) if c.startswith("heat")]


def test_with_focus_a_thing_stays_where_it_belongs_once_it_is_ready():
    put = ("move mug 1 to desk 1", "You move the mug 1 to the desk 1.")
    for steps, taken in (([*PLAYED[:3], ("go to desk 1", "On the desk 1, you see nothing.")], True), (PLAYED, False)):
        known, _ = play([*steps, ("go to desk 1", "On the desk 1, you see nothing."), put])
        focused = open_notebook(ROOM, True).after(known)
        assert ("take mug 1 from desk 1" in focused.choices(choices(known))) is taken
        known, _ = play(steps)
        held = open_notebook(ROOM, True).after(known)
        assert held.line(known).endswith("not hot yet)." if taken else "It goes to: desk 1.")


def test_with_focus_a_full_hand_opens_only_where_it_goes_and_only_then_is_a_lamp_lit():
    room = ROOM.replace("put a hot mug in desk", "look at mug under the desklamp")
    lamp = [("go to desk 1", "On the desk 1, you see a desklamp 1, and a mug 1.")]
    shut = [("go to microwave 1", "The microwave 1 is closed.")]
    taken = [("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")]
    for steps, command, offered in (
        (lamp, "use desklamp 1", False),
        (lamp + taken, "use desklamp 1", True),
        (shut, "open microwave 1", True),
        (lamp + taken + shut, "open microwave 1", False),
    ):
        known, _ = play(steps)
        assert (command in open_notebook(room, True).after(known).choices(choices(known))) is offered


def test_something_is_always_offered():
    assert open_notebook(ROOM).after(begin(ROOM)).choices(["go to desk 1"]) == ["go to desk 1"]
    _, book = play(PLAYED[:1])
    assert book.choices(["go to desk 1"]) == ["go to desk 1"]


def test_worked_attempts_are_shown_as_the_agent_sees_its_own():
    steps = tuple(Step(action=action, observation=said) for action, said in PLAYED)
    shown = noted(Trajectory(task_id="w", task=ROOM, steps=steps)).steps
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

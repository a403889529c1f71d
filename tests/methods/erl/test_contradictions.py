"""Which heuristics contradict each other."""

import pytest

from seasoned.methods.erl.contradictions import contradict
from seasoned.types import Lesson


def lesson(trigger, action, success):
    data = {"action": action, "success": success}
    return Lesson(kind="heuristic", text=f"When {trigger}: {action}", key=trigger, data=data)


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("the fridge is closed", "open it", True), ("The fridge is closed.", "go to the table", False), True),
        (
            ("a fridge is closed", "open the fridge", True),
            ("the fridge is closed", "never open the fridge", False),
            True,
        ),
        (("the fridge is closed", "open it", True), ("the fridge is closed", "go to the table", True), False),
        (("the fridge is closed", "open it", True), ("the fridge is closed", "Open it!", False), False),
        (("the task asks for a hot mug", "x y", True), ("the task asks for a cool mug", "z", False), False),
        (("the fridge is closed", "open it", None), ("the fridge is closed", "go away", False), False),
        (("the fridge is closed", "open it", False), ("the fridge is closed", "never open it", False), True),
        (("the fridge is closed", "open it", None), ("the fridge is closed", "don't open it", None), True),
        (
            ("the fridge is closed", "open the door", True),
            ("the fridge is closed", "avoid opening the door", True),
            True,
        ),
        (("the fridge is closed", "open it", None), ("the fridge is closed", "never take a step back", None), False),
        (("the fridge is closed", "never open it", None), ("the fridge is closed", "do not open it", None), False),
        (
            ("a name is rare", "look at the label before you answer", None),
            ("a name is rare", "do not answer before you look at the label", None),
            False,
        ),
    ],
)
def test_contradictions(one, other, clash):
    assert contradict(lesson(*one), lesson(*other)) is clash
    assert contradict(lesson(*other), lesson(*one)) is clash


def test_data_of_another_kind_contradicts_nothing():
    assert not contradict(lesson("it is dark", "a", ["x"]), lesson("it is dark", "b", {}))

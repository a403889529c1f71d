"""Notes that a rule reads off observations, and another shows."""

import pytest

from seasoned.lab.methods.given import Observed
from seasoned.methods.expnote import ExpNote
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Outcome, Step, Task, Trajectory


@pytest.fixture
def pool(tmp_path):
    with Store(tmp_path / "store.db") as store:
        yield ExperiencePool(store, "test")


def attempt(number, *observations):
    steps = tuple(Step(action="look", observation=seen) for seen in observations)
    return Trajectory(
        id=f"tra-{number}", task_id=f"t{number}", task="Fetch it.", steps=steps, outcome=Outcome(success=False)
    )


def read(trajectory):
    return [tuple(step.observation.split(" at ")) for step in trajectory.steps]


def line(task, steps, key, places):
    return "" if any(key in step.observation for step in steps) else f"{key}: {max(places, key=places.get)}"


METHOD = Observed(ExpNote(read=read, heading="It was:"), line)


def test_a_note_is_shown_until_its_line_is_empty(pool):
    METHOD.learn([attempt(1, "pan at stove", "pan at shelf"), attempt(2, "pan at stove", "cup at shelf")], pool)
    task = Task(id="x", text="Fetch a pan.")
    guidance = METHOD.recall(task, pool)
    assert guidance.text.endswith("It was:\n- pan: stove")
    assert [note.key for note in guidance.lessons] == ["pan"]
    assert guidance.lessons[0].sources == ("tra-1", "tra-2")
    assert METHOD.recall(task, pool, attempt(3, "pan at shelf")).text == ""


def test_a_task_that_names_no_key_gets_nothing(pool):
    METHOD.learn([attempt(1, "pan at stove")], pool)
    assert not METHOD.recall(Task(id="x", text="Fetch a plate."), pool).lessons

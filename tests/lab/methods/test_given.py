"""Lessons from a file, and notes that a rule reads off observations and another shows."""

import pytest

from seasoned.errors import ConfigError, DataError
from seasoned.lab.methods.given import Given, Observed, read_lessons
from seasoned.methods.expnote import ExpNote
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Step, Task, Trajectory


def test_lessons_of_a_file_are_shown_for_every_task(tmp_path):
    file = tmp_path / "lessons.jsonl"
    whole = Lesson(kind="insight", text="Look into closed places.", sources=("tra-1",))
    off = Lesson(kind="insight", text="Never.", status="disabled")
    bare = '{"text": "Take one thing at a time."}'
    file.write_text("\n".join([whole.model_dump_json(), bare, "", off.model_dump_json()]), encoding="utf-8")
    with Store(tmp_path / "s.db") as store:
        pool = ExperiencePool(store)
        method = Given(read_lessons(file))
        method.learn([], pool)
        guidance = method.recall(Task(id="t", text="Find a pen."), pool)
    assert guidance.text == "Lessons from earlier tasks:\n- Look into closed places.\n- Take one thing at a time."
    assert guidance.lessons[0].sources == ()
    assert guidance.lessons[0].data["from"] == ("tra-1",)


def test_what_a_lesson_was_adapted_from_is_kept(tmp_path):
    file = tmp_path / "lessons.jsonl"
    file.write_text(Lesson(kind="insight", text="Look.", data={"from": ["les-1"]}).model_dump_json(), encoding="utf-8")
    (lesson,) = read_lessons(file)
    assert lesson.data == {"from": ["les-1"]}


@pytest.mark.parametrize("line", ["no json", "[]", '{"text": 3}', '{"words": "x"}', '{"text": "x", "kind": "rule"}'])
def test_a_line_that_is_no_lesson_is_named(tmp_path, line):
    file = tmp_path / "lessons.jsonl"
    file.write_text(f'{{"text": "fine"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 2 of"):
        read_lessons(file)


def test_a_file_has_to_be_there(tmp_path):
    with pytest.raises(ConfigError, match=r"method\.given"):
        read_lessons("")
    with pytest.raises(DataError, match="there is no file"):
        read_lessons(tmp_path / "none.jsonl")


def test_a_byte_order_mark_is_no_part_of_the_first_lesson(tmp_path):
    file = tmp_path / "lessons.jsonl"
    file.write_text('{"text": "fine"}', encoding="utf-8-sig")
    assert [lesson.text for lesson in read_lessons(file)] == ["fine"]


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

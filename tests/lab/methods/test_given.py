import pytest

from seasoned.errors import ConfigError, DataError
from seasoned.lab.methods.given import Given, read_lessons
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Lesson, Task


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

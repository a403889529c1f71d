import json

import numpy as np
import pytest

from seasoned.pool import ExperiencePool
from seasoned.store.forget import FORGOTTEN
from seasoned.store.sql import Store
from seasoned.types import Block, Entry, Guidance, Lesson, Outcome, Reply, Step, Trajectory

SECRET = "the-blue-heron-lands-at-noon"


def attempt(n, task="x"):
    return Trajectory(id=f"tra-{n}", task_id="t", task=task, lesson_ids=("les-1",))


def rows(store):
    with store._read() as connection:
        names = ("trajectories", "lessons", "lesson_history", "lesson_sources", "lesson_uses", "vectors", "learned")
        return {name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar() for name in names}


def fill(store):
    store.add_trajectories("s", [attempt(1, SECRET), attempt(2)])
    store.add_trajectories("other", [attempt(3)])
    lessons = [Lesson(id="les-1", kind="note", text=SECRET, sources=("tra-1",)),
               Lesson(id="les-2", kind="note", text="b", sources=("tra-1", "tra-2"))]  # fmt: skip
    store.add_lessons("s", lessons, who="model")
    store.update_lesson(lessons[0].model_copy(update={"text": f"{SECRET} again"}), who="person")
    store.add_lessons("other", [Lesson(id="les-3", kind="note", text="c")], who="model")
    store.put_vectors("lesson", ["les-1", "les-3"], "e", np.ones((2, 2)))
    store.put_vectors("trajectory", ["tra-1", "tra-3"], "e", np.ones((2, 2)))
    store.mark_learned("m", ["tra-1", "tra-3"])
    store.add_snapshot("s", "monday", who="person")


def test_trajectories_go_with_everything_of_theirs(store):
    fill(store)
    pool = ExperiencePool(store, "s")
    assert len(pool.trajectories()) == 2
    assert store.remove_trajectories("s", ["tra-1", "tra-3", "tra-gone"]) == 1  # tra-3 is of another scope
    assert [t.id for t in store.trajectories()] == ["tra-2", "tra-3"]
    assert rows(store) == {
        "trajectories": 2,
        "lessons": 3,
        "lesson_history": 4,
        "lesson_sources": 3,
        "lesson_uses": 2,
        "vectors": 3,
        "learned": 1,
    }
    assert [t.id for t in pool.trajectories()] == ["tra-2"]
    assert store.check() == []


def test_a_scope_is_emptied_and_no_other(store):
    fill(store)
    assert store.scopes() == ["other", "s"]
    assert store.clear_scope("s") == (2, 2)
    assert store.scopes() == ["other"]
    assert store.snapshots() == []
    assert set(rows(store).values()) == {0, 1, 2}
    assert [x.id for x in store.lessons()] == ["les-3"]
    assert [t.id for t in store.trajectories()] == ["tra-3"]
    assert store.check() == []
    assert store.clear_scope("nowhere") == (0, 0)


def test_a_run_loses_the_episodes_whose_trajectories_go(store):
    store.add_run("run-1", "n", "p", {})
    store.save_episode("run-1", "k", "s", attempt(1))
    store.clear_scope("s")
    assert store.episodes("run-1") == {}
    assert store.check() == []


def test_which_lessons_came_from_attempts(store):
    fill(store)
    assert store.lessons_from("s", ["tra-1"]) == {"les-1": 0, "les-2": 1}
    assert store.lessons_from("s", ["tra-1", "tra-2"]) == {"les-1": 0, "les-2": 0}
    assert store.lessons_from("s", ["tra-3"]) == store.lessons_from("other", ["tra-1"]) == {}


def test_which_lessons_came_from_an_attempt_once(store):
    [lesson] = store.add_lessons("s", [Lesson(id="les-1", kind="note", text="a", sources=("tra-1",))], who="model")
    store.add_snapshot("s", "monday", who="person")
    store.update_lesson(lesson.model_copy(update={"text": "b", "sources": ("tra-1", "tra-2")}), who="model")
    store.rollback("s", "monday", who="person")
    assert store.lessons_from("s", ["tra-2"]) == {"les-1": 2}  # the present state, and its source
    assert store.lessons_from("s", ["tra-1"]) == {"les-1": 0}


def test_nothing_of_it_is_left_in_the_file(path):
    with Store(path) as store:
        fill(store)
        store.clear_scope("s")
        assert store.scrub()
        files = [file for file in path.parent.iterdir() if file.name.startswith(path.name)]
        assert len(files) == 3  # the log is there still, and empty of it
        assert not any(SECRET.encode() in file.read_bytes() for file in files)


def test_counting(store):
    fill(store)
    assert store.count_trajectories(["s"]) == store.count_trajectories(["s"], "t") == 2
    assert store.count_trajectories(["s", "other"]) == 3
    assert store.count_trajectories(["s"], "u") == store.count_trajectories(["nowhere"]) == 0
    assert store.scrub()


def test_loose_vectors_go_and_others_stay(store):
    fill(store)
    store.put_vectors("text", ["d1", "d2"], "e", np.ones((2, 2)))
    assert store.drop_loose_vectors() == 2
    assert rows(store)["vectors"] == 4


def test_attempts_that_were_shown_a_lesson_lose_their_guidance_and_its_words(store):
    said = f"Remember: {SECRET}."
    first, second = (f"<experience>\n- {text}\n</experience>" for text in (said, "and one more thing"))
    guidance = f"{first}\n{second}"
    told = [f"Be kind.\n\n{first}", second, f"so it is: {said}", "go on"]
    shown = Trajectory(
        id="tra-1",
        task_id="t",
        task="x",
        steps=(Step(action="look", observation=f"you told me: {said}", reward=0.5),),
        outcome=Outcome(success=True, answer=said),
        guidance=guidance,
        lesson_ids=("les-1",),
        messages=tuple({"role": "user", "content": text} for text in told),
        meta={"trial": 1, "judged": {"reason": said}},
    )
    other = shown.model_copy(update={"id": "tra-2", "lesson_ids": ("les-2",)})
    store.add_trajectories("s", [shown, other])
    [lesson] = store.add_lessons("s", [Lesson(id="les-1", kind="note", text=said)], who="person")
    store.update_lesson(lesson.model_copy(update={"text": "short"}), who="person")
    store.remove_lesson("les-1", who="person")
    assert store.get_trajectory("tra-1") == shown  # it can be brought back
    store.remove_lesson("les-1", who="person", purge=True)
    blank = store.get_trajectory("tra-1")
    assert SECRET not in blank.model_dump_json()
    assert [m["content"] for m in blank.messages] == [
        f"Be kind.\n\n{FORGOTTEN}",
        FORGOTTEN,
        f"so it is: {FORGOTTEN}",
        "go on",
    ]
    assert (blank.guidance, blank.steps[0].reward, blank.meta["trial"]) == (FORGOTTEN, 0.5, 1)
    assert blank.lesson_ids == ("les-1",)
    assert store.get_trajectory("tra-2") == other
    assert store.check() == []


def test_what_was_recalled_on_the_way_goes_where_it_stands_by_itself(store):
    said = f"Remember: {SECRET}."
    first, later = (Block(heading=f"{when}:", entries=(Entry(text=said, lesson_ids=("les-1",)),)) for when in "ab")
    guidance = Guidance(blocks=(first, later))
    messages = [{"role": "user", "content": text} for text in (f"Be kind.\n\n{first.text}", f"{later.text}\n\nGo on.")]
    shown = Trajectory(
        id="tra-1",
        task_id="t",
        task="x",
        guidance=guidance.text,
        guidance_blocks=guidance.blocks,
        lesson_ids=("les-1",),
        messages=tuple(messages),
    )
    store.add_trajectories("s", [shown])
    store.add_lessons("s", [Lesson(id="les-1", kind="note", text="in other words")], who="person")
    assert store.get_trajectory("tra-1") == shown
    store.remove_lesson("les-1", who="person", purge=True)
    blank = store.get_trajectory("tra-1")
    assert (blank.guidance, blank.guidance_blocks) == (FORGOTTEN, ())
    assert [m["content"] for m in blank.messages] == [f"Be kind.\n\n{FORGOTTEN}", f"{FORGOTTEN}\n\nGo on."]


def test_attempts_that_were_shown_another_lose_their_guidance(store):
    shown = Trajectory(
        id="tra-2", task_id="t", task="x", guidance=f"Once I saw {SECRET}", demonstration_ids=("tra-1", "tra-9")
    )
    store.add_trajectories("s", [shown, attempt(3)])
    store.add_trajectories("other", [shown.model_copy(update={"id": "tra-4"})])
    assert store.blank_demonstrations(["s"], ["tra-9", "tra-10"]) == 1
    assert store.get_trajectory("tra-2").guidance == FORGOTTEN
    assert store.get_trajectory("tra-4").guidance == shown.guidance
    assert store.blank_demonstrations(["s", "other"], ["tra-5"]) == 0


def test_a_scope_that_is_emptied_leaves_nothing_in_the_attempts_of_another(store):
    store.add_lessons("s", [Lesson(id="les-1", kind="note", text=SECRET)], who="person")
    made = attempt(1).model_copy(update={"guidance": f"- {SECRET}"})
    store.add_trajectories("other", [made])
    store.clear_scope("s")
    assert store.get_trajectory("tra-1").guidance == FORGOTTEN


def test_a_lesson_that_a_person_deletes_for_good_takes_loose_vectors_along(store):
    fill(store)
    store.put_vectors("text", ["d1"], "e", np.ones((1, 2)))
    store.remove_lesson("les-1", who="rule", purge=True)
    assert store.get_vectors("text", None, "e")[0] == ["d1"]  # a cache that other pools use, too
    assert store.get_vectors("lesson", None, "e")[0] == ["les-3"]
    store.remove_lesson("les-3", who="person", purge=True)
    assert store.get_vectors("text", None, "e")[0] == []


@pytest.mark.parametrize("ascii_alone", [False, True])
def test_what_goes_for_good_is_found_within_json_too(store, ascii_alone):
    said = f'Zoë said "no refund" before Friday: {SECRET}.'
    within = json.dumps({"lesson": said}, ensure_ascii=ascii_alone)
    store.add_lessons("s", [Lesson(id="les-1", kind="note", text=said)], who="person")
    store.journal_put("s/x", "k/asked", Reply(text=within))
    step = Step(action=f"note({within})")
    store.add_trajectories("s", [Trajectory(id="tra-1", task_id="t", task="x", steps=(step,), lesson_ids=("les-1",))])
    store.remove_lesson("les-1", who="person", purge=True)
    assert store.journal_get("s/x", "k/asked") is None
    assert SECRET not in store.get_trajectory("tra-1").model_dump_json()


def test_what_goes_for_good_leaves_the_journal_too(store):
    long = f"{SECRET} {'and so on ' * 40}".strip()
    store.add_lessons("r/pool", [Lesson(id=f"les-{n}", kind="note", text=long) for n in (1, 2)], who="person")
    asked = [{"role": "user", "content": f'The lessons:\n1. "{long[:220]}"'}]
    keys = [(scope, key) for scope in ("r/pool/x", "other/pool/x") for key in ("k1/asked", "k1", "k2")]

    def fill_journal():
        for scope, key in keys:
            reply = {"k1/asked": Reply(text="3:90", parsed=asked), "k1": Reply(text=long), "k2": Reply(text="no more")}
            store.journal_put(scope, key, reply[key])

    def left():
        return [(scope, key) for scope, key in keys if store.journal_get(scope, key) is not None]

    fill_journal()
    store.remove_lesson("les-1", who="rule", purge=True)
    assert left() == keys[1:]  # what was paid for stays, for a run that goes on, and so does what another run asked
    fill_journal()
    store.remove_lesson("les-2", who="person", purge=True)
    assert left() == [("r/pool/x", "k2"), ("other/pool/x", "k2")]


def test_what_a_person_removes_for_good_leaves_the_marks_too(store):
    [lesson] = store.add_lessons("s", [Lesson(kind="note", text="the boat is at the old pier")], who="model")
    store.mark("r/s", "learned", {"problems": [f'no heuristic: "{lesson.text}"']})
    store.mark("r/s", "other", ["words of nobody, kept"])
    store.remove_lesson(lesson.id, who="person", purge=True)
    assert list(store.marks("r/s")) == ["other"]

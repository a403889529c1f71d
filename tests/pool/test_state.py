from seasoned.pool.state import LessonsSeen, TasksSeen, lessons_now, tasks_now
from seasoned.types import Lesson, Trajectory


def test_lessons(store):
    empty = lessons_now(store, "s", LessonsSeen())
    assert empty.by_id == {}
    lessons = [Lesson(kind="note", text="a", key="k"), Lesson(kind="insight", text="b", status="disabled", key="k")]
    store.add_lessons("s", lessons, who="model")
    seen = lessons_now(store, "s", empty)
    assert seen.choose(None, None) == lessons
    assert seen.choose("note", "active") == lessons[:1]
    assert seen.under("k", None, None) == lessons
    assert seen.under("k", None, "active") == lessons[:1]
    assert seen.under("other", None, None) == []
    assert lessons_now(store, "s", seen) is seen
    store.add_trajectories("s", [Trajectory(task_id="t", task="x")])
    assert lessons_now(store, "s", seen) is seen  # no lesson changed, so what was chosen stays chosen
    changed = store.update_lesson(lessons[0].model_copy(update={"text": "c"}), who="model")
    newer = lessons_now(store, "s", seen)
    assert list(newer.by_id.values()) == [changed, lessons[1]]  # in the old place
    assert seen.choose(None, None) == lessons
    store.remove_lesson(changed.id, who="person", purge=True)
    assert lessons_now(store, "s", newer).choose(None, None) == lessons[1:]


def test_tasks(store):
    store.add_run("run-1", "n", "p", {})
    made = [Trajectory(task_id=str(i), task=f"task {i}") for i in range(3)]
    seen = tasks_now(store, "s", TasksSeen())
    store.save_episode("run-1", "a", "s", made[0])
    seen = tasks_now(store, "s", seen)
    store.save_episode("run-1", "b", "s", made[1])
    newer = tasks_now(store, "s", seen)
    assert [item.id for item in seen.items] == [made[0].id]
    assert [item.id for item in newer.items] == [made[0].id, made[1].id]
    store.add_lessons("s", [Lesson(kind="note", text="a")], who="model")
    assert tasks_now(store, "s", newer) is newer
    store.save_episode("run-1", "a", "s", made[2])
    assert [item.id for item in tasks_now(store, "s", newer).items] == [made[1].id, made[2].id]

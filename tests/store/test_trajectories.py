import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.errors import StoreError
from seasoned.store.body import clean_text
from seasoned.types import Lesson, Outcome, Step, Trajectory

any_text = st.text(st.characters())


def attempt(task_id="t", success=None, **more):
    return Trajectory(task_id=task_id, task=f"task {task_id}", outcome=Outcome(success=success), **more)


def test_add_and_get(store):
    made = attempt(
        steps=(Step(thought="hm", action="go", observation="🙂", reward=0.5),),
        messages=({"role": "user", "content": "hello"},),
        meta={"seed": 1},
    )
    store.add_trajectories("s", [made], "run-1")
    store.add_trajectories("s", [])
    assert store.get_trajectory(made.id) == made
    assert store.get_trajectory("tra-none") is None
    other = attempt()
    store.add_trajectories("s", [other])
    assert store.get_trajectories([other.id, "tra-none", made.id]) == [other, made]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(text=any_text, answer=any_text, meta=st.dictionaries(any_text, any_text, max_size=2))
def test_any_text_goes_in_and_comes_out(store, text, answer, meta):
    made = Trajectory(
        task_id=text,
        task=text,
        outcome=Outcome(answer=answer),
        messages=({"role": "user", "content": text},),
        meta=meta,
    )
    store.add_trajectories("s", [made])
    found = store.trajectories("s", task_id=text)[-1]
    assert found.id == made.id
    assert found.messages[0]["content"] == found.task == clean_text(text)
    assert found.outcome.answer == clean_text(answer)


def test_filters_and_pages_in_order_of_insertion(store):
    made = [attempt(f"t{i % 2}", (True, False, None)[i % 3]) for i in range(6)]
    store.add_trajectories("s", made[:4], "run-1")
    store.add_trajectories("u", made[4:], "run-2")
    assert store.trajectories() == made
    assert store.trajectories("s") == made[:4]
    assert store.trajectories(run_id="run-2") == made[4:]
    assert store.trajectories("s", task_id="t1") == [made[1], made[3]]
    assert store.trajectories(success=True) == [made[0], made[3]]
    assert store.trajectories(success=False) == [made[1], made[4]]
    assert store.trajectories("s", success=True, limit=1, offset=1) == [made[3]]
    assert store.trajectories(offset=4) == made[4:]
    with pytest.raises(StoreError, match="limit should be 0 or more"):
        store.trajectories(limit=-1)


def test_the_same_trajectory_twice_is_stored_once(store):
    made = attempt()
    store.add_trajectories("s", [made, made])
    change = store.changes("s")
    store.add_trajectories("s", [made])
    assert store.trajectories() == [made]
    assert store.changes("s") == change


def test_a_long_task_id_is_kept_short_and_found(store):
    made = attempt().model_copy(update={"task_id": "ü" * 1500})
    store.add_trajectories("s", [made, made])
    store.add_trajectories("s", [made])
    [kept] = store.trajectories("s", task_id=made.task_id)
    assert len(kept.task_id.encode()) <= 2000
    assert store.count_trajectories(["s"], task_id=made.task_id) == 1
    assert store.check() == []


def test_a_stored_trajectory_never_changes(store):
    made, fresh = attempt(), attempt()
    store.add_trajectories("s", [made])
    for scope, other in (("s", made.model_copy(update={"task": "else"})), ("u", made)):
        with pytest.raises(StoreError, match=f"the id {made.id} already.*give this one a new id"):
            store.add_trajectories(scope, [fresh, other])
    with pytest.raises(StoreError, match=f"the id {fresh.id} already"):
        store.add_trajectories("s", [fresh, fresh.model_copy(update={"task": "else"})])
    assert store.trajectories() == [made]


def test_uses_of_a_lesson(store):
    lesson = Lesson(kind="note", text="a")
    store.add_lessons("s", [lesson], who="model")
    made = [attempt(success=s, lesson_ids=(lesson.id, "les-else", lesson.id)) for s in (True, False, None)]
    store.add_trajectories("s", [*made, attempt()])
    assert store.lesson_uses(lesson.id) == [(t.id, t.outcome.success) for t in made]
    assert store.lesson_uses("les-none") == []


def test_what_a_search_reads(store):
    made = [attempt(f"t{i}", success) for i, success in enumerate((True, False, None))]
    store.add_trajectories("s", made)
    found = store.task_texts("s")
    assert [(item.id, item.task, item.success) for item in found] == [(t.id, t.task, t.outcome.success) for t in made]
    assert store.task_texts("s", after=found[1].seq) == found[2:]
    assert store.task_texts("u") == []


def test_episodes(store):
    store.add_run("run-1", "n", "p", {})
    store.add_run("run-2", "n", "p", {})
    made = [attempt(f"t{i}") for i in range(4)]
    for key, trajectory in zip("dbac", made, strict=True):
        store.save_episode("run-1", key, "s", trajectory)
    store.save_episode("run-2", "d", "s", other := attempt())
    store.save_episode("run-1", "d", "s", made[0])
    assert list(store.episodes("run-1").items()) == list(zip("dbac", made, strict=True))
    assert store.episodes("run-none") == {}
    assert store.trajectories("s", run_id="run-1") == made
    assert store.trajectories("s") == [*made, other]


def test_an_episode_made_again_replaces_the_first(store):
    store.add_run("run-1", "n", "p", {})
    first, second = attempt(success=False, lesson_ids=("les-1",)), attempt(success=True)
    store.save_episode("run-1", "k", "s", first)
    store.save_episode("run-1", "k", "s", second)
    assert store.episodes("run-1") == {"k": second}
    assert store.trajectories() == [second]
    assert store.lesson_uses("les-1") == []
    assert store.changes("s")[1] == 1


def test_dropped_episodes_take_their_trajectories_along(store):
    store.add_run("run-1", "n", "p", {})
    made = {f"k{i}": attempt(f"t{i}") for i in range(3)}
    for key, trajectory in made.items():
        store.save_episode("run-1", key, "s", trajectory)
    store.put_vectors("trajectory", [made["k0"].id], "e", [[1.0, 0.0]])
    assert store.drop_episodes("run-1", ["k0", "k2", "k-none"]) == 2
    assert store.drop_episodes("run-1", []) == 0
    assert store.episodes("run-1") == {"k1": made["k1"]}
    assert store.trajectories() == [made["k1"]]
    assert store.get_vectors("trajectory", None, "e")[0] == []
    assert store.check() == []


def test_an_episode_without_its_run_or_with_anothers_trajectory(store):
    made = attempt()
    with pytest.raises(StoreError, match="the run run-9 is not in the store; store it with add_run first"):
        store.save_episode("run-9", "k", "s", made)
    assert store.trajectories() == []
    store.add_run("run-1", "n", "p", {})
    store.save_episode("run-1", "k", "s", made)
    with pytest.raises(StoreError, match="belongs to another episode"):
        store.save_episode("run-1", "k2", "s", made)
    assert store.episodes("run-1") == {"k": made}

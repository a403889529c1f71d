import threading

import pytest

from seasoned.store.sql import Store
from seasoned.types import Lesson, Trajectory


def attempt(n):
    return Trajectory(id=f"tra-{n}", task_id="t", task="x")


@pytest.fixture
def three(store):
    store.add_trajectories("s", [attempt(n) for n in range(3)])
    store.add_trajectories("other", [attempt("other")])
    return store


def left(store, method="m"):
    return [trajectory.id for trajectory in store.unlearned("s", method)]


def test_each_method_learns_from_each_once(three):
    assert left(three) == ["tra-0", "tra-1", "tra-2"]
    assert [t.id for t in three.unlearned("s", "m", limit=1)] == ["tra-0"]
    three.mark_learned("m", ["tra-0", "tra-2", "tra-2", "tra-gone"])
    three.mark_learned("m", ["tra-0"])
    three.mark_learned("m", [])
    assert left(three) == ["tra-1"]
    assert left(three, "other method") == ["tra-0", "tra-1", "tra-2"]
    assert [t.id for t in three.unlearned("other", "m")] == ["tra-other"]
    assert three.check() == []


def test_marks_survive_the_program_and_go_with_their_trajectory(address):
    with Store(address) as store:
        store.add_trajectories("s", [attempt(1), attempt(2)])
        store.mark_learned("m", ["tra-1", "tra-2"])
    with Store(address) as store:
        assert left(store) == []
        store.remove_trajectories("s", ["tra-1"])
        store.add_trajectories("s", [attempt(1)])
        assert left(store) == ["tra-1"]


def test_what_was_made_before_a_crash_is_not_learned_twice(three):
    three.add_lessons("s", [Lesson(kind="note", text="a", method="m", sources=("tra-1",))], who="model")
    three.add_lessons("s", [Lesson(kind="note", text="b", method="other", sources=("tra-0",))], who="model")
    three.add_lessons(
        "s", [Lesson(kind="note", text="c", method="m", origin="person", sources=("tra-2",))], who="person"
    )
    assert three.mark_begun("s", "m") == 1
    assert left(three) == ["tra-0", "tra-2"]
    assert three.mark_begun("s", "m") == 0


def test_a_lease_has_one_holder(store):
    assert store.take_lease("learn", "a", 60)
    assert store.take_lease("learn", "a", 60)
    assert not store.take_lease("learn", "b", 60)
    assert store.take_lease("another", "b", 60)
    store.drop_lease("learn", "b")
    assert not store.take_lease("learn", "b", 60)
    store.drop_lease("learn", "a")
    assert store.take_lease("learn", "b", 60)


def test_a_lease_that_was_not_renewed_is_free(store):
    assert store.take_lease("learn", "dead", -1)
    assert store.take_lease("learn", "b", 60)
    assert not store.take_lease("learn", "dead", 60)


def test_a_lease_is_kept_by_whoever_had_it_all_the_time(store):
    assert not store.keep_lease("learn", "a", 60)
    store.take_lease("learn", "a", -1)
    assert store.keep_lease("learn", "a", -1)  # late, but nobody came
    store.take_lease("learn", "b", 60)
    assert not store.keep_lease("learn", "a", 60)
    store.drop_lease("learn", "b")
    assert not store.keep_lease("learn", "a", 60)


def test_of_many_who_ask_at_once_one_gets_the_lease(address):
    got = []

    def ask(holder):
        with Store(address) as store:
            if store.take_lease("learn", holder, 60):
                got.append(holder)

    threads = [threading.Thread(target=ask, args=(str(n),)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1

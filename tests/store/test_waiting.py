"""What taught a method nothing yet: the reason, and with what it was tried."""

from seasoned.store.waiting import let_wait, pending, settled, waits
from seasoned.types import Outcome, Trajectory


def fill(store, *ids):
    store.add_trajectories("s", [Trajectory(id=name, task_id=name, task=name) for name in ids])


def test_each_way_is_tried_once(store):
    fill(store, "a", "b")
    let_wait(store, "erl", {"a": "too long", "gone": "?"}, "small")
    assert [t.id for t in pending(store, "s", "erl", "small", None)] == ["b"]
    assert [t.id for t in pending(store, "s", "erl", "large", None)] == ["a", "b"]
    assert [t.id for t in pending(store, "s", "erl", None, 1)] == ["a"]
    assert [t.id for t in pending(store, "s", "expel", "small", None)] == ["a", "b"]
    let_wait(store, "erl", {"a": "nothing found"}, "large")
    assert [t.id for t in pending(store, "s", "erl", "small", None)] == ["b"]
    assert waits(store, "s", "erl") == [("a", "nothing found")]


def test_the_names_of_ways_are_taken_as_they_are(store):
    fill(store, "a")
    let_wait(store, "erl", {"a": "x"}, "gpt%5\nmini")
    for same in ("gpt%5 mini", "gpt%5\nmini"):
        assert pending(store, "s", "erl", same, None) == []
    for other in ("gpt", "%", "gpt_5 mini", ""):
        assert len(pending(store, "s", "erl", other, None)) == 1


def test_what_was_learned_from_waits_no_more(store):
    fill(store, "a", "b", "c")
    let_wait(store, "erl", {"a": "x", "b": "y"}, "")
    store.mark_learned("erl", ["a"])
    assert [wait.trajectory_id for wait in waits(store, "s", "erl")] == ["b"]
    assert settled(store, "erl", ["a", "b", "c"], "") == {"a": "", "b": "y"}
    assert settled(store, "erl", ["b"], "another") == {}


def test_a_new_outcome_and_forgetting_end_the_waiting(store):
    fill(store, "a", "b")
    let_wait(store, "erl", {"a": "x", "b": "y"}, "")
    known = store.get_trajectory("a").model_copy(update={"outcome": Outcome(success=True)})
    store.revise_trajectory(known, relearn=False)
    store.remove_trajectories("s", ["b"])
    assert waits(store, "s", "erl") == []
    assert store.check() == []

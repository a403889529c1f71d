import pytest

from seasoned.lab.run.marks import is_learned, left_out, mark_learned, mark_replaced, problems_of, replaced, unlearn
from seasoned.types import Lesson, Trajectory


def attempt(task="a"):
    return Trajectory(task_id=task, task="t")


def test_what_a_pool_was_learned_from(store):
    first, new = attempt(), attempt("b")
    assert left_out(store, "r/p", [first]) == [first]
    mark_learned(store, "r/p", [first], ["a reply was empty"])
    assert is_learned(store, "r/p")
    assert problems_of(store, "r/p") == ("a reply was empty",)
    assert problems_of(store, "r/other") == ()
    assert left_out(store, "r/p", [first, new]) == [new]


def test_a_pool_that_an_earlier_version_learned_is_left_as_it_is(store):
    store.mark("r/p", "learned", {})  # what the store's migration makes of a mark without ids
    assert left_out(store, "r/p", [attempt()]) == []
    assert problems_of(store, "r/p") == ()


@pytest.mark.parametrize("who", ["person", "person ann"])
def test_unlearning_leaves_what_a_person_wrote(store, who):
    mine, other = store.add_lessons("r/p", [Lesson(kind="note", text=text) for text in "ab"], who="model")
    mine = store.update_lesson(mine, who=who)
    store.mark("r/p/judged", "tra-1")
    mark_learned(store, "r/p", [])
    unlearn(store, "r/p", "again")
    assert store.lessons() == [mine]
    assert store.history(other.id) == []
    assert not is_learned(store, "r/p")
    assert store.marks("r/p/judged") == {}


def test_attempts_that_were_made_again(store):
    store.add_run("r", "n", "p", {})
    made = {key: attempt(key) for key in ("s0f0/training/a", "s0f0/training/b", "s0f0/erl/c")}
    for key, trajectory in made.items():
        store.save_episode("r", key, "s", trajectory)
    assert replaced(store, "r/s0f0/training") == frozenset()
    for key in ("s0f0/training/a", "s0f0/erl/c", "s0f0/training/b"):
        mark_replaced(store, "r/s0f0/training", [key], "r")
    ids = {made["s0f0/training/a"].id, made["s0f0/training/b"].id}
    assert replaced(store, "r/s0f0/training") == ids

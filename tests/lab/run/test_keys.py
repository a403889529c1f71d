"""The keys of episodes and of journals, as texts and back, and the marks on pools."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import StoreError
from seasoned.lab.run.keys import (
    EpisodeKey,
    JournalName,
    is_learned,
    label,
    learning,
    left_out,
    mark_learned,
    mark_replaced,
    problems_of,
    replaced,
    unlearn,
)
from seasoned.types import Lesson, Trajectory

numbers = st.integers(0, 999)
names = st.from_regex(r"[\w.-]+", fullmatch=True)
task_ids = st.text() | st.from_regex(r"[a#/@~]{0,4}#?[0-9]{0,11}", fullmatch=True)
keys = st.builds(EpisodeKey, st.just("s0f1"), names, task_ids, numbers, numbers, numbers)


@settings(max_examples=40)
@given(keys)
def test_a_key_is_read_back_from_its_text(key):
    assert EpisodeKey.parse(str(key)) == key


@settings(max_examples=40)
@given(st.sets(keys, max_size=10))
def test_no_two_keys_have_one_text(several):
    assert len({str(key) for key in several}) == len(several)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("s0f1/training/a", EpisodeKey("s0f1", "training", "a")),
        ("s0f1/training/a#2", EpisodeKey("s0f1", "training", "a", trial=2)),
        ("s0f0/expnote@20/b/c", EpisodeKey("s0f0", "expnote", "b/c", trained_on=20)),
        ("s0f0/erl@3~1/b@c~2#4", EpisodeKey("s0f0", "erl", "b@c~2", 3, 1, 4)),
        ("s0f0/erl~1/d", EpisodeKey("s0f0", "erl", "d", repeat=1)),
        ("s0f0/erl/d#1#0", EpisodeKey("s0f0", "erl", "d#1")),  # the first attempt at d#1, and not the second one at d
        ("s0f0/erl/d#1#2", EpisodeKey("s0f0", "erl", "d#1", trial=2)),
        ("s0f0/erl/d#01", EpisodeKey("s0f0", "erl", "d#01")),
    ],
)
def test_the_text_of_a_key_stays_what_it_was(text, key):
    assert str(key) == text
    assert EpisodeKey.parse(text) == key


@pytest.mark.parametrize("text", ["", "s0f0", "s0f0/erl", "s0f0/erl@x/a"])
def test_what_is_no_key_is_said(text):
    with pytest.raises(StoreError, match="is no key of an episode: expected BLOCK/CONDITION/TASK"):
        EpisodeKey.parse(text)


def test_where_an_attempt_is_recorded_and_its_calls_are_kept():
    trained = EpisodeKey("s0f1", "training", "a", trial=1)
    assert (trained.label, trained.scope) == ("training", "s0f1/training")
    assert (trained.turns(True), trained.turns(False)) == ("s0f1/training/a", "s0f1/training/a#1")
    assert (trained.reflecting(True), trained.reflecting(False)) == ("s0f1/training/a/reflect1",) * 2
    assert trained.recalling == "s0f1/training/a/recall"
    tested = EpisodeKey("s0f1", "erl", "a", 20, 2, 1)
    assert (tested.label, tested.scope) == ("erl@20~2", "s0f1/erl@20~2/test")
    assert (tested.turns(True), tested.turns(False)) == ("s0f1/a", "s0f1/erl@20~2/a#1")
    assert (tested.reflecting(True), tested.reflecting(False)) == ("s0f1/a/reflect1", "s0f1/erl@20~2/a/reflect1")
    assert tested.recalling == "s0f1/a"
    assert (label("erl", 0), label("erl", 20), learning("s0f1/erl")) == ("erl", "erl@20", "s0f1/erl/learn")


@settings(max_examples=40)
@given(keys, st.booleans())
def test_every_journal_of_an_episode_is_among_those_of_its_task(key, alike):
    key = EpisodeKey(key.block, key.condition, key.task_id, trial=key.trial % 4)
    journals = set(key.journals(3))
    assert {key.turns(alike), key.recalling} <= journals
    assert key.trial == 0 or key.reflecting(alike) in journals


@pytest.mark.parametrize(
    ("rest", "name", "condition"),
    [
        ("expel@20/learn", JournalName("learning", "expel@20", ""), "expel"),
        ("training/a/reflect2", JournalName("reflecting", "training", "a", 2), "training"),
        ("reflexion~1/b/c/reflect1", JournalName("reflecting", "reflexion~1", "b/c", 1), "reflexion"),
        ("b/c/reflect1", JournalName("reflecting", "", "b/c", 1), ""),
        ("training/a/recall", JournalName("recalling", "training", "a"), "training"),
        ("a", JournalName("recalling", "", "a"), ""),
        ("b/recall", JournalName("recalling", "", "b/recall"), ""),
    ],
)
def test_a_journal_is_told_from_its_name(rest, name, condition):
    found = JournalName.parse(rest, {"a", "b/c", "b/recall"})
    assert (found, found.condition) == (name, condition)


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

import tempfile
import time

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from seasoned.errors import ConflictError, StoreError
from seasoned.store.sql import Store
from seasoned.store.versions import difference
from seasoned.types import Lesson


def note(text="a", **more):
    return Lesson(kind="note", text=text, **more)


def texts(lessons):
    return [lesson.text for lesson in lessons]


def edit(store, lesson_id, **changes):
    return store.update_lesson(store.get_lesson(lesson_id).model_copy(update=changes), who="person")


@pytest.fixture
def two(store):
    """A store with two lessons and a snapshot of them."""
    store.add_lessons("s", [note("one", id="les-1"), note("two", id="les-2")], who="model")
    store.add_snapshot("s", "monday", who="person", why="before the holidays")
    return store


def test_a_snapshot_holds_what_was_there_whatever_comes_after(two):
    edit(two, "les-1", text="one, better")
    two.remove_lesson("les-2", who="rule")
    two.add_lessons("s", [note("three")], who="model")
    two.add_lessons("other", [note("elsewhere")], who="model")
    assert texts(two.lessons_at("s", "monday")) == ["one", "two"]
    assert texts(two.lessons_at("s", "now")) == ["one, better", "three"]
    two.add_snapshot("s", "friday", who="person")
    assert [(s.scope, s.name, s.who, s.why) for s in two.snapshots()] == [
        ("s", "monday", "person", "before the holidays"),
        ("s", "friday", "person", ""),
    ]
    assert two.snapshots("other") == []


def test_a_snapshot_of_two_changes_in_one_millisecond_is_exact(store):
    store.add_lessons("s", [note("0", id="les-1")], who="model")
    for n in range(1, 20):
        store.add_snapshot("s", f"n{n}", who="rule")
        edit(store, "les-1", text=str(n))
    assert [texts(store.lessons_at("s", f"n{n}")) for n in range(1, 20)] == [[str(n - 1)] for n in range(1, 20)]


def test_a_time_is_a_state_too(store):
    store.add_lessons("s", [note("one", id="les-1")], who="model")
    time.sleep(0.003)
    [change] = store.history("les-1")
    edit(store, "les-1", text="two")
    assert texts(store.lessons_at("s", change.at)) == ["one"]
    assert texts(store.lessons_at("s", "9999-01-01")) == ["two"]
    assert store.lessons_at("s", "2001-01-01T12:00+05:00") == []


@pytest.mark.parametrize("name", ["", "  ", "now", "2026-01-01", "2026-01-01T12:00", "x" * 201])
def test_a_name_that_cannot_be(store, name):
    with pytest.raises(StoreError, match="a snapshot's name should be a few words"):
        store.add_snapshot("s", name, who="person")


def test_a_name_is_taken_once_a_scope(two):
    with pytest.raises(StoreError, match="'s' has a snapshot 'monday' already"):
        two.add_snapshot("s", "monday", who="person")
    two.add_snapshot("other", "monday", who="person")


@pytest.mark.parametrize("when", ["tuesday", "", "0001-01-01T00:00+23:59"])
def test_a_state_that_is_none_names_those_there_are(two, when):
    for ask in (two.lessons_at, lambda scope, at: two.rollback(scope, at, who="person")):
        with pytest.raises(StoreError, match=r"neither a snapshot of 's' \(there are: monday\) nor a time"):
            ask("s", when)
    with pytest.raises(StoreError, match="there are: none"):
        two.lessons_at("empty", "monday")


def test_rollback_is_new_versions_and_loses_nothing(two):
    edit(two, "les-1", text="one, worse", pinned=True, importance=9)
    two.remove_lesson("les-2", who="rule", why="worn out")
    two.add_lessons("s", [note("three", id="les-3")], who="model")
    two.add_lessons("other", [note("elsewhere")], who="model")
    done = two.rollback("s", "monday", who="anna", why="it was better")
    assert texts(two.lessons_at("s", "now")) == ["one", "two"]
    assert (texts(done.added), texts(done.removed)) == (["two"], ["three"])
    assert [(a.text, b.text) for a, b in done.changed] == [("one, worse", "one")]
    assert [(c.version, c.who, c.why) for c in two.history("les-1")][-1] == (3, "anna", "it was better")
    assert [c.lesson.text for c in two.history("les-1")] == ["one", "one, worse", "one"]
    assert two.get_lesson("les-1").pinned is False
    assert two.get_lesson("les-3").status == "deleted"
    assert texts(two.lessons("other")) == ["elsewhere"]
    assert not two.rollback("s", "monday", who="anna")  # nothing is left to change
    assert two.get_lesson("les-1").version == 3
    two.rollback("s", two.history("les-1")[1].at, who="anna")
    assert two.history("les-1")[-1].why.startswith("rolled back to 2")
    assert two.check() == []


def test_what_was_purged_does_not_come_back(two):
    two.remove_lesson("les-2", who="person", purge=True)
    assert texts(two.lessons_at("s", "monday")) == ["one"]
    two.rollback("s", "monday", who="person")
    assert two.get_lesson("les-2") is None


def test_a_difference_is_about_content():
    one, two, three = note("one"), note("two"), note("three")
    later = one.model_copy(update={"version": 5, "updated": "later"})
    assert not difference([one, two], [later, two])
    changed = two.model_copy(update={"status": "disabled"})
    found = difference([one, two], [changed, three])
    assert (found.added, found.removed, found.changed) == ((three,), (one,), ((two, changed),))


def test_two_people_edit_one_lesson(two):
    annas, bens = two.get_lesson("les-1"), two.get_lesson("les-1")
    two.update_lesson(annas.model_copy(update={"text": "by Anna"}), who="anna")
    with pytest.raises(ConflictError, match=r"version 2, changed by anna at .*read it again and repeat the change"):
        two.update_lesson(bens.model_copy(update={"text": "by Ben"}), who="ben")
    assert two.get_lesson("les-1").text == "by Anna"
    again = two.get_lesson("les-1")
    assert two.update_lesson(again.model_copy(update={"text": "by both"}), who="ben").version == 3


def test_many_are_changed_at_once_or_none(two):
    one, other = two.get_lesson("les-1"), two.get_lesson("les-2")
    [third] = two.add_lessons("t", [note("three")], who="model")
    before = two.changes("s"), two.changes("t")
    wanted = [x.model_copy(update={"text": "x", "sources": ("tra-1",)}) for x in (one, other, third)]
    changed = two.update_lessons(wanted, who="rule", why="w")
    assert [x.version for x in changed] == [2, 2, 2]
    assert (two.changes("s")[0], two.changes("t")[0]) == (before[0][0] + 1, before[1][0] + 1)
    assert sorted(two.lessons_from("s", ["tra-1"])) == ["les-1", "les-2"]
    with pytest.raises(ConflictError, match="les-2 was read at version 1 and is now version 2"):
        two.update_lessons([changed[0], other], who="rule")
    with pytest.raises(StoreError, match="changed twice in one call"):
        two.update_lessons([changed[0], changed[0]], who="rule")
    with pytest.raises(StoreError, match="is not in the store"):
        two.update_lessons([changed[0], note()], who="rule")
    assert two.update_lessons([], who="rule") == []
    assert [two.get_lesson(x.id) for x in changed] == changed
    assert two.check() == []


def test_check_reads_the_history(two):
    with two._write() as connection:
        connection.exec_driver_sql("UPDATE lesson_history SET body = '{' WHERE lesson_id = 'les-2'")
    assert any("version 1 of the lesson les-2 is in the store but cannot be read" in x for x in two.check())


class Snapshots(RuleBasedStateMachine):
    """Whatever is done to a scope, a snapshot gives what was there, and a rollback brings it back."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(f"{self.folder.name}/a.db")
        self.held = {}

    def teardown(self):
        self.store.close()
        self.folder.cleanup()

    def present(self):
        return {x.id: (x.text, x.status) for x in self.store.lessons("s") if x.status != "deleted"}

    @rule(text=st.text(max_size=3))
    def add(self, text):
        self.store.add_lessons("s", [note(text)], who="model")

    @rule(n=st.integers(0, 9), text=st.text(max_size=3), status=st.sampled_from(["active", "disabled", "deleted"]))
    def change(self, n, text, status):
        lessons = self.store.lessons("s")
        if lessons:
            edit(self.store, lessons[n % len(lessons)].id, text=text, status=status)

    @rule(n=st.integers(0, 9))
    def purge(self, n):
        lessons = self.store.lessons("s")
        if lessons:
            gone = lessons[n % len(lessons)].id
            self.store.remove_lesson(gone, who="person", purge=True)
            for state in self.held.values():
                state.pop(gone, None)

    @rule()
    def name(self):
        self.held[f"snapshot {len(self.held)}"] = self.present()
        self.store.add_snapshot("s", f"snapshot {len(self.held) - 1}", who="person")

    @rule(n=st.integers(0, 9))
    def back(self, n):
        if self.held:
            name = list(self.held)[n % len(self.held)]
            self.store.rollback("s", name, who="person")
            assert self.present() == self.held[name]

    @rule()
    def look(self):
        for name, state in self.held.items():
            assert {x.id: (x.text, x.status) for x in self.store.lessons_at("s", name)} == state


TestSnapshots = Snapshots.TestCase
TestSnapshots.settings = settings(max_examples=15, stateful_step_count=15)

import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConflictError, StoreError
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Trajectory


def note(text="a", **more):
    return Lesson(kind="note", text=text, **more)


def attempt(task, success=None):
    return Trajectory(task_id=task, task=task, outcome=Outcome(success=success))


def test_record_and_list(store):
    pool = ExperiencePool(store, "s", run_id="run-1")
    made = [pool.record(attempt(f"t{i}", i % 2 == 0)) for i in range(4)]
    pool.record(made[0])
    ExperiencePool(store, "other").record(attempt("elsewhere"))
    assert pool.trajectories() == made
    assert pool.trajectories(success=True) == made[::2]
    assert pool.trajectories(task_id="t1") == made[1:2]
    assert pool.trajectories(limit=2, offset=1) == made[1:3]
    assert store.trajectories(run_id="run-1") == made
    assert pool.trajectories(run_id="run-2") == []


def test_verdicts_are_kept_for_a_run_alone_and_the_first_stays(store):
    pool = ExperiencePool(store, "run-1/s0f0/erl", run_id="run-1")
    pool.keep_verdict("tra-1", False)
    pool.keep_verdict("tra-1", True)
    pool.keep_verdict("tra-2", True)
    assert ExperiencePool(store, pool.scope).verdicts() == {"tra-1": False, "tra-2": True}
    assert ExperiencePool(store, "run-1/s0f0/er").verdicts() == {}
    ExperiencePool(store, "memory/x").keep_verdict("tra-3", True)
    assert ExperiencePool(store, "memory/x").verdicts() == {}
    with pytest.raises(StoreError, match="read-only"):
        ExperiencePool(store, "s", run_id="r", read_only=True).keep_verdict("tra-4", True)


def test_lessons_with_who_and_why(store):
    pool = ExperiencePool(store, "s")
    [lesson] = pool.add(note("a"), why="seen")
    changed = pool.update(lesson.model_copy(update={"text": "b"}), why="corrected", who="person")
    pool.remove(changed.id, why="worn out", who="rule")
    assert [(c.who, c.why, c.lesson.status) for c in store.history(lesson.id)] == [
        ("model", "seen", "active"),
        ("person", "corrected", "active"),
        ("rule", "worn out", "deleted"),
    ]
    assert pool.lessons() == []
    assert [found.text for found in pool.lessons(status="deleted")] == ["b"]
    pool.remove(lesson.id, who="person", purge=True)
    assert pool.lessons(status=None) == []
    [stale] = pool.add([note("x")])
    pool.update(stale)
    with pytest.raises(ConflictError, match="read it again"):
        pool.update(stale)


def test_filters(store):
    pool = ExperiencePool(store, "s")
    lessons = [note("Sky is blue", key="sky"), note("grass", key="k"), Lesson(kind="insight", text="sky", key="k")]
    pool.add(lessons)
    pool.add([note("off", status="disabled")])
    assert pool.lessons() == lessons
    assert pool.lessons("note") == lessons[:2]
    assert pool.lessons(key="k") == lessons[1:]
    assert pool.lessons("insight", key="k") == lessons[2:]
    assert pool.lessons(key="none") == []
    assert pool.lessons(query="SKY") == [lessons[0], lessons[2]]
    assert pool.lessons("note", query="SKY") == lessons[:1]
    assert len(pool.lessons(status=None)) == 4
    pool.lessons().clear()  # the caller's list is the caller's own
    assert pool.lessons() == lessons


def test_what_another_connection_writes_is_seen_at_once(store):
    pool = ExperiencePool(store, "s")
    assert pool.lessons() == []
    with Store(store.path) as second:
        other = ExperiencePool(second, "s")
        [lesson] = other.add(note("a"))
        assert pool.lessons() == [lesson]
        changed = other.update(lesson.model_copy(update={"text": "b"}))
        assert pool.lessons() == [changed]
        other.remove(lesson.id, purge=True)
        assert pool.lessons() == []


def test_nothing_of_a_transaction_that_was_undone_is_remembered(store):
    pool = ExperiencePool(store, "s")
    pool.add(note("a"))

    def fail():
        pool.add(note("undone"))
        assert [lesson.text for lesson in pool.lessons()] == ["a", "undone"]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), store.transaction():
        fail()
    assert [lesson.text for lesson in pool.lessons()] == ["a"]
    pool.add(note("kept"))
    assert [lesson.text for lesson in pool.lessons()] == ["a", "kept"]


def test_scopes_do_not_touch(store):
    one, two = ExperiencePool(store, "one"), ExperiencePool(store, "two")
    [lesson] = one.add(note("a"))
    assert two.lessons() == []
    for act in (lambda: two.update(lesson), lambda: two.remove(lesson.id), lambda: two.remove("les-none")):
        with pytest.raises(StoreError, match="is not in the pool of the scope 'two'"):
            act()
    assert one.lessons() == [lesson]


def test_a_pinned_lesson_is_changed_by_a_person_alone(store):
    pool = ExperiencePool(store, "s")
    [lesson] = pool.add(note("a", pinned=True), who="person")
    for who in ("model", "rule"):
        with pytest.raises(StoreError, match="is pinned, so only a person may change it"):
            pool.update(lesson.model_copy(update={"text": "b", "pinned": False}), who=who)
        with pytest.raises(StoreError, match="is pinned"):
            pool.remove(lesson.id, who=who)
    assert pool.lessons() == [lesson]
    freed = pool.update(lesson.model_copy(update={"pinned": False}), who="person")
    assert pool.update(freed).version == 3


def test_a_read_only_pool_refuses_every_write(store):
    [lesson] = ExperiencePool(store, "s").add(note("a"))
    ExperiencePool(store, "s").record(attempt("t"))
    pool = ExperiencePool(store, "s", read_only=True, embedder=HashingEmbedder())
    before = store.changes("s")
    for act in (
        lambda: pool.record(attempt("u")),
        lambda: pool.add(note("b")),
        lambda: pool.add([]),
        lambda: pool.update(lesson),
        lambda: pool.remove(lesson.id),
        lambda: pool.remove(lesson.id, purge=True, who="person"),
    ):
        with pytest.raises(
            StoreError, match="the pool of the scope 's' is read-only, so that an evaluation cannot learn"
        ):
            act()
    assert pool.lessons() == [lesson]
    assert len(pool.nearest_lessons("a", 5)) == len(pool.nearest_trajectories("a", 5)) == 1
    assert store.changes("s") == before
    assert "read_only=True" in repr(pool)


def test_ten_thousand_lessons_are_read_once(store, monkeypatch):
    pool = ExperiencePool(store, "s")
    pool.add([note(f"lesson {i}", key=f"key {i}") for i in range(10_000)])
    assert len(pool.lessons()) == 10_000
    read = []
    real = store.lessons_since
    monkeypatch.setattr(store, "lessons_since", lambda scope, change: read.append(change) or real(scope, change))
    for _ in range(20):
        assert len(pool.lessons(key="key 77")) == 1
        assert len(pool.lessons(kind="note")) == 10_000
    assert read == []
    pool.add(note("one more"))
    assert len(pool.lessons()) == 10_001
    assert read == [1]  # only what changed


class PoolAgainstStore(RuleBasedStateMachine):
    """Whatever two pools and the store do to a scope, both pools give what the store holds."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(f"{self.folder.name}/a.db")
        self.pools = [ExperiencePool(self.store, "s") for _ in range(2)]

    def teardown(self):
        self.store.close()
        self.folder.cleanup()

    def pick(self, n):
        lessons = self.store.lessons("s")
        return lessons[n % len(lessons)] if lessons else None

    @rule(which=st.integers(0, 1), key=st.sampled_from("ab"), kind=st.sampled_from(["note", "insight"]))
    def add(self, which, key, kind):
        self.pools[which].add(Lesson(kind=kind, text="x", key=key))

    @rule(which=st.integers(0, 1), n=st.integers(0, 20), status=st.sampled_from(["active", "disabled"]))
    def update(self, which, n, status):
        if lesson := self.pick(n):
            self.pools[which].update(lesson.model_copy(update={"status": status, "key": lesson.key + "c"}))

    @rule(which=st.integers(0, 1), n=st.integers(0, 20), purge=st.booleans())
    def remove(self, which, n, purge):
        if lesson := self.pick(n):
            self.pools[which].remove(lesson.id, purge=purge)

    @rule(which=st.integers(0, 1))
    def undo(self, which):
        try:
            with self.store.transaction():
                self.pools[which].add(note("undone"))
                self.pools[which].lessons()
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass

    @rule(which=st.integers(0, 1))
    def record(self, which):
        self.pools[which].record(attempt("t"))

    @rule(which=st.integers(0, 1), kind=st.sampled_from([None, "note"]), status=st.sampled_from([None, "active"]))
    def look(self, which, kind, status):
        assert self.pools[which].lessons(kind, status) == self.store.lessons("s", kind=kind, status=status)

    @invariant()
    def sound(self):
        if not self.store._closed:
            assert self.pools[0].lessons(key="a", status=None) == self.store.lessons("s", key="a")


TestPoolAgainstStore = PoolAgainstStore.TestCase
TestPoolAgainstStore.settings = settings(max_examples=15, stateful_step_count=15)

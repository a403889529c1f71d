import tempfile
import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from seasoned.errors import ConfigError, ConflictError, ContractError, StoreError
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Trajectory


class Letters:
    """Counts letters; knows what it was asked."""

    def __init__(self, name="letters", dim=26):
        self.name, self.dim, self.asked = name, dim, []

    def embed(self, texts):
        self.asked.append(list(texts))
        rows = [[text.count(chr(97 + i)) + 1e-3 for i in range(self.dim)] for text in texts]
        made = np.array(rows, dtype=np.float32).reshape(len(texts), self.dim)
        return made / np.linalg.norm(made, axis=1, keepdims=True)


def note(text="a", **more):
    return Lesson(kind="note", text=text, **more)


def attempt(task, success=None):
    return Trajectory(task_id=task, task=task, outcome=Outcome(success=success))


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "seasoned.db") as opened:
        yield opened


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
    pool = ExperiencePool(store, "s", read_only=True, embedder=Letters())
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


def test_nearest_lessons(store):
    letters = Letters()
    pool = ExperiencePool(store, "s", embedder=letters)
    assert pool.nearest_lessons("a", 3) == []
    assert letters.asked == []
    a, b, key, off = pool.add([note("aaa"), note("bbb"), note("b", key="aaaa"), note("aaa", status="disabled")])
    insight = pool.add(Lesson(kind="insight", text="aaa"))[0]
    found = pool.nearest_lessons("a", 3)
    assert [lesson for lesson, _ in found] == [a, insight, key]  # equals: the older first
    assert found[0][1] == pytest.approx(1.0, abs=1e-3)
    assert found[0][1] == found[1][1] > found[2][1]
    assert pool.nearest_lessons("a", 1, kind="insight")[0][0] == insight
    assert [lesson for lesson, _ in pool.nearest_lessons("a", 99)] == [a, insight, key, b]
    assert pool.nearest_lessons("a", 0) == pool.nearest_lessons("a", 3, kind="reflection") == []
    pool.update(off.model_copy(update={"status": "active"}))
    assert [lesson.id for lesson, _ in pool.nearest_lessons("a", 3)] == [a.id, off.id, insight.id]
    texts = [text for asked in letters.asked for text in asked if text != "a"]
    assert sorted(texts) == ["aaa", "aaa", "aaa", "aaaa\nb", "bbb"]  # each lesson once, in all


def test_a_lesson_that_changes_is_found_by_its_new_text(store):
    pool = ExperiencePool(store, "s", embedder=Letters())
    a, b = pool.add([note("aaa"), note("bbb")])
    assert pool.nearest_lessons("a", 1)[0][0] == a
    with Store(store.path) as second:
        changed = ExperiencePool(second, "s").update(a.model_copy(update={"text": "zzz"}))
    assert pool.nearest_lessons("z", 1)[0][0] == changed
    pool.remove(b.id)
    assert [lesson for lesson, _ in pool.nearest_lessons("b", 5)] == [changed]
    pool.remove(changed.id, purge=True)
    assert pool.nearest_lessons("z", 5) == []


def test_nearest_trajectories(store):
    letters = Letters()
    pool = ExperiencePool(store, "s", embedder=letters)
    assert pool.nearest_trajectories("a", 2) == []
    made = [pool.record(attempt(task, success)) for task, success in (("aab", True), ("aaa", False), ("bbb", None))]
    assert [t for t, _ in pool.nearest_trajectories("a", 2)] == [made[1], made[0]]
    assert [t for t, _ in pool.nearest_trajectories("a", 9, success=True)] == made[:1]
    assert [t for t, _ in pool.nearest_trajectories("a", 9, success=False)] == made[1:2]
    assert pool.nearest_trajectories("a", 0) == []
    newest = pool.record(attempt("aaaa", True))
    found = pool.nearest_trajectories("a", 2)
    assert [t for t, _ in found] == [made[1], newest]
    assert all(score == pytest.approx(1.0, abs=1e-3) for _, score in found)
    assert sorted(text for asked in letters.asked for text in asked if text != "a") == ["aaa", "aaaa", "aab", "bbb"]


def test_vectors_are_made_once_for_all_pools_and_never_for_another_embedder(store):
    first = Letters()
    pool = ExperiencePool(store, "s", embedder=first)
    pool.add([note("aaa"), note("bbb")])
    pool.nearest_lessons("a", 1)
    again = Letters()
    ExperiencePool(store, "s", embedder=again, read_only=True).nearest_lessons("a", 1)
    assert again.asked == [["a"]]
    for other in (Letters(name="other"), Letters(dim=13)):
        assert ExperiencePool(store, "s", embedder=other).nearest_lessons("b", 1)[0][0].text == "bbb"
        assert other.asked == [["b"], ["aaa", "bbb"]]


def test_a_search_that_cannot_be(store):
    pool = ExperiencePool(store, "s")
    pool.add(note("a"))
    for search in (pool.nearest_lessons, pool.nearest_trajectories):
        with pytest.raises(ConfigError, match="needs an embedder"):
            search("a", 3)
    pool = ExperiencePool(store, "s", embedder=Letters())
    with store.transaction(), pytest.raises(StoreError, match=r"no place inside transaction\(\)"):
        pool.nearest_lessons("a", 3)

    class Wrong(Letters):
        def embed(self, texts):
            return np.ones((len(texts), 2))

    with pytest.raises(ContractError, match="the embedder letters should give"):
        ExperiencePool(store, "s", embedder=Wrong()).nearest_lessons("a", 3)


def test_threads_share_a_pool(store):
    letters = Letters()
    pool = ExperiencePool(store, "s", embedder=letters)
    failed = []

    def work(n):
        try:
            for i in range(15):
                [lesson] = pool.add(note(chr(97 + n) * (i + 1), key=str(n)))
                assert lesson in pool.lessons(key=str(n))
                assert pool.nearest_lessons(lesson.text, 1)[0][1] > 0.9
                pool.update(lesson.model_copy(update={"text": lesson.text + "z"}))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert pool.lessons() == store.lessons("s", status="active")
    assert len(pool.lessons()) == 90


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
TestPoolAgainstStore.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)

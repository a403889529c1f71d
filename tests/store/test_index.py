"""Searches over a pool by meaning: exact, by the newest text, with vectors that are made once."""

import threading

import numpy as np
import pytest

from seasoned.errors import ConfigError, ContractError, StoreError
from seasoned.pool import ExperiencePool
from seasoned.store.index import VectorIndex
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


def test_a_lesson_that_changes_is_found_by_its_new_text(store, address):
    pool = ExperiencePool(store, "s", embedder=Letters())
    a, b = pool.add([note("aaa"), note("bbb")])
    assert pool.nearest_lessons("a", 1)[0][0] == a
    with Store(address) as second:
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
    assert not pool.searches
    pool = ExperiencePool(store, "s", embedder=Letters())
    assert pool.searches
    with store.transaction(), pytest.raises(StoreError, match=r"call it outside transaction\(\)"):
        pool.nearest_lessons("a", 3)

    class Wrong(Letters):
        def embed(self, texts):
            return np.ones((len(texts), 2))

    with pytest.raises(ContractError, match="the embedder letters should return"):
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


class Held(Letters):
    """Waits to be let go before it embeds anything but a query."""

    def __init__(self):
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def embed(self, texts):
        if list(texts) != ["a"]:
            self.begun.set()
            assert self.go.wait(30)
        return super().embed(texts)


def begin(work, *args):
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


def test_nobody_else_waits_for_a_slow_embedder_and_a_text_is_embedded_once(store):
    slow = Held()
    pool = ExperiencePool(store, "s", embedder=slow)
    pool.add(note("aaa"))
    searches = [begin(pool.nearest_lessons, "a", 1) for _ in range(2)]
    assert slow.begun.wait(30)
    reading = begin(pool.lessons)
    reading.join(10)
    assert not reading.is_alive()
    assert all(search.is_alive() for search in searches)
    slow.go.set()
    for search in searches:
        search.join(30)
    assert sorted(slow.asked) == [["a"], ["a"], ["aaa"]]


def test_what_changes_while_vectors_are_made_is_found_by_its_new_text(store):
    slow = Held()
    pool = ExperiencePool(store, "s", embedder=slow)
    old, _ = pool.add([note("aab"), note("bbb")])
    found = []
    search = begin(lambda: found.extend(pool.nearest_lessons("a", 3)))
    assert slow.begun.wait(30)
    changed = pool.update(old.model_copy(update={"text": "zzz"}))
    new = pool.add(note("aaa"))[0]
    slow.go.set()
    search.join(30)
    assert found[0][0] == new
    assert sorted(lesson.text for lesson, _ in found) == ["aaa", "bbb", "zzz"]
    assert pool.nearest_lessons("z", 1)[0] == (changed, pytest.approx(1.0, abs=1e-3))


def test_what_is_derived_is_made_again_only_when_lessons_changed(store):
    pool = ExperiencePool(store, "s")
    made = []

    def texts(lessons):
        made.append([lesson.text for lesson in lessons])
        return tuple(made[-1])

    pool.add([note("a"), note("b", status="disabled"), Lesson(kind="insight", text="c")])
    assert pool.derived(texts) == pool.derived(texts) == ("a", "c")
    assert pool.derived(texts, "note") == ("a",)
    assert len(made) == 2
    pool.add(note("d"))
    assert pool.derived(texts, "note") == ("a", "d")


def test_texts_of_nobody_are_found_by_their_rows(store):
    letters = Letters()
    pool = ExperiencePool(store, "s", embedder=letters)
    rows = pool.text_rows(["aaa", "bbb", "aaa"])
    assert pool.nearest_texts("a", rows) == [0, 2, 1]
    assert pool.nearest_texts("b", rows, 1) == [1]
    pool.text_rows(["bbb", "aaa"])
    assert letters.asked[0] == ["aaa", "bbb"]
    assert len(letters.asked) == 3  # once for all texts, and for each search
    near = pool.nearness("a", ["aaa", "bbb", "aab", "aaa"])
    assert sorted(near, key=near.get) == ["bbb", "aab", "aaa"]
    assert letters.asked[3:] == [["a"], ["aab"]]
    assert ExperiencePool(store, "s").nearness("a", []) == {}


def test_an_index_embeds_each_text_once_and_stores_it(store):
    letters = Letters()
    items = [(f"les-{i}", "abc" * (i % 7) + "z") for i in range(1500)]
    index = VectorIndex(store, "text", letters, threading.RLock())
    index.fill(items[:1200])
    index.fill(items)
    assert [len(texts) for texts in letters.asked] == [1024, 176, 300]
    assert index.rows(["les-0", "les-1499"]).tolist() == [0, 1499]
    again = VectorIndex(store, "text", letters, threading.RLock())
    again.fill(items)
    assert len(letters.asked) == 3
    query = letters.embed(["z"])[0]
    rows = again.rows([i for i, _ in items])
    assert again.search(query, 3, rows) == index.search(query, 3, rows)
    assert [i for i, _ in index.search(query, 3, rows)] == ["les-0", "les-7", "les-14"]


def test_an_index_never_uses_the_vector_of_an_older_text(store):
    letters = Letters()
    index = VectorIndex(store, "text", letters, threading.RLock())
    index.fill([("les-1", "aaa"), ("les-2", "bbb")])
    index.fill([("les-1", "bbb"), ("les-2", "aaa")])
    rows = index.rows(["les-1", "les-2"])
    assert index.search(letters.embed(["a"])[0], 1, rows) == [("les-2", pytest.approx(1.0, abs=1e-3))]
    other = VectorIndex(store, "text", letters, threading.RLock())
    other.fill([("les-1", "aaa")])  # what lies in the store is of the newer text
    assert letters.asked[-1] == ["aaa"]


def test_few_vectors_of_an_instant_embedder_are_not_stored(store):
    """Making them takes less time than reading them, and a new process makes them again."""
    instant = Letters()
    instant.instant = True
    pool = ExperiencePool(store, "s", embedder=instant)
    pool.add([note(f"{n} a") for n in range(31)])
    assert len(pool.nearest_lessons("a", 99)) == 31
    assert store.get_vectors("lesson", None, "letters")[0] == []
    again = ExperiencePool(store, "s", embedder=instant)
    again.add(note("b"))
    assert again.nearest_lessons("b", 1)[0][0].text == "b"
    assert len(store.get_vectors("lesson", None, "letters")[0]) == 32  # so many are stored

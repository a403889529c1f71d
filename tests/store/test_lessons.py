import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.errors import ConflictError, StoreError
from seasoned.store.body import clean_text
from seasoned.store.filters import MAX_NAME, fold, short_name
from seasoned.types import Lesson, Trajectory

any_text = st.text(st.characters())
with_store = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


def note(text="a", **more):
    return Lesson(kind="note", text=text, **more)


def test_add_and_get(store):
    lesson = note("blue", key="sky", sources=("tra-1", "tra-2", "tra-1"), data={"n": [1, {"ü": None}]}, importance=2.5)
    assert store.add_lessons("s", [lesson], who="model", why="seen") == [lesson]
    assert store.get_lesson(lesson.id) == lesson
    assert store.scope_of(lesson.id) == "s"
    assert store.get_lesson("les-none") is None
    assert store.scope_of("les-none") is None
    assert store.add_lessons("s", [], who="model") == []


@with_store
@given(scope=any_text, key=any_text, text=any_text, why=any_text)
def test_any_text_goes_in_and_comes_out(store, scope, key, text, why):
    given_lesson = note(text, key=key)
    [stored] = store.add_lessons(scope, [given_lesson], who="model", why=why)
    assert (stored.text, stored.key) == (clean_text(text), clean_text(key))
    assert store.get_lesson(stored.id) == stored
    assert stored in store.lessons(scope, key=key)
    assert store.scope_of(stored.id) == clean_text(scope)
    assert [(change.why, change.lesson) for change in store.history(stored.id)] == [(clean_text(why), stored)]
    if text:
        assert stored in store.lessons(query=text)
    store.remove_lesson(stored.id, who="person", purge=True)


def test_an_id_that_is_taken(store):
    lesson = note()
    store.add_lessons("s", [lesson], who="model")
    with pytest.raises(StoreError, match=f"the lesson {lesson.id} is already in the store"):
        store.add_lessons("other", [note(), lesson], who="model")
    twin = note()
    with pytest.raises(StoreError, match=f"the lesson {twin.id} is already"):
        store.add_lessons("other", [note(), twin, twin], who="model")
    assert store.lessons("other") == []


def test_filters_and_pages(store):
    first = [note(f"n{i}", key=f"k{i % 2}") for i in range(4)]
    second = [Lesson(kind="insight", text="i", status="disabled"), note("other")]
    store.add_lessons("s", first, who="model")
    store.add_lessons("t", second, who="model")
    assert store.lessons() == first + second
    assert store.lessons("s") == first
    assert store.lessons("nowhere") == []
    assert store.lessons(kind="insight") == second[:1]
    assert store.lessons(status="active") == [*first, second[1]]
    assert store.lessons("s", key="k1") == [first[1], first[3]]
    assert store.lessons("t", kind="note", status="active") == second[1:]
    assert store.lessons(limit=2, offset=3) == [first[3], second[0]]
    assert store.lessons("s", offset=2) == first[2:]
    assert store.lessons(limit=0) == []
    assert store.lessons(offset=99) == []


@pytest.mark.parametrize("page", [{"limit": -1}, {"offset": -1}, {"limit": 10**30}])
def test_a_page_that_cannot_be(store, page):
    with pytest.raises(StoreError, match="should be 0 or more"):
        store.lessons(**page)


def test_a_query_looks_into_key_and_text_whatever_the_case_and_without_wildcards(store):
    lessons = [note("The ÄRGER is 100% real_"), note("other", key="Ключ"), note("under\\score"), note("STRASSE ☃")]
    store.add_lessons("s", lessons, who="model")
    for query, found in {
        "ärger": [0],
        "0%": [0],
        "%": [0],
        "_": [0],
        "ключ": [1],
        "\\": [2],
        "straße": [3],
        "☃": [3],
        "e": [0, 1, 2, 3],
        "zzz": [],
        "x" * 100_000: [],
    }.items():
        assert store.lessons(query=query) == [lessons[i] for i in found], query
    assert store.lessons(query="e", limit=1, offset=1) == [lessons[1]]
    assert fold("Straße\x00") == "strasse\ufffd"


def test_an_update_rises_the_version_and_keeps_the_history(store):
    lesson = note("a", sources=("tra-1",))
    store.add_lessons("s", [lesson], who="model", why="first")
    second = store.update_lesson(
        lesson.model_copy(update={"text": "b", "sources": ("tra-2",)}), who="person", why="better"
    )
    assert (second.version, second.text, second.created) == (2, "b", lesson.created)
    assert second.updated >= lesson.updated
    third = store.update_lesson(second.model_copy(update={"status": "disabled"}), who="rule")
    assert store.get_lesson(lesson.id) == third
    assert store.lessons(query="a") == []
    assert store.lessons(status="disabled") == [third]
    told = [(change.version, change.who, change.why, change.lesson) for change in store.history(lesson.id)]
    assert told == [(1, "model", "first", lesson), (2, "person", "better", second), (3, "rule", "", third)]
    assert [change.at for change in store.history(lesson.id)] == sorted(c.at for c in store.history(lesson.id))
    assert store.history("les-none") == []
    assert store.check() == []


def test_a_change_in_between_is_a_conflict_that_says_who(store):
    lesson = note("a")
    store.add_lessons("s", [lesson], who="model")
    mine = store.update_lesson(lesson.model_copy(update={"text": "mine"}), who="person")
    with pytest.raises(
        ConflictError, match=r"read at version 1 and is now version 2, changed by person at .*read it again"
    ):
        store.update_lesson(lesson.model_copy(update={"text": "yours"}), who="model")
    assert store.get_lesson(lesson.id) == mine
    assert len(store.history(lesson.id)) == 2
    with pytest.raises(StoreError, match="is not in the store; add it first"):
        store.update_lesson(note(), who="model")


def test_of_many_writers_of_one_version_one_wins(store):
    lesson = note("start")
    store.add_lessons("s", [lesson], who="model")
    won, lost = [], []
    ready = threading.Barrier(6)

    def write(n):
        ready.wait()
        try:
            won.append(store.update_lesson(lesson.model_copy(update={"text": f"by {n}"}), who=str(n)))
        except ConflictError as error:
            lost.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)
    assert store.get_lesson(lesson.id) == won[0]


def test_remove_keeps_history_and_purge_keeps_nothing(store):
    lesson = note("a", sources=("tra-1",))
    other = note("b")
    store.add_lessons("s", [lesson, other], who="model")
    store.add_trajectories("s", [Trajectory(id="tra-9", task_id="t", task="x", lesson_ids=(lesson.id,))])
    store.remove_lesson(lesson.id, who="person", why="wrong")
    store.remove_lesson(lesson.id, who="person", why="again")
    gone = store.get_lesson(lesson.id)
    assert gone is not None
    assert (gone.status, gone.version, gone.text) == ("deleted", 2, "a")
    assert [change.why for change in store.history(lesson.id)] == ["", "wrong"]
    before = store.changes("s")
    store.remove_lesson(lesson.id, who="person", purge=True)
    assert store.get_lesson(lesson.id) is None
    assert store.history(lesson.id) == []
    assert store.lesson_uses(lesson.id) == []
    assert store.lessons() == [other]
    assert store.changes("s") == (before[0] + 1, before[1] + 1)
    assert store.check() == []
    with pytest.raises(StoreError, match="is not in the store"):
        store.remove_lesson(lesson.id, who="person")


def test_changes_tell_a_cache_what_to_read(store):
    assert store.changes("s") == (0, 0)
    lessons = [note("a"), note("b")]
    store.add_lessons("s", lessons, who="model")
    store.add_lessons("elsewhere", [note("c")], who="model")
    assert store.changes("s") == (1, 0)
    assert store.lessons_since("s", 0) == lessons
    assert store.lessons_since("s", 1) == []
    changed = store.update_lesson(lessons[0], who="model")
    assert store.changes("s") == (2, 0)
    assert store.lessons_since("s", 1) == [changed]
    assert store.lessons_since("s", 0) == [changed, lessons[1]]


def test_a_long_key_is_kept_short_and_found(store):
    key = "".join(chr(0x4E00 + n) for n in range(990))
    [kept, _] = store.add_lessons("s", [note("a", key=key), note("b", key=key + "x")], who="model")
    assert len(kept.key.encode()) <= MAX_NAME
    assert kept.key == short_name(key) == short_name(kept.key)
    assert store.lessons("s", key=key) == store.lessons("s", key=kept.key) == [kept]
    changed = store.update_lesson(kept.model_copy(update={"key": key}), who="person")
    assert changed.key == kept.key
    assert store.check() == []
    assert short_name("k" * 2000) == "k" * 2000


def test_a_number_too_large_for_the_database(store):
    with pytest.raises(StoreError, match="refused"):
        store.add_lessons("s", [note("a", version=2**70)], who="model")
    assert store.lessons() == []

import pytest

from seasoned.store import pages
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Trajectory


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.db") as opened:
        yield opened


def _fill(store):
    for i, success in enumerate((True, False, None, True)):
        ended = Outcome(success=success)
        store.add_trajectories(
            "a", [Trajectory(id=f"t{i}", task_id="t", task=f"Task {i}", outcome=ended, lesson_ids=("l1",))]
        )
    store.add_lessons("a", [Lesson(id="l1", kind="note", key="Ärger", text="Aal", sources=("t0",))], who="model")
    store.add_lessons("b", [Lesson(id="l2", kind="insight", text="100% of _it_", status="disabled")], who="model")
    store.add_lessons("run-1/pool", [Lesson(id="l3", kind="note", text="gone", status="deleted")], who="model")


def _ids(lines):
    return [line.lesson.id for line in lines]


def test_lessons_by_filter_and_words(store):
    _fill(store)
    assert _ids(pages.lesson_page(store)) == ["l2", "l1"]
    assert _ids(pages.lesson_page(store, status="deleted")) == ["l3"]
    assert _ids(pages.lesson_page(store, scope="a", kind="note")) == ["l1"]
    assert _ids(pages.lesson_page(store, query="ÄRGER aal")) == ["l1"]
    assert _ids(pages.lesson_page(store, query="% _it_")) == ["l2"]
    assert pages.lesson_page(store, query="100_") == []
    assert pages.lesson_counts(store) == {"active": 1, "disabled": 1, "deleted": 1}
    assert pages.lesson_counts(store, "a") == {"active": 1}


def test_pages_end_where_the_next_begins(store):
    _fill(store)
    first = pages.lesson_page(store, limit=1)
    assert _ids(pages.lesson_page(store, limit=1, before=first[0].seq)) == ["l1"]
    assert pages.lesson_page(store, before=0) == []
    assert len(pages.attempt_page(store, before=2**200)) == 4


def test_attempts_without_their_steps(store):
    _fill(store)
    assert [line.id for line in pages.attempt_page(store, success="yes")] == ["t3", "t0"]
    assert [line.id for line in pages.attempt_page(store, success="unknown")] == ["t2"]
    assert [line.id for line in pages.attempt_page(store, query="TASK 1")] == ["t1"]
    assert list(pages.attempt_lines(store, ["t2", "nope", "t0"])) == ["t2", "t0"]
    store.add_trajectories("a", [Trajectory(id="t9", task_id="t", task="Ärger mit ÖL")])
    for query in ("Ärger", "ärger öl", "RGER", "Öl"):
        assert [line.id for line in pages.attempt_page(store, query=query)] == ["t9"]


def test_uses_sources_and_runs(store):
    _fill(store)
    found = pages.uses(store, "l1", limit=2)
    assert (found.right, found.wrong, found.unknown) == (2, 1, 1)
    assert [line.id for line in found.newest] == ["t3", "t2"]
    assert [lesson.id for lesson in pages.lessons_of(store, "t0")] == ["l1"]
    assert [lesson.id for lesson in store.get_lessons(["l2", "x", "l1"])] == ["l2", "l1"]
    assert pages.run_scopes(store, "run-1") == ["run-1/pool"]
    assert pages.run_scopes(store, "run_1") == []


def test_what_was_written_since_a_snapshot(store):
    _fill(store)
    change = store.add_snapshot("a", "then", who="person").change
    store.update_lesson(store.get_lesson("l1").model_copy(update={"text": "Eel"}), who="person")
    store.update_lesson(store.get_lesson("l1").model_copy(update={"text": "Eels"}), who="person")
    store.add_lessons("a", [Lesson(id="l4", kind="note", text="new")], who="person")
    (first, second) = pages.changed_since(store, "a", change, 10)
    assert (first[0].text, first[1].text) == ("Aal", "Eels")
    assert (second[0], second[1].id) == (None, "l4")
    assert len(pages.changed_since(store, "a", change, 1)) == 1

"""The heuristics of a pool as a recall needs them: groups, nearness, rivals, and text."""

from seasoned.embed.hashing import HashingEmbedder
from seasoned.methods.heuristic_book import came_from, fitting, open_book, origin, told
from seasoned.pool import ExperiencePool
from seasoned.retrieve.transcript import tokens
from seasoned.store.sql import Store
from seasoned.types import Lesson


def heuristic(trigger, action, success=None, task=""):
    data = {"action": action, "success": success, "task": task}
    return Lesson(kind="heuristic", text=f"When {trigger}: {action}", key=trigger, data=data)


def test_equal_words_are_one_group_in_the_order_of_the_first():
    lessons = [heuristic("it is dark", "light a lamp"), heuristic("x", "y"), heuristic("It is dark!", "Light a lamp.")]
    assert [[lessons.index(each) for each in group] for group in open_book(lessons).groups] == [[0, 2], [1]]


def test_a_text_is_embedded_once_and_equals_keep_their_order(tmp_path):
    asked = []

    class Counting(HashingEmbedder):
        def embed(self, texts):
            asked.extend(texts)
            return super().embed(texts)

    with Store(tmp_path / "s.db") as store:
        pool = ExperiencePool(store, "test", embedder=Counting())
        lessons = [heuristic(f"t{n}", "do", task=("Heat a mug.", "Buy shoes.")[n % 2]) for n in range(6)]
        book = open_book(lessons)
        for _ in range(2):
            order = book.nearest(pool, "Heat the mug", {lesson.id: lesson for lesson in lessons})
            assert [lesson.key for lesson in order] == ["t0", "t2", "t4", "t1", "t3", "t5"]
        assert sorted(asked) == ["Buy shoes.", "Heat a mug.", "Heat the mug", "Heat the mug"]


def test_a_rival_has_to_be_a_candidate():
    lessons = [heuristic("it is dark", "light a lamp", True), heuristic("it is dark", "wait", False)]
    book = open_book(lessons)
    assert book.rival(lessons[0], {lesson.id: lesson for lesson in lessons}) == lessons[1]
    assert book.rival(lessons[0], {lessons[0].id: lessons[0]}) is None


def test_where_a_heuristic_comes_from():
    assert [came_from(heuristic("a", "b", success)) for success in (True, False, None, [])] == [
        "success",
        "failure",
        "",
        "",
    ]
    assert origin(heuristic("a", "b")) == "When a: b"


def test_text_is_cut_by_whole_groups():
    groups = [(heuristic(f"t{n}", "do " * 20),) for n in range(9)]
    for limit in (1, 60, 120, 1000):
        kept = fitting(groups, limit)
        assert kept == groups[: len(kept)]
        assert len(kept) == 1 or tokens(told(kept)) <= limit
    assert fitting([], 10) == []

"""The heuristics of a pool as a recall needs them: groups, nearness, rivals, and text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError
from seasoned.methods.erl.book import LINE_CHARS, Book, as_block, as_item, came_from, fitting, origin, trigger
from seasoned.methods.erl.contradictions import contradict
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.text import tokens
from seasoned.types import Lesson


def rendered(groups):
    return as_block(groups).text


def heuristic(trigger, action, success=None, task=""):
    data = {"action": action, "success": success, "task": task}
    return Lesson(kind="heuristic", text=f"When {trigger}: {action}", key=trigger, data=data)


def test_equal_words_are_one_group_in_the_order_of_the_first():
    lessons = [heuristic("it is dark", "light a lamp"), heuristic("x", "y"), heuristic("It is dark!", "Light a lamp.")]
    assert [[lessons.index(each) for each in group] for group in Book(lessons).groups] == [[0, 2], [1]]


def test_a_text_is_embedded_once_and_equals_keep_their_order(tmp_path):
    asked = []

    class Counting(HashingEmbedder):
        def embed(self, texts):
            asked.extend(texts)
            return super().embed(texts)

    with Store(tmp_path / "s.db") as store:
        pool = ExperiencePool(store, "test", embedder=Counting())
        lessons = [heuristic(f"t{n}", "do", task=("Heat a mug.", "Buy shoes.")[n % 2]) for n in range(6)]
        book = Book(lessons)
        for _ in range(2):
            order = book.nearest(pool, "Heat the mug", {lesson.id: lesson for lesson in lessons})
            assert [lesson.key for lesson in order] == ["t0", "t2", "t4", "t1", "t3", "t5"]
        assert sorted(asked) == ["Buy shoes.", "Heat a mug.", "Heat the mug", "Heat the mug"]


def test_what_is_kept_of_all_does_not_pass_for_others_or_for_what_else_they_are_compared_by(tmp_path):
    lessons = [heuristic("Buy shoes.", "x", task="Heat a mug."), heuristic("Heat a mug.", "y", task="Buy shoes.")]
    with Store(tmp_path / "s.db") as store:
        pool = ExperiencePool(store, "test", embedder=HashingEmbedder())
        book = Book(lessons)
        last = {lessons[1].id: lessons[1]}
        for _ in range(2):
            assert book.nearest(pool, "Heat the mug", book.firsts, of=trigger) == lessons[::-1]
            assert book.nearest(pool, "Heat the mug", book.firsts) == lessons
            assert book.nearest(pool, "Heat the mug", last) == lessons[1:]
        assert book.nearest(pool, "Heat the mug", book.firsts, k=1) == lessons[:1]
        assert book.nearest(ExperiencePool(store, "test"), "Heat the mug", {}) == []


def test_a_rival_has_to_be_a_candidate():
    lessons = [heuristic("it is dark", "light a lamp", True), heuristic("it is dark", "wait", False)]
    book = Book(lessons)
    assert book.rival(lessons[0], {lesson.id: lesson for lesson in lessons}) == lessons[1]
    assert book.rival(lessons[0], {lessons[0].id: lessons[0]}) is None


def test_a_rival_is_found_by_the_one_of_its_group_that_may_be_recalled():
    equal = [heuristic("it is dark", "light a lamp", success) for success in (True, False)]
    lone = heuristic("it is dark", "wait", True)
    assert Book([*equal, lone]).rival(lone, {equal[0].id: equal[1], lone.id: lone}) == equal[1]


def test_one_against_many_of_its_trigger_is_found():
    many = [heuristic("it is dark", f"light lamp {n}", True) for n in range(60)]
    lone = heuristic("It is dark.", "wait", False)
    lessons = [*many[:30], lone, *many[30:]]  # neither among the first nor among the latest
    book, known = Book(lessons), {lesson.id: lesson for lesson in lessons}
    assert all(book.rival(lesson, known) == lone for lesson in many)
    assert book.rival(lone, known) in many


situations = st.lists(st.sampled_from(["red", "old", "fridge", "door", "shut", "dark"]), min_size=1, max_size=6).map(
    " ".join
)
actions = st.sampled_from(["open it", "never open it", "avoid opening it", "wait", "do not wait here", "open it twice"])
drawn = st.builds(heuristic, situations, actions, st.sampled_from([True, False, None]))


@settings(max_examples=100)
@given(st.lists(drawn, max_size=12))
def test_a_rival_is_found_where_there_is_one(lessons):
    book = Book(lessons)
    known = dict(book.firsts)
    for lesson in known.values():
        rivals = [other for other in known.values() if contradict(lesson, other)]
        found = book.rival(lesson, known)
        assert found in rivals if rivals else found is None


def test_thousands_of_one_trigger_are_looked_through_in_no_time():
    for success in (True, None):
        lessons = [heuristic("it is dark", f"{'never ' * (n % 2)}take thing {n} to {n}", success) for n in range(4_000)]
        start = time.process_time()
        book = Book(lessons)
        assert [book.rival(lesson, book.firsts) for lesson in lessons[:20]] == [None] * 20
        assert time.process_time() - start < 2


def test_where_a_heuristic_comes_from():
    assert [came_from(heuristic("a", "b", success)) for success in (True, False, None, [])] == [
        "success",
        "failure",
        "",
        "",
    ]
    assert origin(heuristic("a", "b")) == "When a: b"
    assert trigger(Lesson(kind="heuristic", text="Knock.")) == "Knock."


def test_text_is_cut_by_whole_groups():
    groups = [(heuristic(f"t{n}", "do " * 20),) for n in range(9)]
    for limit in (1, 60, 120, 1000):
        kept = fitting(groups, limit)
        assert kept == groups[: len(kept)]
        assert len(kept) == 1 or tokens(rendered(kept)) <= limit
        strictly = fitting(groups, limit, strict=True)
        assert strictly == (kept if tokens(rendered(kept)) <= limit else [])
    assert fitting([], 10) == []


def test_what_has_just_room_is_told_and_nothing_after_what_has_none():
    short, long = (heuristic("it is dark", "wait"),), (heuristic("it is cold", "wait " * 60),)
    limit = next(n for n in range(1, 200) if 4 * n >= len(rendered([short])))
    exact = (heuristic("it is dark", "wait" + "x" * (4 * limit - len(rendered([short])))),)
    assert fitting([exact], limit, strict=True) == [exact]
    assert fitting([exact], limit - 1, strict=True) == []
    assert fitting([short, long, short], tokens(rendered([short, short]))) == [short]
    assert fitting([short, short, long], 1000) == [short, short, long]


def test_of_opposites_none_is_told_alone():
    group = [heuristic("it is dark", "wait", True), heuristic("it is dark", "go " * 90, False)]
    assert fitting([group], tokens(rendered([group[:1]])) + 20, strict=True) == []


def test_a_heuristic_is_told_in_so_many_characters():
    line = rendered([[heuristic("it is dark", "x" * 900)]]).split("\n")[1]
    assert len(line) == LINE_CHARS + len("- ")


def test_of_a_group_that_is_too_long_its_first_ones_are_kept():
    group = [heuristic(f"t{n}", "do " * 20) for n in range(30)]
    (kept,) = fitting([group, group], 200)
    assert list(kept) == group[: len(kept)]
    assert 2 < len(kept) < 30
    assert tokens(rendered([kept])) <= 200 < tokens(rendered([group[: len(kept) + 1]]))
    assert fitting([group], 1) == [tuple(group[:2])]
    assert fitting([group[:1], group], 30) == [tuple(group[:1])]


def test_what_a_ranker_sees_of_a_heuristic():
    assert as_item(heuristic("it is dark", "light a lamp")) == "When it is dark: light a lamp"
    assert as_item(heuristic("it is dark", "light\na lamp", False, "Find\nthe book.")) == (
        "When it is dark: light a lamp (from a failure: Find the book.)"
    )
    assert "(from a task: Find" in as_item(heuristic("it is dark", "light a lamp", None, "Find the book."))
    assert len(as_item(heuristic("x" * 300, "y", True, "z" * 500))) < 350


class Unset(HashingEmbedder):
    def embed(self, texts):
        raise ConfigError("export REGION first")


def test_an_embedder_that_is_not_set_up_is_said(tmp_path):
    lesson = heuristic("t", "do")
    with Store(tmp_path / "s.db") as store:
        unset = ExperiencePool(store, "test", embedder=Unset())
        with pytest.raises(ConfigError, match="export REGION"):
            Book([lesson]).nearest(unset, "Buy the shoes", {lesson.id: lesson})


@given(st.data())
def test_a_book_that_grew_is_the_book_of_all(data):
    """Groups, and who contradicts whom, do not depend on how many came at a time."""
    keys = st.sampled_from(("when the door is locked", "the door is locked", "door locked now", "", "in the dark"))
    actions = st.sampled_from(("open it", "do not open it", "Open it!", "look for a key", "never look for a key"))
    made = st.builds(
        lambda key, action, success: Lesson(
            kind="heuristic", key=key, text=action, data={"action": action, "success": success}
        ),
        *(keys, actions, st.sampled_from((True, False, None))),
    )
    lessons = data.draw(st.lists(made, max_size=12))
    cut = data.draw(st.integers(0, len(lessons)))
    whole, grown = Book(lessons), Book(lessons[:cut])
    for lesson in lessons[cut:]:
        grown.add([lesson])
    assert grown.groups == whole.groups
    assert grown.firsts == whole.firsts
    assert [grown.rival(x, grown.firsts) for x in lessons] == [whole.rival(x, whole.firsts) for x in lessons]

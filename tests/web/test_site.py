import gc
import sys
import time
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.embed import embedder
from seasoned.text import clean
from seasoned.types import Lesson
from seasoned.web.site import Site, difference, link, moved


def test_the_nearest_of_one_pool_or_of_all(store, runs):
    site = Site(store, runs, embedder("hashing"))
    here = site.nearest("look an order up before you refund it", "memory/default")
    assert here[0].lesson.id == "les-1"
    assert [line.lesson.id for line in site.nearest("look an order up", None)] == [line.lesson.id for line in here]
    assert site.nearest("x", "memory/default", "insight") == []


def test_the_first_search_is_made_at_the_start(store, runs):
    site = Site(store, runs, embedder("hashing"))
    site.warming = True
    site.warm()
    assert not site.warming
    assert {"memory/default"} <= set(site._pools)
    Site(store, runs).warm()  # without an embedder it does nothing, and says nothing


def test_it_leaves_the_process_alone_and_is_made_within_what_the_program_gives(store, runs, monkeypatch):
    def settings():
        return gc.isenabled(), gc.get_freeze_count(), sys.getswitchinterval()

    seen, before = [], settings()
    nearest = Site.nearest
    monkeypatch.setattr(Site, "nearest", lambda *given: seen.append(settings()) or nearest(*given))

    @contextmanager
    def around():
        seen.append("begun")
        yield
        seen.append("ended")

    Site(store, runs, embedder("hashing")).warm()
    Site(store, runs, embedder("hashing"), around=around).warm()
    assert seen == [before, "begun", before, "ended"]
    assert settings() == before


def test_a_link_is_made_of_its_parts():
    assert link("/lesson", id='a"&b=<c>', empty="", none=None) == "/lesson?id=a%22%26b%3D%3Cc%3E"
    assert link("/lessons") == "/lessons"
    assert link("/x", id="\ud800").isascii()


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_difference_holds_both_texts(before, after):
    found = difference(before, after)
    assert "".join(text for mark, text in found if mark != "new") == clean(before)
    assert "".join(text for mark, text in found if mark != "gone") == clean(after)


def test_neighbouring_changes_are_one():
    assert difference("it was sent back", "it has gone back") == [
        ("same", "it "),
        ("gone", "was sent"),
        ("new", "has gone"),
        ("same", " back"),
    ]


def test_a_gap_that_changed_is_all_that_changed():
    assert difference("one two", "one\ntwo three") == [
        ("same", "one"),
        ("gone", " "),
        ("new", "\n"),
        ("same", "two"),
        ("new", " three"),
    ]
    assert difference("look up", "now look up") == [("new", "now "), ("same", "look up")]
    assert difference("same", "same") == [("same", "same")]


@pytest.mark.parametrize("words", [("a{}", "b{}"), ("a", "a"), ("a b", "a c"), ("{0} x", "x {0}")])
def test_a_comparison_takes_no_long_time(words):
    began = time.process_time()
    for n in (300, 599, 5000):
        difference(*(" ".join(word.format(i) for i in range(n)) for word in words))
    assert time.process_time() - began < 2


def test_long_texts_are_not_compared_word_by_word():
    assert [mark for mark, _ in difference("a " * 5000, "b " * 5000)] == ["gone", "new"]


def test_what_moved_beside_the_text():
    old = Lesson(kind="note", text="t", importance=1)
    new = old.model_copy(update={"status": "disabled", "importance": 2.5, "pinned": True})
    assert moved(old, new) == ["status: active → disabled", "importance: 1 → 2.5", "pinned"]

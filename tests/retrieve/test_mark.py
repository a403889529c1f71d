"""Marking items one by one: what is asked, what the odds of a reply count for, replies that cannot be used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ContextLengthError, InfrastructureError, ParseError
from seasoned.llm.scripted import ScriptedModel
from seasoned.retrieve.mark import MARKS, rank_each
from seasoned.types import Reply


def places(ranking):
    return [each.place for each in ranking.scored]


def test_one_call_for_each_item_with_constant_text_first_and_the_item_last():
    model = ScriptedModel(["2", "9", "0"])
    found = rank_each(model, "Find the\nmilk.", ["Look first.", "Open\nit.", "Sing."], about="A house.")
    assert [(each.place, each.score) for each in found.scored] == [(1, 100), (0, 22), (2, 0)]
    assert (found.contradictions, found.problems) == ((), ())
    systems = {request["messages"][0]["content"] for request in model.requests}
    assert len(systems) == 1
    assert "The tasks: A house." in systems.pop()
    asked = [request["messages"][1]["content"] for request in model.requests]
    assert asked[1] == "The new task: Find the milk.\n\nThe lesson: Open it."
    assert all(request["schema"]["enum"] == MARKS for request in model.requests)


class Likely:
    """A model that tells how likely its marks were, from a list."""

    name = "likely"

    def __init__(self, *odds):
        self.odds = list(odds)

    def chat(self, messages, **options):
        return Reply(text="0", parsed="0", odds=self.odds.pop(0))


def test_the_mean_mark_counts_where_the_odds_are_told():
    unsure, no = {"0": 0.5, "9": 0.5}, {"0": 0.9, "9": 0.1}
    found = rank_each(Likely(no, unsure, no), "x", ["a", "b", "c"])
    assert [(each.place, each.score) for each in found.scored] == [(1, 50), (0, 10), (2, 10)]


def test_marks_that_a_score_does_not_tell_apart_still_order():
    found = rank_each(Likely({"4": 0.502, "5": 0.498}, {"4": 0.5, "5": 0.5}), "x", ["a", "b"])
    assert places(found) == [1, 0]
    assert len({each.score for each in found.scored}) == 1


def test_an_item_whose_reply_cannot_be_used_is_left_out_and_told():
    unread = ParseError("it wrote 'perhaps'", Reply(text="perhaps"))
    model = ScriptedModel(["3", unread, ContextLengthError("too long"), "5"])
    found = rank_each(model, "x", list("abcd"))
    assert places(found) == [3, 0]
    assert [problem.split(":")[0] for problem in found.problems] == ["item 2 has no mark", "item 3 has no mark"]


def test_a_server_that_fails_is_not_passed_over():
    with pytest.raises(InfrastructureError):
        rank_each(ScriptedModel(["1", InfrastructureError("gone")]), "x", ["a", "b"])


def test_nothing_to_mark_asks_nobody():
    assert rank_each(ScriptedModel([]), "x", []).scored == ()


@given(st.text(), st.lists(st.tuples(st.text(), st.sampled_from(MARKS)), max_size=6))
def test_whatever_the_texts_each_item_gets_its_mark(task, items):
    model = ScriptedModel([mark for _, mark in items])
    found = rank_each(model, task, [item for item, _ in items])
    assert {each.place: each.score for each in found.scored} == {
        place: round(100 * int(mark) / 9) for place, (_, mark) in enumerate(items)
    }
    assert all(len(request["messages"][1]["content"].split("\n")) <= 3 for request in model.requests)

"""Asking a model for a ranking: parts, prompts that are too long, replies that cannot be used."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ContextLengthError, InfrastructureError, ParseError
from seasoned.llm.scripted import ScriptedModel
from seasoned.llm.structured import check_schema
from seasoned.methods.ranking import MARKS, parts, rank, rank_each
from seasoned.replies.rankings import ranking_schema
from seasoned.text import tokens
from seasoned.types import Reply


def reply(*pairs, against=()):
    ranking = [{"number": number, "reason": "it fits", "score": score} for number, score in pairs]
    return {"ranking": ranking, "contradictions": [list(pair) for pair in against]}


def shown(messages):
    return re.findall(r"^(\d+)\. (.*)$", messages[-1]["content"], re.MULTILINE)


def test_one_call_with_constant_text_first_and_the_task_last():
    model = ScriptedModel([reply((2, 90), (1, 30), against=[(1, 3)])] * 2)
    items = ["Look first.", "Open it\nfirst.", "Do not look."]
    found = rank(model, "Find the milk.", items, 2, about="A house.")
    assert [(each.place, each.score) for each in found.scored] == [(1, 90), (0, 30)]
    assert found.contradictions == ((0, 2),)
    rank(model, "Find the tea.", items, 2, about="A house.")
    first, second = (request["messages"] for request in model.requests)
    assert first[0] == second[0]
    assert "A house." in first[0]["content"]
    assert first[1]["content"].split("The new task")[0] == second[1]["content"].split("The new task")[0]
    assert shown(first) == [("1", "Look first."), ("2", "Open it first."), ("3", "Do not look.")]


def test_what_covers_another_step_than_the_rest_counts_more():
    """ERL ranks for diversity too (appendix B); the model is told, and nothing else chooses for it."""
    model = ScriptedModel([reply((1, 50))])
    rank(model, "Find the milk.", ["Look first.", "Open it."], 1)
    assert "covers a step that the others you picked do not" in model.requests[0]["messages"][0]["content"]


def test_the_end_of_a_long_task_is_seen():
    model = ScriptedModel([reply((1, 90))])
    rank(model, f"{'The report says many things. ' * 100}Question: how much did the tulips cost?", ["a", "b"], 1)
    assert "how much did the tulips cost?" in model.requests[0]["messages"][-1]["content"]


def test_a_long_list_is_scored_in_parts():
    def play(messages):  # likes the items whose own number ends with 7
        numbers = [(int(number), 90 if item.endswith("7") else 10) for number, item in shown(messages)]
        return reply(*sorted(numbers, key=lambda pair: -pair[1])[:5])

    model = ScriptedModel(play)
    items = [f"{'word ' * 20}{n}" for n in range(100)]
    found = rank(model, "x", items, 5, room=600)
    assert len(model.requests) == 5
    best = [each.place for each in found.scored if each.score == 90]
    assert best == [7, 17, 27, 37, 47, 57, 67, 77, 87, 97]
    for request in model.requests:
        assert sum(tokens(f"{number}. {item}\n") for number, item in shown(request["messages"])) <= 600


def test_a_prompt_that_is_too_long_is_halved():
    def play(messages):
        if len(shown(messages)) > 9:
            return ContextLengthError("too long")
        return reply((1, 50))

    found = rank(ScriptedModel(play), "x", [f"item {n}" for n in range(32)], 1)
    assert [each.place for each in found.scored] == [0, 8, 16, 24]
    nothing = rank(ScriptedModel(lambda _: ContextLengthError("no")), "x", ["a", "b"], 1)
    assert nothing.scored == ()
    assert "2 items are too long for the model" in nothing.problems[0]


def test_a_reply_without_the_form_is_read_as_far_as_it_goes():
    model = ScriptedModel(["I like the second.", "Number 2: score 70, because it fits."])
    found = rank(model, "x", ["a", "b"], 2)
    assert [(each.place, each.score) for each in found.scored] == [(1, 70)]
    assert "was asked twice" in found.problems[0]
    lost = rank(ScriptedModel(["no", "no"]), "x", ["a", "b"], 2)
    assert lost.scored == ()


def test_a_server_that_is_gone_is_no_bad_reply():
    with pytest.raises(InfrastructureError):
        rank(ScriptedModel([InfrastructureError("gone")]), "x", ["a"], 1)


def test_nothing_to_rank_asks_nobody():
    assert rank(ScriptedModel([]), "x", [], 3).scored == ()


def test_the_schema_is_one_that_is_checked():
    check_schema(ranking_schema(5, 2))


def test_a_long_reply_has_room_for_every_entry():
    # The bundled model breaks and indents its lines: 41 tokens an entry were seen.
    model = ScriptedModel([reply((1, 50))])
    rank(model, "x", [f"item {n}" for n in range(30)], 20)
    assert model.requests[0]["max_tokens"] >= 20 * 41 + 20


def test_parts_are_what_is_asked_about():
    items = [f"{'word ' * (n % 7)}\n{n}" for n in range(60)]
    model = ScriptedModel(lambda _: reply((1, 50)))
    found = rank(model, "x", items, 1, room=100)
    cut = list(parts(items, 100))
    assert [start for start, _ in cut] == [each.place for each in found.scored]
    assert [part for _, part in cut] == [[item for _, item in shown(request["messages"])] for request in model.requests]
    assert [item for _, part in cut for item in part] == [" ".join(item.split()) for item in items]
    assert [len(part) for _, part in parts(["x" * 900, "y"], 100)] == [1, 1]
    assert list(parts([])) == []


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

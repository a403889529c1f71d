"""The arithmetic of the operations, as a table of cases."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.llm.structured import check_schema, problems
from seasoned.methods.expel.operations import Applied, apply
from seasoned.replies.operations import INSIGHT_CHARS, Item, Operation, operations_schema
from seasoned.text import same_words

LIST = (Item("Look first.", 3), Item("Ask twice.", 2), Item("Go slowly.", 1))


def add(text):
    return Operation("ADD", None, text)


def edit(number, text):
    return Operation("EDIT", number, text)


def up(number):
    return Operation("UPVOTE", number)


def down(number):
    return Operation("DOWNVOTE", number)


def counts(applied):
    return [(item.text, item.count) for item in applied.items]


LOOK, ASK, SLOW = ("Look first.", 3), ("Ask twice.", 2), ("Go slowly.", 1)


@pytest.mark.parametrize(
    "text", ["The list of insights is empty.", "As insight 2 says, look first.", "Keep the insights list short."]
)
def test_what_speaks_of_the_list_is_no_insight(text):
    for operation in (add(text), edit(2, text)):
        applied = apply(LIST, [operation])
        assert applied.items == LIST
        assert applied.problems == (
            f"{operation}: it is about the list of insights, not about the tasks, so it is passed over",
        )
    assert apply(LIST, [add("When the list is empty, search this list again.")]).done


@pytest.mark.parametrize(
    ("operations", "after"),
    [
        pytest.param([], [LOOK, ASK, SLOW], id="nothing changes nothing"),
        pytest.param([add("Rest.")], [LOOK, ASK, ("Rest.", 2), SLOW], id="a new insight starts at 2, after its equals"),
        pytest.param([up(1)], [("Look first.", 4), ASK, SLOW], id="an upvote adds 1"),
        pytest.param([down(1)], [("Look first.", 2), ASK, SLOW], id="a downvote takes 1"),
        pytest.param([down(3)], [LOOK, ASK], id="at 0 it goes"),
        pytest.param([edit(2, "Ask once.")], [LOOK, ("Ask once.", 3), SLOW], id="an edit adds 1; of equals none moves"),
        pytest.param([up(3), up(2)], [LOOK, ("Ask twice.", 3), ("Go slowly.", 2)], id="sorted by count, stably"),
        pytest.param([up(2), up(2)], [LOOK, ("Ask twice.", 3), SLOW], id="one operation for each insight"),
        pytest.param([up(3), down(3)], [LOOK, ASK, ("Go slowly.", 2)], id="of two on one insight the first counts"),
        pytest.param([up(4)], [LOOK, ASK, SLOW], id="a number beyond the list"),
        pytest.param([edit(0, "New.")], [LOOK, ASK, SLOW], id="EDIT 0 edits nothing"),
        pytest.param([edit(-1, "New."), down(-1)], [LOOK, ASK, SLOW], id="numbers below 1"),
        pytest.param([Operation("UPVOTE")], [LOOK, ASK, SLOW], id="no target"),
        pytest.param([add("look FIRST")], [LOOK, ASK, SLOW], id="what another says already is not added"),
        pytest.param([edit(3, "Ask twice")], [LOOK, ASK, SLOW], id="nor made by an edit"),
        pytest.param([add("Rest."), add("rest")], [LOOK, ASK, ("Rest.", 2), SLOW], id="two equal ADDs are one"),
        pytest.param([edit(1, "look FIRST!")], [("look FIRST!", 4), ASK, SLOW], id="an insight may be spelled anew"),
        pytest.param([edit(2, "Rest."), add("Ask twice.")], [LOOK, ("Rest.", 3), ASK, SLOW], id="the edit is first"),
        pytest.param([add("Go slowly."), down(3)], [LOOK, ASK, ("Go slowly.", 2)], id="the downvote is first"),
        pytest.param([down(3), edit(2, "Ask once.")], [LOOK, ("Ask once.", 3)], id="an edit after one that goes"),
        pytest.param([add("")], [LOOK, ASK, SLOW], id="no text"),
        pytest.param([add(" * ")], [LOOK, ASK, SLOW], id="no word"),
        pytest.param(
            [add("A."), add("B."), add("C."), add("D."), up(1)],
            [LOOK, ASK, ("A.", 2), ("B.", 2), ("C.", 2), ("D.", 2), SLOW],
            id="four operations count",
        ),
        pytest.param(
            [up(9), add("A."), add("B."), add("C."), up(1), up(2)],
            [("Look first.", 4), ASK, ("A.", 2), ("B.", 2), ("C.", 2), SLOW],
            id="the first four that can be done",
        ),
    ],
)
def test_what_the_operations_do(operations, after):
    applied = apply(LIST, operations)
    assert counts(applied) == after
    assert len(applied.done) + len(applied.problems) == len(operations)


def test_an_operation_is_told_with_its_number_and_its_text():
    assert apply(LIST, [up(4)]).problems == ("UPVOTE 4: there is no such insight, so it is passed over",)
    assert str(edit(2, "Ask once.")) == "EDIT 2 'Ask once.'"
    assert str(add("Rest.")) == "ADD 'Rest.'"


def test_they_are_applied_in_a_fixed_order():
    applied = apply(LIST, [add("Rest."), edit(2, "Ask once."), up(3), down(1)])
    assert [operation.kind for operation in applied.done] == ["DOWNVOTE", "UPVOTE", "EDIT", "ADD"]
    assert counts(applied) == [("Ask once.", 3), ("Look first.", 2), ("Go slowly.", 2), ("Rest.", 2)]


def test_on_a_full_list_a_downvote_takes_three():
    assert counts(apply([Item("a", 5), Item("b", 3)], [down(1), down(2)], full=True)) == [("a", 2)]


def test_a_cap_drops_the_least_important_but_none_that_is_pinned():
    items = [Item("a", 5), Item("b", 4), Item("c", 3, pinned=True), Item("d", 1, pinned=True)]
    applied = apply(items, [], cap=3)
    assert counts(applied) == [("a", 5), ("c", 3), ("d", 1)]
    assert applied.problems == ("over the cap of 3 insights, so this one is dropped: b",)
    assert counts(apply(items, [], cap=1)) == [("c", 3), ("d", 1)]
    assert len(apply(items, []).items) == 4


def test_a_pinned_insight_stays():
    items = [Item("a", 1, pinned=True)]
    applied = apply(items, [down(1), edit(1, "b"), up(1)], full=True)
    assert applied == Applied(tuple(items), (), applied.problems)
    assert all("pinned" in problem for problem in applied.problems)


def test_an_insight_is_one_line_and_not_endless():
    applied = apply([], [add("a\nb\x00 " + "c" * 1000)])
    (item,) = applied.items
    assert item.text.startswith("a b ccc")
    assert len(item.text) == INSIGHT_CHARS
    (problem,) = applied.problems
    assert "more than 300 characters, so the rest is cut" in problem
    assert apply([], [add("c" * INSIGHT_CHARS)]).problems == ()


TEXTS = st.sampled_from(["a", "A.", "b", "c d", "C, D", "", "!", "ünï", "你好"]) | st.text(max_size=20)
ITEMS = st.lists(
    st.builds(Item, TEXTS, st.integers(1, 6).map(float), st.booleans()),
    max_size=8,
    unique_by=lambda i: same_words(i.text),
)
OPERATIONS = st.lists(
    st.builds(
        Operation, st.sampled_from(["ADD", "EDIT", "UPVOTE", "DOWNVOTE"]), st.none() | st.integers(-2, 10), TEXTS
    ),
    max_size=12,
)


@given(ITEMS, OPERATIONS, st.booleans(), st.none() | st.integers(0, 9))
def test_what_always_holds(items, operations, full, cap):
    applied = apply(items, operations, full, cap)
    assert all(item.count > 0 for item in applied.items)
    words = [same_words(item.text) for item in applied.items]
    assert len(set(words)) == len(words)
    assert [item for item in items if item.pinned] == sorted(
        (item for item in applied.items if item.pinned), key=lambda item: items.index(item)
    )
    assert len(applied.done) <= 4
    touched = [operation.target for operation in applied.done if operation.target is not None]
    assert len(set(touched)) == len(touched)
    order = [item.count for item in applied.items]
    assert order == sorted(order, reverse=True)
    if cap is not None:
        assert len(applied.items) <= max(cap, sum(item.pinned for item in items))
    assert len(applied.problems) >= len(operations) - len(applied.done)


def test_the_schema_fits_the_list():
    for insights in (0, 3):
        check_schema(operations_schema(insights))
    schema = operations_schema(3)
    assert not problems([{"operation": "EDIT", "number": 3, "text": "x"}], schema)
    assert problems([{"operation": "EDIT", "number": 4, "text": "x"}], schema)
    assert problems([{"operation": "ADD", "number": 0, "text": "x"}] * 5, schema)
    assert problems([{"operation": "UPVOTE", "number": 0, "text": "x"}], operations_schema(0))
    assert problems([], operations_schema(0))
    assert not problems([], schema)
    assert json.loads(json.dumps(schema)) == schema
    (whole,) = apply([], [add("c" * 1000)]).items  # word for word, as an UPVOTE has to have it
    assert not problems([{"operation": "UPVOTE", "number": 1, "text": whole.text}], schema)

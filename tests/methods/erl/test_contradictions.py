"""Which heuristics contradict each other."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.methods.erl.contradictions import AlikeIndex, contradict, overlap
from seasoned.types import Lesson


def lesson(trigger, action, success):
    data = {"action": action, "success": success}
    return Lesson(kind="heuristic", text=f"When {trigger}: {action}", key=trigger, data=data)


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("the fridge is closed", "open it", True), ("The fridge is closed.", "go to the table", False), True),
        (
            ("a fridge is closed", "open the fridge", True),
            ("the fridge is closed", "never open the fridge", False),
            True,
        ),
        (("the fridge is closed", "open it", True), ("the fridge is closed", "go to the table", True), False),
        (("the fridge is closed", "open it", True), ("the fridge is closed", "Open it!", False), False),
        (("the task asks for a hot mug", "x y", True), ("the task asks for a cool mug", "z", False), False),
        (("the fridge is closed", "open it", None), ("the fridge is closed", "go away", False), False),
        (("the fridge is closed", "open it", False), ("the fridge is closed", "never open it", False), True),
        (("the fridge is closed", "open it", None), ("the fridge is closed", "don't open it", None), True),
        (
            ("the fridge is closed", "open the door", True),
            ("the fridge is closed", "avoid opening the door", True),
            True,
        ),
        (("the fridge is closed", "open it", None), ("the fridge is closed", "never take a step back", None), False),
        (("the fridge is closed", "never open it", None), ("the fridge is closed", "do not open it", None), False),
        (
            ("a name is rare", "look at the label before you answer", None),
            ("a name is rare", "do not answer before you look at the label", None),
            False,
        ),
    ],
)
def test_contradictions(one, other, clash):
    assert contradict(lesson(*one), lesson(*other)) is clash
    assert contradict(lesson(*other), lesson(*one)) is clash


def test_data_of_another_kind_contradicts_nothing():
    assert not contradict(lesson("it is dark", "a", ["x"]), lesson("it is dark", "b", {}))


SETS = st.lists(st.frozensets(st.sampled_from("abcdefghij"), max_size=8), max_size=12)


def from_the_beginning(sets, words, share):
    """The same by an index of the rarest words alone, made of all sets at once."""
    known = list(dict.fromkeys(sets))
    counts = Counter(word for each in known for word in each)

    def rarest(each):
        return sorted(each, key=lambda word: (counts[word], word))[: int(len(each) * (1 - share) + 1e-9) + 1]

    near = [words] if words in known else []
    near += [each for word in rarest(words) for each in known if word in rarest(each)]
    return [each for each in dict.fromkeys(near) if each == words or overlap(words, each) >= share]


@given(SETS, st.frozensets(st.sampled_from("abcdefghij"), min_size=1, max_size=8), st.sampled_from((0.5, 0.8, 1.0)))
def test_sets_that_came_one_by_one_are_found_as_if_they_had_come_at_once(sets, words, share):
    index = AlikeIndex(share)
    for each in sets:
        index.add(each)
        list(index.near(words))
    found = list(index.near(words))
    assert found == from_the_beginning(sets, words, share)
    assert set(found) == {each for each in sets if overlap(words, each) >= share}


def test_no_words_are_like_no_words_alone():
    index = AlikeIndex(0.8)
    index.add(frozenset())
    assert overlap(frozenset(), frozenset()) == 0
    assert list(index.near(frozenset())) == [frozenset()]
    assert list(index.near(frozenset("a"))) == []

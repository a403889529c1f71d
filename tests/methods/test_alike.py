"""Words that are nearly the same: the index finds what a comparison with all finds, in one order."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from seasoned.methods.alike import AlikeIndex, overlap

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

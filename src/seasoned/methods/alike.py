"""Sets of words that are nearly the same, found without comparing with all of them.

Always holds: sets are given in the order in which they came, whatever came between; a set that is alike is never
passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil, floor

Words = frozenset[str]


def overlap(one: Words, other: Words) -> float:
    """The share of words that two sets have in common; 0 where one of them is empty."""
    return len(one & other) / len(one | other) if one and other else 0.0


class AlikeIndex:
    """Sets of words, each once, to be asked which are alike; more may be added at any time.

    Sets are alike where so large a share of their words is in common. Then they have a word in common among the rarest
    ones of each: of n words, as many as may be missing and one more. The order in which they are given goes by those.
    """

    def __init__(self, share: float) -> None:
        """Begin with no sets.

        Args:
            share: the least `overlap` of sets that are alike, above 0.
        """
        self._share = share
        self._counts: Counter[str] = Counter()
        self._order: dict[Words, int] = {}
        self._places: dict[tuple[str, int], list[Words]] = {}  # by a word and the size of the set

    def add(self, words: Words) -> None:
        """Take in a set; one that is there already is there once."""
        if words in self._order:
            return
        for word in words:
            self._places.setdefault((word, len(words)), []).append(words)
        self._counts.update(words)
        self._order[words] = len(self._order)

    def near(self, words: Words) -> Iterator[Words]:
        """The sets that are alike to this one: the same one first, then by its rarest words, then as they came."""
        if words in self._order:
            yield words
        given = {words}
        sizes = range(ceil(len(words) * self._share - 1e-9), floor(len(words) / self._share + 1e-9) + 1)
        for word in self._rarest(words):
            found = [each for size in sizes for each in self._places.get((word, size), ()) if each not in given]
            alike = [each for each in found if overlap(words, each) >= self._share and word in self._rarest(each)]
            given.update(alike)
            yield from sorted(alike, key=self._order.__getitem__)

    def _rarest(self, words: Words) -> list[str]:
        most = int(len(words) * (1 - self._share) + 1e-9) + 1
        return sorted(words, key=lambda word: (self._counts[word], word))[:most]

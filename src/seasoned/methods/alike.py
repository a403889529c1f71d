"""An index that finds sets of words that are nearly the same, without comparing all of them.

Always holds: the order of results follows from the order of additions; every set that is alike is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil, floor

Words = frozenset[str]


def overlap(one: Words, other: Words) -> float:
    """The share of words that two sets have in common; 0 if one of them is empty."""
    return len(one & other) / len(one | other) if one and other else 0.0


class AlikeIndex:
    """An index of sets of words, to look up those that are alike; sets may be added at any time.

    Sets are alike if they share a large enough part of their words. Then they also share one of each set's rarest
    words: of n words, the number that may be missing, plus one. Only these are compared, and they give the order.
    """

    def __init__(self, share: float) -> None:
        """Start empty.

        Args:
            share: the least `overlap` that counts as alike, above 0.
        """
        self._share = share
        self._counts: Counter[str] = Counter()
        self._order: dict[Words, int] = {}
        self._places: dict[tuple[str, int], list[Words]] = {}  # by word and size of the set

    def add(self, words: Words) -> None:
        """Add a set; adding it twice changes nothing."""
        if words in self._order:
            return
        for word in words:
            self._places.setdefault((word, len(words)), []).append(words)
        self._counts.update(words)
        self._order[words] = len(self._order)

    def near(self, words: Words) -> Iterator[Words]:
        """The sets that are alike to this one: itself first, then by its rarest words, then in order of addition."""
        if words in self._order:
            yield words
        seen = {words}
        sizes = range(ceil(len(words) * self._share - 1e-9), floor(len(words) / self._share + 1e-9) + 1)
        for word in self._rarest(words):
            candidates = [each for size in sizes for each in self._places.get((word, size), ()) if each not in seen]
            alike = [each for each in candidates if overlap(words, each) >= self._share and word in self._rarest(each)]
            seen.update(alike)
            yield from sorted(alike, key=self._order.__getitem__)

    def _rarest(self, words: Words) -> list[str]:
        most = int(len(words) * (1 - self._share) + 1e-9) + 1
        return sorted(words, key=lambda word: (self._counts[word], word))[:most]

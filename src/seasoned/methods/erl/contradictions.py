"""Which heuristics contradict each other: the same trigger, but different actions or one that forbids the other.

`AlikeIndex` finds triggers with nearly the same words, without comparing all of them. Always holds: only words decide,
in English; the relation is symmetric; the index finds every set that is alike, in an order that follows from the order
of additions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from math import ceil, floor
from typing import NamedTuple

from seasoned.text import words_of
from seasoned.types import Lesson

Words = frozenset[str]

ALIKE = 0.8
"""From this share of common words, two triggers are the same."""

_DIFFERENT = 0.6  # below this share of common words, two actions differ
_SAME = 0.75  # from this ratio on, two actions are the same, except that one forbids it
_CACHE = 16_384  # texts; one recall compares the same texts many times
_STOP_WORDS = frozenset(
    {"a", "an", "the", "i", "you", "it", "this", "that", "my", "your", "is", "are", "am", "be", "been", "to", "of"}
    | {"in", "on", "at", "for", "and", "or", "with", "when", "if", "then", "must", "should"}
    | {"do", "does", "has", "have"}
)  # words that do not distinguish situations
_FORBIDS = frozenset({"not", "never", "avoid", "don", "dont"})
_NOT = _FORBIDS | {"without", "no", "stop"}
_ENDING = re.compile(r"(?<=\w{2})(?:ing|es|s|e)$")  # avoid opening, open


def overlap(one: Words, other: Words) -> float:
    """The share of words that two sets have in common; 0 if one of them is empty."""
    return len(one & other) / len(one | other) if one and other else 0.0


def contradict(one: Lesson, other: Lesson) -> bool:
    """Whether two heuristics for the same trigger say different things.

    From a success and a failure, they do if their actions differ; otherwise, if one forbids what the other says.
    """
    if overlap(telling(one.key), telling(other.key)) < ALIKE:
        return False
    first, second = (_action(_action_text(each)) for each in (one, other))
    outcomes = [one.data.get("success"), other.data.get("success")]
    if outcomes in ([True, False], [False, True]) and (
        first.denies != second.denies or overlap(first.words, second.words) < _DIFFERENT
    ):
        return True
    if first.forbids == second.forbids:
        return False
    most = _SAME * (len(first.stems) + len(second.stems)) / 2
    if len(set(first.stems).intersection(second.stems)) < most:
        return False
    # Word order counts: "do not answer before you have looked" does not deny "look before you answer".
    return SequenceMatcher(None, first.stems, second.stems, autojunk=False).ratio() >= _SAME


def forbids(lesson: Lesson) -> bool:
    """Whether a heuristic forbids something."""
    return not _FORBIDS.isdisjoint(words_of(_action_text(lesson)))


@lru_cache(maxsize=_CACHE)
def telling(text: str) -> frozenset[str]:
    """The distinctive words of a text; all of them if it has none."""
    return frozenset(words_of(text)) - _STOP_WORDS or frozenset(words_of(text))


class _Action(NamedTuple):
    """An action: its distinctive words; its stems in order, without negations; and whether it negates or forbids."""

    words: frozenset[str]
    stems: tuple[str, ...]
    denies: bool
    forbids: bool


def _action_text(lesson: Lesson) -> str:
    return str(lesson.data.get("action") or lesson.text)


@lru_cache(maxsize=_CACHE)
def _action(text: str) -> _Action:
    words = words_of(text)
    rest = (_stem(word) for word in words if word not in _STOP_WORDS | _FORBIDS | {"t"})  # don't
    stems = tuple(dict.fromkeys(rest))
    return _Action(frozenset(words) - _STOP_WORDS, stems, not _NOT.isdisjoint(words), not _FORBIDS.isdisjoint(words))


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] else stem  # putting, put


class AlikeIndex:
    """An index of sets of words, to look up those that are alike; sets may be added at any time.

    Sets are alike if they share a large enough part of their words. Then they also share one of each set's rarest
    words: of n words, the number that may be missing, plus one. Only these are compared, and they give the order.
    """

    def __init__(self, share: float) -> None:
        """Start empty; `share` is the least `overlap` that counts as alike, above 0."""
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

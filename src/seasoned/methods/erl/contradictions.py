"""Which heuristics contradict each other: the same trigger, but different actions or one that forbids the other.

Always holds: only words decide, in English; the relation is symmetric.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from seasoned.methods.alike import overlap
from seasoned.text import words_of
from seasoned.types import Lesson

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

"""The word matcher of ExpNote: notes whose key occurs, word by word, in the query.

Always holds: keys and queries are folded the same way (case, Unicode form), so a key that was written can be found.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seasoned.types import Lesson

_SEPARATORS = re.compile(r"[\s,;:/|.!?\"'()\[\]{}<>“”‘’„«»…*_`~]+")


def fold(text: str) -> str:
    """Lower-case text in one Unicode form, so that what looks alike compares alike."""
    return unicodedata.normalize("NFKC", text).casefold()


def split_words(text: str) -> list[str]:
    """The folded words of a text in order. Symbols such as emoji are words of their own when spaces part them."""
    return [word for word in _SEPARATORS.split(fold(text)) if word]


@dataclass(frozen=True)
class KeyIndex:
    """Notes by the words of their keys, so that a query looks only at notes that share a word with it.

    `places` are the places in `notes` of those whose key has a word; `lengths` is how many words a note's key has.
    """

    notes: Sequence[Lesson]
    places: Mapping[str, Sequence[int]]
    lengths: Sequence[int]

    def match(self, query: str, *, k: int, share: float) -> list[Lesson]:
        """The notes whose key words occur in the query, best first (ExpNote, appendix B).

        Args:
            query: the text of the task.
            k: at most this many come back.
            share: the part of a key's words that must occur, above 0 and up to 1.

        Returns:
            Up to k notes by falling share, ties by recency (`updated`).
        """
        present = set(split_words(query))
        hits = Counter(place for word in present for place in self.places.get(word, ()))
        shares = {place: hits[place] / self.lengths[place] for place in sorted(hits)}
        found = [place for place, part in shares.items() if part >= share]
        found.sort(key=lambda place: (shares[place], self.notes[place].updated), reverse=True)
        return [self.notes[place] for place in found[:k]]


def index_keys(notes: Sequence[Lesson]) -> KeyIndex:
    """The index of these notes; a note without key words is in it and never matches."""
    keys = [set(split_words(note.key)) for note in notes]
    places: dict[str, list[int]] = {}
    for place, words in enumerate(keys):
        for word in words:
            places.setdefault(word, []).append(place)
    return KeyIndex(notes, places, [len(words) for words in keys])

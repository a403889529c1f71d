"""The word matcher of ExpNote: notes whose key occurs, word by word, in the query.

Always holds: keys and queries are folded the same way (case, Unicode form), so a key that was written can be found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from seasoned.types import Lesson

_SEPARATORS = re.compile(r"[\s,;:/|.!?\"'()\[\]{}<>“”‘’„«»…*_`~]+")


def fold(text: str) -> str:
    """Lower-case text in one Unicode form, so that what looks alike compares alike."""
    return unicodedata.normalize("NFKC", text).casefold()


def split_words(text: str) -> list[str]:
    """The folded words of a text in order. Symbols such as emoji are words of their own when spaces part them."""
    return [word for word in _SEPARATORS.split(fold(text)) if word]


def match_notes(query: str, notes: Sequence[Lesson], *, k: int, share: float) -> list[Lesson]:
    """The notes whose key words occur in the query, best first (ExpNote, appendix B).

    Args:
        query: the text of the task.
        notes: candidates; a note without key words never matches.
        k: at most this many come back.
        share: the part of a key's words that must occur, above 0 and up to 1.

    Returns:
        Up to k notes by falling share, ties by recency (`updated`).
    """
    present = set(split_words(query))
    scored = []
    for note in notes:
        words = set(split_words(note.key))
        found = len(words & present) / len(words) if words else 0.0
        if found > 0 and found >= share:
            scored.append((found, note.updated, note))
    scored.sort(key=lambda item: (item[0], item[1]), reverse=True)
    return [note for _, _, note in scored[:k]]

"""A docstore on disk: finds a page by its title, or else the nearest titles.

Always holds: a page is found by its own title, regardless of case, accents, punctuation and white space; a search
raises nothing, uses no network, and takes time linear in the length of the query.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

SIMILAR = 5
"""Titles named for a page that was not found."""

_WORDS = re.compile(r"[^\W_]+")
# A stop, closing marks, a space, and the next letter; the words around it decide whether a sentence ends.
_STOP = re.compile(r"[.!?]{1,8}[\"'”’)\]]{0,4} (?=[\"'“‘(\[]{0,4}(\w))")
_BEFORE_STOP = re.compile(r"([^\W\d_]{1,7})\.$")
_SHORT = re.compile(
    "approx|ca|capt|col|dr|fig|ft|gen|gov|hon|jr|lt|mr|mrs|ms|mt|prof|rep|rev|sen|sgt|sr|st|vol|vs", re.IGNORECASE
)
_DOUBLED = re.compile(r"(?<!\.)\.\.(?!\.)")


@dataclass(frozen=True)
class Page:
    """A page: its title and its sentences in order."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Miss:
    """There is no such page; `said` is the recorded observation for the query, or ""."""

    similar: tuple[str, ...] = ()
    said: str = ""


Search = Callable[[str], Page | Miss]
"""Finds a page by its title; a search on disk raises nothing, a live one may raise InfrastructureError."""


class Docstore:
    """Pages in memory; threads may share it.

    The nearest titles share the most runs of three letters with the query, rare runs counting more (cosine of tf-idf),
    so spelling, word order and common words matter little.
    """

    def __init__(self, pages: Iterable[Page], misses: Mapping[str, str] | None = None) -> None:
        """Store the pages (of several with one title, the first) and recorded misses (observations by query)."""
        self.pages: dict[str, Page] = {}
        self._by_key: dict[str, Page] = {}
        for page in pages:
            first = self.pages.setdefault(page.title, page)
            if key := title_key(page.title):
                self._by_key.setdefault(key, first)
        self._misses = {title_key(query): observation for query, observation in (misses or {}).items()}

    def search(self, query: str) -> Page | Miss:
        """The page with this title, or else the nearest titles."""
        key = title_key(query)
        page = self.pages.get(query.strip()) or self._by_key.get(key)
        return page or Miss(self._nearest(key), self._misses.get(key, ""))

    def _nearest(self, key: str) -> tuple[str, ...]:
        titles, lengths, postings = self._index
        scores: dict[int, float] = defaultdict(float)
        for run in _runs(key):
            places, weight = postings.get(run, ((), 0.0))
            for place in places:
                scores[place] += weight
        best = sorted(scores, key=lambda place: (-scores[place] / lengths[place], place))
        return tuple(titles[place] for place in best[:SIMILAR])

    @cached_property
    def _index(self) -> tuple[list[str], list[float], dict[str, tuple[list[int], float]]]:
        """The titles, the lengths of their vectors, and for each run its titles (as indexes) and its weight."""
        titles = list(self.pages)
        places: dict[str, list[int]] = defaultdict(list)
        for place, title in enumerate(titles):
            for run in _runs(title_key(title)):
                places[run].append(place)
        # The weight is in both the query's and the title's vector, so it is squared.
        postings = {run: (matches, math.log(1 + len(titles) / len(matches)) ** 2) for run, matches in places.items()}
        squares = [0.0] * len(titles)
        for matches, weight in postings.values():
            for place in matches:
                squares[place] += weight
        return titles, list(map(math.sqrt, squares)), postings


def title_key(title: str) -> str:
    """A title without case, accents, punctuation and HTML entities, with single spaces between words."""
    plain = unicodedata.normalize("NFKD", html.unescape(title)).casefold()
    return " ".join(_WORDS.findall("".join(c for c in plain if not unicodedata.combining(c))))


def make_page(title: str, text: str | Iterable[str]) -> Page:
    """A page from its text or its sentences, without HTML entities; ValueError if the text or the title is empty."""
    pieces = sentences(text) if isinstance(text, str) else [flat(piece) for piece in text]
    page = Page(flat(title), tuple(piece for piece in pieces if piece))
    if not page.title or not page.sentences:
        raise ValueError("a page needs a non-empty title and text")
    return page


def sentences(text: str) -> list[str]:
    """The sentences of a text; they end with a line, or with a stop before a capital, but not after `Dr.` or `J.`."""
    parts: list[str] = []
    for line in text.splitlines():
        line = _DOUBLED.sub(".", flat(line))
        start = 0
        for stop in _STOP.finditer(line):
            word = _BEFORE_STOP.search(line, max(start, stop.start() - 8), stop.start() + 1)
            if stop[1].islower() or (word and (len(word[1]) == 1 or _SHORT.fullmatch(word[1]))):
                continue
            parts.append(line[start : stop.end()].strip())
            start = stop.end()
        parts.append(line[start:].strip())
    return [sentence for sentence in parts if sentence]


def flat(text: str) -> str:
    """One line, with single spaces and without HTML entities."""
    return " ".join(html.unescape(text).split())


def _runs(key: str) -> set[str]:
    padded = f" {key} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)} if key else set()

"""Makes kinship stories of two or three hops in own sentences, for CLUTRR's default.

A reference family is built person by person; how two of its members are related is read off its graph. Always holds:
a chain of kinship words is used only if all paths of that chain through the family end in the same relation, so that a
story has one answer; names fit the kinship words; a story never names two people alike.
"""

from __future__ import annotations

import random
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from seasoned.lab.benchmarks.base import DATA

_WORDS = tomllib.loads((DATA / "clutrr_stories.toml").read_text(encoding="utf-8"))
WOMEN, MEN, SENTENCES = (tuple(_WORDS[name]) for name in ("women", "men", "sentences"))
STATED = (
    *("husband", "wife", "son", "daughter", "father", "mother", "brother", "sister"),
    *("grandfather", "grandmother", "grandson", "granddaughter"),
)
"""Relations that a story may state; the answer may also be an uncle, a niece, a mother-in-law and so on."""


class Story(NamedTuple):
    """A story, the two people asked about, and the answer: `second` is the `kin` of `first`."""

    text: str
    first: str
    second: str
    kin: str
    hops: int


class Answer(NamedTuple):
    """The one answer of a chain, and which sexes its first person can have (True: male)."""

    kin: str
    first_male: tuple[bool, ...]


@dataclass(eq=False)
class Person:
    """A member of the reference family."""

    male: bool
    parents: tuple[Person, ...] = ()
    spouse: Person | None = None
    children: list[Person] = field(default_factory=list)

    def siblings(self) -> list[Person]:
        """Those who share the parents."""
        return [c for c in self.parents[0].children if c is not self] if self.parents else []


def relation(a: Person, b: Person) -> str | None:
    """What `b` is to `a`, in one word; None where no word of the list fits."""
    spouse = [a.spouse] if a.spouse else []
    near = {
        ("husband", "wife"): spouse,
        ("son", "daughter"): a.children,
        ("father", "mother"): a.parents,
        ("brother", "sister"): a.siblings(),
        ("grandson", "granddaughter"): [g for c in a.children for g in c.children],
        ("grandfather", "grandmother"): [g for p in a.parents for g in p.parents],
        ("nephew", "niece"): [c for p in (a, *spouse) for s in p.siblings() for c in s.children],
        ("uncle", "aunt"): [u for p in a.parents for s in p.siblings() for u in (s, s.spouse)],
        ("son-in-law", "daughter-in-law"): [c.spouse for c in a.children],
        ("father-in-law", "mother-in-law"): [p for s in spouse for p in s.parents],
        ("brother-in-law", "sister-in-law"): [
            *(b for s in spouse for b in s.siblings()),
            *(s.spouse for s in a.siblings()),
            *(b.spouse for s in spouse for b in s.siblings()),
        ],
    }
    return next((words[0 if b.male else 1] for words, people in near.items() if any(p is b for p in people)), None)


def family() -> list[Person]:
    """Four generations, 56 people; those in the middle have parents, siblings, a spouse and children of both sexes."""
    everyone: list[Person] = []

    def couple(man: Person | None = None, woman: Person | None = None) -> list[Person]:
        man, woman = man or Person(male=True), woman or Person(male=False)
        man.spouse, woman.spouse = woman, man
        children = [Person(male=i % 2 == 0, parents=(man, woman)) for i in range(4)]
        man.children = woman.children = children
        everyone.extend(p for p in (man, woman, *children) if p not in everyone)
        return children

    north, south, east, west = couple(), couple(), couple(), couple()
    middle = couple(north[0], south[1])
    couple(east[0], north[1])
    couple(south[0], west[1])
    couple(middle[0], couple()[1])
    couple(couple()[0], middle[1])
    return everyone


@cache
def chains(hops: int) -> dict[tuple[str, ...], Answer]:
    """The chains of stated kinship words that have exactly one answer.

    A chain (r1, r2) reads: B is the r1 of A, C is the r2 of B; its answer is what C is to A.
    """
    people = family()
    words = {(a, b): relation(a, b) for a in people for b in people if a is not b}
    around = {a: [(b, r) for b in people if a is not b and (r := words[a, b]) in STATED] for a in people}
    paths: list[tuple[tuple[Person, ...], tuple[str, ...]]] = [((p,), ()) for p in people]
    for _ in range(hops):
        paths = [((*on, b), (*kin, r)) for on, kin in paths for b, r in around[on[-1]] if r and b not in on]
    ends: dict[tuple[str, ...], set[str | None]] = defaultdict(set)
    sexes: dict[tuple[str, ...], set[bool]] = defaultdict(set)
    for on, kin in paths:
        ends[kin].add(words[on[0], on[-1]])
        sexes[kin].add(on[0].male)
    single = {kin: end for kin, (end, *others) in sorted(ends.items()) if not others}
    return {kin: Answer(end, tuple(sorted(sexes[kin]))) for kin, end in single.items() if end}


def stories(count: int, hops: Sequence[int], rng: random.Random) -> list[Story]:
    """Makes so many stories of chains that are 2 or 3 long, in turn; a few may have the same text.

    Answers are drawn evenly, then a chain that has that answer.
    """
    by_answer: dict[int, dict[str, list[tuple[str, ...]]]] = {h: defaultdict(list) for h in hops}
    for h in hops:
        for kin, answer in chains(h).items():
            by_answer[h][answer.kin].append(kin)
    made: list[Story] = []
    for i in range(count):
        h = hops[i % len(hops)]
        wanted = rng.choice(sorted(by_answer[h]))
        made.append(_story(rng.choice(by_answer[h][wanted]), rng))
    return made


def _story(kin: tuple[str, ...], rng: random.Random) -> Story:
    answer = chains(len(kin))[kin]
    males = [rng.choice(answer.first_male), *(word in _MALE for word in kin)]
    men, women = rng.sample(MEN, len(males)), rng.sample(WOMEN, len(males))
    names = [men[i] if male else women[i] for i, male in enumerate(males)]
    sentences = [
        sentence.format(a=names[i], b=names[i + 1], kin=word, his="his" if males[i] else "her")
        for i, (word, sentence) in enumerate(zip(kin, rng.sample(SENTENCES, len(kin)), strict=True))
    ]
    rng.shuffle(sentences)
    return Story(" ".join(sentences), names[0], names[-1], answer.kin, len(kin))


_MALE = frozenset(("husband", "son", "father", "brother", "grandfather", "grandson"))

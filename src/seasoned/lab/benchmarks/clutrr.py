"""CLUTRR: how two people of a short story are related (Sinha et al. 2019; ExpNote, figure 5).

Reads the published CSV (columns story, query, target): the query ('Ann', 'Bob') with the target son means that Bob is
the son of Ann, and becomes "Who is Bob to Ann?". Without data, stories are generated in our own sentences, and their
relations come from the graph of a reference family. Always holds: the right answer is one kinship word, and an answer
is judged by the last such word in it; a chain of kinship words is used only if all its paths through the family end in
the same relation; names fit the kinship words; a story never gives two people the same name.

Options: `data` (a published CSV, or a folder of them; else $SEASONED_DATA/clutrr; else generated), `hops` (a list of 2
and 3: the lengths of the generated stories), `cases` (how many are generated), `train_share`. The seed decides the
generated cases and the pools.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.answer import Scored, answer_benchmark
from seasoned.lab.benchmarks.base import DATA, Benchmark, check_options, check_range, find_data, fresh_id, read_toml
from seasoned.lab.benchmarks.rows import Row, read_csv, read_literal
from seasoned.types import Task

OPTIONS = {"data": "", "hops": (2, 3), "cases": 1000, "train_share": 0.5}
MOST_CASES = 100_000

_WORDS = read_toml(DATA / "clutrr_stories.toml")
# A compound such as great-grandfather or step-brother matches as a whole, so its last part does not count alone.
_KINSHIP = re.compile(
    r"(?<![\w-])(?:(?:great|half|step|god)[- ]?){0,4}"
    r"(?:(?:grand-?)?(?:father|mother|son|daughter)|brother|sister|husband|wife|uncle|aunt|nephew|niece|neice|cousin"
    r"|mom|mum|dad|grandma|grandpa)(?:[- ]in[- ]law)?(?![\w-])",
    re.IGNORECASE,
)


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load CLUTRR; see `load_benchmark`."""
    settings = check_options("clutrr", options, OPTIONS)
    paths = find_data("clutrr", settings["data"], (".csv",))
    source: str | Sequence[Path] = paths
    if paths:
        tasks = [_task(path, row) for path in paths for row in read_csv(path, ("story", "query", "target"))]
    else:
        check_range(settings, "cases", 2, MOST_CASES)
        hops = settings["hops"]
        if not hops or not set(hops) <= {2, 3}:
            raise ConfigError(f"benchmark.hops should be a list of 2 and 3, but is {list(hops)}")
        drawn = stories(settings["cases"], hops, random.Random(f"clutrr-cases-{seed}"))
        tasks = [_case(s.text, s.first, s.second, s.kin, None, f"{s.hops} hops") for s in drawn]
        source = f"generated stories of {' and '.join(map(str, hops))} hops"
    return answer_benchmark("clutrr", tasks, score, seed=seed, share=settings["train_share"], source=source)


def score(text: str, data: Mapping[str, Any]) -> Scored:
    """Score an answer: its last kinship word must be the right one."""
    text = text.replace("\u2011", "-").replace("\u2010", "-")  # other hyphens
    words = [kinship(m.group()) for m in _KINSHIP.finditer(text)]
    answer, gold = words[-1] if words else text.strip(), data.get("answer")
    return Scored(answer, None if gold is None else bool(words) and answer == kinship(str(gold)))


def kinship(word: str) -> str:
    """A kinship word in its standard spelling: lower case, `-in-law` with hyphens, step- without one."""
    plain = re.sub(r"[\s-]+", "-", word.strip().casefold())
    plain = re.sub(r"^(step|god)-", r"\1", plain)
    return str(_WORDS["synonyms"].get(plain, plain))


def _task(path: Path, row: Row) -> Task:
    values, place = row.values, f"{path}, line {row.line}"
    try:
        pair = read_literal(values["query"])
    except DataError as e:
        raise DataError(f"{place}: the query should be a pair of names; {e}") from e
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(p, str) and p for p in pair)):
        raise DataError(f"{place}: the query should be a pair of names, but is {values['query'][:60]!r}")
    target = values["target"].strip()
    if target.isdecimal():  # a later release numbers the relations and has the word in another column
        target = values.get("target_text", "").strip()
    if not _KINSHIP.fullmatch(target):
        raise DataError(f"{place}: the target should be a kinship word, but is {target[:60]!r}")
    story = " ".join(values["story"].split())
    if not story:
        raise DataError(f"{place}: the story is empty")
    return _case(story, pair[0], pair[1], kinship(target), values.get("id"), values.get("task_name", ""))


def _case(story: str, first: str, second: str, kin: str, given: object, category: str) -> Task:
    text = f"{story if story[-1] in '.!?' else story + '.'} Who is {second} to {first}?"
    return Task(id=fresh_id("clutrr", given, text), text=text, category=category, data={"answer": kin})


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
    """The only answer of a chain, and the possible sexes of its first person (True: male)."""

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
        """The other children of the parents."""
        return [c for c in self.parents[0].children if c is not self] if self.parents else []


def relation(a: Person, b: Person) -> str | None:
    """The relation of `b` to `a` in one word; None if no word of the list fits."""
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
    """Draw `count` stories from chains of the lengths in `hops`, in turn; a few may have the same text.

    Answers are drawn uniformly, then a chain with that answer.
    """
    by_answer: dict[int, dict[str, list[tuple[str, ...]]]] = {h: defaultdict(list) for h in hops}
    for h in hops:
        for kin, only in chains(h).items():
            by_answer[h][only.kin].append(kin)
    result: list[Story] = []
    for i in range(count):
        known = by_answer[hops[i % len(hops)]]
        answer = rng.choice(sorted(known))
        result.append(_story(rng.choice(known[answer]), rng))
    return result


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

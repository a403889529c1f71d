"""CLUTRR: how two people of a short story are related (Sinha et al. 2019; ExpNote, figure 5).

Reads the published CSV (columns story, query, target): the query ('Ann', 'Bob') with the target son says that Bob is
the son of Ann, and becomes "Who is Bob to Ann?". The default is generated (`kinship.py`). Always holds: the right
answer is one kinship word of the list below, and an answer is judged by the last such word in it.

Options: `data` (a published CSV, or a folder of them; else $SEASONED_DATA/clutrr; else generated), `hops` (a list of 2
and 3: the lengths of the generated stories), `cases` (how many are generated), `train_share`. The seed decides the
generated cases and the pools.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.answer import Scored, answer_benchmark
from seasoned.lab.benchmarks.base import Benchmark, Retrieval, check_options, find_data, fresh_id, named
from seasoned.lab.benchmarks.kinship import stories
from seasoned.lab.benchmarks.rows import Row, read_csv, read_literal
from seasoned.types import Task

OPTIONS = {"data": "", "hops": (2, 3), "cases": 1000, "train_share": 0.5}
MOST_CASES = 100_000

# Left: as people (and the release) write it; right: the word it stands for.
_SAME = {
    **{"mom": "mother", "mum": "mother", "dad": "father", "neice": "niece", "grandma": "grandmother"},
    **{"grandpa": "grandfather", "grand-son": "grandson", "grand-daughter": "granddaughter"},
    **{"grand-father": "grandfather", "grand-mother": "grandmother"},
}
# A longer word such as great-grandfather or step-brother is a word of its own, and so never taken for its last part.
_KINSHIP = re.compile(
    r"(?<![\w-])(?:(?:great|half|step|god)[- ]?){0,4}"
    r"(?:(?:grand-?)?(?:father|mother|son|daughter)|brother|sister|husband|wife|uncle|aunt|nephew|niece|neice|cousin"
    r"|mom|mum|dad|grandma|grandpa)(?:[- ]in[- ]law)?(?![\w-])",
    re.IGNORECASE,
)


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Loads CLUTRR; see `load_benchmark`."""
    set_to = check_options("clutrr", options, OPTIONS)
    paths = find_data("clutrr", set_to["data"], (".csv",))
    if paths:
        tasks = [_task(path, row) for path in paths for row in read_csv(path, ("story", "query", "target"))]
        source = named(paths)
    else:
        tasks = _generated(set_to["hops"], set_to["cases"], seed)
        source = f"generated stories of {' and '.join(map(str, set_to['hops']))} hops"
    return answer_benchmark(
        "clutrr", tasks, score, Retrieval(k=3), seed=seed, share=set_to["train_share"], source=source
    )


def score(text: str, data: Mapping[str, Any]) -> Scored:
    """The last kinship word of the answer must be the right one."""
    text = text.replace("\u2011", "-").replace("\u2010", "-")  # hyphens that only look otherwise
    found = [kinship(m.group()) for m in _KINSHIP.finditer(text)]
    answer, gold = found[-1] if found else text.strip(), data.get("answer")
    if gold is None:
        return Scored(answer, None)
    return Scored(answer, bool(found) and answer == kinship(str(gold)))


def kinship(word: str) -> str:
    """A kinship word in its one spelling: lower case, `-in-law` with hyphens, step- without one."""
    plain = re.sub(r"[\s-]+", "-", word.strip().casefold())
    plain = re.sub(r"^(step|god)-", r"\1", plain)
    return _SAME.get(plain, plain)


def _generated(hops: tuple[int, ...], cases: int, seed: int) -> list[Task]:
    if not hops or not set(hops) <= {2, 3}:
        raise ConfigError(f"benchmark.hops should be a list of 2 and 3, but is {list(hops)}")
    if not 2 <= cases <= MOST_CASES:
        raise ConfigError(f"benchmark.cases should be from 2 to {MOST_CASES}, but is {cases}")
    made = stories(cases, hops, random.Random(f"clutrr-cases-{seed}"))
    return [_case(s.text, s.first, s.second, s.kin, None, f"{s.hops} hops") for s in made]


def _task(path: Path, row: Row) -> Task:
    values = row.values
    try:
        pair = read_literal(values["query"])
    except DataError as e:
        raise DataError(f"{path}, line {row.line}: the query should be a pair of names; {e}") from e
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(p, str) and p for p in pair)):
        shown = values["query"][:60]
        raise DataError(f"{path}, line {row.line}: the query should be a pair of names, but is {shown!r}")
    target = values["target"].strip()
    if target.isdecimal():  # a later release numbers the relations and has the word in a column of its own
        target = values.get("target_text", "").strip()
    if not _KINSHIP.fullmatch(target):
        raise DataError(f"{path}, line {row.line}: the target should be a kinship word, but is {target[:60]!r}")
    story = " ".join(values["story"].split())
    if not story:
        raise DataError(f"{path}, line {row.line}: the story is empty")
    return _case(story, pair[0], pair[1], kinship(target), values.get("id"), values.get("task_name", ""))


def _case(story: str, first: str, second: str, kin: str, given: object, category: str) -> Task:
    text = f"{story if story[-1] in '.!?' else story + '.'} Who is {second} to {first}?"
    return Task(id=fresh_id("clutrr", given, text), text=text, category=category, data={"answer": kin})

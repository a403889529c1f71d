"""HotpotQA: questions whose answer takes two pages (Yang et al. 2018; ReAct, Reflexion 3.2, ExpeL 5).

Reads rows in the form of the distractor set. The offline docstore is the union of all their contexts; the default is a
small made-up world. `search` has the options.

Always holds: an answer is judged by exact match after the official normalisation; every question can search the same
pages.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping
from typing import Any

from seasoned.errors import DataError
from seasoned.lab.benchmarks.base import DATA, fresh_id
from seasoned.lab.benchmarks.search import OPTIONS as OPTIONS
from seasoned.lab.benchmarks.search import OWN_PAGES, Case, Kind, page_of, text_of
from seasoned.lab.benchmarks.search.docstore import flat
from seasoned.types import Task

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = frozenset(("yes", "no", "noanswer"))


def judge(text: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Judge by exact match, and add F1; both are unknown if the task has no answer."""
    gold = data.get("answer")
    if gold is None:
        return {"success": None, "reward": 0.0, "answer": text}
    success = normalized(text) == normalized(str(gold))
    return {"success": success, "reward": float(success), "answer": text, "f1": f1(text, str(gold))}


def normalized(text: str) -> str:
    """The text as in HotpotQA's evaluation: lower case, no punctuation, no a, an and the, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def f1(text: str, gold: str) -> float:
    """The harmonic mean of precision and recall of the words, from 0 to 1; yes and no are either 0 or 1."""
    answer, expected = normalized(text), normalized(gold)
    if answer == expected:
        return 1.0
    common = (Counter(answer.split()) & Counter(expected.split())).total()
    if not common or {answer, expected} & _CLOSED:
        return 0.0
    return 2 * common / (len(answer.split()) + len(expected.split()))


def _pairs(value: Any) -> Any:
    """Columns of a dataset, `{"title": [..], "sentences": [..]}`, as pairs like those of the published file."""
    columns = list(value.values()) if isinstance(value, dict) else []
    if columns and all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        return [list(pair) for pair in zip(*columns, strict=True)]
    return value


def _case(values: Mapping[str, Any]) -> Case:
    question, answer = text_of(values, "question"), text_of(values, "answer")
    if not normalized(answer):
        raise DataError(f"answer should have a word in it, but is {answer!r:.60}")
    context = _pairs(values.get("context", []))
    if not isinstance(context, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in context):
        raise DataError(f"context should be a list of [title, sentences], but is {context!r:.60}")
    facts = _pairs(values.get("supporting_facts", []))
    if not isinstance(facts, list) or not all(isinstance(f, list) and f and isinstance(f[0], str) for f in facts):
        raise DataError(f"supporting_facts should be a list of [title, number], but is {facts!r:.60}")
    row_id = values.get("id", values.get("_id"))
    task = Task(
        id=fresh_id("hotpotqa", row_id, question),
        text=question,
        category=str(values.get("type") or ""),
        data={"answer": answer, "level": str(values.get("level") or "")},
    )
    titles = tuple(dict.fromkeys(flat(fact[0]) for fact in facts))
    return Case(task, tuple(page_of(title, text) for title, text in context if text not in ([], [""])), titles)


KIND = Kind("hotpotqa", "question", (DATA / "hotpotqa.jsonl", OWN_PAGES), _case, judge)
load, check = KIND.load, KIND.check

"""FEVER: whether a claim is supported, refuted, or neither by what an encyclopaedia says (Thorne et al. 2018; ExpeL 6).

Reads claims in the form of FEVER's own files, with pages and the recorded misses of searches; the default is a small
made-up world. `search` has the options, plus `selected`: the number of claims to select from the complete
development file as ReAct does, 0 for all. Always holds: an answer is one of the three labels; only the task's data has
the label of a claim.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from seasoned.errors import DataError
from seasoned.lab.benchmarks.action import Calls, form
from seasoned.lab.benchmarks.base import DATA, check_range, fresh_id
from seasoned.lab.benchmarks.search import OPTIONS as SEARCH_OPTIONS
from seasoned.lab.benchmarks.search import OWN_PAGES, Case, Kind, text_of
from seasoned.lab.benchmarks.search.env import CALLS
from seasoned.types import Task

LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
NO_LABEL = "That is no answer. It is one of Finish[SUPPORTS], Finish[REFUTES] and Finish[NOT ENOUGH INFO]."
OPTIONS = {**SEARCH_OPTIONS, "selected": 0}
SELECTED_FROM = 7405
"""The number of lines at the beginning of the development file from which ReAct draws its claims."""

_SPELLINGS = {
    **dict.fromkeys(("supports", "support", "supported"), "SUPPORTS"),
    **dict.fromkeys(("refutes", "refute", "refuted"), "REFUTES"),
    **dict.fromkeys(("not enough info", "not enough information", "notenoughinfo", "nei"), "NOT ENOUGH INFO"),
}


def judge(text: str, data: Mapping[str, Any]) -> dict[str, Any] | str:
    """Judge whether the answer is the claim's label; returns a sentence if it is not a label at all."""
    answer, gold = label(text), data.get("answer")
    if not answer:
        return NO_LABEL
    success = None if gold is None else answer == gold
    return {"success": success, "reward": float(success or False), "answer": answer}


def label(text: str) -> str:
    """The label in a text, in its standard spelling, or "". Case, punctuation and `_` do not matter."""
    return _SPELLINGS.get(" ".join(re.findall(r"[^\W_]+", text.casefold())), "")


def _select(tasks: list[Task], settings: Mapping[str, Any]) -> list[Task]:
    count = settings["selected"]
    if count == 0:
        return tasks
    check_range(settings, "selected", 0, SELECTED_FROM)
    if len(tasks) < SELECTED_FROM:
        raise DataError(
            f"benchmark.selected is for the whole development file: expected {SELECTED_FROM} claims or more, "
            f"but there are {len(tasks)}; leave it out to take them all"
        )
    places = list(range(SELECTED_FROM))
    random.Random(233).shuffle(places)
    return [tasks[place] for place in places[:count]]


def _case(values: Mapping[str, Any]) -> Case:
    claim, given = text_of(values, "claim"), text_of(values, "label")
    if given not in LABELS:
        raise DataError(f"label should be one of {', '.join(LABELS)}, but is {given!r:.60}")
    titles = values.get("titles", [])
    if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
        raise DataError(f"titles should be a list of titles, but is {titles!r:.60}")
    task = Task(id=fresh_id("fever", values.get("id"), claim), text=claim, data={"answer": given})
    return Case(task, titles=tuple(titles))


_FINISH = form(
    "finish",
    "Gives the verdict and ends.",
    "Finish[{answer}]",
    {"answer": LABELS},
    answer="what the pages show",
)
KIND = Kind(
    "fever",
    "claim",
    (DATA / "fever.jsonl", OWN_PAGES),
    _case,
    judge,
    OPTIONS,
    Calls((*CALLS.forms[:2], _FINISH)),
    _select,
)
load, check = KIND.load, KIND.check

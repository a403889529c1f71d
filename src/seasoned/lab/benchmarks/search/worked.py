"""The worked attempts of HotpotQA and FEVER, played over a few made-up pages (`prompts/search_pages.jsonl`).

Always holds: their pages and answers are in no benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from seasoned.lab.benchmarks.base import PROMPTS
from seasoned.lab.benchmarks.rows import read_jsonl
from seasoned.lab.benchmarks.search.docstore import Docstore, make_page
from seasoned.lab.benchmarks.search.env import Judge, SearchEnvironment
from seasoned.lab.benchmarks.worked import Worked, play_worked
from seasoned.types import Outcome, Task

PAGES = PROMPTS / "search_pages.jsonl"


@cache
def worked(benchmark: str, judge: Judge) -> Worked:
    """The words of one of the two benchmarks."""
    docstore = Docstore(make_page(row.values["title"], row.values["text"]) for row in read_jsonl(PAGES, ("title",)))
    env = SearchEnvironment(docstore.search, judge, reveal=True)

    def begin(attempt: Mapping[str, Any]) -> tuple[SearchEnvironment, Task]:
        return env, Task(id="worked", text=attempt["task"], data={"answer": attempt["answer"]})

    return play_worked(benchmark, begin, _ended)


def _ended(info: Mapping[str, Any]) -> Outcome:
    return Outcome(success=info["success"], reward=info["reward"], reason="answered", answer=info["answer"])

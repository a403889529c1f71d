"""The environment that HotpotQA and FEVER share: Search[title], Lookup[words], Finish[answer].

Search opens a page and shows its first sentences; Lookup shows the open page's sentences with the words, one by one;
Finish is judged. Always holds: for any action, a step returns Gymnasium's five values and raises only what the docstore
raises; a case is judged at most once; no observation names the right answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seasoned.errors import ContractError
from seasoned.lab.benchmarks.action import Calls, form, read_action
from seasoned.lab.benchmarks.search.docstore import Miss, Page, Search
from seasoned.types import Task

ACTIONS = ("Search", "Lookup", "Finish")
SHOWN_SENTENCES = 5
"""Sentences of a page that a Search shows (ReAct's environment, which Reflexion and ExpeL use)."""

STEPS = 7
"""Steps of a case: H of HotpotQA and FEVER (ExpeL, table 4)."""

RIGHT, WRONG = "Right.", "Wrong."
CALLS = Calls(
    (
        form("search", "Opens the page of a title, shows its beginning.", "Search[{title}]", title="of the page"),
        form("lookup", "Shows the open page's next sentence with these words.", "Lookup[{words}]", words="to find"),
        form("finish", "Gives the answer and ends the task.", "Finish[{answer}]", answer="in as few words as will do"),
    )
)
NO_ACTION = "That is no action. There are Search[title of a page], Lookup[words on the page] and Finish[answer]."
EMPTY = "Nothing was done: {name} needs something between its brackets."
NO_PAGE = "No page is open to look in. Open one first: Search[title of a page]."
NO_MORE = "No more results: all {n} were shown."
NOTHING = "No sentence of this page has [{words}]."

MAX_OBSERVATION = 4000
"""Characters of an observation; the rest is cut."""

_MAX_SHOWN = 100
_MAX_ANSWER = 200

Judge = Callable[[str, Mapping[str, Any]], dict[str, Any] | str]
"""Judges the argument of a Finish by a task's `data`; must never raise.

Returns the `info` of the end, with `success`, `reward` and `answer`, or a sentence that says why the text is not an
answer; then the case continues."""


@dataclass(eq=False)
class SearchEnvironment:
    """Plays one case at a time: the question or claim, then actions until Finish or the last of `max_steps`.

    With `reveal`, the last observation says whether the answer was right. `calls` are the actions as tools.
    """

    find: Search
    judge: Judge
    reveal: bool
    max_steps: int = STEPS
    calls: Calls = CALLS
    _task: Task | None = field(default=None, init=False)
    _steps: int = field(default=0, init=False)
    _page: Page | None = field(default=None, init=False)
    _words: str = field(default="", init=False)
    _results: list[str] = field(default_factory=list, init=False)
    _shown: int = field(default=0, init=False)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a case; return its text and the tools."""
        self._task, self._steps, self._page, self._words = task, 0, None, ""
        return task.text, self.calls.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action; the info at the end is the judge's ("success" is None if the task has no known answer).

        ContractError if there was no `reset` or the case has ended; InfrastructureError if a live docstore fails.
        """
        if self._task is None:
            raise ContractError("step was called before reset or after the end of the case: call reset(task) first")
        self._steps += 1
        name, argument = read_action(self.calls.action(action), ACTIONS) or ("", "")
        if name == "Finish" and argument:
            verdict = self.judge(argument, self._task.data)
            if isinstance(verdict, dict):
                return self._finish(verdict)
            observation, valid = verdict, False
        else:
            observation, valid = self._observe(name, argument)
        info: dict[str, Any] = {} if valid else {"invalid": True}
        truncated = self._steps >= self.max_steps
        if truncated:
            info |= {"success": False, "reward": 0.0, "answer": ""}
            self._task = None
        return observation[:MAX_OBSERVATION], 0.0, False, truncated, info

    def close(self) -> None:
        """End the case, if there is one. Calling it again does nothing."""
        self._task = None

    def _finish(self, verdict: dict[str, Any]) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._task = None
        success = verdict["success"]
        observation = "" if success is None or not self.reveal else RIGHT if success else WRONG
        info = {**verdict, "answer": str(verdict["answer"])[:_MAX_ANSWER]}
        return observation, float(verdict["reward"]), True, False, info

    def _observe(self, name: str, argument: str) -> tuple[str, bool]:
        """The observation of a Search or Lookup, and whether the action was possible."""
        if not name:
            return NO_ACTION, False
        if not argument:
            return EMPTY.format(name=name), False
        return (self._search(argument), True) if name == "Search" else self._lookup(argument)

    def _search(self, title: str) -> str:
        page = self.find(title)
        self._words = ""
        if isinstance(page, Miss):
            self._page = None
            return page.said or f"Could not find [{_short(title)}]. Similar: {list(page.similar)}."
        self._page = page
        return " ".join(page.sentences[:SHOWN_SENTENCES])

    def _lookup(self, words: str) -> tuple[str, bool]:
        if self._page is None:
            return NO_PAGE, False
        if words.casefold() != self._words:
            self._words, self._shown = words.casefold(), 0
            self._results = [s for s in self._page.sentences if self._words in s.casefold()]
        if not self._results:
            return NOTHING.format(words=_short(words)), True
        if self._shown == len(self._results):
            return NO_MORE.format(n=self._shown), True
        self._shown += 1
        return f"(Result {self._shown} / {len(self._results)}) {self._results[self._shown - 1]}", True


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"

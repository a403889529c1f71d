"""What HotpotQA and FEVER share: their files, pages to search (on disk, or Wikipedia), and the environment.

Both have the options `data` (JSON lines, or a folder of such files; else $SEASONED_DATA/NAME; else Seasoned's own),
`docstore` ("offline" or "wikipedia"), `api` (the address of a MediaWiki), `max_steps` and `train_share`. A file may
contain cases, pages and recorded misses: a row with the benchmark's `case_field` is a case, one with `title` a page,
one with `query` a miss. Always holds: an invalid row is reported with its file and line; checks fetch nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from seasoned.errors import DataError
from seasoned.lab.benchmarks.act import Words, act_benchmark, play_words
from seasoned.lab.benchmarks.action import Calls
from seasoned.lab.benchmarks.base import (
    DATA,
    PROMPTS,
    Benchmark,
    Check,
    check_choice,
    check_options,
    check_positive,
    find_data,
    named,
    split,
)
from seasoned.lab.benchmarks.rows import read_jsonl, read_lines
from seasoned.lab.benchmarks.search.docstore import Docstore, Miss, Page, Search, make_page
from seasoned.lab.benchmarks.search.env import CALLS, STEPS, Judge, SearchEnvironment
from seasoned.lab.benchmarks.search.wikipedia import API, live
from seasoned.types import Outcome, Task

OPTIONS = {"data": "", "docstore": "offline", "api": API, "max_steps": STEPS, "train_share": 0.5}
OWN_PAGES = DATA / "search_pages.jsonl"
WORKED_PAGES = PROMPTS / "search_pages.jsonl"
"""The pages of the worked attempts; neither they nor the answers are in a benchmark."""


class Case(NamedTuple):
    """A task, the pages in its row, the titles of the pages that support its answer, and its file and line."""

    task: Task
    pages: tuple[Page, ...] = ()
    titles: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Kind:
    """The parts in which the benchmarks differ.

    `own` are the files that come with Seasoned. `make_case` reads a row with the field `case_field`; its DataError
    names neither file nor line. `select` takes all tasks, in the order of the files, and the options, and returns the
    tasks to use.
    """

    name: str
    case_field: str
    own: tuple[Path, ...]
    make_case: Callable[[Mapping[str, Any]], Case]
    judge: Judge
    options: Mapping[str, Any] = field(default_factory=lambda: OPTIONS)
    calls: Calls = CALLS
    select: Callable[[list[Task], Mapping[str, Any]], list[Task]] = lambda tasks, settings: tasks

    def files(self, data: str) -> tuple[tuple[Path, ...], str]:
        """The user's files, else Seasoned's own, and a name for them."""
        paths = find_data(self.name, data, (".jsonl",))
        return paths or self.own, named(paths) or f"own {self.case_field}s"

    def load(self, options: Mapping[str, Any], *, seed: int) -> Benchmark:
        """Load a benchmark; see `load_benchmark`. The seed decides the pools."""
        settings = check_options(self.name, options, self.options)
        paths, source = self.files(settings["data"])
        material = read_material(paths, self)
        tasks = self.select([case.task for case in material.cases], settings)
        pools = split(tasks, name=self.name, seed=seed, share=settings["train_share"])
        check_positive(settings, "max_steps")
        search = open_docstore(settings, material)
        return act_benchmark(
            self.name,
            read_words(self.name, self.judge),
            pools=pools,
            max_turns=settings["max_steps"],
            make_env=partial(SearchEnvironment, search, self.judge, max_steps=settings["max_steps"], calls=self.calls),
            calls=self.calls,
            source=f"{source}; docstore: {settings['docstore']}",
        )

    def check(self, options: Mapping[str, Any], *, seed: int = 0) -> Check:
        """Check that every row can be read, every page is found by its title, and every case can be solved.

        A case is solved by searching for each of its titles and finishing with its answer. If a file is not JSON lines,
        all lines count as wrong. `good` and `total` count cases; `problems` also has the faults of pages and misses.
        ConfigError and DataError as in `load_benchmark`.
        """
        paths, name = self.files(check_options(self.name, options, self.options)["data"])
        problems: list[str] = []
        lines = sum(len(read_lines(path)) for path in paths)
        try:
            material = read_material(paths, self, problems)
        except DataError as error:
            return Check(0, lines, (str(error),), name)
        docstore = material.docstore()
        missing = [page.title for page in material.pages if isinstance(docstore.search(page.title), Miss)]
        problems += [f"the page {title!r} is not found by its title" for title in missing]
        tried = [(case, _unplayable(case, docstore, self.judge)) for case in material.cases]
        faults = [f"{case.source}: {fault}" for case, fault in tried if fault]
        return Check(len(tried) - len(faults), len(tried) + material.unread, (*problems, *faults), name)


@dataclass
class Material:
    """The contents of the files; `unread` counts the cases that could not be read."""

    cases: list[Case] = field(default_factory=list)
    unread: int = 0
    pages: list[Page] = field(default_factory=list)
    misses: dict[str, str] = field(default_factory=dict)

    def docstore(self) -> Docstore:
        """All pages, including those of the cases, so that every case searches the same pages."""
        return Docstore([*(page for case in self.cases for page in case.pages), *self.pages], self.misses)


def read_material(paths: Sequence[Path], kind: Kind, faults: list[str] | None = None) -> Material:
    """Read the files; DataError if one is not JSON lines. Faults of rows go to `faults`; if it is None, they raise."""
    material = Material()
    for path in paths:
        for line, values in read_jsonl(path, ()):
            source = f"{path}, line {line}"
            try:
                _read_row(material, values, kind, source)
            except DataError as error:
                if faults is None:
                    raise DataError(f"{source}: {error}") from error
                faults.append(f"{source}: {error}")
                material.unread += kind.case_field in values
    return material


def _read_row(material: Material, values: Mapping[str, Any], kind: Kind, source: str) -> None:
    if kind.case_field in values:
        material.cases.append(kind.make_case(values)._replace(source=source))
    elif "title" in values:
        material.pages.append(page_of(values["title"], values.get("text")))
    elif "query" in values:
        material.misses[text_of(values, "query")] = text_of(values, "observation")
    else:
        raise DataError(
            f"expected a case with {kind.case_field}, a page with title and text, or a miss with query and "
            f"observation, but found {', '.join(values) or 'no fields'}"
        )


def page_of(title: object, text: object) -> Page:
    """A page from a row's title and its text or list of sentences; DataError if they are invalid."""
    if isinstance(text, list) and not all(isinstance(piece, str) for piece in text):
        text = None
    if not isinstance(title, str) or not isinstance(text, str | list):
        raise DataError(f"a page should have a title and a text or list of sentences, but has {title!r}, {text!r:.60}")
    try:
        return make_page(title, text)
    except ValueError as error:
        raise DataError(f"{error}; the title is {title!r:.60}") from error


def text_of(values: Mapping[str, Any], name: str) -> str:
    """A field's text in one line; DataError if it is not a text or empty."""
    value = values.get(name)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{name} should be a non-empty text, but is {value!r:.60}")
    return " ".join(value.split())


def open_docstore(settings: Mapping[str, Any], material: Material) -> Search:
    """The search of the docstore that the options name.

    ConfigError if the option `docstore` or `api` is wrong; DataError if the docstore is offline and there are no pages.
    """
    check_choice(settings, "docstore", ("offline", "wikipedia"))
    if settings["docstore"] == "wikipedia":
        return live(settings["api"])
    docstore = material.docstore()
    if docstore.pages:
        return docstore.search
    raise DataError(
        "the data has no pages to search: give a folder that also holds lines of title and text, "
        "or set benchmark.docstore to wikipedia"
    )


@cache
def read_words(benchmark: str, judge: Judge) -> Words:
    """The words of the prompts, with worked attempts over `WORKED_PAGES`."""
    rows = read_jsonl(WORKED_PAGES, ("title", "text"))
    docstore = Docstore(make_page(row.values["title"], row.values["text"]) for row in rows)
    env = SearchEnvironment(docstore.search, judge, reveal=True)

    def begin(attempt: Mapping[str, Any]) -> tuple[SearchEnvironment, Task]:
        return env, Task(id="worked", text=attempt["task"], data={"answer": attempt["answer"]})

    def ended(info: Mapping[str, Any]) -> Outcome:
        return Outcome(success=info["success"], reward=info["reward"], reason="answered", answer=info["answer"])

    return play_words(benchmark, begin, ended)


def _unplayable(case: Case, docstore: Docstore, judge: Judge) -> str:
    """Why a case cannot be solved, or ""."""
    env = SearchEnvironment(docstore.search, judge, reveal=False, max_steps=len(case.titles) + 1)
    env.reset(case.task)
    own_titles = {page.title for page in case.pages}
    for title in case.titles:
        if own_titles and title not in own_titles:
            return f"the supporting title {title!r} is not in the context"
        observation, *_ = env.step(f"Search[{title}]")
        if observation.startswith("Could not find"):
            return f"a search for the supporting title {title!r} finds no page"
    answer = case.task.data["answer"]
    *_, info = env.step(f"Finish[{answer}]")
    return "" if info.get("success") else f"Finish[{answer}] does not solve it"

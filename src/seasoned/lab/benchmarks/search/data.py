"""The rows of HotpotQA and FEVER files: cases, pages, recorded misses; and whether they are fit.

A file may hold any of the three, and a folder any number of files: a row with the case's field is a case, one with
`title` a page, one with `query` a miss. Always holds: a row that is wrong is named with its file and line, and nothing
is fetched to check it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.base import DATA
from seasoned.lab.benchmarks.checks import Check
from seasoned.lab.benchmarks.rows import read_jsonl, read_lines
from seasoned.lab.benchmarks.search.docstore import Docstore, Miss, Page, Search, make_page
from seasoned.lab.benchmarks.search.env import STEPS, Judge, SearchEnvironment
from seasoned.lab.benchmarks.search.wikipedia import API, live
from seasoned.types import Task

OPTIONS = {"data": "", "docstore": "offline", "api": API, "max_steps": STEPS, "train_share": 0.5}
"""Options that both benchmarks have."""

OWN_PAGES = DATA / "search_pages.jsonl"


class Case(NamedTuple):
    """A task, the pages that came with it, and the titles of the pages that its answer rests on."""

    task: Task
    pages: tuple[Page, ...] = ()
    titles: tuple[str, ...] = ()


@dataclass
class Material:
    """What the files hold; `sources` is where each case stands, `unread` counts cases that could not be read."""

    cases: list[Case] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    unread: int = 0
    pages: list[Page] = field(default_factory=list)
    misses: dict[str, str] = field(default_factory=dict)

    def docstore(self) -> Docstore:
        """All pages, those of the cases included: what can be searched does not depend on the case."""
        return Docstore([*(page for case in self.cases for page in case.pages), *self.pages], self.misses)


MakeCase = Callable[[Mapping[str, Any]], Case]
"""A row to a case.

Raises:
    DataError: A field is missing or wrong; the sentence names neither file nor line.
"""


def read_material(
    paths: Sequence[Path], case_field: str, make_case: MakeCase, faults: list[str] | None = None
) -> Material:
    """Reads the files.

    Args:
        paths: The files, each with one JSON object per line.
        case_field: The field by which a row is a case.
        make_case: Reads a case.
        faults: Takes what is wrong with each row; None: the first one is raised.

    Raises:
        DataError: A file is missing or no JSON lines, or a row is wrong and `faults` is None.
    """
    material = Material()
    for path in paths:
        for line, values in read_jsonl(path, ()):
            try:
                _take(material, values, case_field, make_case, f"{path}, line {line}")
            except DataError as error:
                if faults is None:
                    raise DataError(f"{path}, line {line}: {error}") from error
                faults.append(f"{path}, line {line}: {error}")
                material.unread += case_field in values
    return material


def _take(material: Material, values: Mapping[str, Any], case_field: str, make_case: MakeCase, source: str) -> None:
    if case_field in values:
        material.cases.append(make_case(values))
        material.sources.append(source)
    elif "title" in values:
        material.pages.append(page_of(values["title"], values.get("text")))
    elif "query" in values:
        material.misses[text_of(values, "query")] = text_of(values, "observation")
    else:
        raise DataError(
            f"expected a case with {case_field}, a page with title and text, or a miss with query and observation, "
            f"but found {', '.join(values) or 'no fields'}"
        )


def page_of(title: object, text: object) -> Page:
    """A page from a row's title and its text or list of sentences.

    Raises:
        DataError: They are something else, or empty.
    """
    if isinstance(text, list) and not all(isinstance(piece, str) for piece in text):
        text = None
    if not isinstance(title, str) or not isinstance(text, str | list):
        raise DataError(f"a page should have a title and a text or list of sentences, but has {title!r}, {text!r:.60}")
    try:
        return make_page(title, text)
    except ValueError as error:
        raise DataError(f"{error}; the title is {title!r:.60}") from error


def text_of(values: Mapping[str, Any], name: str) -> str:
    """A field that must be a text with something in it, in one line.

    Raises:
        DataError: It is not.
    """
    value = values.get(name)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{name} should be a text that is not empty, but is {value!r:.60}")
    return " ".join(value.split())


def open_docstore(set_to: Mapping[str, Any], material: Material) -> Search:
    """The docstore that the options ask for.

    Raises:
        ConfigError: The option `docstore` is neither offline nor wikipedia, or `api` is no address.
        DataError: It is offline, and there is no page.
    """
    if set_to["docstore"] == "wikipedia":
        return live(set_to["api"])
    if set_to["docstore"] != "offline":
        raise ConfigError(f"benchmark.docstore should be offline or wikipedia, but is {set_to['docstore']!r}")
    docstore = material.docstore()
    if not docstore.pages:
        raise DataError(
            "the data has no pages to search: give a folder that also holds lines of title and text, "
            "or set benchmark.docstore to wikipedia"
        )
    return docstore.search


def environments(set_to: Mapping[str, Any], material: Material, judge: Judge) -> partial[SearchEnvironment]:
    """What makes an environment, given `reveal`.

    Raises:
        ConfigError: An option is wrong.
        DataError: There is nothing to search.
    """
    if set_to["max_steps"] < 1:
        raise ConfigError(f"benchmark.max_steps should be 1 or more, but is {set_to['max_steps']}")
    return partial(SearchEnvironment, open_docstore(set_to, material), judge, max_steps=set_to["max_steps"])


def check_material(paths: Sequence[Path], case_field: str, make_case: MakeCase, judge: Judge) -> Check:
    """Checks every row: it can be read, a page is found by its title, and a case can be played to a success.

    A case is played by searching for each of its titles and finishing with its answer. A file that is no JSON lines
    counts as a whole.

    Returns:
        How many of the cases are fit; `problems` has those of pages and misses too.

    Raises:
        DataError: A file cannot be read at all.
    """
    problems: list[str] = []
    lines = sum(len(read_lines(path)) for path in paths)
    try:
        material = read_material(paths, case_field, make_case, problems)
    except DataError as error:
        return Check(0, lines, (str(error),))
    docstore = material.docstore()
    lost = [page.title for page in material.pages if isinstance(docstore.search(page.title), Miss)]
    problems += [f"the page {title!r} is not found by its title" for title in lost]
    total = len(material.cases) + material.unread
    faults = [
        f"{source}: {fault}"
        for source, case in zip(material.sources, material.cases, strict=True)
        if (fault := _unplayable(case, docstore, judge))
    ]
    return Check(len(material.cases) - len(faults), total, (*problems, *faults))


def _unplayable(case: Case, docstore: Docstore, judge: Judge) -> str:
    """Why a case cannot be played to a success; "" where it can."""
    env = SearchEnvironment(docstore.search, judge, reveal=False, max_steps=len(case.titles) + 1)
    env.reset(case.task)
    beside = {page.title for page in case.pages}
    for title in case.titles:
        if beside and title not in beside:
            return f"the supporting title {title!r} is not in the context"
        observation, *_ = env.step(f"Search[{title}]")
        if observation.startswith("Could not find"):
            return f"a search for the supporting title {title!r} finds no page"
    answer = case.task.data["answer"]
    *_, info = env.step(f"Finish[{answer}]")
    return "" if info.get("success") else f"Finish[{answer}] does not solve it"

"""The rows of HotpotQA and FEVER files, and the check of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.base import DATA
from seasoned.lab.benchmarks.hotpotqa import judge
from seasoned.lab.benchmarks.search.data import (
    OPTIONS,
    Case,
    check_material,
    environments,
    open_docstore,
    read_material,
    text_of,
)
from seasoned.lab.benchmarks.search.docstore import Page
from seasoned.types import Task

PAGE = {"title": "Ink", "text": "Ink is dark. It flows."}
LISTED = {"title": "Pen", "text": ["A pen.", " It writes."]}
MISS = {"query": "Quill", "observation": "Could not find Quill."}
CASE = {"q": "Is ink dark?", "answer": "yes", "titles": ["Ink"]}


def make_case(values: Any) -> Case:
    return Case(Task(id="t", text=text_of(values, "q"), data={"answer": values["answer"]}), (), tuple(values["titles"]))


def write(folder: Path, *rows: Any) -> list[Path]:
    path = folder / "rows.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return [path]


def test_rows_are_told_by_their_fields(tmp_path: Path) -> None:
    material = read_material(write(tmp_path, PAGE, CASE, MISS, LISTED), "q", make_case)
    assert [case.task.text for case in material.cases] == ["Is ink dark?"]
    assert material.pages == [Page("Ink", ("Ink is dark.", "It flows.")), Page("Pen", ("A pen.", "It writes."))]
    assert material.misses == {"Quill": "Could not find Quill."}
    assert material.sources == [f"{tmp_path / 'rows.jsonl'}, line 2"]


BROKEN = [
    ({"name": "x"}, "expected a case with q, a page with title and text, or a miss .* but found name"),
    ({}, "but found no fields"),
    ({"title": "Ink"}, "a page should have a title and a text"),
    ({"title": 5, "text": "x"}, "a page should have a title and a text"),
    ({"title": "Ink", "text": ["a", 1]}, "a page should have a title and a text"),
    ({"title": " ", "text": "x"}, "not empty; the title is ' '"),
    ({"query": "x", "observation": ""}, "observation should be a text"),
    ({"q": None}, "q should be a text that is not empty, but is None"),
]


@pytest.mark.parametrize(("row", "says"), BROKEN)
def test_a_broken_row_is_named_with_its_line(tmp_path: Path, row: Any, says: str) -> None:
    with pytest.raises(DataError, match=f"rows.jsonl, line 2: .*{says}"):
        read_material(write(tmp_path, PAGE, row), "q", make_case)


def test_a_check_names_every_problem_and_goes_on(tmp_path: Path) -> None:
    unfound, wrong = {**CASE, "titles": ["Ink", "Chalk"]}, {**CASE, "answer": "."}
    found = check_material(write(tmp_path, PAGE, CASE, unfound, *(r for r, _ in BROKEN)), "q", make_case, judge)
    assert (found.good, found.total, len(found.problems)) == (1, 3, 9)
    assert "line 3: a search for the supporting title 'Chalk' finds no page" in found.problems[-1]
    # An answer that is right must also be one that can be sent.
    sent = check_material(write(tmp_path, PAGE, {**wrong, "answer": ""}), "q", make_case, judge)
    assert sent.problems[0].endswith("Finish[] does not solve it")


def test_a_check_of_what_is_no_json_lines(tmp_path: Path) -> None:
    found = check_material(write(tmp_path, PAGE, "{oops", CASE), "q", make_case, judge)
    assert (found.good, found.total, len(found.problems)) == (0, 3, 1)
    assert "line 2: not valid JSON" in found.problems[0]


def test_a_page_that_is_not_in_the_context_is_a_problem(tmp_path: Path) -> None:
    def with_context(values: Any) -> Case:
        return make_case(values)._replace(pages=(Page("Pen", ("A pen.",)),))

    found = check_material(write(tmp_path, PAGE, CASE), "q", with_context, judge)
    assert "the supporting title 'Ink' is not in the context" in found.problems[0]


def test_the_docstore_is_chosen_by_the_options(tmp_path: Path) -> None:
    material = read_material(write(tmp_path, PAGE, CASE), "q", make_case)
    none = read_material(write(tmp_path, CASE), "q", make_case)
    assert isinstance(open_docstore(OPTIONS, material)("ink"), Page)
    with pytest.raises(DataError, match=r"no pages to search: .*docstore to wikipedia"):
        open_docstore(OPTIONS, none)
    assert callable(open_docstore({**OPTIONS, "docstore": "wikipedia"}, none))
    with pytest.raises(ConfigError, match="offline or wikipedia, but is 'web'"):
        open_docstore({**OPTIONS, "docstore": "web"}, material)
    with pytest.raises(ConfigError, match="max_steps should be 1 or more, but is 0"):
        environments({**OPTIONS, "max_steps": 0}, material, judge)


def test_own_pages_are_all_used_and_no_title_is_there_twice() -> None:
    rows = [json.loads(line) for line in (DATA / "search_pages.jsonl").read_text("utf-8").splitlines()]
    titles = [row["title"] for row in rows]
    assert len(set(titles)) == len(titles) >= 40
    asked = [json.loads(line) for line in (DATA / "hotpotqa.jsonl").read_text("utf-8").splitlines()]
    assert {title for row in asked for title, _ in row["supporting_facts"]} <= set(titles)

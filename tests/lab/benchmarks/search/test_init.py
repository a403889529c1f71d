"""HotpotQA and FEVER as benchmarks: their files, the check of them, and the worked attempts."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import fever, hotpotqa
from seasoned.lab.benchmarks.base import DATA, Check
from seasoned.lab.benchmarks.hotpotqa import KIND, judge
from seasoned.lab.benchmarks.search import (
    OPTIONS,
    WORKED_PAGES,
    Case,
    Kind,
    open_docstore,
    read_material,
    read_words,
    text_of,
)
from seasoned.lab.benchmarks.search.docstore import Page, title_key
from seasoned.types import Task


def riddle(values):
    text = text_of(values, "riddle")
    return Case(Task(id=f"hotpotqa-{text}", text=text, data={"answer": values["answer"]}), titles=("Ink",))


@pytest.fixture
def kind(tmp_path):
    rows = [{"riddle": name, "answer": "ink"} for name in "abc"]
    path = tmp_path / "riddles.jsonl"
    path.write_text("\n".join(map(json.dumps, [*rows, {"title": "Ink", "text": "Ink is black."}])), encoding="utf-8")
    return replace(KIND, case_field="riddle", own=(path,), make_case=riddle)


def test_own_files_and_the_tasks_that_are_selected(kind):
    made = kind.load({}, seed=0)
    assert {task.text for task in (*made.train, *made.test)} == {"a", "b", "c"}
    assert made.source == "own riddles; docstore: offline"
    fewer = replace(kind, select=lambda tasks, set_to: tasks[:2]).load({}, seed=0)
    assert {task.text for task in (*fewer.train, *fewer.test)} == {"a", "b"}
    env = made.make_env(True)
    env.reset(made.train[0])
    assert env.step("Search[ink]")[0] == "Ink is black."
    found = kind.check({})
    assert (found.good, found.source) == (3, "own riddles")


def test_files_of_the_user_come_first(kind, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"riddle": "d", "answer": "ink"}), encoding="utf-8")
    found = kind.check({"data": str(path)})
    assert (found.good, found.total, found.source) == (0, 1, str(path))
    assert "'Ink' finds no page" in found.problems[0]
    with pytest.raises(DataError):
        kind.load({"data": str(path)}, seed=0)


PAGE = {"title": "Ink", "text": "Ink is dark. It flows."}
LISTED = {"title": "Pen", "text": ["A pen.", " It writes."]}
MISS = {"query": "Quill", "observation": "Could not find Quill."}
CASE = {"q": "Is ink dark?", "answer": "yes", "titles": ["Ink"]}


def make_case(values: Any) -> Case:
    return Case(Task(id="t", text=text_of(values, "q"), data={"answer": values["answer"]}), (), tuple(values["titles"]))


ROWS = Kind("hotpotqa", "q", (), make_case, judge)


def checked(path: Path, *rows: Any, kind: Kind = ROWS) -> Check:
    write(path, *rows)
    return kind.check({"data": str(path / "rows.jsonl")})


def write(folder: Path, *rows: Any) -> list[Path]:
    path = folder / "rows.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return [path]


def test_rows_are_told_by_their_fields(tmp_path: Path) -> None:
    material = read_material(write(tmp_path, PAGE, CASE, MISS, LISTED), ROWS)
    assert [case.task.text for case in material.cases] == ["Is ink dark?"]
    assert material.pages == [Page("Ink", ("Ink is dark.", "It flows.")), Page("Pen", ("A pen.", "It writes."))]
    assert material.misses == {"Quill": "Could not find Quill."}
    assert material.cases[0].source == f"{tmp_path / 'rows.jsonl'}, line 2"


BROKEN = [
    ({"name": "x"}, "expected a case with q, a page with title and text, or a miss .* but found name"),
    ({}, "but found no fields"),
    ({"title": "Ink"}, "a page should have a title and a text"),
    ({"title": 5, "text": "x"}, "a page should have a title and a text"),
    ({"title": "Ink", "text": ["a", 1]}, "a page should have a title and a text"),
    ({"title": " ", "text": "x"}, "non-empty title and text; the title is ' '"),
    ({"query": "x", "observation": ""}, "observation should be a non-empty text"),
    ({"q": None}, "q should be a non-empty text, but is None"),
]


@pytest.mark.parametrize(("row", "says"), BROKEN)
def test_a_broken_row_is_named_with_its_line(tmp_path: Path, row: Any, says: str) -> None:
    with pytest.raises(DataError, match=f"rows.jsonl, line 2: .*{says}"):
        read_material(write(tmp_path, PAGE, row), ROWS)


def test_a_check_names_every_problem_and_goes_on(tmp_path: Path) -> None:
    unfound, wrong = {**CASE, "titles": ["Ink", "Chalk"]}, {**CASE, "answer": "."}
    found = checked(tmp_path, PAGE, CASE, unfound, *(r for r, _ in BROKEN))
    assert (found.good, found.total, len(found.problems)) == (1, 3, 9)
    assert "line 3: a search for the supporting title 'Chalk' finds no page" in found.problems[-1]
    # An answer that is right must also be one that can be sent.
    sent = checked(tmp_path, PAGE, {**wrong, "answer": ""})
    assert sent.problems[0].endswith("Finish[] does not solve it")


def test_a_check_of_what_is_no_json_lines(tmp_path: Path) -> None:
    found = checked(tmp_path, PAGE, "{oops", CASE)
    assert (found.good, found.total, len(found.problems)) == (0, 3, 1)
    assert "line 2: not valid JSON" in found.problems[0]


def test_a_page_that_is_not_in_the_context_is_a_problem(tmp_path: Path) -> None:
    def with_context(values: Any) -> Case:
        return make_case(values)._replace(pages=(Page("Pen", ("A pen.",)),))

    found = checked(tmp_path, PAGE, CASE, kind=replace(ROWS, make_case=with_context))
    assert "the supporting title 'Ink' is not in the context" in found.problems[0]


def test_the_docstore_is_chosen_by_the_options(tmp_path: Path) -> None:
    material = read_material(write(tmp_path, PAGE, CASE), ROWS)
    none = read_material(write(tmp_path, CASE), ROWS)
    assert isinstance(open_docstore(OPTIONS, material)("ink"), Page)
    with pytest.raises(DataError, match=r"no pages to search: .*docstore to wikipedia"):
        open_docstore(OPTIONS, none)
    assert callable(open_docstore({**OPTIONS, "docstore": "wikipedia"}, none))
    with pytest.raises(ConfigError, match="offline or wikipedia, but is 'web'"):
        open_docstore({**OPTIONS, "docstore": "web"}, material)
    with pytest.raises(ConfigError, match="max_steps should be above 0, but is 0"):
        replace(ROWS, own=tuple(write(tmp_path, PAGE, CASE, {**CASE, "q": "Is it?"}))).load({"max_steps": 0}, seed=0)


def test_own_pages_are_all_used_and_no_title_is_there_twice() -> None:
    rows = [json.loads(line) for line in (DATA / "search_pages.jsonl").read_text("utf-8").splitlines()]
    titles = [row["title"] for row in rows]
    assert len(set(titles)) == len(titles) >= 40
    asked = [json.loads(line) for line in (DATA / "hotpotqa.jsonl").read_text("utf-8").splitlines()]
    assert {title for row in asked for title, _ in row["supporting_facts"]} <= set(titles)


BOTH = [("hotpotqa", hotpotqa.judge), ("fever", fever.judge)]


@pytest.mark.parametrize(("name", "judge"), BOTH)
def test_they_succeed_and_show_what_can_happen(name: str, judge: Callable[..., Any]) -> None:
    words = read_words(name, judge)
    assert 4 <= len(words.trajectories) <= 6
    assert len(words.reflections) == 2
    assert words.instruction
    assert words.about
    observations = [s.observation for t in words.trajectories for s in t.steps]
    assert any(o.startswith("Could not find [") for o in observations)
    assert any(o.startswith("(Result 1 / ") for o in observations)
    for trajectory in words.trajectories:
        assert trajectory.outcome.success is True
        assert trajectory.steps[-1].observation == "Right."
    for trajectory, reflection in words.reflections:
        assert trajectory.outcome.success is False
        assert len(reflection.split()) > 20
    for trajectory in (*words.trajectories, *(t for t, _ in words.reflections)):
        assert len(trajectory.steps) <= 7
        assert trajectory.meta == {"trial": 0}
        assert all(step.thought and len(step.thought.split()) <= 25 for step in trajectory.steps)
        assert not any(step.observation.startswith("That is no") for step in trajectory.steps)


def test_their_pages_are_in_no_benchmark() -> None:
    def titles(path: Any) -> set[str]:
        return {title_key(json.loads(line)["title"]) for line in path.read_text("utf-8").splitlines()}

    assert not titles(WORKED_PAGES) & titles(DATA / "search_pages.jsonl")


def test_each_label_is_among_the_first_three_of_fever() -> None:
    assert {t.outcome.answer for t in read_words("fever", fever.judge).trajectories[:3]} == set(fever.LABELS)
    kinds = [t.category for t in read_words("hotpotqa", hotpotqa.judge).trajectories]
    assert kinds.count("bridge") >= 2
    assert kinds.count("comparison") >= 2

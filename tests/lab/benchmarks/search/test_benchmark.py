"""What HotpotQA and FEVER both do, with a benchmark of three riddles."""

import json
from dataclasses import replace

import pytest

from seasoned.errors import DataError
from seasoned.lab.benchmarks.hotpotqa import KIND
from seasoned.lab.benchmarks.search.benchmark import check_kind, make_benchmark
from seasoned.lab.benchmarks.search.data import OPTIONS, Case, text_of
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


def test_own_files_and_the_tasks_that_are_selected(kind, monkeypatch):
    monkeypatch.delenv("SEASONED_DATA", raising=False)
    made = make_benchmark(kind, OPTIONS, 0)
    assert {task.text for task in (*made.train, *made.test)} == {"a", "b", "c"}
    assert made.source == "own riddles; docstore: offline"
    fewer = make_benchmark(kind, OPTIONS, 0, lambda tasks: tasks[:2])
    assert {task.text for task in (*fewer.train, *fewer.test)} == {"a", "b"}
    env = made.make_env(True)
    env.reset(made.train[0])
    assert env.step("Search[ink]")[0] == "Ink is black."
    found = check_kind(kind, "")
    assert (found.good, found.source) == (3, "own riddles")


def test_files_of_the_user_come_first(kind, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"riddle": "d", "answer": "ink"}), encoding="utf-8")
    found = check_kind(kind, str(path))
    assert (found.good, found.total, found.source) == (0, 1, str(path))
    assert "'Ink' finds no page" in found.problems[0]
    with pytest.raises(DataError):
        make_benchmark(kind, {**OPTIONS, "data": str(path)}, 0)

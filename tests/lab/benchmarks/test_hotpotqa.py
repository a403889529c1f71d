"""HotpotQA: rows, the docstore of all contexts, exact match and F1."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.contracts import check_environment
from seasoned.errors import DataError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.hotpotqa import check, f1, judge, load, normalized
from seasoned.types import Task

ROW = {
    **{"id": "a1", "question": "What is ink?", "answer": "a fluid", "type": "bridge", "level": "easy"},
    "supporting_facts": [["Ink &amp; Co", 0], ["Pen", 1]],
    "context": [["Ink &amp; Co", ["Ink is a fluid.", " It is dark."]], ["Pen", ["A pen writes."]], ["Blank", [""]]],
}
OTHER = {"_id": "b2", "question": "Is a pen ink?", "answer": "No", "context": [["Chalk", ["Chalk is white."]]]}


def write(folder: Path, *rows: Any) -> dict[str, str]:
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return {"data": str(path)}


def test_own_questions_are_whole() -> None:
    benchmark = load_benchmark("hotpotqa")
    assert (benchmark.name, benchmark.manner, benchmark.max_turns) == ("hotpotqa", "act", 7)
    assert benchmark.source == "own questions; docstore: offline"
    tasks = (*benchmark.train, *benchmark.test)
    assert len(tasks) >= 50
    assert {t.category for t in tasks} == {"bridge", "comparison"}
    assert (benchmark.examples, benchmark.think_hint, benchmark.note_hint) == ((), "", "")
    found = check({})
    assert (found.good, found.total, found.problems) == (len(tasks), len(tasks), ())
    check_environment(lambda: benchmark.make_env(True), tasks[0], actions=("Search[Osterby]", "Lookup[town]"))


def test_no_question_of_ours_can_be_answered_from_its_own_words() -> None:
    for task in (t for t in load({}, seed=0).train if t.category == "bridge"):
        assert normalized(task.data["answer"]) not in normalized(task.text)


def test_all_contexts_are_one_docstore(tmp_path: Path) -> None:
    options = write(tmp_path, ROW, OTHER)
    benchmark = load(options, seed=0)
    tasks = {t.id: t for t in (*benchmark.train, *benchmark.test)}
    assert set(tasks) == {"hotpotqa-a1", "hotpotqa-b2"}
    assert tasks["hotpotqa-a1"].category == "bridge"
    env = benchmark.make_env(False)
    env.reset(tasks["hotpotqa-b2"])
    assert env.step("Search[Ink & Co]")[0] == "Ink is a fluid. It is dark."
    assert env.step("Search[chalk]")[0] == "Chalk is white."
    assert env.step("Finish[no.]")[4] == {"success": True, "reward": 1.0, "answer": "no.", "f1": 1.0}
    assert check(options).problems == ()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**ROW, "answer": " "}, "answer should be a non-empty text"),
        ({**ROW, "answer": "the"}, "answer should have a word in it"),
        ({**ROW, "question": 5}, "question should be a non-empty text"),
        ({**ROW, "context": "x"}, "context should be a list"),
        ({**ROW, "context": [["a"]]}, "context should be a list"),
        ({**ROW, "context": [["a", 5]]}, "a page should have a title"),
        ({**ROW, "supporting_facts": [[]]}, "supporting_facts should be a list"),
        ({**ROW, "supporting_facts": None}, "supporting_facts should be a list"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, row: Any, says: str) -> None:
    options = write(tmp_path, OTHER, row)
    with pytest.raises(DataError, match=f"line 2: {says}"):
        load(options, seed=0)
    found = check(options)
    assert (found.good, found.total, len(found.problems)) == (1, 2, 1)


def test_a_supporting_title_outside_the_context_is_found_by_the_check(tmp_path: Path) -> None:
    found = check(write(tmp_path, {**ROW, "supporting_facts": [["Chalk", 0]]}, OTHER))
    assert found.good == 1
    assert "'Chalk' is not in the context" in found.problems[0]


@pytest.mark.parametrize(
    ("text", "gold", "em", "share"),
    [
        ("The Fluid.", "fluid", True, 1.0),
        ("a dark fluid", "fluid", False, 2 / 3),
        ("1,340", "1340", True, 1.0),
        ("yes, it is", "yes", False, 0.0),
        ("no", "yes", False, 0.0),
        ("chalk", "fluid", False, 0.0),
        ("the the", "fluid", False, 0.0),
        ("theatre", "atre", False, 0.0),
        ("ink ink pen", "ink pen", False, 0.8),
    ],
)
def test_exact_match_and_f1(text: str, gold: str, em: bool, share: float) -> None:
    info = judge(text, {"answer": gold})
    assert (info["success"], info["reward"]) == (em, float(em))
    assert info["f1"] == pytest.approx(share)


@given(st.text(), st.text())
def test_judging_is_total_and_f1_agrees_with_exact_match(text: str, gold: str) -> None:
    info = judge(text, {"answer": gold})
    assert 0.0 <= info["f1"] <= 1.0
    assert f1(text, gold) == pytest.approx(f1(gold, text))
    if info["success"]:
        assert info["f1"] == 1.0
    assert judge(text, {})["success"] is None


@given(st.text(alphabet=string.ascii_letters + string.punctuation + " \tan the"))
def test_normalising_again_changes_little_and_adds_nothing(text: str) -> None:
    once = normalized(text)
    assert once == " ".join(once.split())
    assert not set(once) & set(string.punctuation)
    assert not {"a", "an", "the"} & set(once.split())
    assert normalized(once) == once == normalized(f"The {text.upper()}!") == normalized(f" {once} ")


def test_a_gold_answer_is_only_in_the_data() -> None:
    task = load({}, seed=0).train[0]
    assert set(task.data) == {"answer", "level"}
    assert isinstance(Task.model_validate_json(task.model_dump_json()), Task)

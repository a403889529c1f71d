"""FEVER: claims, labels, recorded misses, ReAct's selection, and that no label shows."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.contracts import check_environment
from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.fever import KIND, LABELS, NO_LABEL, check, judge, label, load

CLAIMS = [
    {"id": i, "claim": f"Ink is {word}.", "label": LABELS[i % 3]}
    for i, word in enumerate(("dark", "dry", "old", "new"))
]
PAGE = {"title": "Ink", "text": "Ink is dark. It flows."}
MISS = {"query": "Inks", "observation": "Could not find Inks. Similar: ['Ink']."}


def write(folder: Path, *rows: Any) -> dict[str, str]:
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return {"data": str(path)}


def test_own_claims_are_whole_and_balanced() -> None:
    benchmark = load_benchmark("fever")
    tasks = (*benchmark.train, *benchmark.test)
    assert (benchmark.name, benchmark.manner, benchmark.max_turns) == ("fever", "act", 7)
    golds = [t.data["answer"] for t in tasks]
    assert {golds.count(one) for one in LABELS} == {len(golds) // 3}
    assert len(golds) >= 100
    found = check({})
    assert (found.good, found.total, found.problems) == (len(tasks), len(tasks), ())
    check_environment(lambda: benchmark.make_env(True), tasks[0], actions=("Search[Osterby]", "Lookup[town]"))


def test_no_label_shows_outside_the_data() -> None:
    benchmark = load_benchmark("fever")
    for task in (*benchmark.train, *benchmark.test):
        assert task.category == ""
        assert not any(one.casefold() in task.model_dump_json(exclude={"data"}).casefold() for one in LABELS)
        assert set(task.data) == {"answer"}
        env = benchmark.make_env(True)
        observation, info = env.reset(task)
        assert (observation, info) == (task.text, KIND.calls.info)
    assert {t.category for t in benchmark.trajectories} == {""}


def test_a_folder_of_claims_pages_and_misses(tmp_path: Path) -> None:
    for name, rows in (("claims", CLAIMS), ("pages", [PAGE]), ("misses", [MISS])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    benchmark = load({"data": str(tmp_path)}, seed=0)
    assert {t.id for t in (*benchmark.train, *benchmark.test)} == {f"fever-{i}" for i in range(4)}
    env = benchmark.make_env(True)
    task = benchmark.train[0]
    env.reset(task)
    assert env.step("Search[inks]")[0] == MISS["observation"]
    assert env.step("Search[ink]")[0] == PAGE["text"]
    assert env.step("Finish[maybe]")[0::4] == (NO_LABEL, {"invalid": True})
    gold = task.data["answer"]
    assert env.step(f"Finish[{gold.lower()}]")[4] == {"success": True, "reward": 1.0, "answer": gold}
    assert check({"data": str(tmp_path)}).good == 4


def test_claims_alone_need_live_wikipedia(tmp_path: Path) -> None:
    options = write(tmp_path, *CLAIMS)
    with pytest.raises(DataError, match="no pages to search"):
        load(options, seed=0)
    benchmark = load({**options, "docstore": "wikipedia"}, seed=0)
    assert benchmark.source.endswith("docstore: wikipedia")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"claim": "x", "label": "TRUE"}, "label should be one of SUPPORTS, REFUTES, NOT ENOUGH INFO, but is 'TRUE'"),
        ({"claim": "x"}, "label should be a non-empty text"),
        ({"claim": "", "label": "SUPPORTS"}, "claim should be a non-empty text"),
        ({"claim": "x", "label": "SUPPORTS", "titles": "Ink"}, "titles should be a list"),
    ],
)
def test_a_broken_claim_is_named(tmp_path: Path, row: Any, says: str) -> None:
    options = write(tmp_path, *CLAIMS, PAGE, row)
    with pytest.raises(DataError, match=f"line 6: {says}"):
        load(options, seed=0)
    found = check(options)
    assert (found.good, found.total, len(found.problems)) == (4, 5, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SUPPORTS", "SUPPORTS"),
        ("supported.", "SUPPORTS"),
        ("**Refutes**", "REFUTES"),
        ("NOT_ENOUGH_INFO", "NOT ENOUGH INFO"),
        ("Not enough information", "NOT ENOUGH INFO"),
        ("NEI", "NOT ENOUGH INFO"),
        ("not supported", ""),
        ("SUPPORTS or REFUTES", ""),
        ("true", ""),
        ("", ""),
    ],
)
def test_labels_are_read_in_any_spelling_but_never_guessed(text: str, expected: str) -> None:
    assert label(text) == expected


@given(st.text())
def test_judging_never_raises(text: str) -> None:
    for data in ({"answer": "REFUTES"}, {}):
        verdict = judge(text, data)
        assert verdict == NO_LABEL or (isinstance(verdict, dict) and verdict["answer"] in LABELS)


def test_reacts_selection_is_by_place_in_the_file(tmp_path: Path) -> None:
    options = write(tmp_path, *CLAIMS, PAGE)
    with pytest.raises(DataError, match="expected 7405 claims or more, but there are 4"):
        load({**options, "selected": 100}, seed=0)
    with pytest.raises(ConfigError, match="selected should be from 0 to 7405, but is -1"):
        load({**options, "selected": -1}, seed=0)
    many = [{"id": i, "claim": f"Claim {i}.", "label": "REFUTES"} for i in range(7500)]
    benchmark = load({**write(tmp_path, *many, PAGE), "selected": 3}, seed=0)
    # The first three of range(7405), shuffled by Random(233).
    assert {t.id for t in (*benchmark.train, *benchmark.test)} == {"fever-3687", "fever-6238", "fever-5388"}

"""MBPP's file."""

import json

import pytest

from seasoned.errors import DataError
from seasoned.lab.benchmarks import load_benchmark

ROW = {
    "name": "mbpp_7_half",
    "prompt": "def half(x):\n    ''' '''\n",
    "entry_point": "half",
    "test": "def check(candidate):\n    assert candidate(4) == 2\n    assert candidate(6) == 3\n\ncheck(half)\n",
}


def test_a_task_has_its_tests_hidden_and_the_first_one_visible(tmp_path):
    rows = [ROW, {**ROW, "name": "mbpp_8_other", "prompt": "def half(y):\n    pass\n"}]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    made = load_benchmark("mbpp", {"data": str(tmp_path / "m.jsonl"), "drafts": 3})
    task = next(task for task in (*made.train, *made.test) if task.id == "mbpp-7_half")
    assert task.data["visible"] == ["assert half(4) == 2"]
    assert task.data["hidden"] == [ROW["test"]]
    assert made.max_turns == 3


def test_without_a_file_it_says_which_one():
    with pytest.raises(DataError, match=r"benchmark\.data=FILE"):
        load_benchmark("mbpp")

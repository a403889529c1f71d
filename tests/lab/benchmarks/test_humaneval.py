"""HumanEval's files and the examples in its docstrings."""

import gzip
import json

import pytest

from seasoned.errors import DataError
from seasoned.lab.benchmarks import humaneval, load_benchmark

ROW = {
    "task_id": "HumanEval/0",
    "prompt": 'def half(x: int) -> int:\n    """Half of it.\n    >>> half(4)\n    2\n    >>> half(3)\n    1\n    """\n',
    "entry_point": "half",
    "canonical_solution": "    return x // 2\n",
    "test": "def check(candidate):\n    assert candidate(4) == 2\n    assert candidate(5) == 2\n",
}


def write(path, rows):
    text = "\n".join(map(json.dumps, rows)).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)


@pytest.mark.parametrize("name", ["HumanEval.jsonl", "HumanEval.jsonl.gz"])
def test_the_reference_passes_and_a_wrong_one_is_named(tmp_path, name, walls):
    wrong = {**ROW, "task_id": "HumanEval/1", "canonical_solution": "    return x\n"}
    found = humaneval.check({"data": write(tmp_path / name, [ROW, wrong])})
    assert (found.good, found.total) == (1, 2)
    assert found.problems[0].startswith("the reference solution of humaneval-1 fails: `def check(candidate)")


def test_examples_of_a_docstring_are_the_visible_tests(tmp_path):
    made = load_benchmark(
        "humaneval", {"data": write(tmp_path / "h.jsonl", [ROW, {**ROW, "prompt": "def half(y): pass"}])}
    )
    [task] = [task for task in (*made.train, *made.test) if task.data["visible"]]
    assert task.data["visible"] == ["assert (half(4)) == (2)", "assert (half(3)) == (1)"]
    assert humaneval.docstring_tests(">>> half(1)\n x\n>>>half(2)", "half") == []
    assert (made.max_turns, made.programs) == (1, True)


def test_what_is_no_such_file_is_refused(tmp_path):
    for name, content in (("a.jsonl", "{"), ("b.jsonl", '{"prompt": 3}'), ("c.gz", "no gzip")):
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError):
            load_benchmark("humaneval", {"data": str(tmp_path / name)})

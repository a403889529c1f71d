"""A library that changes on the way."""

import pytest

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks import load_benchmark


def test_training_tasks_are_for_both_versions_and_test_tasks_for_the_second():
    made = load_benchmark("drift", {"tasks": 60, "before": 10}, 2)
    assert [task.data["version"] for task in made.train] == [1] * 10 + [2] * 20
    assert {task.data["version"] for task in made.test} == {2}
    assert [library.version for library in made.libraries] == ["1.0", "2.0"]
    before = load_benchmark("drift", {"tasks": 60, "version": 1}, 2)
    assert {task.data["version"] for task in before.test} == {1}
    assert not {task.text for task in made.train} & {task.text for task in made.test}


def test_options_are_checked():
    for wrong in ({"version": 3}, {"before": -1}):
        with pytest.raises(ConfigError):
            load_benchmark("drift", wrong)

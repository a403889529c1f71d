"""The private library: its tasks, its versions, and what its checks find."""

import re

import pytest

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks import library, load_benchmark

pytestmark = pytest.mark.usefixtures("walls")


def test_every_reference_passes_and_solutions_without_quirks_fail():
    found = library.check({"tasks": 60}, seed=7)
    assert (found.good, found.total, found.problems) == (60, 60, ())
    assert int(re.search(r"has (\d+) public", found.facts[0])[1]) in range(20, 61)
    assert float(re.search(r"\(([\d.]+)%\)", found.facts[1])[1]) >= 90


def test_the_seed_decides_everything_and_versions_share_names_and_meanings():
    one, two = library.generate(3, 1, 40), library.generate(3, 2, 40)
    assert library.generate.__wrapped__(3, 1, 40) == one
    assert one[0].name == two[0].name
    assert one[0].source != two[0].source
    texts = [[re.sub(r"put, \w+ and", "", task.text) for task in tasks] for _, tasks in (one, two)]
    assert texts[0] == texts[1]
    assert [task.data["answers"] for task in one[1]] == [task.data["answers"] for task in two[1]]
    assert library.generate(4, 1, 40)[0] != one[0]


def test_levels_and_pools():
    made = load_benchmark("library", {}, seed=5)
    assert len({task.text for task in (*made.train, *made.test)}) == 400
    levels = [task.category for task in (*made.train, *made.test)]
    assert [levels.count(f"level {n}") for n in (1, 2, 3)] == [160, 140, 100]
    assert made.programs


def test_no_text_names_a_quirk():
    for task in library.generate(5, 1, 400)[1]:
        assert not re.search(r"upper|split|join|tuple|commit\(\) |reverse|keyword|hundredth", task.text), task.text


def test_options_are_checked():
    for wrong in ({"version": 3}, {"tasks": 3}, {"task": 3}):
        with pytest.raises(ConfigError):
            load_benchmark("library", wrong)

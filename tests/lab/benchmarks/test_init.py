"""Finding a benchmark's own check."""

import pytest

from seasoned.lab.benchmarks import alfworld, find_check


def test_benchmarks_with_a_check_of_their_own():
    assert find_check("alfworld") is alfworld.check
    assert find_check("seasoned.lab.benchmarks.alfworld") is alfworld.check
    assert find_check("seasoned.lab.benchmarks.alfworld:load") is alfworld.check


@pytest.mark.parametrize(
    "name", ["emoji", "emojy", "json", "no.such.module", "seasoned.lab.benchmarks.base", "", ".", ".x", "a..b"]
)
def test_the_others_have_none(name):
    assert find_check(name) is None

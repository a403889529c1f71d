"""Finding a benchmark's own check."""

import pytest

from seasoned.lab.benchmarks import alfworld
from seasoned.lab.benchmarks.checks import Check, own_check


def test_benchmarks_with_a_check_of_their_own():
    assert own_check("alfworld") is alfworld.check
    assert own_check("seasoned.lab.benchmarks.alfworld") is alfworld.check
    assert own_check("seasoned.lab.benchmarks.alfworld:load") is alfworld.check


@pytest.mark.parametrize(
    "name", ["emoji", "emojy", "json", "no.such.module", "seasoned.lab.benchmarks.base", "", ".", ".x", "a..b"]
)
def test_the_others_have_none(name):
    assert own_check(name) is None


def test_a_check():
    assert Check(1, 2) == Check(1, 2, ())

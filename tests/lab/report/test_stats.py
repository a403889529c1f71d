from __future__ import annotations

import itertools
import math
import sys
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import DataError, MissingExtraError
from seasoned.lab.report import stats


def _pairs(both: int, only_a: int, only_b: int, neither: int) -> tuple[dict[int, bool], dict[int, bool]]:
    cells = [(True, True)] * both + [(True, False)] * only_a + [(False, True)] * only_b + [(False, False)] * neither
    return {i: a for i, (a, _) in enumerate(cells)}, {i: b for i, (_, b) in enumerate(cells)}


@pytest.mark.parametrize(
    ("cells", "p"),
    [
        ((0, 0, 0, 0), 1.0),
        ((7, 0, 0, 9), 1.0),
        ((3, 1, 0, 3), 1.0),
        ((0, 0, 5, 0), 2 / 2**5),
        ((0, 1, 9, 0), 2 * 11 / 2**10),
        ((20, 6, 6, 20), 1.0),
        ((10, 0, 26, 24), 2 / 2**26),
    ],
)
def test_mcnemar_known_values(cells, p):
    a, b = _pairs(*cells)
    found = stats.mcnemar(a, b)
    assert (found.both, found.only_a, found.only_b, found.neither) == cells
    assert found.p == pytest.approx(p)
    assert found.n == sum(cells)


def test_mcnemar_takes_only_what_both_attempted():
    found = stats.mcnemar({"x": True, "y": True, "z": False}, {"y": False, "z": True, "w": True})
    assert (found.n, found.only_a, found.only_b) == (2, 1, 1)
    assert found.points == 0
    assert stats.mcnemar({"x": True}, {"y": True}).points is None


@given(st.tuples(*[st.integers(0, 25)] * 4))
def test_mcnemar_properties(cells):
    a, b = _pairs(*cells)
    found, turned = stats.mcnemar(a, b), stats.mcnemar(b, a)
    assert 0 < found.p <= 1
    assert found.p == turned.p
    assert (found.only_a, found.only_b) == (turned.only_b, turned.only_a)
    m, k = found.only_a + found.only_b, min(found.only_a, found.only_b)
    exact = min(1.0, 2 * sum(math.comb(m, i) for i in range(k + 1)) / 2**m)
    assert found.p == pytest.approx(exact)


@given(st.dictionaries(st.integers(0, 9), st.tuples(st.booleans(), st.booleans())), st.integers(2, 4))
def test_the_same_outcomes_under_more_seeds_are_no_new_evidence(told, seeds):
    one, more = (
        stats.paired(
            *({(seed, 0, 0, str(task)): each[side] for task, each in told.items() for seed in of} for side in (0, 1))
        )
        for of in ([7], range(seeds))
    )
    assert (one.test, one.n, one.tasks) == ("mcnemar", len(told), len(told))
    assert (more.n, more.tasks, more.only_b) == (seeds * len(told), len(told), seeds * one.only_b)
    assert more.test == ("sign-flip" if told else "mcnemar")
    assert more.p == pytest.approx(one.p)
    assert more.points == one.points


@pytest.mark.parametrize("which", [0, 1, 2], ids=["seeds", "folds", "runs"])
def test_a_task_is_the_mean_of_its_seeds_folds_and_runs(which):
    def key(turn, task):
        return (*(turn if place == which else 0 for place in range(3)), task)

    before = {key(turn, task): False for turn in range(3) for task in "abc"}
    after = {**before, key(0, "a"): True, key(1, "a"): True, key(2, "b"): True, key(9, "d"): True}
    found = stats.paired(before, after)
    assert (found.n, found.tasks, found.only_b, found.test) == (9, 3, 3, "sign-flip")
    assert found.p == 0.5  # of 2/3 and 1/3: two of four signs give a sum of 1 or more


def test_mean_and_error():
    assert stats.mean_and_error([0.25]) == (0.25, None)
    mean, error = stats.mean_and_error([36.0, 42.0])
    assert (mean, error) == (39.0, pytest.approx(3.0))
    assert stats.mean_and_error([2.0, 4.0, 9.0])[1] == pytest.approx(math.sqrt(13 / 3))
    assert stats.mean_and_error([]) == (None, None)


@pytest.mark.parametrize(("n", "c", "k"), [(n, c, k) for n in (1, 3, 5) for c in range(n + 1) for k in range(1, n + 1)])
def test_pass_at_k_and_pass_hat_k_count_every_choice_of_attempts(n, c, k):
    attempts = [True] * c + [False] * (n - c)
    choices = list(itertools.combinations(attempts, k))
    assert stats.pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert stats.pass_hat_k(n, c, k) == pytest.approx(sum(map(all, choices)) / len(choices))


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4), (0, 0, 1)])
def test_pass_k_refuses_nonsense(n, c, k):
    with pytest.raises(DataError):
        stats.pass_at_k(n, c, k)
    with pytest.raises(DataError):
        stats.pass_hat_k(n, c, k)


def test_without_scipy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(MissingExtraError, match=r"scipy.*seasoned\[eval\]"):
        stats.require()


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=14))
def test_chance_signs_of_whole_differences_are_mcnemars(differences):
    a = {place: each < 0 for place, each in enumerate(differences)}
    b = {place: each > 0 for place, each in enumerate(differences)}
    assert stats.sign_flip([Fraction(each) for each in differences]) == pytest.approx(stats.mcnemar(a, b).p)


def test_chance_signs_of_500_tasks_take_no_time():
    for denominators in ([3], [1, 2, 3, 4, 5]):
        differences = [
            Fraction(i % (2 * q + 1) - q, q) for i in range(500) for q in [denominators[i % len(denominators)]]
        ]
        start = time.process_time()
        assert 0 < stats.sign_flip(differences) <= 1
        assert time.process_time() - start < 0.1


@settings(max_examples=50)
@given(st.lists(st.fractions(-1, 1, max_denominator=40), min_size=1, max_size=9))
def test_a_coarse_grid_makes_no_p_too_small(differences):
    exact = stats.sign_flip(differences)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stats, "_CELLS", 300)
        assert exact - 1e-12 <= stats.sign_flip(differences) <= 1
        assert 2 / 2**9 < stats.sign_flip([Fraction(1, q) for q in range(3, 12)]) < 0.03


@settings(max_examples=50)
@given(st.lists(st.fractions(-1, 1, max_denominator=3), max_size=8))
def test_chance_signs_count_every_way(differences):
    far = abs(sum(differences))
    ways = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True))) >= far
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    assert stats.sign_flip(differences) == pytest.approx(sum(ways) / len(ways))

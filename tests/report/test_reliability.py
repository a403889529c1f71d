"""pass@k and pass^k with intervals, equal tokens, lessons by where they come from, and a judge's verdicts."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import DataError
from seasoned.report.reliability import (
    by_origin,
    found_again,
    interval,
    judgements,
    over_runs,
    reliability,
    runs_by_task,
    token_matched,
)
from seasoned.report.stats import wilson
from seasoned.types import Lesson

runs_of = st.dictionaries(st.integers(0, 30), st.lists(st.booleans(), min_size=4, max_size=4), min_size=1)


def test_figures_by_hand():
    runs = {"a": [True, True, True], "b": [True, False, False], "c": [False, False, False]}
    one, two, three = reliability(runs)
    assert (one["pass_at"], one["pass_hat"]) == (pytest.approx(4 / 9), pytest.approx(4 / 9))
    assert (two["pass_at"], two["pass_hat"]) == (pytest.approx((1 + 2 / 3) / 3), pytest.approx(1 / 3))
    assert (three["k"], three["n"], three["pass_at"], three["pass_hat"]) == (
        3,
        3,
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    )
    assert three["pass_hat_interval"] == pytest.approx(list(wilson(1, 3)))


def test_a_task_counts_only_where_it_was_run_k_times():
    figures = reliability({"a": [True], "b": [False, True]}, ks=(1, 2, 3))
    assert [figure["n"] for figure in figures] == [2, 1, 0]
    assert figures[2]["pass_at"] is None
    assert figures[2]["pass_at_interval"] == [0.0, 1.0]
    assert reliability({}) == []
    with pytest.raises(DataError, match="1 or more"):
        reliability({"a": [True]}, ks=(0,))


@settings(deadline=None)
@given(runs_of)
def test_they_enclose_the_mean_and_are_monotone(runs):
    figures = reliability(runs)
    mean = over_runs(runs)["mean"]
    at, hat = ([figure[name] for figure in figures] for name in ("pass_at", "pass_hat"))
    assert [figure["k"] for figure in figures] == [1, 2, 3, 4]
    for figure in figures:
        assert 0 <= figure["pass_hat"] <= mean + 1e-9
        assert mean - 1e-9 <= figure["pass_at"] <= 1
        for name in ("pass_at", "pass_hat"):
            low, high = figure[f"{name}_interval"]
            assert 0 <= low <= figure[name] <= high <= 1
    assert all(a <= b + 1e-9 for a, b in pairwise(at))
    assert all(a + 1e-9 >= b for a, b in pairwise(hat))
    assert at[0] == pytest.approx(mean) == pytest.approx(hat[0])


@given(st.integers(1, 200), st.data())
def test_the_interval_is_wilsons_where_all_is_or_nothing(n, data):
    solved = data.draw(st.integers(0, n))
    assert interval(solved / n, n) == pytest.approx(wilson(solved, n), abs=1e-9)


@pytest.mark.parametrize(("mean", "level"), [(-0.1, 0.95), (1.1, 0.95), (0.5, 1.0)])
def test_an_interval_of_nonsense(mean, level):
    with pytest.raises(DataError):
        interval(mean, 3, level)


def test_over_several_runs():
    figures = over_runs({"a": [True, True], "b": [True, False], "c": [False, False]})
    assert figures["rates"] == pytest.approx([2 / 3, 1 / 3])
    assert (figures["mean"], figures["runs"]) == (pytest.approx(0.5), 6)
    assert figures["error"] == pytest.approx(1 / 6)
    assert over_runs({}) == {"rates": [], "mean": None, "error": None, "runs": 0}


def test_runs_of_a_task_without_those_that_ended_in_an_error(make_row):
    rows = [
        make_row(task_id="a", success=True),
        make_row(task_id="a", success=False),
        make_row(task_id="a", reason="error"),
        make_row(task_id="a", seed=1, success=True),
        make_row(task_id="b", success=True, reason="budget"),
    ]
    assert runs_by_task(rows) == {(0, 0, "a"): [True, False], (1, 0, "a"): [True], (0, 0, "b"): [False]}


def test_equal_tokens():
    heuristics, trajectories = ["h" * 40] * 30, ["t" * 400] * 5  # 10 and 100 tokens each
    found = token_matched(heuristics, trajectories)
    assert (len(found.first), len(found.second)) == (30, 3)
    assert (found.first_tokens, found.second_tokens) == (300, 300)
    found = token_matched(trajectories, heuristics, limit=250)
    assert (len(found.first), len(found.second)) == (2, 20)
    assert token_matched(heuristics, []).first == ()


@given(st.lists(st.integers(1, 50)), st.lists(st.integers(1, 50)), st.none() | st.integers(0, 500))
def test_neither_side_has_more_than_it_may(first, second, limit):
    found = token_matched(["x" * n for n in first], ["y" * n for n in second], limit=limit, count=len)
    assert found.first == tuple("x" * n for n in first)[: len(found.first)]
    assert (found.first_tokens, found.second_tokens) == (len("".join(found.first)), len("".join(found.second)))
    allowed = min(sum(first), sum(second), *([] if limit is None else [limit]))
    assert max(found.first_tokens, found.second_tokens) <= allowed
    coarse_first = max(first, default=0) >= max(second, default=0)
    fine, coarse = (found.second, found.first) if coarse_first else (found.first, found.second)
    assert len("".join(fine)) <= len("".join(coarse))


def heuristic(category, success, **data):
    data = {"success": success, **data}
    return Lesson(kind="heuristic", text="x", category=category, sources=(f"{category}-{success}",), data=data)


def test_by_origin(make_row):
    rows = [
        make_row(condition, task_id=f"{category}{n}", category=category, success=n < solved)
        for condition, category, solved in (("react", "heat", 1), ("react", "cool", 2), ("erl-failure", "heat", 3))
        for n in range(4)
    ]
    rows.append(make_row("react", task_id="late", category="cool", reason="error"))
    lessons = [heuristic("heat", False), heuristic("heat", True), heuristic("cool", True), heuristic("cool", None)]
    cool, heat, every = by_origin(lessons, rows, ("react", "erl-failure"))
    assert [part["category"] for part in (cool, heat, every)] == ["cool", "heat", ""]
    assert heat["lessons"] == {"success": 1, "failure": 1}
    assert every["lessons"] == {"success": 2, "failure": 1}
    assert heat["conditions"]["erl-failure"]["points"] == pytest.approx(50)
    assert heat["conditions"]["react"]["points"] == 0
    assert cool["conditions"]["react"]["n"] == 4
    assert cool["conditions"]["erl-failure"]["accuracy"] is None
    assert cool["conditions"]["erl-failure"]["points"] is None
    assert every["conditions"]["react"]["successes"] == 3


def test_a_judges_verdicts():
    lessons = [heuristic(str(n), n % 2 == 0, judged=n < 3) for n in range(4)] + [heuristic("x", True)]
    truth = {"0-True": True, "1-False": False, "2-True": True, "3-False": True}
    found = judgements(lessons, truth)
    assert (found["n"], found["right"], found["claimed"], found["missed"]) == (4, 2, 1, 1)
    assert found["accuracy"] == 0.5
    assert judgements(lessons, {})["accuracy"] is None


def test_what_a_quicker_search_finds_again():
    assert found_again([1, 2, 9], [1, 2, 3, 4]) == 0.5
    assert found_again([1], []) is None

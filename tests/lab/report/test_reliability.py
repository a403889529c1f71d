"""pass@k and pass^k with intervals, equal tokens, lessons by where they come from, and a judge's verdicts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from seasoned.errors import DataError
from seasoned.lab.report.reliability import (
    by_guidance,
    by_origin,
    interval,
    judgements,
    over_runs,
    reliability,
    runs_by_task,
)
from seasoned.types import Lesson

# The closed form, evaluated by hand with z = 1.959964.
WILSON = [
    (0, 10, 0.0, 0.27753),
    (10, 10, 0.72247, 1.0),
    (5, 10, 0.23659, 0.76341),
    (15, 60, 0.15778, 0.37234),
    (41, 60, 0.55766, 0.78694),
    (1, 1, 0.20655, 1.0),
]
runs_of = st.dictionaries(st.integers(0, 30), st.lists(st.booleans(), min_size=4, max_size=4), min_size=1)


def test_figures_by_hand():
    runs = {"a": [True, True, True], "b": [True, False, False], "c": [False, False, False]}
    one, two, three = reliability(runs)
    assert (one["pass@k"], one["pass^k"]) == (pytest.approx(4 / 9), pytest.approx(4 / 9))
    assert (two["pass@k"], two["pass^k"]) == (pytest.approx((1 + 2 / 3) / 3), pytest.approx(1 / 3))
    assert (three["k"], three["n"], three["pass@k"], three["pass^k"]) == (
        3,
        3,
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    )
    assert three["pass^k_interval"] == pytest.approx(list(interval(1 / 3, 3)))


def test_a_task_counts_only_where_it_was_run_k_times():
    figures = reliability({"a": [True], "b": [False, True]})
    assert [(figure["k"], figure["n"]) for figure in figures] == [(1, 2), (2, 1)]
    assert reliability({}) == []


@given(runs_of)
def test_they_enclose_the_mean_and_are_monotone(runs):
    figures = reliability(runs)
    mean = sum(sum(each) / 4 for each in runs.values()) / len(runs)
    at, hat = ([figure[name] for figure in figures] for name in ("pass@k", "pass^k"))
    assert [figure["k"] for figure in figures] == [1, 2, 3, 4]
    for figure in figures:
        assert 0 <= figure["pass^k"] <= mean + 1e-9
        assert mean - 1e-9 <= figure["pass@k"] <= 1
        for name in ("pass@k", "pass^k"):
            low, high = figure[f"{name}_interval"]
            assert 0 <= low <= figure[name] <= high <= 1
    assert all(a <= b + 1e-9 for a, b in pairwise(at))
    assert all(a + 1e-9 >= b for a, b in pairwise(hat))
    assert at[0] == pytest.approx(mean) == pytest.approx(hat[0])


@given(st.integers(1, 200), st.data())
def test_the_interval_is_wilsons_where_all_is_or_nothing(n, data):
    solved = data.draw(st.integers(0, n))
    wilson = binomtest(solved, n).proportion_ci(method="wilson")
    assert interval(solved / n, n) == pytest.approx((wilson.low, wilson.high), abs=1e-9)


@pytest.mark.parametrize(("solved", "n", "low", "high"), WILSON)
def test_intervals_by_hand(solved, n, low, high):
    assert interval(solved / n, n) == pytest.approx((low, high), abs=2e-5)


@pytest.mark.parametrize("mean", [-0.1, 1.1])
def test_an_interval_of_nonsense(mean):
    with pytest.raises(DataError):
        interval(mean, 3)


def test_over_several_runs(make_row):
    solved = {"a": [True, True], "b": [True, False], "c": [False, False]}
    rows = [
        make_row(task_id=task, condition="erl", success=success, repeat=turn)
        for task, runs in solved.items()
        for turn, success in enumerate(runs)
    ]
    rows.append(make_row(task_id="c", condition="erl", reason="error", repeat=2))
    figures = over_runs(rows)
    assert figures["rates"] == pytest.approx([2 / 3, 1 / 3])
    assert figures["mean"] == pytest.approx(0.5)
    assert figures["error"] == pytest.approx(1 / 6)
    assert [(one["pass@k"], one["pass^k"]) for one in figures["figures"]] == [
        (pytest.approx(0.5), pytest.approx(0.5)),
        (pytest.approx(2 / 3), pytest.approx(1 / 3)),
    ]
    none = dict.fromkeys(("mean", "error", "reward", "reward_error"))
    assert over_runs([]) == {**none, "rates": [], "figures": []}


def test_the_score_over_several_runs(make_row):
    rewards = [(1.0, 0.5), (0.25, 0.25), (0.0, None)]
    rows = [
        make_row(task_id=str(i), success=reward == 1.0, reward=reward, repeat=turn)
        for turn, both in enumerate(rewards)
        for i, reward in enumerate(both)
    ]
    found = over_runs(rows)
    assert found["reward"] == pytest.approx((0.75 + 0.25 + 0.0) / 3)
    assert found["reward_error"] == pytest.approx(0.38188 / 3**0.5, abs=1e-5)
    assert found["mean"] == pytest.approx(1 / 6)


def test_a_task_is_one_trial_of_an_interval_under_however_many_seeds(make_row):
    one, three = (
        [
            make_row("erl", str(i), success=i < 5, repeat=turn, seed=seed)
            for turn in (0, 1)
            for seed in seeds
            for i in range(8)
        ]
        for seeds in ([0], [0, 1, 2])
    )
    for alone, both in zip(over_runs(one)["figures"], over_runs(three)["figures"], strict=True):
        assert (alone["n"], both["n"]) == (8, 24)
        assert {key: alone[key] for key in alone if key != "n"} == {key: both[key] for key in both if key != "n"}
    (every,) = by_origin([heuristic("", True)], three)
    assert tuple(every["conditions"]["erl"]["interval"]) == interval(5 / 8, 8)


def test_runs_of_a_task_without_those_that_ended_in_an_error(make_row):
    rows = [
        make_row(task_id="a", success=True),
        make_row(task_id="a", success=False),
        make_row(task_id="a", reason="error"),
        make_row(task_id="a", seed=1, success=True),
        make_row(task_id="b", success=True, reason="budget"),
    ]
    assert runs_by_task(rows) == {(0, 0, "a"): [True, False], (1, 0, "a"): [True], (0, 0, "b"): [False]}


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
    cool, heat, every = by_origin(lessons, rows)
    assert [part["category"] for part in (cool, heat, every)] == ["cool", "heat", ""]
    assert heat["lessons"] == {"success": 1, "failure": 1}
    assert every["lessons"] == {"success": 2, "failure": 1}
    assert heat["conditions"]["erl-failure"]["points"] == pytest.approx(50)
    assert heat["conditions"]["react"]["points"] == 0
    assert cool["conditions"]["react"]["n"] == 4
    assert cool["conditions"]["erl-failure"]["accuracy"] is None
    assert cool["conditions"]["erl-failure"]["points"] is None
    assert every["conditions"]["react"]["successes"] == 3


def test_by_origin_counts_every_run_and_takes_tasks_as_trials(make_row):
    solved = {("react", 0): 1, ("react", 1): 0, ("erl", 0): 0, ("erl", 1): 4}
    rows = [
        make_row(name, f"t{n}", success=n < count, repeat=turn)
        for (name, turn), count in solved.items()
        for n in range(4)
    ]
    (every,) = by_origin([heuristic("", True)], rows)
    erl, react = every["conditions"]["erl"], every["conditions"]["react"]
    assert (erl["n"], erl["successes"], erl["accuracy"], erl["points"]) == (8, 4, 0.5, 37.5)
    assert tuple(erl["interval"]) == interval(0.5, 4)
    assert (react["n"], react["accuracy"]) == (8, 0.125)


def test_by_guidance_counts_every_run_and_takes_tasks_as_observations(make_row):
    solved = {("few-shot-trajectories", 0): 2, ("few-shot-trajectories", 1): 0, ("erl", 0): 6, ("erl", 1): 8}
    rows = [
        make_row(name, f"t{n}", success=n < count, repeat=turn)
        for (name, turn), count in solved.items()
        for n in range(8)
    ]
    shown, erl = by_guidance(rows, [{"condition": "erl", "guidance_tokens": 30.0}])
    assert (shown["condition"], shown["guidance_tokens"], shown["points"], shown["p"]) == (
        ("few-shot-trajectories", None, None, None)
    )
    assert (erl["condition"], erl["guidance_tokens"], erl["n"], erl["successes"]) == ("erl", 30.0, 16, 14)
    assert (shown["n"], shown["successes"]) == (16, 2)
    assert tuple(erl["interval"]) == interval(14 / 16, 8)
    assert (erl["points"], erl["p"]) == (75.0, 2 / 2**8)
    assert by_guidance([row for row in rows if row.condition == "erl"], []) == []
    later = [row.model_copy(update={"condition": "erl-thought"}) if row.condition == "erl" else row for row in rows]
    assert by_guidance(later, [])[1] == {**erl, "condition": "erl-thought", "guidance_tokens": None}


def test_a_judges_verdicts(make_row):
    was = (True, False, True, True, None, True, False)
    said = (True, True, True, False, True, None, True)
    rows = [
        make_row(task_id=str(n), split="train", success=success, judged=judged)
        for n, (success, judged) in enumerate(zip(was, said, strict=True))
    ]
    found = judgements(rows)
    assert (found["n"], found["right"], found["claimed"], found["missed"]) == (5, 2, 2, 1)
    assert found["accuracy"] == 0.4
    assert judgements([])["accuracy"] is None

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import binomtest

from seasoned.errors import DataError
from seasoned.lab.report.measures import (
    Row,
    by_guidance,
    by_origin,
    by_trial,
    effects,
    efficiencies,
    endings,
    final,
    final_attempts,
    interval,
    judged,
    judgements,
    latest,
    outcomes,
    over_runs,
    phases,
    pool_sizes,
    reliability,
    share,
    until_solved,
)
from seasoned.lab.report.summary import Reliability, Steps
from seasoned.types import Lesson, Usage


@pytest.mark.parametrize(
    ("success", "reason", "counted", "solved"),
    [
        (True, "answered", True, True),
        (False, "answered", True, False),
        (False, "step_limit", True, False),
        (None, "answered", False, False),
        (None, "unfinished", False, False),
        (False, "error", False, False),
        (True, "error", False, False),
        (None, "budget", True, False),
        (False, "budget", True, False),
        (True, "budget", True, False),
    ],
)
def test_what_counts_and_what_is_solved(make_row, success, reason, counted, solved):
    row = make_row(success=success, reason=reason)
    assert (row.counted, row.solved) == (counted, solved)


def test_a_row_survives_json_and_refuses_what_it_does_not_know(make_row):
    row = make_row(task="مرحبا 🦉 </script>", lesson_ids=("a", "b"), usage={"prompt_tokens": 3, "cost": None})
    assert Row.model_validate_json(row.model_dump_json()) == row
    with pytest.raises(ValidationError):
        Row.model_validate({**row.model_dump(), "colour": "red"})
    with pytest.raises(ValidationError):
        row.success = True


def test_the_later_row_of_an_episode_stands(make_row):
    failed, solved = make_row(success=None, reason="error"), make_row(success=True)
    other = make_row(task_id="t1", success=False)
    assert latest([failed, other, solved]) == [solved, other]


def test_final_keeps_the_most_training_cases_of_each_seed_and_fold(make_row):
    early = make_row("expnote", trained_on=20)
    late = make_row("expnote", trained_on=40)
    smaller_fold = make_row("expnote", fold=1, trained_on=39)
    training = make_row("expnote", "x", split="train", trained_on=90)
    assert final([early, late, smaller_fold, training]) == [late, smaller_fold]
    assert final([late, smaller_fold, early]) == [late, smaller_fold]


def test_a_task_that_is_tried_again_counts_once_a_run(make_row):
    tried = [(0, 0, False), (0, 1, True), (1, 0, False), (1, 1, False)]
    rows = [make_row(success=success, repeat=turn, trial=trial) for turn, trial, success in tried]
    assert [(row.repeat, row.solved) for row in final(rows)] == [(0, True), (1, False)]


def test_outcomes_leave_errors_out(make_row):
    rows = [make_row(success=True), make_row(task_id="t1", reason="error"), make_row(task_id="t2", reason="budget")]
    assert outcomes(rows) == {(0, 0, 0, "t0"): True, (0, 0, 0, "t2"): False}


def test_a_row_of_an_older_run_was_a_first_attempt(make_row):
    older = make_row().model_dump(exclude={"trial"})
    assert Row.model_validate(older).trial == 0
    with pytest.raises(ValidationError):
        make_row(trial=-1)


def test_attempts_are_told_apart_by_trial(make_row):
    first, second = make_row(success=False), make_row(success=True, trial=1)
    again = make_row(success=False, trial=1)
    assert latest([first, second]) == [first, second]
    assert latest([first, second, again]) == [first, again]


@pytest.mark.parametrize(
    ("attempts", "trial", "solved"),
    [
        ([(0, False), (1, True)], 1, True),
        ([(1, True), (0, False), (2, False)], 1, True),
        ([(0, False), (2, False), (1, False)], 2, False),
        ([(0, True)], 0, True),
    ],
)
def test_a_task_is_judged_by_the_attempt_that_solved_it_or_the_last(make_row, attempts, trial, solved):
    used = {"usage": Usage(prompt_tokens=5, calls=1), "aside": Usage(prompt_tokens=2, calls=1)}
    rows = [make_row(success=success, trial=t, **used) for t, success in attempts]
    (row,) = judged(rows)
    assert row == until_solved(rows)
    assert (row.trial, row.solved) == (trial, solved)
    assert (row.usage.prompt_tokens, row.usage.calls) == (5 * len(rows), len(rows))
    assert (row.aside.prompt_tokens, row.aside.calls) == (2 * len(rows), len(rows))


def test_a_last_attempt_that_a_server_ended_is_not_a_failure(make_row):
    rows = [make_row(success=False), make_row(success=None, reason="error", trial=1)]
    assert outcomes(judged(rows)) == {}


def test_final_counts_a_task_once_and_keeps_its_attempts_apart_on_demand(make_row):
    early = [make_row("expel", trained_on=2, success=False, trial=t) for t in (0, 1)]
    late = [make_row("expel", trained_on=4, success=t == 1, trial=t) for t in (0, 1)]
    assert final_attempts([*early, *late]) == late
    assert [(row.trained_on, row.trial) for row in final([*early, *late])] == [(4, 1)]


def _lesson(name: str, *sources: str, **fields: object) -> Lesson:
    return Lesson.model_validate({"id": name, "kind": "note", "text": name, "sources": sources, **fields})


@pytest.fixture
def training(make_row):
    return [
        make_row("expnote", f"x{seed}{i}", split="train", seed=seed, success=i == 0, trajectory_id=f"tra{seed}{i}")
        for seed in (0, 1)
        for i in (0, 1)
    ]


def test_a_lesson_beside_the_same_tasks_without_it(make_row, training):
    tested = [make_row("disabled", f"t{i}", success=i == 3) for i in range(5)]
    tested += [make_row("expnote", f"t{i}", success=i < 2, lesson_ids=("les", "les")) for i in range(4)]
    tested.append(make_row("expnote", "t4", reason="error", lesson_ids=("les",)))
    tested.append(make_row("case", "t0", success=False, lesson_ids=("les",)))
    (found,) = effects(tested, training, [_lesson("les", "tra00", "tra01", key="mo")], "disabled")
    assert (found.recalled, found.n, found.successes, found.accuracy) == (5, 4, 2, 0.5)
    assert (found.baseline_n, found.baseline_successes, found.points) == (4, 1, 25.0)
    assert (found.condition, found.seed, found.sources) == ("expnote", 0, {"solved": 1, "unsolved": 1})


def test_points_are_those_of_the_tasks_that_both_finished(make_row, training):
    tested = [make_row("disabled", "t0", success=False), make_row("disabled", "t1", success=True)]
    tested += [make_row("expnote", f"t{i}", success=i != 1, lesson_ids=("les",)) for i in range(3)]
    (found,) = effects(tested, training, [_lesson("les", "tra00")], "disabled")
    assert (found.n, found.successes, found.baseline_n, found.points) == (3, 2, 2, 0.0)


def test_most_recalled_first_never_recalled_last_and_deleted_not_at_all(make_row, training):
    tested = [make_row("expnote", "t0", success=True, lesson_ids=("b",))]
    lessons = [_lesson("a"), _lesson("b"), _lesson("c", status="deleted")]
    found = effects(tested, training, lessons, "disabled")
    assert [one.id for one in found] == ["b", "a"]
    assert found[0].baseline_accuracy is None
    assert (found[1].recalled, found[1].accuracy, found[1].points) == (0, None, None)


def test_the_baselines_own_recalls_do_not_count(make_row, training):
    tested = [make_row("disabled", "t0", success=True, lesson_ids=("a",))]
    assert effects(tested, training, [_lesson("a")], "disabled")[0].recalled == 0


def test_pools_are_counted_per_seed(training):
    lessons = [_lesson("a", "tra00"), _lesson("b", "tra01"), _lesson("c", "tra10", "tra11"), _lesson("d", "lost")]
    assert pool_sizes(lessons, training) == {"expnote": 1.5}
    shared = [lesson.model_copy(update={"data": {"shared_by": ["expnote", "expnote-case"]}}) for lesson in lessons]
    assert pool_sizes(shared, training) == {"expnote": 1.5}
    assert pool_sizes(shared, training, sharing=True) == {"expnote": 1.5, "expnote-case": 1.5}


def test_a_lesson_is_in_the_pool_of_the_condition_that_learned_it(training):
    lessons = [_lesson("a", "tra00"), _lesson("b", "tra00", data={"condition": "erl"})]
    assert pool_sizes(lessons, training) == {"expnote": 1.0, "erl": 1.0}


def test_what_came_from_no_training_attempt_is_where_the_run_says(training):
    place = {"condition": "expel-worked", "seed": 1, "fold": 1}
    lessons = [_lesson("a", "worked-1", data=place), _lesson("b", data=place), _lesson("c", data={"condition": "x"})]
    assert pool_sizes(lessons, training) == {"expel-worked": 2.0}
    (found, *_) = effects([], training, lessons[:1], "disabled")
    assert (found.condition, found.seed, found.fold) == ("expel-worked", 1, 1)


def test_efficiency_of_variants_that_share_the_training(training):
    lessons = [_lesson("a", "tra00"), _lesson("b", "tra10"), _lesson("c", "tra01")]
    rates = {"disabled": 0.5}
    rates |= {"positive": 0.6, "expnote-negative": 0.4}
    positive, negative = efficiencies(rates, "disabled", lessons, training)
    assert positive.lessons == 1.0
    assert positive.points_per_lesson == pytest.approx(10.0)
    assert (negative.type, negative.lessons) == ("negative", 0.5)
    assert negative.points_per_lesson == pytest.approx(-20.0)


def test_an_attempt_that_a_server_ended_makes_no_negative_lesson(make_row, training):
    gone = make_row("expnote", "x9", split="train", reason="error", trajectory_id="gone")
    rates = {"disabled": 0.5, "negative": 0.6}
    (found,) = efficiencies(rates, "disabled", [_lesson("a", "gone"), _lesson("b", "tra01")], [*training, gone])
    assert found.lessons == 1.0


def test_efficiency_of_a_variant_with_its_own_training(make_row):
    training = [make_row("positive", f"x{i}", split="train", success=True, trajectory_id=f"p{i}") for i in range(4)]
    lessons = [_lesson(f"l{i}", f"p{i}") for i in range(4)]
    rates = {"disabled": 0.5, "positive": 0.7}
    (found,) = efficiencies(rates, "disabled", lessons, training)
    assert found.lessons == 4.0
    assert found.points_per_lesson == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("performance", "baseline", "count", "printed"),
    [(51, 35, 73, 0.219), (55, 35, 55, 0.364), (56, 49, 166, 0.042), (66, 57, 14, 0.643), (71, 50, 46, 0.456)],
)
def test_efficiency_gives_the_papers_table_3(make_row, performance, baseline, count, printed):
    training = [make_row("positive", split="train", success=True, trajectory_id="tra")]
    lessons = [_lesson(f"l{i}", "tra") for i in range(count)]
    rates = {"disabled": baseline / 100, "positive": performance / 100}
    (found,) = efficiencies(rates, "disabled", lessons, training)
    # The table cuts rather than rounds: 21 / 46 is 0.4565.
    assert found.points_per_lesson == pytest.approx(printed, abs=6e-4)


def test_efficiency_without_lessons_baseline_or_variants():
    rates = {"disabled": 0.5, "positive": 0.7}
    assert efficiencies(rates, "disabled", [], [])[0].points_per_lesson is None
    assert efficiencies(rates, "zero-shot", [], []) == ()
    assert efficiencies({"disabled": 0.5}, "disabled", [], []) == ()


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
    assert (one.pass_at, one.pass_hat) == (pytest.approx(4 / 9), pytest.approx(4 / 9))
    assert (two.pass_at, two.pass_hat) == (pytest.approx((1 + 2 / 3) / 3), pytest.approx(1 / 3))
    assert (three.k, three.n, three.pass_at, three.pass_hat) == (
        3,
        3,
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    )
    assert three.pass_hat_interval == pytest.approx(interval(1 / 3, 3))


def test_a_task_counts_only_where_it_was_run_k_times():
    figures = reliability({"a": [True], "b": [False, True]})
    assert [(figure.k, figure.n) for figure in figures] == [(1, 2), (2, 1)]
    assert reliability({}) == ()


@given(runs_of)
def test_they_enclose_the_mean_and_are_monotone(runs):
    figures = reliability(runs)
    mean = sum(sum(each) / 4 for each in runs.values()) / len(runs)
    at, hat = [figure.pass_at for figure in figures], [figure.pass_hat for figure in figures]
    assert [figure.k for figure in figures] == [1, 2, 3, 4]
    for figure in figures:
        assert 0 <= figure.pass_hat <= mean + 1e-9
        assert mean - 1e-9 <= figure.pass_at <= 1
        assert 0 <= figure.pass_at_interval[0] <= figure.pass_at <= figure.pass_at_interval[1] <= 1
        assert 0 <= figure.pass_hat_interval[0] <= figure.pass_hat <= figure.pass_hat_interval[1] <= 1
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


def test_a_share_of_nothing_is_unknown():
    assert share(0, 0) is None
    assert share(1, 4) == 0.25


def test_over_several_runs(make_row):
    solved = {"a": [True, True], "b": [True, False], "c": [False, False]}
    rows = [
        make_row(task_id=task, condition="erl", success=success, repeat=turn)
        for task, runs in solved.items()
        for turn, success in enumerate(runs)
    ]
    rows.append(make_row(task_id="c", condition="erl", reason="error", repeat=2))
    figures = over_runs(rows)
    assert figures.rates == pytest.approx([2 / 3, 1 / 3])
    assert figures.mean == pytest.approx(0.5)
    assert figures.error == pytest.approx(1 / 6)
    assert [(one.pass_at, one.pass_hat) for one in figures.figures] == [
        (pytest.approx(0.5), pytest.approx(0.5)),
        (pytest.approx(2 / 3), pytest.approx(1 / 3)),
    ]
    assert over_runs([]) == Reliability(rates=(), mean=None, error=None)


def test_the_score_over_several_runs(make_row):
    rewards = [(1.0, 0.5), (0.25, 0.25), (0.0, None)]
    rows = [
        make_row(task_id=str(i), success=reward == 1.0, reward=reward, repeat=turn)
        for turn, both in enumerate(rewards)
        for i, reward in enumerate(both)
    ]
    found = over_runs(rows)
    assert found.reward == pytest.approx((0.75 + 0.25 + 0.0) / 3)
    assert found.reward_error == pytest.approx(0.38188 / 3**0.5, abs=1e-5)
    assert found.mean == pytest.approx(1 / 6)


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
    for alone, both in zip(over_runs(one).figures, over_runs(three).figures, strict=True):
        assert (alone.n, both.n) == (8, 24)
        assert alone == both.model_copy(update={"n": 8})
    (every,) = by_origin([heuristic("", True)], three)
    assert tuple(every.conditions["erl"].interval) == interval(5 / 8, 8)


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
    assert [part.category for part in (cool, heat, every)] == ["cool", "heat", ""]
    assert heat.lessons == {"success": 1, "failure": 1}
    assert every.lessons == {"success": 2, "failure": 1}
    assert heat.conditions["erl-failure"].points == pytest.approx(50)
    assert heat.conditions["react"].points == 0
    assert cool.conditions["react"].n == 4
    assert cool.conditions["erl-failure"].accuracy is None
    assert cool.conditions["erl-failure"].points is None
    assert every.conditions["react"].successes == 3


def test_by_origin_counts_every_run_and_takes_tasks_as_trials(make_row):
    solved = {("react", 0): 1, ("react", 1): 0, ("erl", 0): 0, ("erl", 1): 4}
    rows = [
        make_row(name, f"t{n}", success=n < count, repeat=turn)
        for (name, turn), count in solved.items()
        for n in range(4)
    ]
    (every,) = by_origin([heuristic("", True)], rows)
    erl, react = every.conditions["erl"], every.conditions["react"]
    assert (erl.n, erl.successes, erl.accuracy, erl.points) == (8, 4, 0.5, 37.5)
    assert tuple(erl.interval) == interval(0.5, 4)
    assert (react.n, react.accuracy) == (8, 0.125)


def test_by_guidance_counts_every_run_and_takes_tasks_as_observations(make_row):
    solved = {("few-shot-trajectories", 0): 2, ("few-shot-trajectories", 1): 0, ("erl", 0): 6, ("erl", 1): 8}
    rows = [
        make_row(name, f"t{n}", success=n < count, repeat=turn)
        for (name, turn), count in solved.items()
        for n in range(8)
    ]
    steps = Steps(
        condition="erl",
        n=8,
        thoughts=0,
        actions=1,
        invalid=None,
        prompt_tokens=0,
        completion_tokens=0,
        calls=1,
        guidance_tokens=30,
    )
    shown, erl = by_guidance(rows, [steps])
    assert (shown.condition, shown.guidance_tokens, shown.points, shown.p) == (
        ("few-shot-trajectories", None, None, None)
    )
    assert (erl.condition, erl.guidance_tokens, erl.n, erl.successes) == ("erl", 30.0, 16, 14)
    assert (shown.n, shown.successes) == (16, 2)
    assert tuple(erl.interval) == interval(14 / 16, 8)
    assert (erl.points, erl.p) == (75.0, 2 / 2**8)
    assert by_guidance([row for row in rows if row.condition == "erl"], []) == ()
    later = [row.model_copy(update={"condition": "erl-thought"}) if row.condition == "erl" else row for row in rows]
    assert by_guidance(later, [])[1] == erl.model_copy(update={"condition": "erl-thought", "guidance_tokens": None})


def test_a_judges_verdicts(make_row):
    was = (True, False, True, True, None, True, False)
    said = (True, True, True, False, True, None, True)
    rows = [
        make_row(task_id=str(n), split="train", success=success, judged=judged)
        for n, (success, judged) in enumerate(zip(was, said, strict=True))
    ]
    found = judgements(rows)
    assert (found.n, found.right, found.claimed, found.missed) == (5, 2, 2, 1)
    assert found.accuracy == 0.4
    assert judgements([]).accuracy is None


def _of(rows, condition):
    return [row for row in rows if row.condition == condition]


def test_solved_tasks_stay_solved_and_the_others_are_tried_again(retried):
    trials = by_trial(_of(retried, "reflexion"))
    assert [trial.trial for trial in trials] == [0, 1, 2, 3]
    assert [trial.solved for trial in trials] == [4, 6, 7, 7]
    assert [trial.n for trial in trials] == [12] * 4
    assert [trial.attempts for trial in trials] == [12, 8, 6, 5]
    assert trials[2].accuracy == pytest.approx(7 / 12)
    assert trials[2].interval[0] < 7 / 12 < trials[2].interval[1]
    assert trials[3].points == pytest.approx(25.0)


def test_each_trial_is_paired_with_the_first_attempt(retried):
    trials = by_trial(_of(retried, "reflexion"))
    # Nothing is ever lost, so the exact p of g gained tasks is 2 / 2**g, and 1 for none and one.
    assert [trial.p for trial in trials] == [None, 0.5, 0.25, 0.25]
    assert trials[0].points is None


def test_a_task_under_two_seeds_is_one_case(retried):
    once = by_trial(_of(retried, "reflexion"))
    again = [row.model_copy(update={"seed": 1}) for row in _of(retried, "reflexion")]
    twice = by_trial([*_of(retried, "reflexion"), *again])
    assert [(trial.n, trial.p) for trial in twice] == [(24, trial.p) for trial in once]
    assert [trial.interval for trial in twice] == [trial.interval for trial in once]


def test_reasons_are_those_of_the_tasks_that_stay_unsolved(retried):
    trials = by_trial(_of(retried, "reflexion"))
    assert trials[0].reasons == {"answered": 4, "loop": 2, "step_limit": 2}
    assert trials[3].reasons == {"loop": 2, "step_limit": 2, "answered": 1}
    for trial in trials:
        assert sum(trial.reasons.values()) == trial.n - trial.solved


def test_one_attempt_a_task_has_no_trials(retried):
    assert by_trial(_of(retried, "react")) == ()
    assert by_trial([]) == ()


def test_an_error_is_left_out_from_its_trial_on_until_it_is_tried_again(make_row):
    rows = [make_row(success=False), make_row(success=None, reason="error", trial=1), make_row(success=True, trial=2)]
    rows += [make_row(task_id="t1", success=False, trial=trial) for trial in range(3)]
    trials = by_trial(rows)
    assert [(trial.solved, trial.n, trial.errors) for trial in trials] == [(0, 2, 0), (0, 1, 1), (1, 2, 0)]
    assert trials[1].p == 1.0


def test_only_errors_are_no_rate(make_row):
    rows = [make_row(success=None, reason="error", trial=trial) for trial in (0, 1)]
    assert [(trial.accuracy, trial.p, trial.errors) for trial in by_trial(rows)] == [(None, None, 1)] * 2


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("answered", "failed"),
        ("won", "failed"),
        ("loop", "halted"),
        ("step_limit", "halted"),
        ("budget", "halted"),
        ("context", "halted"),
        ("halted", "halted"),
        ("made up", "halted"),
    ],
)
def test_what_came_to_an_end_failed_and_what_was_stopped_halted(make_row, reason, ending):
    rows = [make_row(success=False, reason=reason), make_row(task_id="t1", success=True)]
    assert endings(rows) == {"failed": 0, "halted": 0, **{ending: 1}, "success": 1}


def test_errors_and_unknown_outcomes_are_no_ending(make_row):
    assert endings([make_row(success=None), make_row(reason="error")]) == {"success": 0, "failed": 0, "halted": 0}


_ROWS = st.lists(
    st.builds(
        Row,
        run_id=st.just("r"),
        benchmark=st.just("b"),
        condition=st.just("reflexion"),
        seed=st.integers(0, 1),
        split=st.just("test"),
        task_id=st.sampled_from("abcd"),
        task=st.just("t"),
        success=st.none() | st.booleans(),
        reason=st.sampled_from(["answered", "loop", "step_limit", "budget", "error"]),
        trial=st.integers(0, 4),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(_ROWS)
def test_any_attempts_add_up(rows):
    before = 0
    for trial in by_trial(rows):
        assert trial.solved + sum(trial.reasons.values()) == trial.n
        assert trial.solved >= before
        assert trial.n + trial.errors <= 8
        before = trial.solved
    assert sum(endings(rows).values()) == sum(row.counted for row in rows)


def test_an_unknown_price_is_unknown_where_it_matters(make_row):
    known, unknown = Usage(calls=2, cost=0.3), Usage(calls=1, cost=None)
    parts = phases([make_row(usage=known)], unknown)
    assert [getattr(parts, name).cost for name in ("learning", "recall", "rollout", "total")] == [None, 0.0, 0.3, None]
    parts = phases([make_row(usage=known + unknown, aside=unknown)], known)
    assert [getattr(parts, name).cost for name in ("learning", "recall", "rollout", "total")] == [0.3, None, None, None]


def test_sums_of_dollars_leave_no_dust(make_row):
    asides = [Usage(cost=price) for price in (0.1, 0.2, 0.7)]
    rows = [make_row(task_id=str(i), usage=one, aside=one) for i, one in enumerate(asides)]
    rows.append(make_row(task_id="x", usage=Usage(cost=0.3), aside=Usage(cost=0.3)))
    assert phases(rows, Usage()).rollout.cost == 0.0


def test_a_row_without_it_used_nothing_aside(make_row):
    old = make_row(success=True, usage=Usage(prompt_tokens=9)).model_dump(exclude={"aside"})
    assert Row.model_validate(old).aside == Usage()

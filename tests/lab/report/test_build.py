from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.embed import static
from seasoned.errors import MissingExtraError
from seasoned.lab.report import build as builder
from seasoned.lab.report.build import LearnedPool, build, step_statistics
from seasoned.lab.report.html import render
from seasoned.lab.report.measures import (
    Row,
    interval,
)
from seasoned.lab.report.plots import learning_curve
from seasoned.lab.report.summary import PoolProblems, Solved, Summary, parse_summary
from seasoned.types import Outcome, Step, Trajectory, Usage


def test_the_made_up_run(summary: Summary):
    assert [block.name for block in summary.conditions] == [
        "disabled",
        "few-shot",
        "expnote",
        "positive",
        "negative",
    ]
    assert summary.method == "expnote"
    block = summary.condition("expnote")
    assert (block.n, block.errors, block.trained_on) == (119, 1, 60)
    assert block.reasons == {"answered": 118, "error": 1, "budget": 1}
    assert block.interval[0] < block.accuracy < block.interval[1]
    assert sum(part.n for part in block.per_seed) == 119
    assert sum(part.n for part in block.categories.values()) == 119
    assert [point.trained_on for point in summary.curve if point.condition == "expnote"] == [0, 15, 30, 60]
    assert summary.curve[0].successes == summary.condition("disabled").successes
    assert {one.type for one in summary.efficiency} == {"positive", "negative"}
    assert summary.training.n == 120
    assert parse_summary(json.loads(json.dumps(summary.to_json(), allow_nan=False))) == summary


def test_pairs_share_their_tasks_and_put_the_baseline_first(summary: Summary):
    pair = summary.pair("disabled", "expnote")
    moved = next(one for one in summary.transitions if one.condition == "expnote")
    assert pair.n == moved.n == 118
    assert (pair.only_b, pair.only_a) == (moved.ft, moved.tf)
    assert (pair.both, pair.neither) == (moved.tt, moved.ff)
    assert pair.points == pytest.approx(100 * (pair.only_b - pair.only_a) / 118)
    assert len(summary.pairs) == 10
    assert summary.pair("expnote", "disabled") is None


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_task_under_several_seeds_is_one_case(make_row, seeds):
    rows = [
        make_row(name, f"t{i}", seed=seed, fold=seed % 2, success=i < n, trained_on=trained_on, trial=0)
        for seed in range(seeds)
        for name, n, trained_on in (("disabled", 20, 0), ("expnote", 22, 5), ("expnote", 24, 10))
        for i in range(50)
    ]
    found = build(rows, run={})
    pair = found.pair("disabled", "expnote")
    assert (pair.n, pair.tasks, pair.only_b) == (50 * seeds, 50, 4 * seeds)
    assert (pair.test, pair.p) == ("mcnemar" if seeds == 1 else "sign-flip", 0.125)
    block = found.condition("expnote")
    assert (block.n, block.tasks) == (50 * seeds, 50)
    assert block.interval == pytest.approx(interval(24 / 50, 50))
    assert found.curve[1].interval == pytest.approx(interval(22 / 50, 50))
    assert any("counts once" in remark for remark in found.remarks) == (seeds > 1)


def test_errors_are_left_out_and_budgets_are_failures(make_row):
    rows = [make_row(task_id=f"t{i}", success=True) for i in range(3)]
    rows += [make_row(task_id="e", reason="error"), make_row(task_id="u"), make_row(task_id="b", reason="budget")]
    block = build(rows, run={}).conditions[0]
    assert (block.n, block.successes, block.errors, block.accuracy) == (4, 3, 2, 0.75)
    assert block.reasons["budget"] == 1


def test_training_rows_never_enter_an_accuracy(make_row):
    rows = [make_row(success=False), make_row(task_id="x", split="train", success=True)]
    found = build(rows, run={})
    assert found.conditions[0].successes == 0
    assert (found.training.n, found.training.successes) == (1, 1)


def test_every_figure_is_of_all_runs(guided):
    rows, lessons, _ = guided
    again = [row.model_copy(update={"repeat": 1, "success": False}) for row in rows if row.split == "test"]
    found = build([*rows, *again], run={"method": "erl"}, baseline="react", lessons=lessons)
    every = found.origins[-1].conditions
    assert [(every[name].n, every[name].successes) for name in ("react", "erl")] == [(16, 2), (16, 6)]
    erl = found.condition("erl")
    assert (erl.n, erl.successes, erl.tasks, erl.interval) == (16, 6, 8, interval(6 / 16, 8))
    assert found.headline == (
        "No difference was found: ERL solved 6 of 16, ReAct 2 (exact sign-flip test over 8 tasks, p = 0.12)."
    )
    assert any("pooled over 2 runs; pairs are the same task, seed, fold and run." in one for one in found.remarks)
    assert sum(one.n for one in found.transitions if one.condition == "erl") == 16


def test_the_runs_of_a_task_are_one_observation(make_row):
    solved = {
        "erl": {"a": "111", "b": "110", "c": "010", "d": "11"},
        "react": {"a": "000", "b": "100", "c": "000", "e": "1"},
    }
    rows = [
        make_row(condition, task, success=run == "1", repeat=turn)
        for condition, tasks in solved.items()
        for task, runs in tasks.items()
        for turn, run in enumerate(runs)
    ]
    pair = build(rows, run={}, baseline="react").pair("react", "erl")
    assert (pair.n, pair.tasks, pair.p) == (9, 3, 0.25)  # d and e were tried by one alone
    assert pair.points == pytest.approx(100 * (1 + 1 / 3 + 1 / 3) / 3)


def test_a_repeated_episode_counts_once_but_its_training_tokens_twice(make_row):
    usage = Usage(prompt_tokens=10, completion_tokens=1, calls=1)
    again = [make_row(split="train", reason="error", usage=usage), make_row(split="train", success=True, usage=usage)]
    training = build(again, run={}).training
    assert (training.n, training.errors, training.tokens.total, training.calls) == (1, 0, 22, 2)


def test_one_unknown_cost_makes_the_sum_unknown(make_row):
    rows = [make_row(task_id=str(i), success=True, usage=Usage(cost=c)) for i, c in enumerate((0.5, None))]
    found = build(rows, run={})
    assert found.conditions[0].cost is None
    assert any("price" in remark for remark in found.remarks)


def test_what_learning_took_is_told_beside_the_figures(make_row):
    rows = [make_row(name, success=True) for name in ("react", "erl", "erl-all", "expel", "nearest")]
    once, other = Usage(prompt_tokens=900, completion_tokens=100, calls=3), Usage(calls=1, prompt_tokens=7, cost=None)
    found = build(rows, run={}, learning={"erl": once, "erl-all": once, "expel": other, "expnote": Usage()})
    assert found.condition("react").learning is None
    assert found.condition("erl").learning.to_json() == {
        "tokens": {"prompt": 900, "cached": 0, "completion": 100, "total": 1000},
        "cost": 0.0,
        "calls": 3,
        "seconds": 0.0,
        "problems": 0,
    }
    assert found.remarks[-1] == (
        "These figures do not include learning, which used: ERL, ERL-all 1k tokens in 3 calls ($0); "
        "ExpeL 7 tokens in 1 call (\N{EM DASH})."
    )
    assert not any("Learning" in remark for remark in build(rows, run={}, learning={"erl": Usage()}).remarks)


def test_the_first_episode_is_left_out_of_the_cached_share(make_row):
    rows = [
        make_row(name, str(i), success=True, usage=Usage(prompt_tokens=100, cached_tokens=0 if i == 0 else 90))
        for name in ("disabled", "expnote")
        for i in range(3)
    ]
    found = build(rows, run={})
    assert found.cached_share == pytest.approx(0.9)
    assert [block.cached_share for block in found.conditions] == pytest.approx([0.9, 0.9])
    assert build(rows[:1], run={}).cached_share is None


def test_order_is_baseline_then_the_callers_then_as_they_come(make_row):
    rows = [make_row(name, success=True) for name in ("z", "cot", "expnote", "disabled")]
    names = [block.name for block in build(rows, run={"conditions": ["expnote", "missing"]}).conditions]
    assert names == ["disabled", "expnote", "z", "cot"]


def test_the_method_is_the_first_that_learned_not_the_best(make_row):
    rows = [make_row("disabled", success=False), make_row("cot", success=True)]
    rows += [make_row("expnote", success=False, trained_on=5), make_row("merge", success=True, trained_on=5)]
    assert build(rows, run={}).method == "expnote"
    assert build(rows, run={"method": "merge"}).method == "merge"
    assert build(rows, run={"method": "nobody"}).method == "expnote"
    assert build(rows[:2], run={}).method == "cot"
    assert build(rows[:1], run={}).method is None


def test_folds_of_different_size_are_both_in(make_row):
    rows = [make_row("expnote", "a", fold=0, success=True, trained_on=3)]
    rows += [make_row("expnote", "b", fold=1, success=False, trained_on=2)]
    block = build(rows, run={}).conditions[0]
    assert (block.n, block.mean, block.error) == (2, 0.5, pytest.approx(0.5))


def test_folds_of_different_size_are_one_point_of_a_curve_and_earlier_points_stay_apart(make_row):
    rows = [make_row("disabled", task_id, fold=fold, success=False) for fold, task_id in enumerate("ab")]
    rows += [make_row("expnote", "a", fold=0, success=True, trained_on=3)]
    rows += [make_row("expnote", "b", fold=1, success=False, trained_on=2)]
    found = build(rows, run={})
    assert [(p.trained_on, p.n, p.successes) for p in found.curve] == [(0, 2, 0), (3, 2, 1)]
    assert learning_curve(found) == ""
    # The fold of three is evaluated at two as well, where the other one has had all of its cases.
    rows += [make_row("expnote", "a", fold=0, success=False, trained_on=2)]
    found = build(rows, run={})
    assert [(p.trained_on, p.n, p.successes) for p in found.curve] == [(0, 2, 0), (2, 1, 0), (3, 2, 1)]


def test_more_tries_without_a_word_are_not_what_the_headline_is_about(make_row):
    rows = [make_row(name, success=True) for name in ("disabled", "retry", "reflexion")]
    assert build(rows, run={"conditions": ["disabled", "retry", "reflexion"]}).method == "reflexion"
    assert build(rows[:2], run={"conditions": ["disabled", "retry"]}).method == "retry"


def test_a_method_evaluated_with_no_training_keeps_its_own_starting_point(make_row):
    rows = [make_row("disabled", success=True)]
    rows += [make_row("expnote", success=False, trained_on=n) for n in (0, 10)]
    assert [(p.trained_on, p.successes) for p in build(rows, run={}).curve] == [(0, 0), (10, 0)]


def test_a_task_that_was_tried_again_counts_once_with_all_it_used(retried_summary):
    block = retried_summary.condition("reflexion")
    assert (block.n, block.successes, block.accuracy) == (12, 7, pytest.approx(7 / 12))
    assert block.tokens.total == 31 * 110
    assert block.calls == 31 * 5
    assert [trial.solved for trial in block.trials] == [4, 6, 7, 7]
    assert block.outcomes == {"success": 7, "failed": 1, "halted": 4}
    assert block.reasons == {"won": 7, "loop": 2, "step_limit": 2, "answered": 1}
    assert block.categories == {"put": Solved(n=6, successes=4), "clean": Solved(n=6, successes=3)}
    assert retried_summary.condition("react").trials == ()


def test_methods_are_paired_by_what_their_trials_came_to(retried_summary):
    pair = retried_summary.pair("react", "reflexion")
    assert (pair.n, pair.only_a, pair.only_b) == (12, 0, 3)
    assert retried_summary.pair("retry", "reflexion").only_b == 2


def test_gathering_has_its_trials_and_counts_tasks(retried_summary):
    training = retried_summary.training
    assert (training.n, training.successes, training.tokens.total) == (12, 6, 33 * 110)
    part = training.conditions["training"]
    assert [trial.solved for trial in part.trials] == [5, 5, 5, 6]
    assert part.outcomes == {"success": 6, "failed": 2, "halted": 4}


def test_a_curve_counts_a_task_once_however_often_it_was_tried(make_row):
    rows = [make_row("expel", success=trial == 1, trained_on=n, trial=trial) for n in (2, 4) for trial in (0, 1)]
    assert [(p.trained_on, p.n, p.successes) for p in build(rows, run={}).curve] == [(2, 1, 1), (4, 1, 1)]


def test_steps_come_from_the_attempts_that_conditions_are_judged_by(make_row):
    rows = [make_row("expel", success=False, trained_on=n, trajectory_id=f"t{n}") for n in (2, 4)]
    told = [Trajectory(id=f"t{n}", task_id="t0", task="t", steps=(Step(action="look"),) * n) for n in (2, 4)]
    (found,) = build(rows, run={}, trajectories=told).steps
    assert (found.condition, found.n, found.actions) == ("expel", 1, 4.0)


def test_nothing_at_all():
    found = build([], run={"id": "r"})
    assert found.conditions == found.pairs == found.curve == found.lessons == ()
    assert found.method is None
    assert found.headline.startswith("No test episode")


_ROWS = st.lists(
    st.builds(
        Row,
        run_id=st.just("r"),
        benchmark=st.just("emoji"),
        condition=st.sampled_from(["disabled", "expnote", "positive", "x|<y>"]),
        seed=st.integers(0, 1),
        fold=st.integers(0, 1),
        split=st.sampled_from(["train", "test"]),
        task_id=st.sampled_from("abc"),
        task=st.just("t"),
        success=st.none() | st.booleans(),
        reward=st.none() | st.floats(0, 1),
        reason=st.sampled_from(["answered", "budget", "error", "unfinished"]),
        trained_on=st.sampled_from([0, 5, 9]),
        trial=st.integers(0, 2),
        usage=st.builds(Usage, cost=st.none() | st.just(0.25), prompt_tokens=st.integers(0, 9)),
    ),
    max_size=30,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(_ROWS)
def test_any_rows_give_a_summary_that_adds_up(rows: list[Row]):
    found = build(rows, run={"id": "r"})
    json.dumps(found.to_json(), allow_nan=False)
    for block in found.conditions:
        assert 0 <= block.successes <= block.n
        assert block.n + block.errors == sum(block.reasons.values())
        assert block.interval[0] <= block.interval[1]
        assert (block.accuracy is None) == (block.n == 0)
        assert sum(block.outcomes.values()) == block.n
        for trial in block.trials[-1:]:
            assert (trial.solved, trial.n) == (block.successes, block.n)
    for pair in found.pairs:
        assert pair.n == pair.both + pair.only_a + pair.only_b + pair.neither
        assert 0 < pair.p <= 1


NAMES = ("expel", "expel-insights")


@pytest.fixture
def of_pools(make_row):
    """The summary with these pools."""
    rows = [
        make_row(name, f"t{fold}{i}", fold=fold, success=True, trained_on=6 * (name != "react"))
        for name in ("react", *NAMES)
        for fold in (0, 1)
        for i in range(2)
    ]
    learning = {name: Usage(calls=3) for name in NAMES}

    def make(*pools):
        return build(rows, run={}, baseline="react", learning=learning, pools=pools)

    return make


def test_problems_are_counted_by_condition_and_listed_by_pool(of_pools):
    said = "Insights from the comparison of a, b: UPVOTE 7: it names none of the 2 insights, so it is passed over"
    found = of_pools(LearnedPool(NAMES, 0, 0, 3, (said, "<b>more</b>")), LearnedPool(NAMES, 0, 1, 2))
    counts = {one.name: one.learning and one.learning.problems for one in found.conditions}
    assert counts == {"react": None, "expel": 2, "expel-insights": 2}
    assert found.problems == (PoolProblems(conditions=NAMES, seed=0, fold=0, problems=(said, "<b>more</b>")),)
    assert found.remarks == of_pools().remarks
    assert of_pools().problems == ()
    page = render(found, [])
    assert "<summary>ExpeL, ExpeL-insights, fold 0: 2</summary>" in page
    assert said in page
    assert "&lt;b&gt;more" in page
    assert "What learning skipped" not in render(of_pools(), [])


def test_who_learned_nothing_is_named_with_the_reason(of_pools):
    why = "none of the 6 attempts succeeded, so there is nothing to learn insights from"
    pools = [LearnedPool(NAMES, 0, 0, 0, (why,)), LearnedPool(NAMES, 0, 1, 2), LearnedPool(("erl",), 0, 1, 0)]
    assert of_pools(*pools).remarks[-2:] == (
        f"ExpeL, ExpeL-insights learned no lesson in fold 0: {why}.",
        "ERL learned no lesson in fold 1: no reply contained a usable lesson.",
    )
    (remark,) = of_pools(pools[0]).remarks[len(of_pools().remarks) :]
    assert remark.startswith("ExpeL, ExpeL-insights learned no lesson: none of the 6")


def _rows(make_row, **solved):
    """`solved` gives per condition how many of 60 tasks, counted from the first, are solved."""
    return [
        make_row(name.replace("_", "-"), f"t{i}", success=i < n, trained_on=30 if name == "expnote" else 0)
        for name, n in solved.items()
        for i in range(60)
    ]


def test_a_difference_is_said_with_its_p(make_row):
    found = build(_rows(make_row, disabled=15, expnote=41), run={})
    assert found.headline == "ExpNote solved 41 of 60, 26 more than without notes (15; exact McNemar p < 0.001)."


def test_tasks_under_several_seeds_are_not_called_mcnemars(make_row):
    rows = [
        row.model_copy(update={"seed": seed}) for row in _rows(make_row, disabled=15, expnote=41) for seed in (0, 1)
    ]
    found = build(rows, run={})
    assert found.headline == (
        "ExpNote solved 82 of 120, 52 more than without notes (30; exact sign-flip test over 60 tasks, p < 0.001)."
    )
    assert "counts once in intervals and p values: there are 60 tasks." in found.remarks[0]


def test_how_often_a_model_judged_rightly_is_said(make_row):
    rows = _rows(make_row, disabled=15, erl=41)
    assert not any("judged" in remark for remark in build(rows, run={}).remarks)
    rows += [make_row("training", f"old{i}", split="train", success=i < 3, judged=i == 0) for i in range(4)]
    (found,) = (remark for remark in build(rows, run={}).remarks if "judged" in remark)
    assert (
        "judged 2 of 4 training attempts correctly: it took 0 failures for successes, and 2 successes for failures."
        in found
    )


def test_a_harm_is_said_as_plainly(make_row):
    found = build(_rows(make_row, disabled=30, expnote=20), run={})
    assert found.headline == "ExpNote solved 20 of 60, 10 fewer than without notes (30; exact McNemar p = 0.002)."


@pytest.mark.parametrize(
    ("solved", "sentence"),
    [
        ({"disabled": 28, "expnote": 30}, "ExpNote solved 30 of 60, 28 without notes (exact McNemar p = 0.50)."),
        ({"disabled": 30, "expnote": 30}, "ExpNote solved 30 of 60, 30 without notes (exact McNemar p = 1.00)."),
    ],
)
def test_no_difference_is_said_too(make_row, solved, sentence):
    assert build(_rows(make_row, **solved), run={}).headline == f"No difference was found: {sentence}"


def test_the_clearest_comparison_follows_one_that_found_no_difference(make_row):
    solved = {"coder": 0, "expel": 0, "erl": 5, "facts": 12}
    assert build(_rows(make_row, **solved), run={}, baseline="coder").headline == (
        "No difference was found: ExpeL solved 0 of 60, coder 0 (exact McNemar p = 1.00)."
        " The clearest of 3 comparisons, significant even with p times 3: facts solved 12 of 60, 12 more than coder"
        " (0; exact McNemar p < 0.001)."
    )


def test_a_comparison_that_many_make_clear_by_chance_is_not_named(make_row):
    solved = {"coder": 0, "expel": 0, "erl": 1, "facts": 6}  # p = 0.031 of three comparisons
    assert build(_rows(make_row, **solved), run={}, baseline="coder").headline == (
        "No difference was found: ExpeL solved 0 of 60, coder 0 (exact McNemar p = 1.00)."
    )


def test_another_baseline_is_named(make_row):
    rows = _rows(make_row, few_shot=10, expnote=41)
    assert "31 more than few-shot (10;" in build(rows, run={}, baseline="few-shot").headline
    rows = _rows(make_row, few_shot=30, expnote=31)
    assert "few-shot 30 (" in build(rows, run={}, baseline="few-shot").headline


def test_where_some_episodes_failed_the_claim_is_about_the_common_ones(make_row):
    rows = _rows(make_row, disabled=15, expnote=41)
    rows[0] = rows[0].model_copy(update={"success": None, "reason": "error"})
    found = build(rows, run={})
    assert found.headline.startswith("ExpNote solved 40 of 59 test episodes that both finished, 26 more")
    assert found.remarks[0] == ("Server errors and unknown outcomes, not counted in any rate: disabled 1.")
    assert found.remarks[1].startswith("seasoned run --resume RUN repeats the episodes")
    assert "--resume 2026-a repeats" in build(rows, run={"id": "2026-a"}).remarks[1]
    rows[0] = rows[0].model_copy(update={"reason": "answered"})
    found = build(rows, run={})
    assert "unknown outcomes" in found.remarks[0]
    assert "--resume" not in " ".join(found.remarks), "an outcome that nobody knows is not made again"


def test_nothing_to_compare_with(make_row):
    assert "no baseline" in build(_rows(make_row, expnote=7), run={}).headline
    assert build(_rows(make_row, disabled=7), run={}).headline.startswith("disabled solved 7 of 60; there is no")
    apart = [make_row("disabled", "a", success=True), make_row("expnote", "b", success=True)]
    assert "no test task in common" in build(apart, run={}).headline


def test_only_errors_is_no_result(make_row):
    rows = [make_row(name, reason="error") for name in ("disabled", "expnote")]
    assert build(rows, run={}).headline.startswith("No test episode was finished")


def test_a_method_that_finished_nothing_is_said_beside_the_baseline(make_row):
    rows = [make_row("expnote", f"t{i}", reason="error") for i in range(60)]
    found = build([*_rows(make_row, disabled=15), *rows], run={})
    assert found.headline == "ExpNote finished no test episode; disabled solved 15 of 60."


def test_the_mean_is_over_seeds_and_folds_though_there_are_runs(make_row):
    rows = [make_row(task_id="a", seed=seed, repeat=turn, success=turn == 0) for seed in (0, 1) for turn in (0, 1)]
    (found,) = (remark for remark in build(rows, run={}).remarks if "pooled" in remark)
    assert "pooled over 2 seeds, 2 runs;" in found
    assert "Mean and standard error over seeds and folds, in percent: disabled 50.0 ± 0.0." in found


def test_remarks_say_what_a_reader_must_know(summary):
    text = " ".join(summary.remarks)
    assert "disabled 1, ExpNote 1" in text
    assert "budget" in text
    assert "pooled over 2 seeds;" in text
    assert "±" in text
    assert "not corrected" in text


def test_the_last_error_of_the_server_is_told(make_row):
    told = [("error", "busy"), ("error", "refused: \x1b[31m no such parameter"), ("answered", "fine"), ("error", "")]
    made = [Trajectory(task_id="t", task="t", outcome=Outcome(reason=why, detail=said)) for why, said in told]
    remarks = build([make_row()], run={}, trajectories=made).remarks
    assert [one for one in remarks if "last error" in one] == [
        "The last error was: refused: \N{REPLACEMENT CHARACTER}[31m no such parameter"
    ]


def test_empty_replies_are_remarked_on_with_what_to_do(make_row):
    told = [{"length": 2, "content_filter": 1}, {"length": 1_500}, {}, "much", {"other": True, "length": "x"}]
    made = [Trajectory(task_id="t", task="t", meta={"empty": empty}) for empty in told]
    remarks = build([make_row()], run={}, trajectories=made).remarks
    found = [remark for remark in remarks if "empty" in remark]
    assert found[0].startswith("1,502 replies were empty because the token limit")
    assert "raise agent.think_tokens, agent.answer_tokens" in found[0]
    assert found[1:] == ["1 reply was empty because of the server's content filter."]
    assert "empty" not in " ".join(build([make_row()], run={}, trajectories=[]).remarks)


def _made(name, taken, **fields):
    return Trajectory(id=name, task_id="t", task="t", steps=tuple(taken), **fields)


def test_means_over_the_attempts_of_each_condition(make_row):
    taken = [Step(thought="find a mug", action="go to shelf 1", observation="You see a mug 1."), Step(action="look")]
    made = [
        _made("a", taken, usage=Usage(prompt_tokens=300, completion_tokens=20, calls=1, replayed=1)),
        _made("b", [], usage=Usage(prompt_tokens=100, completion_tokens=0)),
        _made("c", taken[1:]),
    ]
    rows = [make_row("react", "t", success=False, trajectory_id="a")]
    rows += [make_row("react", "t", success=True, trial=1, trajectory_id="b")]
    rows += [make_row("act", "t", success=True, trajectory_id="c")]
    react, act = step_statistics(rows, made)
    assert (react.condition, react.n, act.condition, act.n) == ("react", 2, "act", 1)
    assert (react.thoughts, react.actions, react.calls) == (0.5, 1.0, 1.0)
    assert (react.prompt_tokens, react.completion_tokens) == (200, 10)
    assert (react.thought_tokens, react.action_tokens, react.observation_tokens) == (2, 3.5, 4)
    assert (act.thoughts, act.actions) == (0, 1)


@pytest.mark.parametrize(
    ("metas", "mean"),
    [([{"invalid": 3}, {"invalid": 0}], 1.5), ([{"invalid": 3}, {}], None), ([{"invalid": "many"}, {}], None)],
)
def test_invalid_actions_are_known_for_all_or_not_at_all(make_row, metas, mean):
    rows = [make_row(task_id=str(i), success=True, trajectory_id=str(i)) for i in range(2)]
    (found,) = step_statistics(rows, [_made(str(i), [], meta=meta) for i, meta in enumerate(metas)])
    assert found.invalid == mean


def test_guidance_is_its_text_and_its_demonstrations(make_row):
    rows = [make_row(task_id=str(i), success=True, trajectory_id=str(i)) for i in range(2)]
    old = _made("old", [Step(action="a" * 23)])  # "Task: t", "Action: aa..": 39 characters
    made = [_made("0", [], guidance="x" * 41, demonstration_ids=("old", "old")), _made("1", [])]
    (found,) = step_statistics(rows, [*made, old])
    assert found.guidance_tokens == (11 + 2 * 10) / 2
    (found,) = step_statistics(rows, made)
    assert found.guidance_tokens is None


def test_without_a_tokenizer_no_parts_are_counted(make_row, monkeypatch):
    def missing():
        raise MissingExtraError("local", "wordllama")

    monkeypatch.setattr(static, "tokenizer", missing)
    builder._tokenizer.cache_clear()
    (found,) = step_statistics([make_row(trajectory_id="a")], [_made("a", [Step(thought="hm")])])
    builder._tokenizer.cache_clear()
    assert (found.thoughts, found.thought_tokens, found.observation_tokens) == (1, None, None)


def test_errors_and_unknown_trajectories_are_left_out(make_row):
    rows = [make_row(reason="error", trajectory_id="a"), make_row(task_id="x", success=True, trajectory_id="lost")]
    assert step_statistics(rows, [_made("a", [])]) == ()
    assert step_statistics([], [_made("a", [])]) == ()

from __future__ import annotations

import pytest

from seasoned.lab.report.build import build
from seasoned.types import Outcome, Trajectory


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

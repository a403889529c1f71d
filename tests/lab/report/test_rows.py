from __future__ import annotations

import pytest
from pydantic import ValidationError

from seasoned.lab.report.rows import Row, final, final_attempts, judged, latest, outcomes, until_solved
from seasoned.types import Usage


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
    used = {"usage": Usage(prompt_tokens=5, calls=1), "aside": Usage(prompt_tokens=2)}
    rows = [make_row(success=success, trial=t, **used) for t, success in attempts]
    (row,) = judged(rows)
    assert row == until_solved(rows)
    assert (row.trial, row.solved) == (trial, solved)
    assert (row.usage.prompt_tokens, row.usage.calls) == (5 * len(rows), len(rows))
    assert row.aside.prompt_tokens == 2 * len(rows)


def test_a_last_attempt_that_a_server_ended_is_not_a_failure(make_row):
    rows = [make_row(success=False), make_row(success=None, reason="error", trial=1)]
    assert outcomes(judged(rows)) == {}


def test_final_counts_a_task_once_and_keeps_its_attempts_apart_on_demand(make_row):
    early = [make_row("expel", trained_on=2, success=False, trial=t) for t in (0, 1)]
    late = [make_row("expel", trained_on=4, success=t == 1, trial=t) for t in (0, 1)]
    assert final_attempts([*early, *late]) == late
    assert [(row.trained_on, row.trial) for row in final([*early, *late])] == [(4, 1)]

from __future__ import annotations

import pytest
from pydantic import ValidationError

from seasoned.report.rows import Row, final, latest, outcomes


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


def test_outcomes_leave_errors_out(make_row):
    rows = [make_row(success=True), make_row(task_id="t1", reason="error"), make_row(task_id="t2", reason="budget")]
    assert outcomes(rows) == {(0, 0, "t0"): True, (0, 0, "t2"): False}
